/*
 * Sets while another core does not turn. Goal: a set over a connection waits for memory that is
 * coming, and is answered in order once there is some; no set is refused, and the key's old value
 * stays until then. Method: two cores in turns, one of which does not turn; pipelined sets on the
 * other until all of them wait.
 */
#include "support/test.h"
#include "fake_stack.h"
#include "store/introspect.h"

#include <stdio.h>

#define CLIENTS  5u
#define PIPELINE 8u
#define STORED   8u   /* bytes of the answer */
#define QUIET    300u /* turns without an answer: all wait */
#define SETS_MAX 400000u
/* 37 bytes: an item with this key is as large as the new keys' items with their 32. */
#define NEW "the new value, which is no longer one\r\n"

static const struct {
	uint32_t len;
	const char *verb;
	uint32_t segment;  /* bytes */
	uint32_t limit_mb; /* 0: only the memory set aside */
} loads[] = {
	{32, "set", 1460, 0},  {900, "set", 1460, 0}, {100, "add", 1460, 0}, {32, "ms", 1460, 0},
	{900, "set", 8900, 0}, {900, "set", 8900, 8}, {5000, "ms", 8900, 0}, {5000, "set", 8900, 8},
};

static struct rig *rigs[2];
static struct conn *clients[CLIENTS];
static uint32_t asked[CLIENTS], answered[CLIENTS], number;

/* Sends some sets of new keys, and one of the key that had a value before. */
static void
ask(uint32_t i, size_t load)
{
	static char text[PIPELINE * 5100], value[5000];
	const uint32_t segment = loads[load].segment;
	const bool meta = strcmp(loads[load].verb, "ms") == 0;
	uint32_t len = 0;

	memset(value, 'a' + (int)i, sizeof value);
	for (uint32_t n = 0; n < PIPELINE; n++)
		len += (uint32_t)snprintf(text + len, sizeof text - len,
					  "%s new%u %s%u\r\n%.*s\r\n", loads[load].verb, number++,
					  meta ? "" : "0 0 ", loads[load].len, (int)loads[load].len,
					  value);
	for (uint32_t at = 0; at < len; at += segment)
		rig_receive(rigs[0], clients[i], text + at,
			    len - at < segment ? len - at : segment);
	asked[i] += PIPELINE;
}

static uint32_t
listen_to(uint32_t i, size_t load)
{
	const bool meta = strcmp(loads[load].verb, "ms") == 0;
	const uint32_t each = meta ? 4 : STORED;
	uint32_t len;
	const char *sent = rig_sent(clients[i], &len);

	check_eq(len % each, 0);
	for (uint32_t at = 0; at < len; at += each)
		check_bytes(sent + at, meta ? "HD\r\n" : "STORED\r\n", each);
	answered[i] += len / each;
	rig_acked(rigs[0], clients[i]);
	rig_forget_sent(clients[i]);
	return len / each;
}

/* Every client sends again as soon as it was answered, until all wait. */
static void
ask_until_all_wait(size_t load)
{
	for (uint32_t quiet = 0; quiet < QUIET && number < SETS_MAX; quiet++) {
		for (uint32_t i = 0; i < CLIENTS; i++)
			if (answered[i] == asked[i])
				ask(i, load);
		rig_turn(rigs[0]);
		for (uint32_t i = 0; i < CLIENTS; i++)
			if (listen_to(i, load) != 0)
				quiet = 0;
	}
	check(number < SETS_MAX);
}

static void
begin(size_t load)
{
	rig_create_cores(rigs, 2);
	if (loads[load].limit_mb != 0)
		check(store_limit_mt(rigs[0]->store, (size_t)loads[load].limit_mb << 20));
	rig_fill(rigs[0]);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i] = rig_open(rigs[0]);
		asked[i] = answered[i] = 0;
	}
	number = 0;
	rig_receive_text(rigs[0], clients[0], "set old 0 0 3\r\nabc\r\n");
	rig_turn(rigs[1]);
	rig_turn(rigs[0]);
	rig_acked(rigs[0], clients[0]);
	rig_forget_sent(clients[0]);
}

TEST(sets_wait_for_a_core_that_stands_still)
{
	for (size_t load = 0; load < sizeof loads / sizeof *loads; load++) {
		struct conn *late;
		uint32_t done = 0;

		begin(load);
		ask_until_all_wait(load);
		for (uint32_t i = 0; i < CLIENTS; i++)
			done += answered[i];
		late = rig_open(rigs[0]);
		rig_receive_text(rigs[0], late, "get old\r\nset old 0 0 3\r\ndef\r\nget old\r\n");
		rig_turns(rigs[0], 100);
		check(strncmp(rig_sent(late, NULL), "VALUE old 0 3\r\nabc\r\nEND\r\n", 25) == 0);
		for (uint32_t t = 0; t < 64; t++) {
			rig_turn(rigs[1]);
			rig_turn(rigs[0]);
			for (uint32_t i = 0; i < CLIENTS; i++)
				listen_to(i, load);
		}
		for (uint32_t i = 0; i < CLIENTS; i++)
			check_eq(answered[i], asked[i]);
		check_str(rig_sent(late, NULL), "VALUE old 0 3\r\nabc\r\nEND\r\nSTORED\r\n"
						"VALUE old 0 3\r\ndef\r\nEND\r\n");
		check_eq(rig_count(rigs[0], STORE_NO_MEMORY_COUNT), 0);
		check_eq(rig_count(rigs[0], REQ_TCP), number + 4); /* however often each was read */
		print_message("%s of %u bytes: %u done while a core stood still\n",
			      loads[load].verb, loads[load].len, done);
		rig_destroy(rigs[1]);
		rig_destroy(rigs[0]);
	}
}

/* A UDP request cannot wait. A set is refused, and the value that it was to replace is removed; a
 * request that would not have replaced one leaves it. */
TEST(a_refused_set_costs_the_old_value_only_where_it_replaces)
{
	static const struct {
		const char *text;
		bool stays;
	} rows[] = {
		{"set old 0 0 37\r\n" NEW, false}, {"ms old 37\r\n" NEW, false},
		{"add old 0 0 37\r\n" NEW, true},  {"replace old 0 0 37\r\n" NEW, true},
		{"ms old 37 ME\r\n" NEW, true},    {"ms old 37 C1\r\n" NEW, true},
		{"ms old 37 MR\r\n" NEW, true},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *sent;

		begin(0);
		ask_until_all_wait(0);
		for (uint32_t n = 0; n < 100 && rig_count(rigs[0], STORE_NO_MEMORY_COUNT) == 0;
		     n++) {
			rig_datagram_text(rigs[0], (uint16_t)n, rows[i].text);
			rig_turn(rigs[0]);
		}
		check_eq(rig_count(rigs[0], STORE_NO_MEMORY_COUNT), 1);

		struct conn *c = rig_open(rigs[0]);

		rig_receive_text(rigs[0], c, "get old\r\n");
		rig_turn(rigs[0]);
		sent = rig_sent(c, NULL);
		check_eq(strncmp(sent, "VALUE", 5) == 0, rows[i].stays);
		for (uint32_t t = 0; t < 64; t++) {
			rig_turn(rigs[1]);
			rig_turn(rigs[0]);
		}
		rig_destroy(rigs[1]);
		rig_destroy(rigs[0]);
	}
}

#define SUMS 50u

/* An incr needs memory for its new version, and waits for it as a set does. */
TEST(sums_wait_for_a_core_that_stands_still)
{
	static const char set[] = "set old 0 0 37\r\n0000000000000000000000000000000000007\r\n";
	static const char *const asks[] = {"incr old 1\r\n", "ma old v\r\n"};
	static const char binary[24 + 20 + 3] = {
		[0] = (char)0x80, [1] = 0x05, [3] = 3, [4] = 20, [11] = 23,
		[31] = 1,         [44] = 'o', 'l',     'd'};

	for (uint32_t kind = 0; kind < 3; kind++) {
		const char *request = kind < 2 ? asks[kind] : binary;
		const uint32_t len = kind < 2 ? (uint32_t)strlen(request) : sizeof binary;
		struct conn *c;
		uint32_t before, sent;
		char end[32];

		begin(0);
		rig_receive_text(rigs[0], clients[0], set);
		rig_turn(rigs[0]);
		rig_acked(rigs[0], clients[0]);
		rig_forget_sent(clients[0]);
		c = rig_open(rigs[0]);
		ask_until_all_wait(0);
		for (uint32_t n = 0; n < SUMS; n++)
			rig_receive(rigs[0], c, request, len);
		rig_turns(rigs[0], 100);
		rig_sent(c, &before);
		for (uint32_t t = 0; t < 500; t++) {
			rig_turn(rigs[1]);
			rig_turn(rigs[0]);
			for (uint32_t i = 0; i < CLIENTS; i++)
				listen_to(i, 0);
		}
		check_null(strstr(rig_sent(c, &sent), "SERVER_ERROR"));
		print_message("%u and %u bytes of answers\n", before, sent);
		check(before < sent); /* some of them waited */
		if (kind < 2) {
			snprintf(end, sizeof end, "%u\r\n", 7 + SUMS);
			check_str(rig_sent(c, NULL) + sent - strlen(end), end);
		} else {
			check_eq(sent, SUMS * 32);
			check_eq(rig_sent(c, NULL)[sent - 1], 7 + SUMS);
		}
		rig_destroy(rigs[1]);
		rig_destroy(rigs[0]);
	}
}

#define APPENDS 50u

/* An append waits for its new version as well. While it waits, the value that it
 * extends may be evicted. */
TEST(appends_wait_for_a_core_that_stands_still)
{
	static const struct {
		const char *request, *stored, *missed;
	} asks[] = {{"append old 0 0 1\r\nx\r\n", "STORED\r\n", "NOT_STORED\r\n"},
		    {"prepend old 0 0 1\r\nx\r\n", "STORED\r\n", "NOT_STORED\r\n"},
		    {"ms old 1 MA\r\nx\r\n", "HD\r\n", "NS\r\n"}};

	for (uint32_t kind = 0; kind < sizeof asks / sizeof *asks; kind++) {
		uint32_t before, sent, count = 0;
		struct conn *c;

		begin(0);
		c = rig_open(rigs[0]);
		ask_until_all_wait(0);
		for (uint32_t n = 0; n < APPENDS; n++)
			rig_receive_text(rigs[0], c, asks[kind].request);
		rig_turns(rigs[0], 100);
		rig_sent(c, &before);
		for (uint32_t t = 0; t < 500; t++) {
			rig_turn(rigs[1]);
			rig_turn(rigs[0]);
			for (uint32_t i = 0; i < CLIENTS; i++)
				listen_to(i, 0);
		}
		for (const char *at = rig_sent(c, &sent), *end = at + sent; at < end; count++) {
			const char *said = at[0] == 'N' ? asks[kind].missed : asks[kind].stored;

			check_bytes(at, said, strlen(said));
			at += strlen(said);
		}
		print_message("%u and %u bytes of answers\n", before, sent);
		check(before < sent); /* some of them waited */
		check_eq(count, APPENDS);
		rig_destroy(rigs[1]);
		rig_destroy(rigs[0]);
	}
}
