/*
 * stats latency. Goal: each request is counted once, in the row of its kind, with the time from
 * the turn that received it to the end of the turn that answered it; a request that waited is
 * counted apart, with the reason; figures of the last minute forget what is older. Method: the
 * real service over a stack without a network, turns of known length; figures by the command
 * itself.
 */
#include "support/test.h"
#include "admin/admin.h"
#include "admin/stat_names.h"
#include "base/log_cells.h"
#include "proto/mc_binary.h"
#include "serve/serve_policy.h"
#include "serve/serve_rows.h"
#include "unit/backend/late_backend.h"
#include "unit/serve/one_rig.h"

#include <stdlib.h>

#define US 1000ull

/* Runs a turn of this length. Its answers are in a cell when the next turn begins. */
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
	rig->clock.now_ns = 1000 * US;
	turn_of(US);
}

static const char *
latency(void)
{
	static char text[1u << 16];
	struct conn *c;

	turn_of(US);
	admin_latency_tick_mt(rig->shared, rig->clock.now_ns);
	c = rig_open(rig);
	rig_receive_text(rig, c, "stats latency\r\n");
	for (uint32_t i = 0; i < 60; i++)
		turn_of(US);
	snprintf(text, sizeof text, "%s", rig_sent(c, NULL));
	rig_lose(rig, c);
	return text;
}

static double
figure(const char *stats, const char *row, const char *name)
{
	char text[96];
	const char *at;

	snprintf(text, sizeof text, "STAT %s:%s ", row, name);
	at = strstr(stats, text);
	if (at == NULL)
		fail_msg("no %s in\n%s", text, stats);
	return at == NULL ? -1 : atof(at + strlen(text));
}

struct request {
	const char *bytes, *kind;
	uint32_t len; /* 0: the length of the text */
};

/* Key "a" exists, key "b" does not. */
static const struct request requests[] = {
	{"get a\r\n", "get_hit", 0},
	{"get b\r\n", "get_miss", 0},
	{"gets a\r\n", "get_hit", 0},
	{"gat 0 b\r\n", "get_miss", 0},
	{"mg a v\r\n", "get_hit", 0},
	{"mg b v\r\n", "get_miss", 0},
	{"get a b\r\n", "multiget", 0},
	{"gets b b a\r\n", "multiget", 0},
	{"set a 0 0 1\r\nx\r\n", "set", 0},
	{"add a 0 0 1\r\nx\r\n", "set", 0},
	{"ms a 1\r\nx\r\n", "set", 0},
	{"set c 0 0 1 noreply\r\nx\r\n", "set", 0},
	{"delete c\r\n", "other", 0},
	{"touch a 0\r\n", "other", 0},
	{"version\r\n", "other", 0},
	{"bogus\r\n", "other", 0},
	{"\x80\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0a", "get_hit", 25},
	{"\x80\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0b", "get_miss", 25},
	{"\x80\1\0\1\x8\0\0\0\0\0\0\xa\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0ax", "set", 34},
};

TEST(kinds_are_counted_separately, no_setup)
{
	for (uint32_t i = 0; i < 2 * sizeof requests / sizeof requests[0]; i++) {
		const struct request *q = &requests[i / 2];
		const uint32_t len = q->len != 0 ? q->len : (uint32_t)strlen(q->bytes);
		const char *protocol = i % 2 ? "tcp" : "udp";
		struct conn *c;
		const char *stats;
		char row[32];

		start_clock();
		c = rig_open(rig);
		rig_receive_text(rig, c, "set a 0 0 1\r\nx\r\n");
		turn_of(US);
		if (i % 2) {
			rig_lose(rig, c);
			c = rig_open(rig);
			rig_receive(rig, c, q->bytes, len);
		} else {
			rig_datagram(rig, 1, 1, q->bytes, len);
		}
		turn_of(US);
		snprintf(row, sizeof row, "%s_%s", protocol, q->kind);
		stats = latency();
		for (uint32_t k = 0; k < latency_row_count; k++) {
			const char *name = latency_row_names[k];
			const double want = (strcmp(name, row) == 0) +
					    (strcmp(name, "tcp_set") == 0),
				     found = figure(stats, name, "count");

			if (strcmp(name, "tcp_other") == 0)
				check(found >= want);
			else if (found != want)
				fail_msg("%s: %s has %g, not %g", q->bytes, name, found, want);
		}
		stop();
	}
}

TEST(the_time_is_that_of_the_turn, no_setup)
{
	static const uint64_t lengths[] = {700, 4200, 18 * US, 250 * US, 3000 * US};

	for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		const double us = (double)lengths[i] / 1000;
		const char *stats;

		start_clock();
		for (uint32_t n = 0; n < 3; n++)
			rig_datagram_text(rig, 1, "get a\r\n");
		turn_of(lengths[i]);
		stats = latency();
		check(figure(stats, "udp_get_miss", "count") == 3);
		check(figure(stats, "udp_get_miss", "max_us") == us);
		check(figure(stats, "udp_get_miss", "p50_us") >= us * 31 / 32 - 0.016);
		check(figure(stats, "udp_get_miss", "p50_us") <= us);
		check(figure(stats, "udp_get_miss", "minute_p99_us") <= us);
		stop();
	}
}

/* A turn answers 20 requests of a connection (-R of the rig): each
 * further 20 are a turn later. */
TEST(what_is_left_for_later_turns_is_late, start_clock, stop)
{
	struct conn *c = rig_open(rig);
	const char *stats;

	for (uint32_t i = 0; i < 50; i++)
		rig_receive_text(rig, c, i % 10 == 9 ? "get a b\r\n" : "get a\r\n");
	for (uint32_t i = 0; i < 3; i++)
		turn_of(100 * US);
	stats = latency();
	check(figure(stats, "tcp_get_miss", "count") == 45);
	check(figure(stats, "tcp_multiget", "count") == 5);
	check(figure(stats, "tcp_get_miss", "max_us") == 300);
	check(figure(stats, "tcp_get_miss", "p50_us") >= 200 * 31 / 32);
	check(figure(stats, "tcp_get_miss", "p50_us") <= 200 * 33 / 32);
	check(figure(stats, "waited_window", "count") == 0);
}

TEST(kept_datagrams_are_late, start_clock, stop)
{
	const char *stats;
	char text[1400] = "";

	for (uint32_t i = 0; i < 100; i++)
		strcat(text, "get k\r\n");
	for (uint32_t i = 0; i < 6; i++)
		rig_datagram_text(rig, (uint16_t)i, text);
	rig_datagram_text(rig, 7, "set z 0 0 1\r\nx\r\n");
	rig_datagram_text(rig, 8, "get z\r\n");
	for (uint32_t i = 0; i < 30; i++)
		turn_of(50 * US);
	stats = latency();
	check(figure(stats, "udp_get_miss", "count") == 600);
	check(figure(stats, "udp_set", "count") == 1);
	check(figure(stats, "udp_set", "max_us") >= 100);
	check(figure(stats, "udp_get_hit", "count") == 1);
	check(figure(stats, "udp_get_hit", "max_us") >= 100);
	check(figure(stats, "udp_get_miss", "max_us") >= 100);
	check(figure(stats, "waited_supplier", "count") == 0);
}

/* The peer does not read: its replies fill the queue, and requests behind them stay unread. */
TEST(requests_that_wait_for_the_peers_window_are_apart, start_clock, stop)
{
	struct conn *c = rig_open(rig);
	const char *stats;

	rig_receive_text(rig, c, "get a\r\n");
	rig_set_chunks(rig, 0);
	turn_of(100 * US);
	turn_of(100 * US);
	rig_set_chunks(rig, 100);
	rig_acked(rig, c);
	turn_of(100 * US);
	stats = latency();
	check(figure(stats, "tcp_get_miss", "count") == 0);
	check(figure(stats, "waited_window", "count") == 1);
	check(figure(stats, "waited_window", "max_us") == 300);
}

/* Returns a rig whose backend answers nothing until late_answers(). */
static struct late *
late_begin(struct late_config config)
{
	struct late *late = late_create(&config);

	rig = late_rig(late);
	late_turn(late);
	late_hold(late, true);
	return late;
}

static void
late_answers(struct late *late)
{
	for (uint32_t i = 0; i < 5; i++)
		late_turn(late);
	late_hold(late, false);
	for (uint32_t i = 0; i < 20; i++)
		late_turn(late);
}

TEST(requests_that_wait_for_a_backend_are_apart, no_setup)
{
	struct late *late = late_begin((struct late_config){.seed = 1});
	struct conn *c = rig_open(rig);
	const char *stats;

	rig_receive_text(rig, c, "get s1\r\nget s2 s3\r\nmg s4 v\r\nversion\r\n");
	rig_datagram_text(rig, 1, "get s6\r\n");
	late_answers(late);
	check_ptr(strstr(rig_sent(c, NULL), "VERSION"));
	rig_lose(rig, c);
	stats = latency();
	check(figure(stats, "udp_get_hit", "count") + figure(stats, "udp_get_miss", "count") == 0);
	check(figure(stats, "tcp_get_hit", "count") + figure(stats, "tcp_get_miss", "count") == 0);
	check(figure(stats, "tcp_multiget", "count") == 0);
	check(figure(stats, "waited_supplier", "count") >= 4); /* and the requests behind them */
	check(figure(stats, "waited_supplier", "count") <= 5);
	check(figure(stats, "waited_supplier", "max_us") >= 5 * LATE_TURN_NS / 1000);
	late_destroy(late);
}

/* No request is answered while the key is requested again. */
TEST(a_datagram_whose_key_is_asked_for_again_is_counted_once, no_setup)
{
	struct late *late = late_begin((struct late_config){
		.seed = 1, .flash = true, .thrashes = true, .misses_on_failure = true});
	const char *stats;

	late_put(late, 1);
	late_evict(late, 1);
	rig_datagram_text(rig, 1, "incr l1 1\r\n");
	late_answers(late);
	stats = latency();
	check_eq(rig_count(rig, AWAITS_AGAIN), PENDING_TIMES_MAX - 1);
	check(figure(stats, "udp_other", "count") == 0);
	check(figure(stats, "waited_supplier", "count") == 1);
	late_destroy(late);
}

TEST(writes_of_a_backend_are_counted_when_they_complete, no_setup)
{
	struct late *late = late_begin((struct late_config){.seed = 1, .writes = true});
	struct conn *c = rig_open(rig);
	const char *stats;

	rig_receive_text(rig, c, "set s1 0 0 1\r\nx\r\n");
	rig_datagram_text(rig, 1, "set s2 0 0 1\r\nx\r\n");
	rig_datagram_text(rig, 2, "delete s3\r\n");
	late_answers(late);
	rig_lose(rig, c);
	stats = latency();
	check(figure(stats, "udp_set", "count") + figure(stats, "udp_other", "count") == 0);
	check(figure(stats, "tcp_set", "count") == 0);
	check(figure(stats, "waited_supplier", "count") == 3);
	check(figure(stats, "waited_supplier", "p50_us") >= 5 * LATE_TURN_NS / 1000 * 31 / 32);
	late_destroy(late);
}

static uint32_t
length_of(const struct request *q)
{
	return q->len != 0 ? q->len : (uint32_t)strlen(q->bytes);
}

static double
counted(const char *stats)
{
	double all = 0;

	for (uint32_t k = 0; k < latency_row_count; k++)
		all += figure(stats, latency_row_names[k], "count");
	return all;
}

#define LARGE 20000u

/* Requests behind a large value are put off with it. */
TEST(large_values_that_wait_are_counted_once, no_setup)
{
	static const struct request lines[] = {
		{"get big\r\n", "1", 0},
		{"mg big v\r\n", "1", 0},
		{"get big b\r\n", "1", 0},
		{"get b big\r\n", "1", 0},
		{"get big big\r\n", "1", 0},
		{"get big\r\nget b\r\nmg b v\r\n", "3", 0},
		{"mg big v\r\nmn\r\n", "2", 0},
		{"gat 0 big\r\ntouch big 0\r\n", "2", 0},
		{"\x80\0\0\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0big", "1", 27},
	};
	static char value[LARGE + 64];
	const int head = sprintf(value, "set big 0 0 %u\r\n", LARGE);

	memset(value + head, 'x', LARGE);
	memcpy(value + head + LARGE, "\r\n", 2);
	for (uint32_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		const char *stats;
		struct conn *c;

		start_clock();
		c = rig_open(rig);
		rig_receive(rig, c, value, (uint32_t)head + LARGE + 2);
		turn_of(US);
		rig_lose(rig, c);
		c = rig_open(rig);
		rig_set_pieces(rig, 0);
		rig_receive(rig, c, lines[i].bytes, length_of(&lines[i]));
		turn_of(100 * US);
		turn_of(100 * US);
		rig_set_pieces(rig, 4096);
		for (uint32_t n = 0; n < 4; n++) {
			rig_acked(rig, c);
			turn_of(100 * US);
		}
		rig_eof(rig, c); /* an end of file is no request */
		turn_of(US);
		rig_lose(rig, c);
		stats = latency();
		if (counted(stats) != 1 + atof(lines[i].kind))
			fail_msg("%s: %s", lines[i].bytes, stats);
		check(figure(stats, "waited_window", "max_us") == 300);
		stop();
	}
}

/* Requests to the backend, with the errors of lines that end early, and with requests that are
 * put off behind a pending line. */
static const struct request awaited[] = {
	{"get s1 f1 s2\r\n", "", 0},
	{"get f1 s1\r\n", "", 0},
	{"gat 0 s1 s2\r\n", "", 0},
	{"gat 0 s1 f1 s2\r\n", "", 0},
	{"set s1 0 0 1\r\nxyz", "", 0},
	{"get s1\r\nset l1 0 0 1\r\nx\r\n", "", 0},
	{"get s1 s2\r\nappend l1 0 0 1\r\nx\r\n", "", 0},
	{"incr l1 1\r\nincr l2 1\r\n", "", 0},
	{"mg l1 v t\r\nme l1\r\nmg l2 T0 v\r\n", "", 0},
	{"delete s1\r\nget s1 s1 s1\r\nmd s1 q\r\n", "", 0},
	{"\x80\x0d\0\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0s5", "", 26},
};

TEST(what_a_backend_is_asked_for_is_counted_once, no_setup)
{
	static const struct late_config configs[] = {
		{.seed = 1, .writes = true},
		{.seed = 1, .writes = true, .misses_on_failure = true},
		{.seed = 1},
		{.seed = 1, .flash = true, .misses_on_failure = true},
	};

	for (uint32_t i = 0; i < 8 * sizeof awaited / sizeof awaited[0]; i++) {
		const struct request *q = &awaited[i / 8];
		struct late *late = late_begin(configs[i % 4]);
		struct conn *c = rig_open(rig);
		uint64_t want;
		double found;

		for (uint32_t n = 1; n < 3 && i % 4 == 3; n++) {
			late_put(late, n);
			late_evict(late, n);
		}
		if (i / 4 % 2)
			rig_receive(rig, c, q->bytes, length_of(q));
		else
			rig_datagram(rig, 1, 1, q->bytes, length_of(q));
		late_answers(late);
		rig_lose(rig, c);
		want = rig_count(rig, REQ_TCP) + rig_count(rig, REQ_UDP);
		found = counted(latency());
		if (found != (double)want)
			fail_msg("%u: %s: %g, not %llu", i % 8, q->bytes, found,
				 (unsigned long long)want);
		late_destroy(late);
	}
}

/* A write's time begins when it arrives, also if it has waited for an
 * earlier write of its key. */
TEST(a_write_is_here_from_when_it_came, no_setup)
{
	struct late *late = late_begin((struct late_config){.seed = 1, .writes = true});
	struct conn *c = rig_open(rig);
	const char *stats;

	rig_receive_text(rig, c, "set s1 0 0 1\r\nx\r\nset s1 0 0 1\r\nx\r\ndelete s1\r\n");
	late_answers(late);
	rig_lose(rig, c);
	stats = latency();
	check(figure(stats, "waited_supplier", "count") == 3);
	/* The shorter requests have waited longer. */
	check(figure(stats, "waited_supplier", "p50_us") >= 6 * LATE_TURN_NS / 1000 * 31 / 32);
	check(figure(stats, "waited_supplier", "max_us") >= 8 * LATE_TURN_NS / 1000);
	late_destroy(late);
}

/* The second write arrives five turns after the first. */
TEST(each_write_of_a_pipeline_is_here_from_when_it_came, no_setup)
{
	struct late *late = late_begin((struct late_config){.seed = 1, .writes = true});
	struct conn *c = rig_open(rig);
	const char *stats;

	rig_receive_text(rig, c, "set s1 0 0 1\r\nx\r\n");
	for (uint32_t i = 0; i < 5; i++)
		late_turn(late);
	rig_receive_text(rig, c, "set s2 0 0 1\r\nx\r\n");
	late_answers(late);
	rig_lose(rig, c);
	stats = latency();
	check(figure(stats, "waited_supplier", "count") == 2);
	check(figure(stats, "waited_supplier", "p50_us") < 8 * LATE_TURN_NS / 1000);
	check(figure(stats, "waited_supplier", "max_us") >= 10 * LATE_TURN_NS / 1000);
	late_destroy(late);
}

TEST(the_last_minute_forgets, start_clock, stop)
{
	const char *stats;

	for (uint32_t s = 0; s < 200; s++) {
		rig_datagram_text(rig, 1, "get a\r\n");
		turn_of(s < 100 ? 500 * US : 5 * US);
		turn_of(1000000 * US);
		admin_latency_tick_mt(rig->shared, rig->clock.now_ns);
	}
	stats = latency();
	check(figure(stats, "udp_get_miss", "count") == 200);
	check(figure(stats, "udp_get_miss", "p99_us") > 480);
	check(figure(stats, "udp_get_miss", "max_us") == 500);
	check(figure(stats, "udp_get_miss", "minute_count") >= 60);
	check(figure(stats, "udp_get_miss", "minute_count") <= 72);
	check(figure(stats, "udp_get_miss", "minute_p99_us") < 5.2);
	check(figure(stats, "udp_get_miss", "minute_max_us") < 5.2);
}

/* Returns the reply to the command. One of 128 operations is sampled, so a test sends enough
 * requests for each key to be sampled. */
static const char *
hotkeys(const char *command)
{
	static char text[1u << 16];
	struct conn *c;

	turn_of(US);
	admin_hotkeys_tick_mt(rig->shared, rig->clock.now_ns);
	c = rig_open(rig);
	rig_receive_text(rig, c, command);
	for (uint32_t i = 0; i < 60; i++)
		turn_of(US);
	snprintf(text, sizeof text, "%s", rig_sent(c, NULL));
	rig_lose(rig, c);
	return text;
}

static bool
row_of_front(void *arg, uint32_t n, struct serve_row *row)
{
	*row = (struct serve_row){.name = "mode", .of = SERVE_ROW_OF_ALL, .number = 1};
	return n == 0;
}

/* Checks the keys a and b of the test below. */
static void
a_front_names_hot_keys(void)
{
	const struct serve_rows rows = {.mode = BACKEND_WRITES, .row = row_of_front};
	const char *top;

	serve_rows_attach(rig->serve, &rows);
	top = hotkeys("stats front\r\n");
	check_bytes(top, "STAT mode 1\r\nSTAT top_key_1 0.", 30);
	check_bytes(strchr(top + 30, ' '), " a\r\nSTAT top_key_2 0.", 21);
	check_ptr(strstr(top, " b%0D%0A\r\nEND\r\n"));
	serve_shared_set_policy(rig->shared, &(struct serve_policy){.no_dumps = true});
	check_str(hotkeys("stats front\r\n"), "STAT mode 1\r\nEND\r\n");
}

TEST(hot_and_big_keys_are_named, start_clock, stop)
{
	static char set[9000];
	struct conn *c = rig_open(rig);
	const char *stats;
	int head;

	check_str(hotkeys("stats hotkeys\r\n"), "END\r\n");
	rig_receive_text(rig, c, "set a 0 0 5\r\nvalue\r\n");
	turn_of(US);
	head = sprintf(set, "set large 0 0 8000\r\n");
	memset(set + head, 'x', 8000);
	memcpy(set + head + 8000, "\r\n", 2);
	rig_receive(rig, c, set, (uint32_t)head + 1000);
	turn_of(US);
	rig_receive(rig, c, set + head + 1000, 7002);
	turn_of(US);
	for (uint32_t i = 0; i < 8000; i++) {
		rig_datagram_text(rig, 1, i % 4 != 0 ? "get a\r\n" : "mg Yg0K b v\r\n");
		turn_of(1000 * US);
	}
	stats = hotkeys("stats hotkeys\r\n");
	check_ptr(strstr(stats, "STAT 1:key a\r\nSTAT 1:rate "));
	check_ptr(strstr(stats, "STAT 1:size 5\r\nSTAT 2:key b%0D%0A\r\n"));
	check_ptr(strstr(stats,
			 "STAT big_1:key large\r\nSTAT big_1:size 8000\r\nSTAT big_1:uses 1\r\n"));
	check(atof(strstr(stats, "1:share ") + 8) > 0.5 &&
	      atof(strstr(stats, "1:share ") + 8) < 0.99);
	check(atof(strstr(stats, "1:rate ") + 7) > 300 &&
	      atof(strstr(stats, "1:rate ") + 7) < 1500);
	a_front_names_hot_keys();
	check_str(hotkeys("stats hotkeys\r\n"), "CLIENT_ERROR stats cachedump not allowed\r\n");
}
