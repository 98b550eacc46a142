/*
 * Rows as metrics and as JSON. Goal: Prometheus reads the value of each row, with any bytes in
 * it; a family's samples are adjacent and follow one type; nothing is written beyond its room.
 * Method: texts of replies, and their metrics; every room from none to enough; bytes of all
 * kinds.
 */
#include "support/guard.h"
#include "support/test.h"
#include "metrics/metrics.h"

#include <stdlib.h>

static struct metrics *m;

SETUP(setup)
{
	m = calloc(1, sizeof *m);
	check_ptr(m);
}

TEARDOWN(teardown)
{
	free(m);
}

static struct view
view_of_text(const char *text)
{
	return (struct view){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static const char *
exposed(const char *rows, enum metrics_format format)
{
	static char out[1u << 16];

	metrics_read(m, view_of_text(rows));
	out[metrics_write(m, format, (uint8_t *)out, sizeof out - 1)] = '\0';
	return out;
}

static const char *
json(const char *rows)
{
	static char out[1u << 16];

	metrics_read(m, view_of_text(rows));
	out[metrics_write_json(m, 5, (uint8_t *)out, sizeof out - 1)] = '\0';
	return out;
}

static void
has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("no\n%s\nin\n%s", part, text);
}

TEST(a_row_is_a_metric_by_rule)
{
	static const char *const cases[][2] = {
		{"stats\r\nSTAT cmd_get 7\r\n",
		 "# HELP clockoo_cmd_get_total stats cmd_get\n# TYPE clockoo_cmd_get_total "
		 "counter\nclockoo_cmd_get_total 7\n"},
		{"stats\r\nSTAT curr_items 3\r\n",
		 "# TYPE clockoo_curr_items gauge\nclockoo_curr_items 3\n"},
		{"stats\r\nSTAT turn_p99_us 229\r\n", "\nclockoo_turn_p99_seconds 0.000229\n"},
		{"stats slow\r\nSTAT 0:ago_s 17\r\n",
		 "\nclockoo_slow_ago_seconds{rank=\"0\"} 17\n"},
		{"stats\r\nSTAT restart_us 1000001\r\n", "\nclockoo_restart_seconds 1.000001\n"},
		{"stats\r\nSTAT rusage_user 1.000042\r\n",
		 "\nclockoo_rusage_user_total 1.000042\n"},
		{"stats latency\r\nSTAT udp_set:minute_p99_us 12.345\r\n",
		 "\nclockoo_latency_minute_p99_seconds{request=\"udp_set\"} 0.000012345\n"},
		{"stats latency\r\nSTAT udp_set:minute_count 9\r\n",
		 "\nclockoo_latency_minute_number{request=\"udp_set\"} 9\n"},
		{"stats items\r\nSTAT items:12:number 3\r\n",
		 "\nclockoo_items_number{class=\"12\"} 3\n"},
		{"stats front\r\nSTAT copy_ttl_ms 1000\r\n",
		 "\nclockoo_front_copy_ttl_seconds 1.000\n"},
		{"stats\r\nSTAT restart private\r\n", "\nclockoo_restart{value=\"private\"} 1\n"},
		{"stats\r\nSTAT version 1.6.45-x\r\n",
		 "\nmemcached_version{version=\"1.6.45-x\"} 1\n"},
		{"stats settings\r\nSTAT maxconns 64\r\n", "\nmemcached_max_connections 64\n"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		has(exposed(cases[i][0], METRICS_PROMETHEUS), cases[i][1]);
}

/* A name may have any printable bytes; states and reasons are words of a list. */
TEST(each_server_of_a_front_has_its_name_state_and_reason)
{
	const char *out = exposed("stats front\r\nSTAT 0:name a\r\nSTAT 0:state up\r\n"
				  "STAT 0:reason none\r\nSTAT 0:handed_in 3\r\n"
				  "STAT 0:recent_by_mean 1.250\r\n"
				  "STAT 1:name <b>\"\\\r\nSTAT 1:state down\r\n"
				  "STAT 1:reason name_unresolved\r\nSTAT 1:handed_in 0\r\n"
				  "STAT 1:recent_by_mean 0.000\r\nSTAT handing_over 1\r\n",
				  METRICS_PROMETHEUS);

	has(out, "# TYPE clockoo_front_name gauge\nclockoo_front_name{server=\"0\",value=\"a\"} 1\n"
		 "clockoo_front_name{server=\"1\",value=\"<b>\\\"\\\\\"} 1\n");
	has(out, "# TYPE clockoo_front_state gauge\n"
		 "clockoo_front_state{server=\"0\",value=\"up\"} 1\n"
		 "clockoo_front_state{server=\"1\",value=\"down\"} 1\n");
	has(out, "# TYPE clockoo_front_reason gauge\n"
		 "clockoo_front_reason{server=\"0\",value=\"none\"} 1\n"
		 "clockoo_front_reason{server=\"1\",value=\"name_unresolved\"} 1\n");
	has(out, "# TYPE clockoo_front_handed_in_total counter\n"
		 "clockoo_front_handed_in_total{server=\"0\"} 3\n"
		 "clockoo_front_handed_in_total{server=\"1\"} 0\n");
	has(out, "# TYPE clockoo_front_recent_by_mean gauge\n"
		 "clockoo_front_recent_by_mean{server=\"0\"} 1.250\n");
	has(out, "# TYPE clockoo_front_handing_over gauge\nclockoo_front_handing_over 1\n");
}

TEST(counters_of_the_rooms_have_their_words)
{
	static const struct counter_name names[] = {{"TCP_SYNS", "opened by a SYN"},
						    {"TURNS_MAX_NS", "longest"}};
	static struct counter counters[2];
	static struct telemetry t;
	const char *out;

	check(telemetry_add(&t, &(struct telemetry_set){0, 2, names, counters}));
	m->telemetry = &t;
	out = exposed("stats stack\r\nSTAT tcp_syns 4\r\nstats cores\r\n"
		      "STAT 0:turns_max_ns 1500000000\r\nSTAT 1:turns_max_ns 20\r\n",
		      METRICS_PROMETHEUS);
	has(out, "# HELP clockoo_stack_tcp_syns_total stats stack tcp_syns: opened by a SYN\n");
	has(out, "\nclockoo_stack_tcp_syns_total 4\n");
	has(out, "# TYPE clockoo_cores_turns_max_seconds gauge\n"
		 "clockoo_cores_turns_max_seconds{core=\"0\"} 1.500000000\n"
		 "clockoo_cores_turns_max_seconds{core=\"1\"} 0.000000020\n");
}

TEST(samples_of_a_family_stand_together)
{
	const char *out =
		exposed("stats slabs\r\nSTAT 1:chunk_size 64\r\nSTAT 1:get_hits 5\r\n"
			"STAT 2:chunk_size 80\r\nSTAT 2:get_hits 6\r\nSTAT active_slabs 2\r\n",
			METRICS_PROMETHEUS);

	has(out, "clockoo_slabs_chunk_size{class=\"1\"} 64\nclockoo_slabs_chunk_size{class=\"2\"} "
		 "80\n# HELP");
	has(out, "memcached_slab_chunk_size_bytes{slab=\"2\"} 80\n");
	has(out, "memcached_slab_commands_total{slab=\"2\",command=\"get\",status=\"hit\"} 6\n");
	has(out, "\nclockoo_slabs_active_slabs 2\n");
}

TEST(sets_are_shown_without_cas_as_by_the_exporter)
{
	const char *out = exposed("stats\r\nSTAT cmd_set 10\r\nSTAT cas_hits 3\r\n"
				  "STAT cas_misses 1\r\nSTAT cas_badval 2\r\n",
				  METRICS_PROMETHEUS);

	has(out, "memcached_commands_total{command=\"set\",status=\"hit\"} 4\n");
	has(out, "clockoo_cmd_set_total 10\n");
}

TEST(openmetrics_names_families_without_total)
{
	const char *out = exposed("stats\r\nSTAT cmd_get 7\r\n", METRICS_OPENMETRICS);

	has(out, "# TYPE clockoo_cmd_get counter\nclockoo_cmd_get_total 7\n");
	check_str(out + strlen(out) - 6, "# EOF\n");
	check_null(strstr(exposed("stats\r\n", METRICS_PROMETHEUS), "EOF"));
}

TEST(values_are_escaped)
{
	static const char rows[] = "stats hotkeys\r\nSTAT 1:key a\"b\\c\td\xc3\xa9 1\r\n";

	has(exposed(rows, METRICS_PROMETHEUS),
	    "\nclockoo_hotkeys_key{rank=\"1\",value=\"a\\\"b\\\\c\\\\x09d\\\\xc3\\\\xa9 1\"} 1\n");
	check_str(json(rows), "{\"taken_ms\":5,\"hotkeys\":{\"1\":{\"key\":"
			      "\"a\\\"b\\\\c\\u0009d\\u00c3\\u00a9 1\"}}}\n");
}

TEST(sources_have_a_rank_and_their_connections_are_a_level)
{
	const char *out =
		exposed("stats sources\r\nSTAT 1:source 2001:db8::/64\r\nSTAT 1:conns 7\r\n"
			"STAT 1:error 0\r\n",
			METRICS_PROMETHEUS);

	has(out, "\nclockoo_sources_source{rank=\"1\",value=\"2001:db8::/64\"} 1\n");
	has(out, "# TYPE clockoo_sources_conns gauge\nclockoo_sources_conns{rank=\"1\"} 7\n");
	has(out, "# TYPE clockoo_sources_error gauge\nclockoo_sources_error{rank=\"1\"} 0\n");
}

TEST(names_are_made_of_letters)
{
	has(exposed("stats\r\nSTAT a-b{c}\"d 1\r\n", METRICS_PROMETHEUS),
	    "# HELP clockoo_a_b_c__d stats a-b{c}\\\"d\n# TYPE clockoo_a_b_c__d gauge\n"
	    "clockoo_a_b_c__d 1\n");
}

TEST(json_has_an_object_for_each_reply_and_index)
{
	check_str(json("stats\r\nSTAT pid 7\r\nSTAT version 1.6.45\r\nSTAT zero 007\r\n"
		       "stats slabs\r\nSTAT 1:chunk_size 64\r\nSTAT 1:x 0.5\r\nSTAT 2:chunk_size "
		       "80\r\nSTAT active_slabs 2\r\nstats front\r\n"),
		  "{\"taken_ms\":5,\"stats\":{\"pid\":7,\"version\":\"1.6.45\",\"zero\":\"007\"},"
		  "\"slabs\":{\"1\":{\"chunk_size\":64,\"x\":0.5},\"2\":{\"chunk_size\":80},"
		  "\"active_slabs\":2},\"front\":{}}\n");
}

TEST(one_reply_is_found_by_its_name)
{
	uint8_t out[64];
	size_t len;

	metrics_read(m, view_of_text("stats net\r\nSTAT a 1\r\nstats\r\nSTAT b 2\r\n"));
	len = metrics_write_reply(m, view_of_text("stats"), out, sizeof out);
	check_eq(len, 8);
	check_bytes(out, "{\"b\":2}\n", 8);
	check_eq(metrics_write_reply(m, view_of_text("none"), out, sizeof out), 0);
}

TEST(nothing_is_written_beyond_its_room)
{
	static const char rows[] = "stats\r\nSTAT cmd_get 7\r\nSTAT version 1.6\r\nstats slabs\r\n"
				   "STAT 1:chunk_size 64\r\nSTAT 2:chunk_size 80\r\n";
	static const uint8_t blank[4096];
	size_t whole;

	metrics_read(m, view_of_text(rows));
	whole = metrics_write(m, METRICS_OPENMETRICS, at_page_end(blank, 4096), 4096);
	check(whole > 0 && whole < 4096);
	for (size_t room = 0; room <= whole; room++) {
		uint8_t *to = at_page_end(blank, (uint32_t)room);
		const size_t len = metrics_write(m, METRICS_OPENMETRICS, to, room);

		check(len <= room);
		if (len != 0)
			check_bytes(to + len - 6, "# EOF\n", 6);
		if (len != 0 && room + 512 < whole)
			check(m->left_out != 0);
		check(metrics_write_json(m, 5, to, room) <= room);
	}
}

/* Lines of arbitrary bytes: the output must stay in its room and have whole lines. */
TEST(any_bytes_are_taken)
{
	static const char pieces[][24] = {"stats",  "stats net\r\n", "STAT ", ":",  " ", "\r\n",
					  "\n",     "STAT a 1\r\n",  "\"",    "\\", "0", "1.5",
					  "items:", "\x80\xff",      "_us",   "\t", ".", "-1"};
	uint64_t seed = 1;

	for (uint32_t round = 0; round < 3000; round++) {
		char text[257] = "stats\r\n";
		char *at = text + strlen(text);
		uint8_t out[8192];
		size_t len;

		for (uint32_t i = 0; i < 30 && at - text < 230; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			at = stpcpy(at, pieces[(seed >> 33) % (sizeof pieces / sizeof pieces[0])]);
		}
		metrics_read(m, view_of_text(text));
		len = metrics_write(m, METRICS_PROMETHEUS, out, sizeof out);
		check(len != 0 && out[len - 1] == '\n');
		for (size_t i = 0; i < len; i++)
			check(out[i] == '\n' || (out[i] >= ' ' && out[i] < 0x7f));
		metrics_write_json(m, 1, out, sizeof out);
	}
}
