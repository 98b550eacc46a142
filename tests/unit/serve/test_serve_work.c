/*
 * Expensive requests of a few bytes. Goal: however many connections send them, a turn does no
 * more work than its budget and one step; they progress in order, none is left behind, and
 * requests without such work are answered in their turn. Method: all connections send at once,
 * again and again; a turn's work is taken from the service's counters.
 */
#include "support/test.h"
#include "fake_stack.h"

#include "admin/admin.h"
#include "serve/serve_policy.h"
#include "serve/serve_work.h"

#include <stdlib.h>

#define ITEMS 10000u
#define CROWD (FAKE_CONNS - FAKE_SPARE - 1)
#define STEP  (2 * WALK_NS_MAX) /* the most that one step may exceed the budget */

static struct rig *rig;
static struct conn *crowd[CROWD], *calm;

SETUP(start)
{
	rig = rig_create();
	calm = rig_open(rig);
	for (uint32_t i = 0; i < ITEMS; i++) {
		char text[64];

		snprintf(text, sizeof text, "set key%u 0 0 3 noreply\r\nabc\r\n", i);
		rig_receive_text(rig, calm, text);
		rig_turn(rig);
	}
	for (uint32_t i = 0; i < CROWD; i++)
		crowd[i] = rig_open(rig);
}

TEARDOWN(stop)
{
	rig_destroy(rig);
}

static uint32_t
times(struct conn *c, const char *line)
{
	uint32_t n = 0;

	for (const char *at = rig_sent(c, NULL); (at = strstr(at, line)) != NULL;
	     at += strlen(line))
		n++;
	return n;
}

static void
all_ask(const char *request, uint32_t n)
{
	for (uint32_t i = 0; i < CROWD; i++)
		for (uint32_t k = 0; k < n; k++)
			rig_receive_text(rig, crowd[i], request);
}

/* Runs one turn, in which a cheap request is answered. Returns its work. */
static uint64_t
turn_work(void)
{
	const uint64_t before = rig_count(rig, WORK_NS);

	rig_forget_sent(calm);
	rig_receive_text(rig, calm, "get key1\r\n");
	rig_turn(rig);
	check_str(rig_sent(calm, NULL), "VALUE key1 0 3\r\nabc\r\nEND\r\n");
	rig_acked(rig, calm);
	for (uint32_t i = 0; i < CROWD; i++)
		rig_acked(rig, crowd[i]);
	return rig_count(rig, WORK_NS) - before;
}

/* Sends n requests on every connection and checks that all end, each with a last line, in turns
 * within the budget. No connection is ahead of another one of its source by more than a turn's
 * share; the first one is alone with its source (fake_stack.h). False if other bounds of the
 * requests were narrower than the budget. */
static bool
all_get_on(const char *request, uint32_t n, uint32_t ahead)
{
	const uint64_t most = WORK_PER_TURN + STEP;
	uint32_t full = 0, turns = 0, least = 0;

	for (uint32_t i = 0; i < CROWD; i++)
		rig_forget_sent(crowd[i]);
	all_ask(request, n);
	for (; least < n && turns < 100 * n * CROWD; turns++) {
		const uint64_t work = turn_work();
		uint32_t lead = 0;

		check(work <= most);
		full += work >= WORK_PER_TURN - WORK_RESERVE;
		least = n;
		for (uint32_t i = 0; i < CROWD; i++) {
			const uint32_t done = times(crowd[i], "END\r\n");

			least = done < least ? done : least;
			lead = i > 0 && done > lead ? done : lead;
		}
		check(lead <= least + ahead);
	}
	check_eq(least, n);
	return full > turns / 2;
}

TEST(dumps_that_show_nothing_share_the_turn)
{
	check(all_get_on("stats cachedump 40 0\r\n", 10, 2));
	check(rig_count(rig, WORK_WAITS) >= 10 * CROWD);
}

TEST(dumps_of_a_class_of_none_share_the_turn)
{
	check(all_get_on("lru_crawler metadump 40\r\n", 5, 2));
}

TEST(dumps_that_show_all_share_the_turn)
{
	check(all_get_on("lru_crawler metadump all\r\n", 1, 1));
}

TEST(statistics_share_the_turn)
{
	all_get_on("stats\r\n", 60, 20);
	all_get_on("stats conns\r\n", 60, 20);
}

/* The table is full of prefixes whose counts were reset, so a dump walks rows and shows none. */
TEST(prefixes_that_show_nothing_share_the_turn)
{
	const struct serve_policy policy = {.prefix_delimiter = ':'};
	char head[201] = {0}, text[256];

	serve_shared_set_policy(rig->shared, &policy);
	memset(head, 'p', sizeof head - 1);
	rig_receive_text(rig, calm, "stats detail on\r\n");
	rig_turn(rig);
	for (uint32_t i = 0; i < PREFIXES_MAX; i++) {
		snprintf(text, sizeof text, "get %s%u:x\r\n", head, i);
		rig_receive_text(rig, calm, text);
		rig_turn(rig);
	}
	rig_receive_text(rig, calm, "stats detail off\r\nstats reset\r\n");
	rig_turns(rig, 2);
	check(all_get_on("stats detail dump\r\n", 40, 3));
}

TEST(whoever_leaves_the_line_holds_up_nobody)
{
	for (uint32_t gone = 0; gone < CROWD; gone++) {
		uint32_t turns = 0;

		all_ask("stats cachedump 40 0\r\n", 1);
		turn_work();
		rig_lose(rig, crowd[gone]);
		for (uint32_t i = 0; i < CROWD; i++)
			for (; i != gone && times(crowd[i], "END\r\n") == 0; turns++) {
				check(turns < 1000);
				turn_work();
			}
		crowd[gone] = rig_open(rig);
		for (uint32_t i = 0; i < CROWD; i++)
			rig_forget_sent(crowd[i]);
	}
}

/* Requests of a connection that arrive while it waits are answered later, in order. */
TEST(requests_behind_one_that_waits_are_answered_behind_it)
{
	uint32_t turns = 0;

	all_ask("stats cachedump 40 0\r\nget key2\r\n", 1);
	for (uint32_t i = 0; i < CROWD; i++)
		for (; times(crowd[i], "END\r\n") < 2; turns++) {
			check(turns < 1000);
			turn_work();
		}
	for (uint32_t i = 0; i < CROWD; i++)
		check_str(rig_sent(crowd[i], NULL), "END\r\nVALUE key2 0 3\r\nabc\r\nEND\r\n");
}

/* Sends n requests on every connection, of which each is `ns` of work in one step, and checks that
 * all are answered, in turns within the budget. */
static void
all_share_the_turn(const char *request, uint32_t ns)
{
	const uint32_t n = 20;
	const uint64_t before = rig_count(rig, WORK_NS);
	uint32_t turns = 0;

	all_ask(request, n);
	for (uint32_t i = 0; i < CROWD; i++)
		for (; times(crowd[i], "\r\n") < n; turns++) {
			check(turns < n * CROWD);
			check(turn_work() <= WORK_PER_TURN + ns + WORK_STEP);
		}
	check(rig_count(rig, WORK_NS) - before >= (uint64_t)n * CROWD * ns);
}

/* A search for a page to move reads the states of thousands of objects. */
TEST(page_moves_share_the_turn)
{
	all_share_the_turn("slabs reassign 1 2\r\n", WORK_PAGE_MOVE);
}

/* A reset reads all counters of every core and class. */
TEST(resets_of_statistics_share_the_turn)
{
	all_share_the_turn("stats reset\r\n", WORK_RESET);
}

/* ---- copies of large values ---- */

#define LARGE  300000u
#define A_COPY (LARGE / COPY_BYTES_PER_NS)

static void
large_is_set(const char *key)
{
	static char value[LARGE + 2];
	char line[64];

	memset(value, 'v', LARGE);
	memcpy(value + LARGE, "\r\n", 2);
	rig_forget_sent(calm);
	snprintf(line, sizeof line, "set %s 0 0 %u\r\n", key, LARGE);
	rig_receive_text(rig, calm, line);
	for (uint32_t at = 0; at < LARGE + 2; at += 30000)
		rig_receive(rig, calm, value + at, LARGE + 2 - at < 30000 ? LARGE + 2 - at : 30000);
	for (uint32_t i = 0; i < 1000 && rig_sent(calm, NULL)[0] == '\0'; i++)
		rig_turn(rig);
	check_str(rig_sent(calm, NULL), "STORED\r\n");
}

/* Each connection of the crowd sends the request n times, and its end
 * last, in a turn of its own. */
static void
copies_share_the_turn(const char *request, const char *end, const char *answer, uint32_t n)
{
	uint32_t turns = 0, least = 0;

	large_is_set("big");
	for (uint32_t i = 0; i < CROWD; i++)
		rig_forget_sent(crowd[i]);
	for (uint32_t k = 0; k < n; k++) {
		all_ask(request, 1);
		if (end != NULL) {
			turn_work();
			all_ask(end, 1);
		}
	}
	for (; least < n && turns < 100 * n * CROWD; turns++) {
		const uint64_t work = turn_work();
		uint32_t lead = 0;

		check(work <= WORK_PER_TURN + A_COPY + n * CROWD);
		least = n;
		for (uint32_t i = 0; i < CROWD; i++) {
			const uint32_t done = times(crowd[i], answer);

			least = done < least ? done : least;
			lead = i > 0 && done > lead ? done : lead;
		}
		/* The first connection has two shares: it is in line before the others arrive. */
		check(lead <= least + 2 * (1 + WORK_PER_TURN / A_COPY));
	}
	check_eq(least, n);
	check(rig_count(rig, WORK_NS) >= (uint64_t)n * CROWD * A_COPY);
	check_eq(rig_count(rig, STORE_NO_MEMORY_COUNT), 0);
}

TEST(appends_to_a_large_value_share_the_turn)
{
	copies_share_the_turn("append big 0 0 0\r\n\r\n", NULL, "STORED\r\n", 10);
	copies_share_the_turn("prepend big 0 0 1\r\nx\r\n", NULL, "STORED\r\n", 10);
	copies_share_the_turn("ms big 0 MA\r\n\r\n", NULL, "HD\r\n", 10);
	copies_share_the_turn("ms Ymln 0 b MP\r\n\r\n", NULL, "HD\r\n", 10);
}

TEST(invalidations_of_a_large_value_share_the_turn)
{
	copies_share_the_turn("md big I\r\n", NULL, "HD\r\n", 10);
}

/* Every line has arrived before the first end. */
TEST(an_append_in_pieces_has_its_share_at_its_end)
{
	copies_share_the_turn("append big 0 0 3\r\nab", "c\r\n", "STORED\r\n", 1);
	copies_share_the_turn("append big 0 0 3\r\nabc", "\r\n", "STORED\r\n", 1);
	copies_share_the_turn("append big 0 0 3\r\nabc\r", "\n", "STORED\r\n", 1);
	rig_forget_sent(calm);
	rig_receive_text(rig, calm, "mg big s\r\n");
	rig_turn(rig);
	check_str(rig_sent(calm, NULL), "HD s300015\r\n");
}

TEST(small_values_are_not_held_up)
{
	all_ask("stats cachedump 40 0\r\n", 1);
	rig_turn(rig);
	rig_forget_sent(calm);
	rig_receive_text(rig, calm, "append key1 0 0 1\r\nd\r\nmd key1 I\r\nget key1\r\n");
	rig_turn(rig);
	check_str(rig_sent(calm, NULL), "STORED\r\nHD\r\nVALUE key1 0 4\r\nabcd\r\nEND\r\n");
}

/* A copy by datagram is refused, or its value dropped: it is never done beyond the budget, and
 * never answered as done if it is not. */
TEST(copies_by_datagram_have_that_budget_too)
{
	const struct fake_sent *sent;
	uint32_t stored = 0, count;

	large_is_set("big");
	for (uint16_t i = 0; i < 50; i++)
		rig_datagram_text(rig, i, "append big 0 0 1\r\nx\r\n");
	check(turn_work() <= WORK_PER_TURN_UDP + A_COPY);
	count = rig_datagrams_sent(rig, &sent);
	check_eq(count, 50);
	for (uint32_t i = 0; i < count; i++)
		stored += memcmp(sent[i].bytes + 8, "STORED", 6) == 0;
	check(stored > 0 && stored < 50);
	rig_forget_datagrams(rig);
	for (uint16_t i = 0; i < 50; i++)
		rig_datagram_text(rig, i, "md big I\r\n");
	check(turn_work() <= WORK_PER_TURN_UDP + A_COPY);
	check_eq(rig_datagrams_sent(rig, &sent), 50);
}

TEST(datagrams_have_a_budget_of_their_own)
{
	const struct fake_sent *sent;
	uint64_t work;

	all_ask("stats cachedump 40 0\r\n", 1);
	for (uint16_t i = 0; i < 60; i++)
		rig_datagram_text(rig, i, "stats\r\n");
	rig_datagram_text(rig, 60, "get key3\r\n");
	work = turn_work();
	check(work > WORK_PER_TURN);
	check(work <= WORK_PER_TURN + WORK_PER_TURN_UDP + 2 * STEP);
	check(rig_count(rig, UDP_DROP_NO_MEMORY) > 0);
	check(rig_count(rig, UDP_DROP_NO_MEMORY) < 60);
	check(rig_datagrams_sent(rig, &sent) > 1);
}
