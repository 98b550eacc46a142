/*
 * stats slow. Goal: slow requests are listed, the slowest first, with time, kind, reason, peer
 * and key; a request that was not slow costs no entry; old entries expire, and their places are
 * then open to shorter requests. Method: the log by itself; then the real service over a stack
 * without a network, turns of known length.
 */
#include "support/test.h"
#include "admin/admin.h"
#include "serve/serve_policy.h"
#include "observe/slow_log.h"
#include "unit/backend/late_backend.h"
#include "unit/serve/one_rig.h"

#define US 1000ull
#define MS 1000000ull

/* ---- the log ---- */

static struct slow_log logs[2];
static struct slow_log *const both[] = {&logs[0], NULL, &logs[1]};
static struct slow_list list;

static void
clear(void)
{
	memset(logs, 0, sizeof logs);
	slow_log_begin(&logs[0]);
	slow_log_begin(&logs[1]);
}

static void
put(struct slow_log *log, uint64_t ns, uint64_t end_ns)
{
	const struct slow_request r = {.ns = ns, .end_ns = end_ns, .count = 1};

	if (slow_log_wants(log, ns))
		slow_log_put(log, &r, false);
}

TEST(the_slowest_are_kept_in_order, clear)
{
	for (uint64_t i = 0; i < 1000; i++)
		put(&logs[i % 2], MS + i * 7919 % 1000 * US, i);
	slow_log_list(both, 3, 1000, &list);
	check_eq(list.count, SLOW_LISTED);
	for (uint64_t i = 0; i < SLOW_LISTED; i++)
		check_eq(list.request[i].ns, MS + (999 - i) * US);
}

TEST(what_is_not_slow_is_not_wanted, clear)
{
	check(!slow_log_wants(&logs[0], SLOW_MIN_NS));
	check(slow_log_wants(&logs[0], SLOW_MIN_NS + 1));
	for (uint64_t i = 0; i < SLOW_ENTRIES; i++) {
		check(slow_log_wants(&logs[0], SLOW_MIN_NS + 1));
		put(&logs[0], (2 + i) * MS, i);
	}
	check(!slow_log_wants(&logs[0], 2 * MS));
	check(slow_log_wants(&logs[0], 2 * MS + 1));
}

TEST(an_hour_later_there_is_room, clear)
{
	const uint64_t then = 5 * MS, later = then + SLOW_KEEP_NS;

	for (uint64_t i = 0; i < SLOW_ENTRIES; i++)
		put(&logs[0], 900 * MS, then);
	slow_log_list(both, 3, later, &list);
	check_eq(list.count, SLOW_ENTRIES);
	check_eq(list.request[0].end_ns, SLOW_KEEP_NS);
	put(&logs[0], 2 * MS, later + 1); /* no list was read since */
	slow_log_list(both, 3, later, &list);
	check_eq(list.count, SLOW_ENTRIES);
	slow_log_list(both, 3, later + 1, &list);
	check_eq(list.count, 0);
	put(&logs[0], 2 * MS, later + 1);
	slow_log_list(both, 3, later + 2, &list);
	check_eq(list.count, 1);
	check_eq(list.request[0].ns, 2 * MS);
	check_eq(list.request[0].end_ns, 1);
}

/* A reader took its threshold (least_ns) before the log had filled. */
TEST(what_is_shorter_takes_no_place_of_a_longer_one, clear)
{
	for (uint64_t i = 0; i < SLOW_ENTRIES; i++)
		put(&logs[0], (2 + i) * MS, i);
	atomic_store(&logs[0].least_ns, SLOW_MIN_NS);
	put(&logs[0], MS, SLOW_ENTRIES);
	check(!slow_log_wants(&logs[0], 2 * MS));
	slow_log_list(both, 3, SLOW_ENTRIES, &list);
	check_eq(list.count, SLOW_ENTRIES);
	check_eq(list.request[SLOW_ENTRIES - 1].ns, 2 * MS);
}

TEST(an_open_one_ends_with_its_turn, clear)
{
	const struct slow_request r = {.ns = 3 * MS, .end_ns = 10 * MS, .count = 1};

	slow_log_put(&logs[0], &r, true);
	slow_log_close(&logs[0], 10 * MS, 14 * MS);
	slow_log_close(&logs[0], 14 * MS, 99 * MS);
	slow_log_list(both, 3, 20 * MS, &list);
	check_eq(list.request[0].ns, 7 * MS);
	check_eq(list.request[0].end_ns, 6 * MS);
	check_eq(list.request[0].count, 1);
}

/* ---- the service ---- */

static void
turn_of(uint64_t ns)
{
	rig_turn(rig);
	rig->clock.now_ns += ns;
}

static void
start_clock(void)
{
	start();
	rig->clock.now_ns = MS;
	turn_of(US);
}

static const char *
slow(void)
{
	static char text[1u << 16];
	struct conn *c;

	turn_of(US);
	admin_slow_tick_mt(rig->shared, rig->clock.now_ns);
	c = rig_open(rig);
	rig_receive_text(rig, c, "stats slow\r\n");
	for (uint32_t i = 0; i < 60; i++)
		turn_of(US);
	snprintf(text, sizeof text, "%s", rig_sent(c, NULL));
	rig_lose(rig, c);
	return text;
}

static void
says(const char *stats, const char *row)
{
	if (strstr(stats, row) == NULL)
		fail_msg("no %s in\n%s", row, stats);
}

TEST(a_long_turn_is_there_with_how_many_it_answered, start_clock, stop)
{
	for (uint32_t i = 0; i < 3; i++)
		rig_datagram_text(rig, 1, "get a\r\n");
	rig_datagram_text(rig, 1, "set a 0 0 1\r\nx\r\n");
	turn_of(2500 * US);
	turn_of(90 * MS); /* a turn without requests */
	says(slow(),
	     "STAT 1:took_us 2500.000\r\nSTAT 1:request udp_get_miss\r\nSTAT 1:reason turn\r\n"
	     "STAT 1:stage -\r\nSTAT 1:requests 4\r\nSTAT 1:ago_s 0\r\nSTAT 1:peer -\r\n"
	     "STAT 1:key -\r\nEND\r\n");
}

TEST(the_hosts_turn_and_its_stage_are_shown, start_clock, stop)
{
	struct turn_times times = {.longest_stage = STAGE_EXECUTE, .host_ns = 2 * MS};
	const char *stats;

	serve_turn_times_set(rig->serve, &times);
	rig_datagram_text(rig, 1, "get a\r\n");
	turn_of(2 * MS);
	turn_of(US);
	times = (struct turn_times){.longest_stage = STAGE_COUNT, .host_ns = 2 * MS};
	rig_datagram_text(rig, 1, "get a\r\n");
	turn_of(9 * MS);
	stats = slow();
	says(stats,
	     "STAT 1:took_us 9000.000\r\nSTAT 1:request udp_get_miss\r\nSTAT 1:reason turn\r\n"
	     "STAT 1:stage -\r\n");
	says(stats,
	     "STAT 2:took_us 2000.000\r\nSTAT 2:request udp_get_miss\r\nSTAT 2:reason host\r\n"
	     "STAT 2:stage execute\r\n");
	serve_turn_times_set(rig->serve, NULL);
}

/* A turn answers 20 requests of a connection (-R of the rig). */
TEST(a_late_request_is_there_with_key_and_peer, start_clock, stop)
{
	struct conn *c = rig_open(rig);
	const char *stats;

	for (uint32_t i = 0; i < 30; i++)
		rig_receive_text(rig, c, i < 20 ? "get a\r\n" : "delete b%0\r\n");
	turn_of(400 * US);
	turn_of(US);
	stats = slow();
	says(stats, "STAT 1:took_us 401.000\r\nSTAT 1:request tcp_other\r\nSTAT 1:reason later\r\n"
		    "STAT 1:stage -\r\nSTAT 1:requests 1\r\nSTAT 1:ago_s 0\r\nSTAT 1:peer ");
	says(stats, "STAT 1:key b%250\r\n");
	check(strstr(stats, "STAT 1:peer -") == NULL);
	says(stats, ":took_us 400.000\r\nSTAT 11:request tcp_get_miss\r\nSTAT 11:reason turn\r\n");
}

TEST(one_that_waits_for_the_window_says_so, start_clock, stop)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "get a\r\n");
	rig_set_chunks(rig, 0);
	turn_of(100 * US);
	turn_of(100 * US);
	rig_set_chunks(rig, 100);
	rig_acked(rig, c);
	turn_of(100 * US);
	says(slow(),
	     "STAT 1:took_us 300.000\r\nSTAT 1:request tcp_get_miss\r\nSTAT 1:reason window\r\n");
}

TEST(one_that_waits_for_a_backend_says_so, no_setup)
{
	struct late *late = late_create(&(struct late_config){.seed = 1});
	struct conn *c;
	const char *stats;

	rig = late_rig(late);
	late_turn(late);
	late_hold(late, true);
	c = rig_open(rig);
	rig_receive_text(rig, c, "get s1\r\n");
	rig_datagram_text(rig, 1, "get s6\r\n");
	for (uint32_t i = 0; i < 200; i++)
		late_turn(late);
	late_hold(late, false);
	for (uint32_t i = 0; i < 20; i++)
		late_turn(late);
	rig_lose(rig, c);
	stats = slow();
	says(stats, "STAT 1:reason supplier\r\n");
	says(stats, "STAT 2:reason supplier\r\n");
	says(stats, ":request tcp_");
	says(stats, ":request udp_");
	says(stats, ":key s6\r\n");
	check(strstr(stats, "peer -") == NULL);
	late_destroy(late);
}

/* The bytes of these requests are already freed when their answers arrive. */
TEST(a_write_that_a_backend_did_has_its_key, no_setup)
{
	struct late *late = late_create(&(struct late_config){.seed = 1, .writes = true});
	struct conn *c, *pieces;
	const char *stats;

	rig = late_rig(late);
	late_turn(late);
	late_hold(late, true);
	c = rig_open(rig);
	pieces = rig_open(rig);
	rig_receive_text(rig, c, "delete s1\r\n");
	rig_receive_text(rig, pieces, "set s2 0 0 3\r\nx");
	rig_datagram_text(rig, 1, "delete s3\r\n");
	for (uint32_t i = 0; i < 20; i++)
		late_turn(late);
	rig_receive_text(rig, pieces, "yz\r\n");
	for (uint32_t i = 0; i < 20; i++)
		late_turn(late);
	late_hold(late, false);
	for (uint32_t i = 0; i < 20; i++)
		late_turn(late);
	rig_lose(rig, c);
	rig_lose(rig, pieces);
	stats = slow();
	says(stats, ":key s1\r\n");
	says(stats, ":key s2\r\n");
	says(stats, ":key s3\r\n");
	late_destroy(late);
}

TEST(who_may_see_no_keys_may_not_ask, start_clock, stop)
{
	check_str(slow(), "END\r\n");
	serve_shared_set_policy(rig->shared, &(struct serve_policy){.no_dumps = true});
	check_str(slow(), "CLIENT_ERROR stats cachedump not allowed\r\n");
}
