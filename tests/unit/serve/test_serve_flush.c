/*
 * Floods of flush_all, in every protocol. Goal: the connection that floods waits, and no other:
 * other gets and sets are answered in their turn, none is refused, and no turn removes from the
 * store more than some slices of its walk. Method: a full store; one connection has all its
 * flushes in one segment, each with a set; another one sets and gets in every turn. The items
 * removed in a turn are counted.
 */
#include "fake_stack.h"
#include "core/core.h"
#include "serve/serve_policy.h"
#include "support/test.h"

#include <stdlib.h>

#define FLOOD      64u
#define CHUNKS     64u
#define TURNS_MAX  20000u
#define WALK_TURNS 100u  /* a walk through a full store takes more than that */
#define TURN_ITEMS 3000u /* removed in one turn: the walk's slice, and evictions ahead of sets */

static struct rig *rig;

SETUP(up)
{
	rig = rig_create();
	rig_fill(rig);
}

TEARDOWN(down)
{
	rig_destroy(rig);
}

static uint64_t
gone(void)
{
	return counter_read(&store_counters(rig->core)[STORE_ITEMS_UNLINKED]);
}

/* Returns how many times the reply `words` was sent to the flood so far, and nothing else. */
static uint32_t
replies_sent(struct conn *c, const char *words)
{
	uint32_t len, count = 0;
	const char *sent = rig_sent(c, &len);
	const size_t step = strlen(words);

	for (uint32_t at = 0; at + step <= len; at += (uint32_t)step, count++)
		check_bytes(sent + at, words, step);
	return count;
}

/* Checks that a set and a get are answered in this very turn. */
static void
check_other(struct conn *other)
{
	static const char reply[] = "STORED\r\nVALUE b 0 1\r\nv\r\nEND\r\n";
	uint32_t len;

	rig_receive_text(rig, other, "set b 0 0 1\r\nv\r\nget b\r\n");

	const uint64_t before = gone();

	rig_turn(rig);
	check(gone() - before <= TURN_ITEMS);

	const char *sent = rig_sent(other, &len);

	check_eq(len, sizeof reply - 1);
	check_bytes(sent, reply, len);
	rig_acked(rig, other);
	rig_forget_sent(other);
}

/* Sends the words `count` times in one segment. Returns the turns until all are answered. */
static uint32_t
turns_of(const char *words, uint32_t count, const char *reply)
{
	struct conn *c = rig_open(rig), *other = rig_open(rig);
	const size_t step = strlen(words);
	char *flood = malloc(step * FLOOD + 1);
	uint32_t turn = 0;

	for (uint32_t i = 0; i < count; i++)
		memcpy(flood + i * step, words, step + 1);
	rig_receive(rig, c, flood, (uint32_t)(step * count));
	free(flood);
	for (; replies_sent(c, reply) < count && turn < TURNS_MAX; turn++)
		check_other(other);
	check_eq(replies_sent(c, reply), count);
	rig_lose(rig, c);
	rig_lose(rig, other);
	return turn;
}

TEST(a_flooding_client_waits_and_nobody_else)
{
	check(turns_of("set again 0 0 1\r\nx\r\nflush_all\r\n", FLOOD, "STORED\r\nOK\r\n") >
	      WALK_TURNS);
	check_eq(rig_count(rig, CMD_FLUSH), FLOOD);
}

TEST(flushes_with_nothing_between_wait_for_nothing)
{
	struct conn *c = rig_open(rig);

	for (uint32_t i = 0; i < FLOOD; i++)
		rig_receive_text(rig, c, "flush_all\r\n");
	rig_turns(rig, FLOOD / PASSES_MAX);
	check_eq(replies_sent(c, "OK\r\n"), FLOOD);
}

/* A quiet flush waits as well, and the requests behind it are answered in order. */
TEST(a_quiet_flood_is_in_order)
{
	static const char binary[] = "\x80\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	struct conn *c = rig_open(rig), *packets = rig_open(rig);
	uint32_t len = 0, sent_len = 0;

	for (uint32_t i = 0; i < FLOOD; i++) {
		rig_receive_text(rig, c,
				 "set again 0 0 1\r\nx\r\nflush_all noreply\r\nget again\r\n");
		rig_receive(rig, packets, binary, sizeof binary);
	}
	for (uint32_t turn = 0; turn < TURNS_MAX && sent_len < FLOOD * 24; turn++) {
		rig_turn(rig);
		rig_sent(packets, &sent_len);
	}
	rig_turns(rig, TURNS_MAX / 10);
	check_eq(replies_sent(c, "STORED\r\nEND\r\n"), FLOOD);

	const char *sent = rig_sent(packets, &len);

	check_eq(len, FLOOD * 24);
	for (uint32_t i = 0; i < FLOOD; i++)
		check_bytes(sent + i * 24, "\x81\x08\0\0\0\0\0\0", 8);
}

/* Other connections' unread replies have all chunks but one, so no request can wait. A quiet
 * flush must not be refused in silence: its items would stay, and the client would not know. */
TEST(a_quiet_flush_that_is_refused_ends_its_connection)
{
	struct conn *slow = rig_open(rig), *c = rig_open(rig);

	rig_set_chunks(rig, CHUNKS);
	for (uint32_t i = 1; i < CHUNKS; i++)
		rig_receive_text(rig, slow, "version\r\n");
	rig_turns(rig, CHUNKS);
	check_eq(rig_chunks_used(rig), CHUNKS - 1);
	for (uint32_t i = 0; i < FLOOD; i++)
		rig_receive_text(
			rig, c,
			"set again 0 0 1 noreply\r\nx\r\nflush_all noreply\r\nget again\r\n");
	for (uint32_t turn = 0; turn < 16 * FLOOD && !rig_closed(c); turn++) {
		rig_turn(rig);
		rig_acked(rig, c);
	}
	check(rig_closed(c));
	check(replies_sent(c, "END\r\n") < FLOOD); /* no other reply was sent */
}

/* A datagram cannot wait: it gets an error, and nothing is flushed. */
TEST(a_datagram_gets_the_answer_to_try_again)
{
	const struct fake_sent *list;
	const struct serve_policy policy = {.udp_admin = true};
	uint32_t ok = 0, busy = 0;

	serve_shared_set_policy(rig->shared, &policy);

	for (uint32_t i = 0; i < FLOOD; i++) {
		rig_forget_datagrams(rig);
		rig_datagram_text(rig, 1, "set again 0 0 1\r\nx\r\n");
		rig_datagram_text(rig, 2, "flush_all\r\n");
		rig_datagram_text(rig, 3, "get again\r\n");
		rig_turn(rig);
		check_eq(rig_datagrams_sent(rig, &list), 3);

		const bool done = memcmp(list[1].bytes + 8, "OK\r\n", 4) == 0;

		check(done || memcmp(list[1].bytes + 8, "SERVER_ERROR flush", 18) == 0);
		check_eq(memcmp(list[2].bytes + 8, "END", 3) == 0, done);
		ok += done;
		busy += !done;
	}
	check(ok > 0 && busy > 0);
}

/* A connection that closes while its flush waits leaves no state. */
TEST(a_waiting_connection_may_close)
{
	struct conn *c;

	for (uint32_t i = 0; i < FLOOD; i++) {
		c = rig_open(rig);
		rig_receive_text(rig, c, "set again 0 0 1\r\nx\r\nflush_all\r\nget again\r\n");
		rig_turns(rig, 2);
		rig_lose(rig, c);
	}
	rig_turns(rig, 2);
	check_eq(rig_chunks_used(rig), 0);
}
