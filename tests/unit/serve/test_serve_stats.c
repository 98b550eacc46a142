/*
 * stats. Goal: what monitors read is there, true, and within the 4096 bytes collectd reads; reset
 * resets, and an unknown word is an error. Method: known requests, then the reply by name.
 */
#include "support/test.h"
#include "fake_stack.h"

static struct rig *rig;

static int
start(void **state)
{
	rig = rig_create();
	return 0;
}

static int
stop(void **state)
{
	rig_destroy(rig);
	return 0;
}

static const char *
answer(const char *in)
{
	static char text[8192];
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, in);
	rig_turn(rig);
	snprintf(text, sizeof text, "%s", rig_sent(c, NULL));
	rig_lose(rig, c);
	return text;
}

static void
row_is(const char *stats, const char *name, const char *value)
{
	char row[128];

	snprintf(row, sizeof row, "STAT %s %s\r\n", name, value);
	if (strstr(stats, row) == NULL)
		fail_msg("no \"STAT %s %s\" in\n%s", name, value, stats);
}

static void
what_happened_is_counted(void **state)
{
	const char *const rows[][2] = {
		{"pid", "77"},
		{"uptime", "100"},
		{"time", "1700000000"},
		{"version", "9.8.7"},
		{"pointer_size", "64"},
		{"max_connections", "8"},
		{"cmd_get", "3"},
		{"get_hits", "2"},
		{"get_misses", "1"},
		{"cmd_set", "4"},
		{"cmd_flush", "0"},
		{"cmd_touch", "2"},
		{"touch_hits", "1"},
		{"touch_misses", "1"},
		{"delete_hits", "1"},
		{"delete_misses", "1"},
		{"incr_hits", "1"},
		{"incr_misses", "1"},
		{"decr_hits", "1"},
		{"decr_misses", "1"},
		{"cas_hits", "0"},
		{"cas_badval", "1"},
		{"cas_misses", "1"},
		{"curr_items", "1"},
		{"threads", "1"},
		{"accepting_conns", "1"},
		{"total_connections", "2"},
		{"curr_connections", "1"},
	};
	const char *stats;

	answer("set a 0 0 1\r\n5\r\nset b 0 0 1\r\nx\r\nget a b c\r\ndelete b\r\ndelete b\r\n"
	       "incr a 1\r\nincr b 1\r\ndecr a 1\r\ndecr b 1\r\ncas a 0 0 1 0\r\n5\r\n"
	       "cas b 0 0 1 0\r\n5\r\ntouch a 0\r\ngat 0 b\r\n");
	stats = answer("stats\r\n");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		row_is(stats, rows[i][0], rows[i][1]);
	check_str(stats + strlen(stats) - 7, "\r\nEND\r\n");
	check(strlen(stats) < 4096);
}

static void
reset_starts_the_counting_anew(void **state)
{
	const char *stats;

	answer("set a 0 0 1\r\n5\r\nget a\r\n");
	check_str(answer("stats reset\r\n"), "RESET\r\n");
	stats = answer("stats\r\n");
	row_is(stats, "cmd_get", "0");
	row_is(stats, "get_hits", "0");
	row_is(stats, "total_items", "0");
	row_is(stats, "curr_items", "1");
	answer("get a\r\n");
	row_is(answer("stats\r\n"), "get_hits", "1");
}

static void
settings_are_shown_and_unknown_words_refused(void **state)
{
	row_is(answer("stats settings\r\n"), "tcpport", "11211");
	check_str(answer("stats bogus\r\n"), "ERROR\r\n");
	check_str(answer("stats rese\r\n"), "ERROR\r\n");
	check_str(answer("stats resett\r\n"), "ERROR\r\n");
}

static void
stats_over_udp_is_one_message(void **state)
{
	const struct fake_sent *sent;
	uint32_t count;

	rig_datagram_text(rig, 0x1234, "stats\r\n");
	rig_turn(rig);
	count = rig_datagrams_sent(rig, &sent);
	check_eq(count, 2);
	for (uint32_t i = 0; i < count; i++) {
		check_eq(sent[i].bytes[3], i);
		check_eq(sent[i].bytes[5], count);
	}
	check_bytes(sent[count - 1].bytes + sent[count - 1].len - 7, "\r\nEND\r\n", 7);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(what_happened_is_counted),
		TEST(reset_starts_the_counting_anew),
		TEST(settings_are_shown_and_unknown_words_refused),
		TEST(stats_over_udp_is_one_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
