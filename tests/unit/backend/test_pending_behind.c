/*
 * Retrievals behind writes that are pending. Goal: they are requested at once, completed in the
 * order of their requests, and never with an older value than one that their connection wrote or
 * read before; none of their state is lost or kept after any end of the connection, its client
 * or the backend. Method: as test_pending_writes.c; test_pending_order.c has them in random
 * conversations.
 */
#include "unit/serve/binary_talk.h"
#include "few_writes.h"
#include "backend/pending.h"
#include "serve/serve_internal.h"
#include "serve/serve_shared.h"
#include "store/introspect.h"

#define STORED "STORED\r\n"
#define WRITE  "set l1 0 0 1\r\nx\r\n"

/* Sends the text. While the backend answers nothing, `asked` requests reach it and no reply
 * arrives; later the reply is `expected`. */
static void
says_after(const char *text, uint32_t asked, const char *expected)
{
	const uint64_t before = late_asked(late);
	struct conn *c;

	late_hold(late, true);
	c = say(text);
	turns(4);
	check_eq(late_asked(late) - before, asked);
	SAYS(c, "");
	late_hold(late, false);
	turns(8);
	SAYS(c, expected);
	rig_lose(rig, c);
}

/* ---- order ---- */

TEST(reads_behind_a_write_are_asked_at_once_and_answered_in_order)
{
	says_after(WRITE "get s1\r\nget s5\r\n", 3, STORED S1 "END\r\nEND\r\n");
	says_after("delete s0\r\ngets s1\r\nmg s6 k\r\n", 3,
		   "DELETED\r\nVALUE s1 1 31 1001\r\nbipwdkryfmtahovcjqxelszgnubipwd\r\nEND\r\n"
		   "HD ks6\r\n");
	says_after("set l1 0 0 1 noreply\r\nx\r\nmg s5 q\r\nmg s1 s\r\n", 3, "HD s31\r\n");
	says_after(WRITE "get s1\r\nset l2 0 0 1\r\ny\r\n", 3, STORED S1 "END\r\n" STORED);
	says_after(WRITE "get s5\r\nget s10\r\nget s15\r\nget s20\r\n", PENDING_KEPT_MAX,
		   STORED "END\r\nEND\r\nEND\r\nEND\r\n");
	check_eq(rig_count(rig, REQ_TCP), 17);
	check_eq(rig_count(rig, CMD_GET), 11);
	check_eq(rig_count(rig, GET_MISSES), 6);
}

TEST(binary_reads_behind_a_write_are_answered_in_order)
{
	static const struct packet asks[] = {{.op = DELETE, .key = "s0"},
					     {.op = GETQ, .key = "s5"},
					     {.op = GETK, .key = "s1"},
					     LAST};
	static const struct packet replies[] = {{.op = DELETE, .to = 0},
						{.op = GETK,
						 .to = 2,
						 EXTRAS("\0\0\0\1"),
						 .key = "s1",
						 .value = "bipwdkryfmtahovcjqxelszgnubipwd",
						 .cas = SOME},
						LAST};
	struct conn *c = rig_open(rig);
	uint8_t bytes[256];
	struct view sent;

	late_hold(late, true);
	rig_receive(rig, c, bytes, packets_put(bytes, asks));
	turns(4);
	check_eq(late_asked(late), 3);
	late_hold(late, false);
	turns(8);
	sent.data = (const uint8_t *)rig_sent(c, &sent.len);
	packets_match(sent, replies);
}

TEST(a_read_of_a_pending_key_is_asked_for_at_its_turn)
{
	says_after(WRITE "get l1\r\nget l1\r\n", 1,
		   STORED "VALUE l1 0 1\r\nx\r\nEND\r\nVALUE l1 0 1\r\nx\r\nEND\r\n");
	check_eq(late_asked(late), 3);
	says_after("set l2 0 0 1\r\nx\r\nget l1\r\nget l1\r\n", 2,
		   STORED "VALUE l1 0 1\r\nx\r\nEND\r\nVALUE l1 0 1\r\nx\r\nEND\r\n");
}

TEST(a_write_of_a_key_with_a_pending_read_waits)
{
	says_after(WRITE, 1, STORED);
	says_after("set l2 0 0 1\r\nx\r\nget l1\r\nset l1 0 0 1\r\ny\r\nget l1\r\n", 2,
		   STORED "VALUE l1 0 1\r\nx\r\nEND\r\n" STORED "VALUE l1 0 1\r\ny\r\nEND\r\n");
}

TEST(two_writes_of_a_key_in_a_pass_are_asked_for_one_after_the_other)
{
	says_after(WRITE "set l2 0 0 1\r\ny\r\nset l2 0 0 1\r\nz\r\n", 2, STORED STORED STORED);
}

/* ---- a backend that executes requests of a key in the order in which it is asked ---- */

static void
start_in_order(void)
{
	begin(&(struct late_config){.writes = true, .in_order = true});
}

TEST(requests_of_one_key_are_asked_at_once, start_in_order, stop)
{
	says_after("set l1 0 0 1\r\n1\r\nincr l1 2\r\nincr l1 3\r\nget l1\r\n", 4,
		   STORED "3\r\n6\r\nVALUE l1 0 1\r\n6\r\nEND\r\n");
	says_after("get l1\r\n" WRITE "get l1\r\nset l1 0 0 1\r\ny\r\nget l1\r\n", 1,
		   "VALUE l1 0 1\r\n6\r\nEND\r\n" STORED "VALUE l1 0 1\r\nx\r\nEND\r\n" STORED
		   "VALUE l1 0 1\r\ny\r\nEND\r\n");
	says_after("set l2 0 0 1 noreply\r\n4\r\nma l2\r\nmg l2 v\r\n", 3, "HD\r\nVA 1\r\n5\r\n");
	says_after("delete l2\r\nadd l2 0 0 1\r\n7\r\nadd l2 0 0 1\r\n8\r\nget l2\r\n", 4,
		   "DELETED\r\n" STORED "NOT_STORED\r\nVALUE l2 0 1\r\n7\r\nEND\r\n");
}

static void
copy_put(const char *name, const char *value)
{
	const struct view key = {(const uint8_t *)name, (uint32_t)strlen(name)};
	struct fill f;

	check_eq(store_begin(rig->core, &f, key, store_hash(rig->core, key),
			     (uint32_t)strlen(value), 0, 0),
		 STORE_OK);
	store_fill(rig->core, &f, value, (uint32_t)strlen(value));
	check_eq(store_finish(rig->core, &f, STORE_SET, 0), STORE_OK);
}

/* The second answer is older than the copy, which may be evicted between the two. */
TEST(a_kept_read_is_answered_by_its_own_answer, start_in_order, stop)
{
	struct conn *c;

	says_after(WRITE, 1, STORED);
	late_hold(late, true);
	c = say("delete s0\r\nget l1\r\nget l1\r\n");
	turns(4);
	check_eq(late_asked(late), 4);
	copy_put("l1", "z");
	late_hold(late, false);
	turns(8);
	SAYS(c, "DELETED\r\nVALUE l1 0 1\r\nx\r\nEND\r\nVALUE l1 0 1\r\nx\r\nEND\r\n");
}

/* Requests are kept in one pass, and over several; a line of several keys is not kept. */
TEST(requests_of_one_segment_are_all_answered)
{
	struct conn *c =
		say(WRITE "get s1\r\nset l2 0 0 1\r\ny\r\nget l1\r\nget l2 s1\r\n"
			  "set l1 0 0 1\r\nz\r\nget s5\r\nget l1\r\ndelete l2\r\nget l2\r\n");

	turns(30);
	SAYS(c, STORED S1 "END\r\n" STORED "VALUE l1 0 1\r\nx\r\nEND\r\n"
			  "VALUE l2 0 1\r\ny\r\n" S1 "END\r\n" STORED "END\r\n"
			  "VALUE l1 0 1\r\nz\r\nEND\r\nDELETED\r\nEND\r\n");
	check_eq(rig_count(rig, REQ_TCP), 10);
}

TEST(a_pass_keeps_no_more_requests_than_a_connection_may_have)
{
	says_after(WRITE "get s1\r\nget s5\r\nget s10\r\nget s15\r\n", PENDING_KEPT_MAX,
		   STORED S1 "END\r\nEND\r\nEND\r\nEND\r\n");
}

/* ---- copies ---- */

TEST(a_copy_answers_a_kept_read_at_its_turn, start_with_copies, stop)
{
	says_after("get s1\r\n", 1, S1 "END\r\n");
	says_after(WRITE "get s1\r\nset l2 0 0 1\r\ny\r\n", 2, STORED S1 "END\r\n" STORED);
	check_eq(late_asked(late), 3);
}

TEST(a_kept_read_whose_copy_is_evicted_is_asked_for_at_its_turn, start_with_copies, stop)
{
	const struct view key = {(const uint8_t *)"s1", 2};
	struct conn *c;

	says_after("get s1\r\n", 1, S1 "END\r\n");
	late_hold(late, true);
	c = say(WRITE "get s1\r\nget s5\r\n");
	turns(4);
	check_eq(late_asked(late), 3);
	store_delete(rig->core, key, store_hash(rig->core, key));
	late_hold(late, false);
	turns(10);
	check_eq(late_asked(late), 4);
	SAYS(c, STORED S1 "END\r\nEND\r\n");
}

/* The key has moved: the backend does not ask the lane that the key had before. */
TEST(one_whose_key_has_moved_meanwhile_is_asked_for_where_it_is, start_with_copies, stop)
{
	const struct view key = {(const uint8_t *)"s1", 2};
	struct conn *c;

	says_after("get s1\r\n", 1, S1 "END\r\n");
	late_hold(late, true);
	c = say("delete s0\r\nget s1\r\n");
	turns(4);
	store_delete(rig->core, key, store_hash(rig->core, key));
	late_move_keys(late);
	late_hold(late, false);
	turns(10);
	SAYS(c, "DELETED\r\n" S1 "END\r\n");
}

/* ---- failures ---- */

TEST(a_kept_read_that_fails_is_an_error_at_its_turn)
{
	says_after(WRITE "get f1\r\nget s1\r\n", 3, STORED NO_ANSWER S1 "END\r\n");
}

TEST(a_kept_read_that_fails_is_a_miss_if_the_backend_says_so, start_with_misses, stop)
{
	says_after(WRITE "get f1\r\nget s1\r\n", 3, STORED "END\r\n" S1 "END\r\n");
}

TEST(a_kept_read_without_answer_fails_at_its_deadline)
{
	struct conn *c = say(WRITE "get d1\r\nget s1\r\n");

	turns(TIMEOUT_TURNS / 2);
	SAYS(c, STORED);
	turns(TIMEOUT_TURNS);
	SAYS(c, STORED NO_ANSWER S1 "END\r\n");
}

TEST(a_lost_connection_forgets_its_kept_reads)
{
	struct conn *c;

	late_hold(late, true);
	c = say(WRITE "get s1\r\nget l1\r\n");
	turns(4);
	check_eq(OPEN, 3);
	rig_lose(rig, c);
	turns(1);
	check_eq(OPEN, 0);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(a_drain_asks_for_no_kept_read)
{
	struct conn *c;

	late_hold(late, true);
	c = say(WRITE "get s1\r\nget l1\r\n");
	turns(4);
	check(!backend_drain(rig->serve, false));
	late_hold(late, false);
	turns(8);
	check_eq(late_asked(late), 2);
	SAYS(c, STORED S1 "END\r\n" NO_ANSWER);
	check(backend_drain(rig->serve, false));
}

TEST(a_kept_read_without_a_place_waits_for_an_answer)
{
	const char *line;
	uint64_t asked, deferred;
	struct conn *c;

	fill_lane(0);
	late_hold(late, true);
	c = say(WRITE);
	turns(2);
	asked = late_asked(late);
	deferred = rig_count(rig, CONN_DEFERRED);
	line = line_of('s', 0, 1, 0);
	rig_receive_text(rig, c, line);
	turns(10);
	check_eq(late_asked(late), asked);
	check(rig_count(rig, CONN_DEFERRED) - deferred <= 2);
	late_hold(late, false);
	turns(TIMEOUT_TURNS + 20);
	check(strncmp(rig_sent(c, NULL), STORED "VALUE s", 15) == 0);
}

/* Three places are not kept for first requests; a connection's share of them is one. */
TEST(a_pipeline_takes_its_share_of_few_places)
{
	const uint32_t others = PENDING_MAX - PENDING_FIRST_ONLY - 3;

	rig->serve->pending->granted += others;
	says_after(WRITE "get s1\r\nget s5\r\n", 1, STORED S1 "END\r\nEND\r\n");
	rig->serve->pending->granted -= others;
}

/* Other places are left to retrievals: behind a value that is not read, kept requests would take
 * them all. */
TEST(kept_reads_take_half_of_the_places)
{
	uint64_t asked;

	late_hold(late, true);
	for (uint32_t i = 0; i < PENDING_KEPT_PLACES / 3; i++)
		say(WRITE "get s1\r\nget s5\r\n");
	turns(2);
	check_eq(OPEN, PENDING_KEPT_PLACES);
	asked = late_asked(late);
	say(WRITE "get s1\r\n");
	turns(2);
	check_eq(late_asked(late), asked + 1);
}

static uint32_t
set_put(char *at, uint32_t number, uint32_t len)
{
	const uint32_t head = (uint32_t)sprintf(at, "set l%u 0 0 %u\r\n", number, len);

	memset(at + head, 'b', len);
	memcpy(at + head + len, "\r\n", 2);
	return head + len + 2;
}

/* The keys are of one lane, which has no place. */
TEST(requests_that_go_back_fit_a_read_buffer)
{
	char text[4096], key[16];
	uint32_t bytes = 0, number = 2;
	struct conn *c;

	fill_lane(0);
	late_hold(late, true);
	c = say("delete s0\r\n");
	turns(2);
	for (uint32_t n = 0; n < 2; number++) {
		const struct view v = {(const uint8_t *)key, (uint32_t)sprintf(key, "l%u", number)};

		if (store_hash(rig->core, v) % LATE_LANES != 0)
			continue;
		bytes += set_put(text + bytes, number, 1500);
		n++;
	}
	rig_receive(rig, c, text, bytes);
	turns(4);
	late_hold(late, false);
	turns(2 * TIMEOUT_TURNS);
	SAYS(c, "DELETED\r\n" STORED STORED);
}

/* ---- clients that read slowly ---- */

#define LARGE_BYTES 5000u

/* Returns a connection that gets a large value behind a write, with no room for a byte of it, and
 * another value behind that. */
static struct conn *
say_large(void)
{
	static char text[LARGE_BYTES + 64];
	struct conn *c = rig_open(rig);

	rig_receive(rig, c, text, set_put(text, 3, LARGE_BYTES));
	turns(4);
	SAYS(c, STORED);
	rig_forget_sent(c);
	rig_set_pieces(rig, 0);
	rig_receive_text(rig, c, WRITE "get l3\r\nget s1\r\n");
	turns(6);
	SAYS(c, STORED "VALUE l3 0 5000\r\n");
	return c;
}

static void
large_is_sent(struct conn *c)
{
	const char *sent;

	rig_set_pieces(rig, 1024);
	rig_acked(rig, c);
	turns(10);
	sent = rig_sent(c, NULL) + strlen(STORED "VALUE l3 0 5000\r\n");
	check_eq(strspn(sent, "b"), LARGE_BYTES);
	check_str(sent + LARGE_BYTES, "\r\nEND\r\n" S1 "END\r\n");
}

TEST(no_answer_is_sent_amid_a_large_value)
{
	struct conn *c = say_large();

	turns(10);
	check_eq(late_asked(late), 4);
	large_is_sent(c);
	check_eq(late_asked(late), 4);
}

/* Returns a connection whose get waits behind a large value that its client does not read, and was
 * answered before its key was written again. */
static struct conn *
say_followed(void)
{
	static char text[LARGE_BYTES + 64];
	struct conn *c = rig_open(rig);

	rig_receive(rig, c, text, set_put(text, 3, LARGE_BYTES));
	turns(4);
	rig_receive_text(rig, c, WRITE);
	turns(4);
	rig_forget_sent(c);
	rig_set_pieces(rig, 0);
	rig_receive_text(rig, c, "delete s0\r\nget l3\r\nget l1\r\nset l1 0 0 1\r\ny\r\n");
	turns(6);
	SAYS(c, "DELETED\r\nVALUE l3 0 5000\r\n");
	check_eq(late_asked(late), 6);
	return c;
}

static void
followed_is_answered(struct conn *c, const char *expected)
{
	rig_set_pieces(rig, 1024);
	rig_acked(rig, c);
	turns(10);
	check_str(rig_sent(c, NULL) + strlen("DELETED\r\nVALUE l3 0 5000\r\n") + LARGE_BYTES,
		  expected);
	check_eq(late_asked(late), 6);
}

TEST(an_answer_behind_which_its_key_was_written_is_kept, start_in_order, stop)
{
	struct conn *c = say_followed();

	turns(3 * TIMEOUT_TURNS);
	followed_is_answered(c, "\r\nEND\r\nVALUE l1 0 1\r\nx\r\nEND\r\n" STORED);
}

TEST(one_whose_memory_is_needed_has_failed, start_in_order, stop)
{
	struct conn *c = say_followed();

	check(backend_answer_yield(rig->serve));
	check(!backend_answer_yield(rig->serve));
	followed_is_answered(c, "\r\nEND\r\n" NO_ANSWER STORED);
}

/* A stop must be able to close other connections in order. */
TEST(a_client_that_does_not_read_delays_no_hurried_drain)
{
	struct conn *c = say_large();

	turns(2 * TIMEOUT_TURNS);
	check(!backend_drain(rig->serve, false));
	turns(1);
	backend_drain(rig->serve, true);
	turns(1);
	check(backend_drain(rig->serve, true));
	rig_lose(rig, c);
}

TEST(an_answer_that_is_not_read_is_dropped_and_asked_for_again)
{
	struct conn *c = say_large();

	turns(2 * TIMEOUT_TURNS);
	check_eq(late_asked(late), 4);
	large_is_sent(c);
	check_eq(late_asked(late), 5);
}

/* The connection keeps too many places for other connections' requests to be kept. */
TEST(a_client_that_does_not_read_leaves_pipelines_to_others)
{
	static char text[CONN_SENDQ_BYTES];
	const uint32_t bytes = set_put(text, 3, CONN_SENDQ_BYTES - 1000);
	struct conn *c = rig_open(rig), *other;

	for (uint32_t at = 0; at < bytes; at += 4000) {
		rig_receive(rig, c, text + at, bytes - at < 4000 ? bytes - at : 4000);
		turns(1);
	}
	rig_receive_text(rig, c, WRITE "get l3\r\nget l3\r\nget l3\r\nget s1\r\n");
	turns(12);
	late_hold(late, true);
	rig->serve->pending->kept_count += PENDING_KEPT_PLACES;
	other = say("set l2 0 0 1\r\nx\r\n");
	turns(2);
	rig_receive_text(rig, other, "get s5\r\n");
	turns(2);
	check(!rig_aborted(c));
	rig->clock.now_s += 5;
	rig_receive_text(rig, other, "get s5\r\n");
	turns(2);
	check(rig_aborted(c));
	check(!rig_aborted(other));
	check_eq(rig_count(rig, CONN_SLOW_REQUEST), 1);
	rig->serve->pending->kept_count -= PENDING_KEPT_PLACES;
	late_hold(late, false);
	turns(8);
	SAYS(other, STORED "END\r\nEND\r\n");
}
