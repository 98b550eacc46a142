/*
 * Administrative commands. Goal: each command is judged and answered as memcached 1.6.45 does,
 * wherever the stream is cut; a command that the operator forbids is refused with memcached's
 * text; all connections see a setting that a command changes. Method: conversations as tables,
 * under several policies.
 */
#include "unit/serve/conversation.h"
#include "unit/serve/one_rig.h"
#include "support/test.h"
#include "admin/stat_names.h"
#include "proto/mc_req.h"
#include "serve/serve_policy.h"
#include "serve/serve_shared.h"
#include "store/introspect.h"

#include <stdlib.h>

static const struct row conversations[] = {
	{"verbosity 1\r\nverbosity 9\r\nverbosity 1 noreply\r\n", "OK\r\nOK\r\n"},
	{"verbosity\r\nverbosity x\r\n", "CLIENT_ERROR bad command line format\r\n"
					 "CLIENT_ERROR bad command line format\r\n"},
	{"cache_memlimit 7\r\ncache_memlimit 2000000000\r\ncache_memlimit 100000\r\n",
	 "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n"
	 "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n"
	 "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n"},
	{"cache_memlimit 16\r\ncache_memlimit 16 noreply\r\n", "OK\r\n"},
	{"cache_memlimit x\r\ncache_memlimit\r\n", "ERROR\r\nERROR\r\n"},
	{"shutdown\r\nshutdown graceful\r\n", "SERVER_ERROR: shutdown not enabled\r\n"
					      "SERVER_ERROR: shutdown not enabled\r\n"},
	{"lru_crawler disable\r\nlru_crawler disable\r\nlru_crawler crawl all\r\n"
	 "lru_crawler metadump all\r\nlru_crawler enable\r\nlru_crawler enable\r\n"
	 "lru_crawler crawl all\r\nlru_crawler crawl 1,2\r\n",
	 "OK\r\nERROR failed to stop lru crawler thread\r\n"
	 "CLIENT_ERROR lru crawler disabled\r\nCLIENT_ERROR lru crawler disabled\r\n"
	 "OK\r\nERROR failed to start lru crawler thread\r\nOK\r\nOK\r\n"},
	{"lru_crawler crawl 0\r\nlru_crawler crawl x\r\nlru_crawler crawl\r\n",
	 "BADCLASS invalid class id\r\nBADCLASS invalid class id\r\nERROR\r\n"},
	{"lru_crawler sleep 100\r\nlru_crawler sleep 1000001\r\nlru_crawler sleep x\r\n",
	 "OK\r\nCLIENT_ERROR sleep must be one second or less\r\n"
	 "CLIENT_ERROR bad command line format\r\n"},
	{"lru_crawler tocrawl 5\r\nlru_crawler tocrawl x\r\nlru_crawler\r\n"
	 "lru_crawler bogus\r\n",
	 "OK\r\nCLIENT_ERROR bad command line format\r\nERROR\r\nERROR\r\n"},
	{"slabs automove 0\r\nslabs automove 2\r\nslabs automove 3\r\nslabs automove x\r\n",
	 "OK\r\nOK\r\nERROR\r\nCLIENT_ERROR bad command line format\r\n"},
	{"slabs automove ratio 0.8\r\nslabs automove freeratio 0.01\r\n"
	 "slabs automove window 10\r\nslabs automove window 2\r\nslabs automove ratio "
	 "x\r\n",
	 "OK\r\nOK\r\nOK\r\nCLIENT_ERROR automove window too low or too high\r\nERROR\r\n"},
	{"slabs reassign 1 1\r\nslabs reassign 0 1\r\nslabs reassign 1 200\r\n"
	 "slabs reassign x 1\r\nslabs reassign 1\r\nslabs\r\n",
	 "SAME src and dst class are identical\r\nBADCLASS invalid src or dst class id\r\n"
	 "BADCLASS invalid src or dst class id\r\nCLIENT_ERROR bad command line format\r\n"
	 "ERROR\r\nERROR\r\n"},
	{"extstore free_memchunks 1 2\r\nextstore item_size 512\r\nextstore item_age 1 "
	 "x\r\n"
	 "extstore low_ttl 1\r\nextstore recache_rate 2000\r\nextstore compact_under 1\r\n"
	 "extstore drop_under 1\r\nextstore max_sleep 1\r\nextstore max_frag 0.5\r\n"
	 "extstore drop_unread 1 noreply\r\nmn\r\n",
	 "OK\r\nOK\r\nOK\r\nOK\r\nOK\r\nOK\r\nOK\r\nOK\r\nOK\r\nMN\r\n"},
	{"extstore\r\nextstore nosuch 1\r\nextstore free_memchunks 1\r\nextstore "
	 "free_memchunks 64 "
	 "1\r\nextstore item_age x\r\nextstore low_ttl -1\r\nextstore max_frag "
	 "x\r\nextstore item_size\r\n",
	 "ERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\n"},
	{"refresh_certs\r\n", "Error TLS not enabled\r\n"},
	{"lru mode flat\r\nlru mode segmented\r\nlru mode x\r\nlru temp_ttl 60\r\n"
	 "lru temp_ttl -1\r\nlru temp_ttl x\r\n",
	 "OK\r\nOK\r\nERROR\r\nOK\r\nOK\r\nERROR\r\n"},
	{"lru tune 20 40 0.2 2.0\r\nlru tune 50 40 0.2 2.0\r\nlru tune 20 40 0 2.0\r\n"
	 "lru tune 20\r\n",
	 "OK\r\nERROR hot and warm pcts must not exceed 80\r\n"
	 "ERROR hot/warm age factors must be greater than 0\r\nERROR\r\n"},
	{"stats detail\r\nstats detail bogus\r\nstats detail on\r\nstats detail off\r\n"
	 "stats detail dump\r\n",
	 "CLIENT_ERROR usage: stats detail on|off|dump\r\n"
	 "CLIENT_ERROR usage: stats detail on|off|dump\r\nOK\r\nOK\r\nEND\r\n"},
	{"stats sizes\r\nstats bogus\r\n", "STAT sizes_status disabled\r\nEND\r\nERROR\r\n"},
	{"stats cachedump\r\nstats cachedump 1\r\nstats cachedump x 1\r\n"
	 "stats cachedump 200 1\r\nstats cachedump 0 0\r\n",
	 "CLIENT_ERROR bad command line\r\nCLIENT_ERROR bad command line\r\n"
	 "CLIENT_ERROR bad command line format\r\nCLIENT_ERROR Illegal slab id\r\n"
	 "END\r\n"},
	{"watch bogus\r\nget a\r\n", "ERROR\r\nEND\r\n"},
	{"lru_crawler metadump 0\r\nlru_crawler mgdump x\r\n",
	 "BADCLASS invalid class id\r\nBADCLASS invalid class id\r\n"},
};

TEST(words_are_answered_as_memcached_does)
{
	ROWS_HOLD(rig, conversations);
}

TEST(what_the_operator_forbids_is_refused)
{
	const struct serve_policy policy = {.no_flush = true, .no_dumps = true, .no_watch = true};
	const struct row rows[] = {
		{"flush_all\r\nflush_all 10\r\nflush_all noreply\r\n",
		 "CLIENT_ERROR flush_all not allowed\r\nCLIENT_ERROR flush_all not allowed\r\n"},
		{"watch\r\nwatch bogus\r\n", "CLIENT_ERROR watch commands not allowed\r\n"
					     "CLIENT_ERROR watch commands not allowed\r\n"},
		{"stats cachedump 1 1\r\nstats detail dump\r\nlru_crawler metadump all\r\n"
		 "lru_crawler mgdump all\r\n",
		 "CLIENT_ERROR stats cachedump not allowed\r\n"
		 "CLIENT_ERROR stats detail not allowed\r\n"
		 "ERROR metadump not allowed\r\nERROR key dump not allowed\r\n"},
	};

	serve_shared_set_policy(rig->shared, &policy);
	ROWS_HOLD(rig, rows);
	check(rig_count(rig, CMD_FLUSH) > 0);
}

/* A policy that changes while cores turn holds from the next request on. The auth rule cannot
 * change at run time and stays. */
TEST(what_is_forbidden_later_is_refused_from_then_on)
{
	const struct serve_policy strict = {
		.no_flush = true, .no_dumps = true, .no_watch = true, .auth = true};
	const struct row before[] = {
		{"flush_all\r\n", "OK\r\n"},
		{"lru_crawler metadump 0\r\n", "BADCLASS invalid class id\r\n"}};
	const struct row after[] = {
		{"flush_all\r\nwatch\r\nlru_crawler metadump all\r\n",
		 "CLIENT_ERROR flush_all not allowed\r\nCLIENT_ERROR watch commands not allowed\r\n"
		 "ERROR metadump not allowed\r\n"}};

	ROWS_HOLD(rig, before);
	serve_policy_update_mt(rig->shared, &strict);
	ROWS_HOLD(rig, after);
	serve_policy_update_mt(rig->shared, &(struct serve_policy){0});
	ROWS_HOLD(rig, before);
}

/* With a fixed protocol the first byte of a connection decides nothing: neither a packet's where
 * the protocol is text, nor a line's where it is binary. */
TEST(a_given_protocol_is_not_negotiated)
{
	static const uint8_t noop[24] = {0x80, 0x0a};
	const struct row text[] = {
		{"\x80\x0a", "CLIENT_ERROR bad command line format\r\n"},
		{"\x80oop\r\nget a\r\n", "ERROR\r\nEND\r\n"},
	};
	struct conn *c;
	uint32_t len;

	serve_shared_set_policy(rig->shared, &(struct serve_policy){.protocol = MC_PROTOCOL_TEXT});
	ROWS_HOLD(rig, text);
	serve_shared_set_policy(rig->shared,
				&(struct serve_policy){.protocol = MC_PROTOCOL_BINARY});
	c = rig_open(rig);
	rig_receive(rig, c, noop, sizeof noop);
	rig_turn(rig);
	rig_sent(c, &len);
	check_eq(len, sizeof noop);
	rig_lose(rig, c);
	c = rig_open(rig);
	rig_receive_text(rig, c, "get a_key_of_some_length_and_more\r\n");
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "");
	check(rig_closed(c) || rig_aborted(c));
	rig_lose(rig, c);
}

TEST(a_shutdown_closes_and_is_seen_by_the_program)
{
	const struct {
		const char *in;
		enum serve_stop stop;
	} rows[] = {
		{"shutdown\r\nversion\r\n", SERVE_STOP},
		{"version\r\nshutdown graceful\r\n", SERVE_STOP_GRACEFULLY},
	};
	const struct serve_policy policy = {.shutdown = true};
	struct conn *c;

	serve_shared_set_policy(rig->shared, &policy);
	c = rig_open(rig);
	rig_receive_text(rig, c, "shutdown now\r\n");
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "CLIENT_ERROR invalid shutdown mode\r\n");
	check_eq(serve_stop_requested_mt(rig->shared), SERVE_RUN);
	rig_lose(rig, c);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		c = rig_open(rig);
		rig_receive_text(rig, c, rows[i].in);
		rig_turn(rig);
		check_str(rig_sent(c, NULL), i == 0 ? "" : "VERSION 9.8.7\r\n");
		check(rig_closed(c));
		check_eq(serve_stop_requested_mt(rig->shared), rows[i].stop);
		rig_lose(rig, c);
	}
}

TEST(verbosity_is_capped_and_shown)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "verbosity 7\r\n");
	rig_turn(rig);
	check_eq(atomic_load(&rig->shared->verbosity), 2);
}

TEST(administration_over_udp_is_refused)
{
	const char *const words[] = {
		"verbosity 1",
		"cache_memlimit 16",
		"shutdown",
		"watch",
		"stats reset",
		"stats detail on",
		"stats conns",
		"stats cachedump 1 1",
		"lru_crawler metadump all",
		"lru_crawler disable",
		"slabs automove 0",
		"lru mode flat",
	};
	const struct serve_policy policy = {.shutdown = true};

	serve_shared_set_policy(rig->shared, &policy);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		const char *const refusal = "CLIENT_ERROR not allowed over UDP\r\n";
		const struct fake_sent *sent;
		char line[64];

		rig_forget_datagrams(rig);
		snprintf(line, sizeof line, "%s\r\n", words[i]);
		rig_datagram_text(rig, 1, line);
		rig_turn(rig);
		check_eq(rig_datagrams_sent(rig, &sent), 1);
		check_eq(sent[0].len, 8 + strlen(refusal));
		check_bytes(sent[0].bytes + 8, refusal, strlen(refusal));
	}
	check_eq(serve_stop_requested_mt(rig->shared), SERVE_RUN);
}

/* Commands that need a connection stay refused. */
TEST(an_operator_may_allow_administration_over_udp)
{
	const struct {
		const char *line, *reply;
	} rows[] = {
		{"flush_all", "OK\r\n"},
		{"verbosity 1", "OK\r\n"},
		{"cache_memlimit 1000", "MEMLIMIT"},
		{"stats reset", "RESET\r\n"},
		{"lru_crawler disable", "OK\r\n"},
		{"slabs reassign 1 1", "SAME"},
		{"lru mode flat", "OK\r\n"},
		{"watch", "CLIENT_ERROR not allowed over UDP\r\n"},
		{"stats conns", "CLIENT_ERROR not allowed over UDP\r\n"},
		{"stats detail dump", "CLIENT_ERROR not allowed over UDP\r\n"},
		{"lru_crawler metadump all", "CLIENT_ERROR not allowed over UDP\r\n"},
	};
	const struct serve_policy policy = {.shutdown = true, .udp_admin = true};
	const struct fake_sent *sent;
	char line[64];

	serve_shared_set_policy(rig->shared, &policy);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		rig_forget_datagrams(rig);
		snprintf(line, sizeof line, "%s\r\n", rows[i].line);
		rig_datagram_text(rig, 1, line);
		rig_turn(rig);
		check_eq(rig_datagrams_sent(rig, &sent), 1);
		check_bytes(sent[0].bytes + 8, rows[i].reply, strlen(rows[i].reply));
	}
	check_eq(serve_stop_requested_mt(rig->shared), SERVE_RUN);
	rig_datagram_text(rig, 1, "shutdown graceful\r\n");
	rig_turn(rig);
	check_eq(serve_stop_requested_mt(rig->shared), SERVE_STOP_GRACEFULLY);
}

TEST(an_idle_connection_is_closed)
{
	const struct serve_policy policy = {.idle_timeout_s = 10};
	struct conn *idle, *busy, *watcher;

	serve_shared_set_policy(rig->shared, &policy);
	rig_turn(rig);
	idle = rig_open(rig);
	busy = rig_open(rig);
	watcher = rig_open(rig);
	rig_receive_text(rig, watcher, "watch evictions\r\n");
	for (uint32_t s = 0; s < 12; s++) {
		rig->clock.now_s++;
		rig->clock.now_ns += 1000000000;
		rig_receive_text(rig, busy, "version\r\n");
		for (uint32_t i = 0; i < FAKE_CONNS; i++)
			rig_turn(rig);
		check_eq(rig_closed(idle), s >= 9);
	}
	check(!rig_closed(busy) && !rig_closed(watcher));
	check_eq(rig_count(rig, CONN_IDLE_KICKS), 1);
}

TEST(a_slow_reader_is_not_idle)
{
	const struct serve_policy policy = {.idle_timeout_s = 10};
	struct conn *c;
	char last[64];

	serve_shared_set_policy(rig->shared, &policy);
	rig_turn(rig);
	rig_set_chunks(rig, 1);
	c = rig_open(rig);
	rig_receive_text(rig, c, "stats\r\n");
	for (uint32_t s = 0; s < 30; s++) {
		rig->clock.now_s++;
		rig->clock.now_ns += 1000000000;
		for (uint32_t i = 0; i < FAKE_CONNS; i++)
			rig_turn(rig);
	}
	check(!rig_closed(c));
	rig_set_chunks(rig, 100);
	rig_acked(rig, c);
	rig_turn(rig);
	snprintf(last, sizeof last, "STAT %s 0\r\nEND\r\n", stats_names[stats_name_count - 1].name);
	check_ptr(strstr(rig_sent(c, NULL), last));
}

static uint32_t
pages_of(uint32_t class)
{
	struct conn *c = rig_open(rig);
	char name[32];
	const char *at;
	uint32_t pages;

	rig_receive_text(rig, c, "stats slabs\r\n");
	rig_turn(rig);
	snprintf(name, sizeof name, "STAT %u:total_pages ", class);
	at = strstr(rig_sent(c, NULL), name);
	pages = at != NULL ? (uint32_t)atoi(at + strlen(name)) : 0;
	rig_lose(rig, c);
	return pages;
}

static const char *
one_line(const char *request)
{
	static char line[128];
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, request);
	/* A walk over the index takes some turns. */
	for (uint32_t i = 0; i < 100 && rig_sent(c, NULL)[0] == '\0'; i++)
		rig_turn(rig);
	snprintf(line, sizeof line, "%s", rig_sent(c, NULL));
	rig_lose(rig, c);
	return line;
}

static bool
stats_say(const char *name, uint32_t value)
{
	struct conn *c = rig_open(rig);
	char row[64];
	bool said;

	snprintf(row, sizeof row, "\r\nSTAT %s %u\r\n", name, value);
	rig_receive_text(rig, c, "stats\r\n");
	rig_turn(rig);
	said = strstr(rig_sent(c, NULL), row) != NULL;
	rig_lose(rig, c);
	return said;
}

TEST(a_class_that_is_not_there_is_illegal)
{
	const uint32_t last = store_class_count_mt(rig->store);
	char line[64];

	snprintf(line, sizeof line, "stats cachedump %u 1\r\n", last);
	check_str(one_line(line), "END\r\n");
	snprintf(line, sizeof line, "stats cachedump %u 1\r\n", last + 1);
	check_str(one_line(line), "CLIENT_ERROR Illegal slab id\r\n");
}

#define BUSY "BUSY currently processing reassign request\r\n"

TEST(a_page_moves_where_an_operator_wants_it)
{
	static char value[9000];
	struct conn *c = rig_open(rig);
	uint32_t from = 1, before;
	const char *answers;

	memset(value, 'v', sizeof value);
	memcpy(value + 8998, "\r\n", 2);
	for (uint32_t i = 0; i < 200; i++) {
		char head[64];

		snprintf(head, sizeof head, "set key%u 0 0 8998 noreply\r\n", i);
		rig_receive_text(rig, c, head);
		rig_receive(rig, c, value, sizeof value);
		rig_turn(rig);
	}
	rig_lose(rig, c);
	while (pages_of(from) == 0)
		from++;
	before = pages_of(from);
	check(before > 3);
	snprintf(value, sizeof value, "slabs reassign %u 1\r\n", from);
	check_str(one_line(value), "OK\r\n");
	check_eq(pages_of(from), before - 1);
	check(stats_say("slab_reassign_running", 1));
	check_eq(pages_of(1), 1);
	check_str(one_line("slabs reassign -1 2\r\n"), "OK\r\n");
	check_eq(pages_of(from), before - 2);
	check_eq(pages_of(2), 1);
	for (uint32_t i = 0; i < 1000 && !stats_say("slab_reassign_running", 0); i++)
		rig_turn(rig);
	check(stats_say("slabs_moved", 2));
	one_line("stats reset\r\n");
	check(stats_say("slabs_moved", 0));
	check_str(one_line("slabs reassign 1 2\r\n"),
		  "NOSPARE source class has no spare pages\r\n");
	check_str(one_line("slabs reassign 3 2\r\n"),
		  "NOSPARE source class has no spare pages\r\n");
	/* At least two pages move at a time; how many more depends on the size of the memory. A
	 * turn reads three requests. */
	snprintf(value, sizeof value, "slabs reassign %u 3\r\nslabs reassign %u 3\r\n%s", from,
		 from, "slabs reassign -1 3\r\n");
	answers = one_line(value);
	check(strncmp(answers, "OK\r\nOK\r\n", 8) == 0);
	for (uint32_t i = 0; i < 3 && strstr(answers, BUSY) == NULL; i++)
		answers = one_line(value);
	check(strstr(answers, BUSY) != NULL);
}

/* ---- certificates ---- */

static bool
sends(struct conn *c, const char *want)
{
	rig_turns(rig, 3);
	return strcmp(rig_sent(c, NULL), want) == 0;
}

TEST(refresh_certs_is_answered_when_the_files_were_read)
{
	struct conn *first = rig_open(rig), *second = rig_open(rig);
	uint32_t asked;

	rig->shared->info.tls = true;
	check(!serve_certs_wanted_mt(rig->shared));
	rig_receive_text(rig, first, "refresh_certs\r\nmn\r\n");
	check(sends(first, ""));
	check(serve_certs_wanted_mt(rig->shared));
	asked = serve_certs_asked_mt(rig->shared);
	rig_receive_text(rig, second, "refresh_certs\r\n");
	check(sends(second, ""));
	serve_certs_read_mt(rig->shared, asked, true, 0);
	check(sends(first, "OK\r\nMN\r\n"));
	check(sends(second, ""));
	check(serve_certs_wanted_mt(rig->shared));
	serve_certs_read_mt(rig->shared, serve_certs_asked_mt(rig->shared), false, 0);
	check(sends(second, "Error loading the certificates: the log has the reason\r\n"));
	check(!serve_certs_wanted_mt(rig->shared));
}

TEST(refresh_certs_noreply_is_done_and_waits_for_nothing)
{
	struct conn *c = rig_open(rig);

	rig->shared->info.tls = true;
	rig_receive_text(rig, c, "refresh_certs noreply\r\nmn\r\n");
	check(sends(c, "MN\r\n"));
	check(serve_certs_wanted_mt(rig->shared));
}

TEST(a_client_that_leaves_while_certificates_are_read_is_forgotten)
{
	struct conn *c = rig_open(rig);

	rig->shared->info.tls = true;
	rig_receive_text(rig, c, "refresh_certs\r\n");
	check(sends(c, ""));
	rig_lose(rig, c);
	serve_certs_read_mt(rig->shared, serve_certs_asked_mt(rig->shared), true, 0);
	check_str(one_line("mn\r\n"), "MN\r\n");
}
