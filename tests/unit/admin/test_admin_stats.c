/*
 * stats. Goal: the rows that monitors read are there, true, and within STATS_BYTES_MAX;
 * each name is one that STATS.md lists; reset resets, and an unknown word is an error.
 * Method: known requests, then the reply by name; two cores where sums are shown.
 */
#include "support/test.h"
#include "counter_lists.h"
#include "unit/serve/one_rig.h"
#include "serve/serve_shared.h"
#include "serve/serve_policy.h"
#include "admin/stat_names.h"
#include "base/time_units.h"
#include "flash/flash_stats.h"
#include "front/front_stats.h"
#include "observe/hot_keys.h"
#include "observe/slow_log.h"
#include "serve/serve_rows.h"

#include <stdlib.h>

static const char *
answer(const char *in)
{
	static char text[1u << 18];
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, in);
	for (uint32_t i = 0; i < 60; i++)
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

TEST(what_happened_is_counted)
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
	check(strlen(stats) < STATS_BYTES_MAX);
}

TEST(reset_starts_the_counting_anew)
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

TEST(the_age_of_certificates_is_shown_with_tls_alone)
{
	check(strstr(answer("stats\r\n"), "time_since_server_cert_refresh") == NULL);
	rig->shared->info.tls = true;
	rig->clock.now_ns += 90 * NS_PER_S;
	serve_certs_read_mt(rig->shared, 0, true, rig->clock.now_ns);
	rig->clock.now_ns += 7 * NS_PER_S;
	serve_certs_read_mt(rig->shared, 0, false, rig->clock.now_ns);
	row_is(answer("stats\r\n"), "time_since_server_cert_refresh", "7");
}

TEST(what_the_stack_counts_is_shown)
{
	const char *stats;

	rig_stack_count(rig, RX_BYTES, 12345);
	rig_stack_count(rig, TCP_REFUSED_CONNS_MAX, 3);
	rig_stack_count(rig, TCP_DROP_RX_FRAMES_MAX, 4);
	stats = answer("stats\r\n");
	row_is(stats, "bytes_read", "12345");
	row_is(stats, "bytes_written", "0");
	row_is(stats, "rejected_connections", "3");
	row_is(stats, "read_buf_oom", "4");
	answer("stats reset\r\n");
	rig_stack_count(rig, RX_BYTES, 5);
	stats = answer("stats\r\n");
	row_is(stats, "bytes_read", "5");
	row_is(stats, "rejected_connections", "0");
}

/* A reset also forgets the longest turn: the maximum after it is the
 * bound of a histogram cell. */
TEST(turns_are_counted_since_the_last_reset)
{
	static const char *const names[] = {
		"turn_p50_us",     "turn_p99_us",      "turn_p9999_us",        "turn_max_us",
		"turns_over_50us", "turns_over_100us", "turns_over_100us_host"};
	static const char *const rows[3][7] = {
		{"1", "229", "300", "300", "2", "2", "1"},
		{"0", "0", "0", "0", "0", "0", "0"},
		{"82", "82", "82", "82", "1", "0", "0"},
	};
	static struct turn_times times;

	times = (struct turn_times){.host_ns = 150000};
	serve_turn_times_set(rig->serve, &times);
	for (uint32_t i = 0; i < 100; i++)
		turn_times_add(&times, i);
	turn_times_add(&times, 200000);
	turn_times_add(&times, 300000);
	for (uint32_t i = 0; i < 3; i++) {
		const char *stats = answer("stats\r\n");

		for (uint32_t k = 0; k < 7; k++)
			row_is(stats, names[k], rows[i][k]);
		if (i == 0)
			answer("stats reset\r\n");
		else
			turn_times_add(&times, 70000);
	}
}

TEST(settings_are_shown_and_unknown_words_refused)
{
	row_is(answer("stats settings\r\n"), "tcpport", "11211");
	check_str(answer("stats bogus\r\n"), "ERROR\r\n");
	check_str(answer("stats rese\r\n"), "ERROR\r\n");
	check_str(answer("stats resett\r\n"), "ERROR\r\n");
}

TEST(stats_over_udp_is_one_message)
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

/* ---- names ---- */

/* Rows of our own stand between two of memcached's. */
static const struct {
	const char *command, *after, *before;
	const struct stat_name *names;
	const uint32_t *count;
} lists[] = {
	{"stats", "direct_reclaims", "lru_bumps_dropped", stats_names, &stats_name_count},
	{"stats settings", "num_threads_per_udp", "stat_key_prefix", settings_names,
	 &settings_name_count},
	{"stats items", NULL, NULL, items_names, &items_name_count},
	{"stats slabs", NULL, NULL, slabs_names, &slabs_name_count},
};

static const char *document_path;

static int
say_names(char *out, const struct stat_name *names, uint32_t count)
{
	int len = 0, column = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (column + strlen(names[i].name) > 96)
			column = 0, len += sprintf(out + len, "\n");
		const char *end = stpcpy(stpcpy(out + len, column == 0 ? "" : " "), names[i].name);

		column += (int)(end - out) - len;
		len = (int)(end - out);
	}
	return len;
}

static int
say_words(char *out, const char *const *names, uint32_t count)
{
	struct stat_name list[64] = {{0}};

	check(count <= 64);
	for (uint32_t i = 0; i < count; i++)
		list[i].name = names[i];
	return say_names(out, list, count);
}

/* Writes the names of our own in a list, if it has any. */
static int
own_names_say(char *out, size_t which)
{
	const struct stat_name *names = lists[which].names;
	const uint32_t count = *lists[which].count;
	uint32_t first = 0, last;
	int len;

	if (lists[which].after == NULL)
		return 0;
	while (strcmp(names[first++].name, lists[which].after) != 0)
		check(first < count);
	for (last = first; strcmp(names[last].name, lists[which].before) != 0; last++)
		check(last + 1 < count);
	len = sprintf(out, "\n## %s\n\nOur own, before `%s`:\n\n", lists[which].command,
		      lists[which].before);
	len += say_names(out + len, names + first, last - first);
	return len + sprintf(out + len, "\n");
}

/* True if a list of counters, with their words, has the row. */
static bool
is_counter(const char *row)
{
	char name[64];

	for (size_t i = 0; i < COUNTER_LISTS; i++)
		for (uint32_t n = 0; n < counter_lists[i].count; n++) {
			counter_row_name(name, counter_lists[i].names[n].symbol);
			if (strcmp(name, row) == 0)
				return true;
		}
	return false;
}

/* Writes the rows of stats extstore that no list of counters has. */
static int
extstore_say(char *out)
{
	const char *names[64];
	uint32_t count = 0;

	check(flash_extstore_count <= 64);
	for (uint32_t i = 0; i < flash_extstore_count; i++)
		if (!is_counter(flash_extstore_names[i]))
			names[count++] = flash_extstore_names[i];
	return say_words(out, names, count);
}

static int
gauges_say(char *out, enum telemetry_kind kind)
{
	int len = 0;

	if (kind == TELEMETRY_NET)
		len = say_words(out, net_gauge_names, net_gauge_count);
	else if (kind == TELEMETRY_STACK)
		len = say_words(out, stack_gauge_names, stack_gauge_count);
	else
		return 0;
	return len + sprintf(out + len, "\n\n");
}

/* Writes the rows of a list of counters. Neighbours with the same words share a row, as
 * prefix_{a,b}. */
static int
list_say(char *out, const struct counter_name *names, uint32_t count)
{
	int len = 0;

	for (uint32_t n = 0, next; n < count; n = next) {
		char first[64], name[64];

		for (next = n + 1; next < count && strcmp(names[n].words, names[next].words) == 0;)
			next++;
		counter_row_name(first, names[n].symbol);
		const int shared = next == n + 1 ? 0 : (int)(strrchr(first, '_') + 1 - first);

		len += sprintf(out + len, "%.*s%s%s", shared, first, shared == 0 ? "" : "{",
			       first + shared);
		for (uint32_t k = n + 1; k < next; k++) {
			counter_row_name(name, names[k].symbol);
			len += sprintf(out + len, ",%s", name + shared);
		}
		len += sprintf(out + len, "%s: %s\n", shared == 0 ? "" : "}", names[n].words);
	}
	return len;
}

/* Writes the counters of all rooms, in the order of their lists. */
static void
counters_say(char *out)
{
	static const enum telemetry_kind order[] = {TELEMETRY_NET, TELEMETRY_STACK, TELEMETRY_CORES,
						    TELEMETRY_COUNTERS};
	int len = 0;

	for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
		len += sprintf(out + len, "\n## %s\n\n%s.\n\n", counter_replies[order[k]].command,
			       counter_replies[order[k]].words);
		len += gauges_say(out + len, order[k]);
		len += sprintf(out + len, "```\n");
		for (size_t i = 0; i < COUNTER_LISTS; i++)
			if (counter_lists[i].kind == order[k])
				len += list_say(out + len, counter_lists[i].names,
						counter_lists[i].count);
		len += sprintf(out + len, "```\n");
	}
}

static void
latency_say(char *out)
{
	int len = sprintf(out,
			  "\n## stats latency\n\nThe residence of requests: from the turn "
			  "that took the frame from the NIC to the end of the turn\nthat "
			  "gave the reply to it. In us, over all cores, computed once a second. "
			  "`waited_` rows are requests\nthat waited for memory, for the client's "
			  "window, or for a backend (servers or flash). For each of\n\n");

	len += say_words(out + len, latency_row_names, latency_row_count);
	len += sprintf(out + len, "\n\n`<row>:` and, since start and in the last minute,\n\n");
	len += say_words(out + len, latency_figure_names, latency_figure_count);
	sprintf(out + len, "\n");
}

static void
hotkeys_say(char *out)
{
	int len = sprintf(out,
			  "\n## stats hotkeys\n\nThe keys read and written most in the last "
			  "half minute, on all cores. One of 128 operations is\nsampled; the "
			  "list is computed once a second. %u keys in order, `<n>:` and\n\n",
			  HOT_LISTED);

	len += say_words(out + len, hotkeys_hot_names, hotkeys_hot_count);
	len += sprintf(out + len,
		       "\n\nwith operations a second, the share of all operations and the bytes "
		       "of the value. Then the %u keys\nwith the largest values (1,024 bytes or "
		       "more) used in the last ten minutes, `big_<n>:` and\n\n",
		       HOT_LISTED);
	len += say_words(out + len, hotkeys_big_names, hotkeys_big_count);
	sprintf(out + len, "\n");
}

static __attribute__((noinline)) void
slow_say(char *out)
{
	int len = sprintf(out,
			  "\n## stats slow\n\nThe %u requests of the last hour with the "
			  "longest residence above %llu us, on all cores, computed\nonce a "
			  "second. In order, `<n>:` and\n\n",
			  SLOW_LISTED, SLOW_MIN_NS / 1000);

	len += say_words(out + len, slow_names, slow_name_count);
	sprintf(out + len, "\n\n`reason` is what the request waited for: memory, window (of its "
			   "client), supplier (a backend: servers\nor flash), or later (more "
			   "requests had come than a turn answers). With reason turn, or host if "
			   "the core\nwaited for its CPU, the row stands for all `requests` of one "
			   "long turn, most of which were `request`;\n`stage` is that turn's "
			   "longest stage if it was timed: one turn in many is, and those after a "
			   "long one.\n");
}

static const char *
document(void)
{
	static char out[1u << 16];
	int len = sprintf(out,
			  "# Rows of stats\n\n"
			  "`stats`, `stats settings`, `stats items` and `stats slabs` have "
			  "memcached's rows in its order; its\nprotocol.txt describes them. Rows "
			  "of mechanisms that do not exist here are 0 or none. `stats net`,\n"
			  "`stack`, `cores` and `counters` count since start; `stats reset` does "
			  "not clear them. The program's\ntables make this page; a test compares "
			  "them.\n");

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		len += own_names_say(out + len, i);
	len += sprintf(out + len,
		       "\n## stats front\n\nWith --front-servers. For each server `<server>:` "
		       "and\n\n");
	len += say_words(out + len, front_stats_names, front_stats_name_count);
	len += sprintf(out + len, "\n\nfor all servers\n\n");
	len += say_words(out + len, front_fleet_names, front_fleet_name_count);
	len += sprintf(
		out + len,
		"\n\nand, without -X, `top_key_<n>`: share and key of each key of `stats "
		"hotkeys`.\n\n## stats extstore\n\nWith a second tier on flash (--flash-device). "
		"`stats` ends with\n\n");
	len += say_words(out + len, flash_stat_names, flash_stat_count);
	len += sprintf(out + len,
		       "\n\nand `stats extstore` has many of `stats counters` since the last "
		       "`stats reset`, and these; a page is a\nsegment of 2 MiB:\n\n");
	len += extstore_say(out + len);
	len += sprintf(out + len, "\n");
	latency_say(out + len);
	len += (int)strlen(out + len);
	hotkeys_say(out + len);
	len += (int)strlen(out + len);
	slow_say(out + len);
	len += (int)strlen(out + len);
	len += sprintf(out + len, "\n## stats sources\n\nThe ten sources with the most TCP "
				  "connections, in order, `<n>:` and\n\n");
	len += say_words(out + len, source_stat_names, source_stat_count);
	len += sprintf(out + len, "\n\nA source is an IPv4 address, the /64 of an IPv6 address, or "
				  "a link-local address. With more than about\na thousand sources "
				  "`conns` is at most `error` too high. Not over UDP.\n");
	counters_say(out + len);
	return out;
}

TEST(the_document_lists_what_is_shown, no_setup)
{
	static char text[1u << 16];
	FILE *f = fopen(document_path, "r");

	check_ptr(f);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	check_str(text, document());
}

TEST(every_name_is_shown_once_in_its_order)
{
	rig->shared->info.tls = true;
	answer("set a 0 0 1\r\n5\r\n");
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		char line[64];
		const char *at;

		snprintf(line, sizeof line, "%s\r\n", lists[i].command);
		at = answer(line);
		for (uint32_t k = 0; k < *lists[i].count; k++) {
			const char *name = lists[i].names[k].name;
			const size_t len = strlen(name);

			check_bytes(at, "STAT ", 5);
			at += 5;
			if (i >= 2) /* the class, or "items:" and the class */
				at += strcspn(at, "1") + 2;
			check_bytes(at, name, len);
			check_eq(at[len], ' ');
			if (lists[i].names[k].unsupported)
				check(at[len + 1] == '0' || strncmp(at + len + 1, "none", 4) == 0);
			at = strstr(at, "\r\n") + 2;
		}
		check_bytes(at, i == 3 ? "STAT active_slabs 1\r\n" : "END\r\n", 5);
	}
}

/* ---- the longest reply ---- */

#define COUNTER_DIGITS    16u /* three years at 100 million a second */
#define BYTES_READ_DIGITS 19u /* three years at 100 Gbit/s */
#define MEMORY_DIGITS     14u /* 99 TB */

/* The longest values of rows that are no counters. */
static const struct {
	const char *name;
	uint32_t bytes;
} longest_values[] = {
	{"pid", 7},
	{"uptime", 9},
	{"time", 10},
	{"version", 16},
	{"pointer_size", 2},
	{"rusage_user", 18},
	{"rusage_system", 18},
	{"max_connections", 10},
	{"curr_connections", 10},
	{"connection_structures", 10},
	{"response_obj_count", 10},
	{"response_obj_bytes", MEMORY_DIGITS},
	{"read_buf_count", 10},
	{"read_buf_bytes", MEMORY_DIGITS},
	{"bytes_read", BYTES_READ_DIGITS},
	{"bytes_written", BYTES_READ_DIGITS},
	{"limit_maxbytes", MEMORY_DIGITS},
	{"accepting_conns", 1},
	{"threads", 3},
	{"hash_power_level", 2},
	{"hash_bytes", MEMORY_DIGITS},
	{"hash_is_expanding", 1},
	{"slab_reassign_running", 1},
	{"slabs_moved", 12},
	{"lru_crawler_starts", 10},
	{"log_watchers", 4},
	{"bytes", MEMORY_DIGITS},
	{"curr_items", 12},
	{"slab_global_page_pool", 9},
	{"memory_items", MEMORY_DIGITS},
	{"memory_index", MEMORY_DIGITS},
	{"memory_frames", MEMORY_DIGITS},
	{"memory_connections", MEMORY_DIGITS},
	{"memory_tables", MEMORY_DIGITS},
	{"memory_rings", MEMORY_DIGITS},
	{"memory_program", MEMORY_DIGITS},
	{"memory_sum", MEMORY_DIGITS},
	{"restart", 8},
	{"restart_kept", 12},
	{"restart_lost", 12},
	{"restart_us", 12},
	{"memory_resident", MEMORY_DIGITS},
	{"time_since_server_cert_refresh", 10},
	{"turn_p50_us", 8},
	{"turn_p99_us", 8},
	{"turn_p9999_us", 8},
	{"turn_max_us", 8},
};

static uint32_t
longest_value(const struct stat_name *row)
{
	if (row->unsupported)
		return 4;
	for (size_t i = 0; i < sizeof longest_values / sizeof longest_values[0]; i++)
		if (strcmp(longest_values[i].name, row->name) == 0)
			return longest_values[i].bytes;
	return COUNTER_DIGITS;
}

static void
counters_at_longest(const struct counter *counters, uint32_t count, uint32_t except)
{
	for (uint32_t i = 0; i < count; i++)
		if (i != except)
			counter_add((struct counter *)(uintptr_t)&counters[i], 4000000000000000ull);
}

TEST(stats_fits_its_limit_when_every_counter_is_at_its_longest)
{
	static struct turn_times times;
	uint32_t bytes = 5;
	const char *at;

	times = (struct turn_times){0};
	rig->shared->info.tls = true;
	serve_turn_times_set(rig->serve, &times);
	counters_at_longest(times.counters, TURN_COUNTER_COUNT, TURNS_MAX_NS);
	counters_at_longest(serve_counters(rig->serve), SERVE_COUNTER_COUNT, SERVE_COUNTER_COUNT);
	counters_at_longest(store_counters(rig->core), STORE_COUNTER_COUNT, STORE_ITEMS_RENEWED);
	counters_at_longest(stack_counters(rig->stack), STACK_COUNTER_COUNT, STACK_COUNTER_COUNT);
	at = answer("stats\r\n");
	for (uint32_t i = 0; i < stats_name_count; i++, at = strstr(at, "\r\n") + 2) {
		const uint32_t longest = longest_value(&stats_names[i]);
		const char *value = at + 5 + strlen(stats_names[i].name) + 1;
		const size_t len = strcspn(value, "\r");

		if (len > longest)
			fail_msg("%s is longer than %u bytes: %.*s", stats_names[i].name, longest,
				 (int)len, value);
		if (longest == COUNTER_DIGITS && strcmp(stats_names[i].name, "version") != 0)
			check_eq(len, COUNTER_DIGITS);
		bytes += (uint32_t)(value - at) + longest + 2;
	}
	/* A tier reads at most a million records a second. */
	for (uint32_t i = 0; i < flash_stat_count; i++)
		bytes += 8 + (uint32_t)strlen(flash_stat_names[i]) + COUNTER_DIGITS - 2;
	check(bytes < STATS_BYTES_MAX);
	serve_turn_times_set(rig->serve, NULL);
}

/* ---- rows of a front ---- */

static uint32_t resets;

static bool
row_of_front(void *arg, uint32_t n, struct serve_row *row)
{
	static const struct serve_row rows[] = {
		{.name = "state", .of = 0, .kind = SERVE_ROW_TEXT, .text = "up"},
		{.name = "keys", .of = 1023, .kind = SERVE_ROW_NUMBER, .number = UINT64_MAX},
		{.name = "by_mean",
		 .of = SERVE_ROW_OF_ALL,
		 .kind = SERVE_ROW_THOUSANDTHS,
		 .number = 1042},
		{.name = "by_mean", .of = 1, .kind = SERVE_ROW_THOUSANDTHS, .number = 7},
	};

	if (n >= 4)
		return false;
	*row = rows[n];
	return true;
}

static void
reset_of_front(void *arg)
{
	resets++;
}

TEST(a_front_shows_what_it_counts)
{
	static const char shown[] = "STAT 0:state up\r\nSTAT 1023:keys 18446744073709551615\r\n"
				    "STAT by_mean 1.042\r\nSTAT 1:by_mean 0.007\r\nEND\r\n";
	static const uint8_t binary[] = "\x80\x10\0\5\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\0"
					"front";
	const struct serve_rows rows = {
		.mode = BACKEND_WRITES, .row = row_of_front, .reset = reset_of_front};
	const struct fake_sent *sent;
	struct conn *c;
	uint32_t len;
	const char *out;

	check_str(answer("stats front\r\n"), "END\r\n");
	answer("set a 0 0 1\r\n5\r\nflush_all\r\nget a\r\n");
	row_is(answer("stats\r\n"), "get_flushed", "1");
	serve_rows_attach(rig->serve, &rows);
	check_str(answer("stats front\r\n"), shown);
	row_is(answer("stats\r\n"), "get_flushed", "0");
	check_str(answer("stats reset\r\n"), "RESET\r\n");
	check_eq(resets, 1);
	c = rig_open(rig);
	rig_receive(rig, c, binary, sizeof binary - 1);
	rig_turn(rig);
	out = rig_sent(c, &len);
	check_eq(len, 5 * 24 + strlen("0:stateup"
				      "1023:keys18446744073709551615"
				      "by_mean1.042"
				      "1:by_mean0.007"));
	check_bytes(out + 24, "0:stateup", 9);
	rig_datagram_text(rig, 1, "stats front\r\n");
	rig_turn(rig);
	check_eq(rig_datagrams_sent(rig, &sent), 1);
	check_bytes(sent[0].bytes + 8, "CLIENT_ERROR", 12);
}

/* ---- rows of a second tier ---- */

static bool
row_of_stats(void *arg, uint32_t n, struct serve_row *row)
{
	*row = (struct serve_row){.name = n == 0 ? "get_extstore" : "badcrc_from_extstore",
				  .of = SERVE_ROW_OF_ALL,
				  .number = 100 + n};
	return n < 2;
}

TEST(a_tier_shows_its_rows_in_stats_and_apart)
{
	const struct serve_rows rows = {.mode = BACKEND_PROMOTES,
					.row = row_of_front,
					.stat = row_of_stats,
					.reset = reset_of_front};
	const char *stats;

	check_null(strstr(answer("stats\r\n"), "extstore"));
	check_str(answer("stats extstore\r\n"), "END\r\n");
	serve_rows_attach(rig->serve, &rows);
	stats = answer("stats\r\n");
	check_str(strstr(stats, "STAT lru_bumps_dropped"),
		  "STAT lru_bumps_dropped 0\r\nSTAT get_extstore 100\r\n"
		  "STAT badcrc_from_extstore 101\r\nEND\r\n");
	check_bytes(answer("stats extstore\r\n"), "STAT 0:state up\r\n", 17);
	check_str(answer("stats front\r\n"), "END\r\n");
	check_null(strstr(answer("stats settings\r\n"), "extstore"));
}

/* ---- the other replies ---- */

TEST(classes_are_shown_separately)
{
	const char *stats;

	answer("set a 0 0 1\r\n5\r\nset b 0 50 500\r\n"
	       "0123456789012345678901234567890123456789012345678901234567890123456789012345678901"
	       "2345678901234567890123456789012345678901234567890123456789012345678901234567890123"
	       "4567890123456789012345678901234567890123456789012345678901234567890123456789012345"
	       "6789012345678901234567890123456789012345678901234567890123456789012345678901234567"
	       "8901234567890123456789012345678901234567890123456789012345678901234567890123456789"
	       "01234567890123456789012345678901234567890123456789012345678901234567890123456789012"
	       "3456"
	       "789\r\nget a a b\r\ntouch a 0\r\nincr a 1\r\ndecr a 1\r\ncas a 0 0 1 "
	       "1\r\n1\r\ndelete a\r\nset a 0 0 1\r\n5\r\n");
	stats = answer("stats slabs\r\n");
	row_is(stats, "1:get_hits", "2");
	row_is(stats, "1:cmd_set", "3");
	row_is(stats, "1:touch_hits", "1");
	row_is(stats, "1:incr_hits", "1");
	row_is(stats, "1:decr_hits", "1");
	row_is(stats, "1:cas_badval", "1");
	row_is(stats, "1:delete_hits", "1");
	row_is(stats, "active_slabs", "2");
	check_null(strstr(stats, "STAT 2:"));
	stats = answer("stats items\r\n");
	row_is(stats, "items:1:number", "1");
	check_null(strstr(stats, "items:2:"));
	answer("stats reset\r\n");
	stats = answer("stats slabs\r\n");
	row_is(stats, "1:get_hits", "0");
}

TEST(settings_say_what_is_set)
{
	const struct serve_info info = {.conns_max = 5,
					.backlog = 1024,
					.no_evict = true,
					.inter = "10.1.2.3",
					.auth_file = "/etc/users",
					.verbosity = 1,
					.steering = "flow-director",
					.steer_rules = 17,
					.steer_refused = 2};
	const struct serve_policy policy = {.no_flush = true,
					    .no_dumps = true,
					    .shutdown = true,
					    .prefix_delimiter = '/',
					    .detail = true,
					    .idle_timeout_s = 7};
	const char *const rows[][2] = {
		{"maxconns", "5"},
		{"tcp_backlog", "1024"},
		{"ssl_wbuf_size", "16384"},
		{"evictions", "off"},
		{"inter", "10.1.2.3"},
		{"flush_enabled", "no"},
		{"dump_enabled", "no"},
		{"shutdown_command", "yes"},
		{"stat_key_prefix", "/"},
		{"detail_enabled", "yes"},
		{"idle_timeout", "7"},
		{"verbosity", "1"},
		{"auth_enabled_ascii", "/etc/users"},
		{"binding_protocol", "auto-negotiate"},
		{"steering", "flow-director"},
		{"steering_rules", "17"},
		{"steering_rules_refused", "2"},
	};
	const char *stats;

	serve_shared_set_info(rig->shared, &info);
	serve_shared_set_policy(rig->shared, &policy);
	stats = answer("stats settings\r\n");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		row_is(stats, rows[i][0], rows[i][1]);
}

TEST(memory_is_shown_part_by_part_and_summed)
{
	const struct serve_info info = {.memory = {.frames = 1,
						   .connections = 20,
						   .tables = 300,
						   .rings = 4000,
						   .program = 50000},
					.restart = {"attached", 61, 62, 63}};
	const char *const rows[][2] = {
		{"memory_frames", "1"},      {"memory_connections", "20"},
		{"memory_tables", "300"},    {"memory_rings", "4000"},
		{"memory_program", "50000"}, {"memory_resident", "77777"},
		{"restart", "attached"},     {"restart_kept", "61"},
		{"restart_lost", "62"},      {"restart_us", "63"},
	};
	struct store_usage usage;
	char text[32];
	const char *stats;

	serve_shared_set_info(rig->shared, &info);
	serve_resident_set_mt(rig->shared, 77777);
	store_usage_mt(rig->store, &usage);
	stats = answer("stats\r\n");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		row_is(stats, rows[i][0], rows[i][1]);
	snprintf(text, sizeof text, "%llu", (unsigned long long)usage.index_bytes);
	row_is(stats, "memory_index", text);
	snprintf(text, sizeof text, "%llu",
		 (unsigned long long)(usage.memory_bytes - usage.index_bytes));
	row_is(stats, "memory_items", text);
	snprintf(text, sizeof text, "%llu", (unsigned long long)(usage.memory_bytes + 54321));
	row_is(stats, "memory_sum", text);
}

TEST(processor_time_is_what_the_program_says)
{
	serve_rusage_set_mt(rig->shared, 12000042, 999999);
	row_is(answer("stats\r\n"), "rusage_user", "12.000042");
	row_is(answer("stats\r\n"), "rusage_system", "0.999999");
}

TEST(sizes_are_counted_where_it_is_asked_for)
{
	const struct serve_policy policy = {.track_sizes = true};

	serve_shared_set_policy(rig->shared, &policy);
	answer("set a 0 0 1\r\n5\r\nset b 0 0 2\r\n55\r\nset c 0 0 40\r\n"
	       "0123456789012345678901234567890123456789\r\n");
	check_str(answer("stats sizes\r\n"), "STAT 32 2\r\nSTAT 64 1\r\nEND\r\n");
	check_str(answer("stats sizes\r\nstats sizes\r\n"),
		  "STAT 32 2\r\nSTAT 64 1\r\nEND\r\nSTAT 32 2\r\nSTAT 64 1\r\nEND\r\n");
}

/* ---- two cores ---- */

static struct rig *rigs[2];

static void
start_two(void)
{
	rig_create_cores(rigs, 2);
}

static void
stop_two(void)
{
	rig_destroy(rigs[1]);
	rig_destroy(rigs[0]);
}

static struct conn *
tell(uint32_t core, const char *text)
{
	struct conn *c = rig_open(rigs[core]);

	rig_receive_text(rigs[core], c, text);
	for (uint32_t i = 0; i < 4; i++) {
		rig_turn(rigs[0]);
		rig_turn(rigs[1]);
	}
	return c;
}

TEST(connections_of_all_cores_are_shown, start_two, stop_two)
{
	struct conn *c[3] = {tell(0, "version\r\n"), tell(1, "version\r\n"),
			     tell(1, "watch evictions\r\n")};
	const char *stats = rig_sent(tell(0, "stats conns\r\n"), NULL);

	check_eq(FAKE_CONNS, 8); /* the numbers below depend on it */
	row_is(stats, "1:addr", "tcp:10.99.0.1:11211");
	row_is(stats, "1:state", "conn_listening");
	row_is(stats, "3:addr", "tcp:10.99.0.1:11212");
	row_is(stats, "3:state", "conn_listening");
	row_is(stats, "16:addr", "tcp:10.99.0.2:4000");
	row_is(stats, "16:listen_addr", "tcp:10.99.0.1:11211");
	row_is(stats, "16:state", "conn_read");
	row_is(stats, "24:addr", "tcp:10.99.0.2:4000");
	row_is(stats, "25:addr", "tcp6:[2001:db8::2]:4001");
	row_is(stats, "25:listen_addr", "tcp6:[2001:db8::1]:11211");
	row_is(stats, "25:state", "conn_watch");
	check_null(strstr(stats, "STAT 18:"));
	rigs[0]->clock.now_s += 30;
	rigs[1]->clock.now_s += 30;
	rig_lose(rigs[1], c[1]);
	stats = rig_sent(tell(0, "stats conns\r\n"), NULL);
	row_is(stats, "16:secs_since_last_cmd", "30");
	rigs[0]->shared->info.udp_port = 11211;
	stats = rig_sent(tell(0, "stats conns\r\n"), NULL);
	row_is(stats, "2:UDP", "UDP");
	row_is(stats, "2:addr", "udp:10.99.0.1:11211");
	row_is(stats, "2:state", "conn_read");
	check_null(strstr(stats, "STAT 24:"));
}

TEST(prefixes_of_all_cores_are_added_up, start_two, stop_two)
{
	const char *dump;

	tell(0, "stats detail on\r\nset a:1 0 0 1\r\nx\r\nget a:1 a:2 b: none\r\n");
	tell(1, "get a:1\r\ndelete a:1\r\ndelete c:9\r\nmg b:x v\r\n");
	dump = rig_sent(tell(1, "stats detail dump\r\n"), NULL);
	check_ptr(strstr(dump, "PREFIX a get 3 hit 2 set 1 del 1\r\n"));
	check_ptr(strstr(dump, "PREFIX b get 2 hit 0 set 0 del 0\r\n"));
	check_ptr(strstr(dump, "PREFIX c get 0 hit 0 set 0 del 1\r\n"));
	check_str(dump + strlen(dump) - 5, "END\r\n");
	check_eq(strlen(dump), 3 * 34 + 5);
	tell(0, "stats reset\r\n");
	check_str(rig_sent(tell(0, "stats detail dump\r\n"), NULL), "END\r\n");
	tell(0, "stats detail off\r\nget a:1\r\n");
	check_str(rig_sent(tell(1, "stats detail dump\r\n"), NULL), "END\r\n");
}

/* The requests arrive in one segment, before the other core has turned. */
TEST(a_reset_clears_prefixes_before_what_stands_behind_it, start_two, stop_two)
{
	static const char *const asks =
		"stats reset\r\nstats detail dump\r\nset a:1 0 0 1 noreply\r\n"
		"x\r\nget b:2\r\n";
	struct conn *c = rig_open(rigs[0]);

	tell(0, "stats detail on\r\nset a:1 0 0 1\r\nx\r\nget a:1\r\n");
	tell(1, "get a:1\r\nget b:1\r\n");
	rig_receive_text(rigs[0], c, asks);
	rig_turn(rigs[0]);
	check_str(rig_sent(c, NULL), "RESET\r\nEND\r\nEND\r\n");
	rig_acked(rigs[0], c);
	rig_forget_sent(c);
	rig_receive_text(rigs[0], c, "stats detail dump\r\n");
	rig_turns(rigs[0], 2);
	check_str(rig_sent(c, NULL), "PREFIX a get 0 hit 0 set 1 del 0\r\n"
				     "PREFIX b get 1 hit 0 set 0 del 0\r\nEND\r\n");
}

/* A binary key may hold any bytes: its prefix must not be taken for the end of the list. */
TEST(a_prefix_that_is_no_text_is_not_shown, start_two, stop_two)
{
	static const uint8_t get[] = "\x80\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x06"
				     "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
				     "\r\nEND:";
	struct conn *c = rig_open(rigs[0]);

	tell(0, "stats detail on\r\nget a:1 :b\r\n");
	rig_receive(rigs[0], c, get, sizeof get - 1);
	rig_turn(rigs[0]);
	check_str(rig_sent(tell(0, "stats detail dump\r\n"), NULL),
		  "PREFIX a get 1 hit 0 set 0 del 0\r\nPREFIX  get 1 hit 0 set 0 del 0\r\nEND\r\n");
}

TEST(a_watcher_sees_all_cores_in_order, start_two, stop_two)
{
	struct conn *c = tell(1, "watch fetchers\r\n");
	char want[128];
	const char *at;

	for (uint32_t i = 0; i < 20; i++) {
		char text[32];

		snprintf(text, sizeof text, "get k%u\r\n", i);
		rig_lose(rigs[i % 2], tell(i % 2, text));
	}
	at = rig_sent(c, NULL) + 4;
	for (uint32_t i = 0; i < 20; i++) {
		snprintf(want, sizeof want, " gid=%u type=item_get key=k%u status=", i + 1, i);
		at = strstr(at, want);
		check_ptr(at);
	}
}

TEST(watchers_come_and_go, start_two, stop_two)
{
	for (uint32_t round = 0; round < 10; round++) {
		const uint32_t core = round % 2;
		struct conn *c[5];

		for (uint32_t i = 0; i < 5; i++) {
			c[i] = tell(core, "watch\r\n");
			check_str(rig_sent(c[i], NULL), "OK\r\n");
		}
		row_is(rig_sent(tell(core, "stats\r\n"), NULL), "log_watchers", "5");
		for (uint32_t i = 0; i < FAKE_CONNS; i++)
			rig_lose_slot(rigs[core], i);
	}
}

static bool
index_is_expanding(void)
{
	return strstr(answer("stats\r\n"), "STAT hash_is_expanding 1\r\n") != NULL;
}

TEST(an_index_that_grows_is_shown)
{
	bool seen = false;

	check(!index_is_expanding());
	for (uint32_t i = 0; i < 60000 && !seen; i++) {
		struct conn *c = rig_open(rig);
		char text[64];

		snprintf(text, sizeof text, "set k%u 0 0 1 noreply\r\nx\r\n", i);
		rig_receive_text(rig, c, text);
		rig_turn(rig);
		rig_lose(rig, c);
		seen = i % 512 == 0 && index_is_expanding();
	}
	check(seen);
	for (uint32_t i = 0; i < 20000; i++)
		rig_turn(rig);
	check(!index_is_expanding());
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--print") == 0) {
		fputs(document(), stdout);
		return 0;
	}
	document_path = argc == 2 ? argv[1] : "lib/admin/STATS.md";
	return tests_run(NULL, NULL);
}
