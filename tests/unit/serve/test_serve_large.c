/*
 * Large values and shortage. Goal: a large value is received in any number of segments and sent
 * from its place in the store; when room runs out its reply waits, and all later requests of its
 * connection wait with it, in order; nothing stays pinned or held. Method: a stack whose pieces,
 * chunks and acknowledgements the test controls.
 */
#include "support/test.h"
#include "fake_stack.h"

#include <stdlib.h>

static struct rig *rig;
static uint8_t value[STORE_VALUE_MAX];

SETUP(start)
{
	rig = rig_create();
	for (uint32_t i = 0; i < sizeof value; i++)
		value[i] = (uint8_t)(i * 2654435761u >> 24);
}

TEARDOWN(stop)
{
	rig_destroy(rig);
}

/* Sends set key 0 0 len, in segments of at most mss bytes. */
static void
set_value(struct conn *c, const char *key, uint32_t len, uint32_t mss)
{
	char line[128];

	snprintf(line, sizeof line, "set %s 0 0 %u\r\n", key, len);
	rig_receive_text(rig, c, line);
	for (uint32_t at = 0; at < len; at += mss) {
		rig_receive(rig, c, value + at, len - at < mss ? len - at : mss);
		if (at / mss % 7 == 0)
			rig_turn(rig);
	}
	rig_receive_text(rig, c, "\r");
	rig_turn(rig);
	rig_receive_text(rig, c, "\n");
	rig_turns(rig, 2);
	check_str(rig_sent(c, NULL), "STORED\r\n");
	rig_acked(rig, c);
	rig_forget_sent(c);
}

/* Checks that the reply at sent[at] is the value under key; returns where the next one begins. */
static uint32_t
value_stands_at(struct conn *c, uint32_t at, const char *key, uint32_t len)
{
	char head[128];
	uint32_t sent_len, head_len;
	const char *sent = rig_sent(c, &sent_len) + at;

	snprintf(head, sizeof head, "VALUE %s 0 %u\r\n", key, len);
	head_len = (uint32_t)strlen(head);
	check(sent_len >= at + head_len + len + 7);
	check_bytes(sent, head, head_len);
	check_bytes(sent + head_len, value, len);
	check_bytes(sent + head_len + len, "\r\nEND\r\n", 7);
	return at + head_len + len + 7;
}

TEST(a_value_of_any_size_comes_back)
{
	const uint32_t sizes[] = {0, 1, 1023, 1024, 1025, 1460, 4096, 8191, 65536, 500000, 1048000};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct conn *c = rig_open(rig);
		uint32_t len;

		set_value(c, "big", sizes[i], 1460);
		rig_receive_text(rig, c, "get big\r\n");
		rig_turn(rig);
		check_eq(value_stands_at(c, 0, "big", sizes[i]), (rig_sent(c, &len), len));
		rig_acked(rig, c);
		rig_lose(rig, c);
		check_eq(rig_chunks_used(rig), 0);
	}
}

TEST(a_value_over_the_limit_is_swallowed_and_takes_the_old_one_along)
{
	const uint32_t len = STORE_VALUE_MAX + 1;
	struct conn *c = rig_open(rig);
	char line[64];

	rig_receive_text(rig, c, "set big 0 0 1\r\nx\r\nset kept 0 0 1\r\ny\r\n");
	snprintf(line, sizeof line, "set big 0 0 %u\r\n", len);
	rig_receive_text(rig, c, line);
	for (uint32_t at = 0; at < len; at += 1000)
		rig_receive(rig, c, value, len - at < 1000 ? len - at : 1000);
	rig_receive_text(rig, c, "\r\nget big\r\n");
	snprintf(line, sizeof line, "add kept 0 0 %u\r\n", len);
	rig_receive_text(rig, c, line);
	for (uint32_t at = 0; at < len; at += 1000)
		rig_receive(rig, c, value, len - at < 1000 ? len - at : 1000);
	rig_receive_text(rig, c, "\r\nget kept\r\n");
	rig_turns(rig, 5);
	check_str(rig_sent(c, NULL),
		  "STORED\r\nSTORED\r\nSERVER_ERROR object too large for cache\r\n"
		  "END\r\nSERVER_ERROR object too large for cache\r\n"
		  "VALUE kept 0 1\r\ny\r\nEND\r\n");
	check_eq(rig_count(rig, STORE_TOO_LARGE_COUNT), 2);
}

TEST(a_part_that_makes_a_value_too_large_is_not_stored)
{
	static const struct {
		const char *line, *answer;
	} rows[] = {
		{"append big 0 0 2\r\n", "NOT_STORED\r\n"},
		{"prepend big 0 0 2\r\n", "NOT_STORED\r\n"},
		{"ms big 2 MA c s\r\n", "NS c0 s2\r\n"},
		{"ms big 2 MP q\r\n", "NS\r\n"},
		{"ms big 2 MA N30\r\n", "NS\r\n"},
	};
	struct conn *c = rig_open(rig);

	set_value(c, "big", STORE_VALUE_MAX, 1460);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (uint32_t pieces = 0; pieces < 2; pieces++) {
			rig_receive_text(rig, c, rows[i].line);
			rig_receive_text(rig, c, pieces != 0 ? "x" : "xy\r\n");
			rig_turn(rig);
			rig_receive_text(rig, c, pieces != 0 ? "y\r\n" : "");
			rig_turns(rig, 2);
			check_str(rig_sent(c, NULL), rows[i].answer);
			rig_acked(rig, c);
			rig_forget_sent(c);
		}
	check_eq(rig_count(rig, STORE_TOO_LARGE_COUNT), 2 * sizeof rows / sizeof *rows);
	rig_receive_text(rig, c, "get big\r\n");
	rig_turns(rig, 3);
	value_stands_at(c, 0, "big", STORE_VALUE_MAX);
}

/* Gets a value, deletes it, and writes more than all memory before it is acknowledged. */
static void
stays_as_it_was(uint32_t len)
{
	struct conn *c = rig_open(rig);
	struct conn *other = rig_open(rig);

	set_value(c, "big", len, 1460);
	rig_receive_text(rig, c, "get big\r\n");
	rig_turn(rig);
	rig_receive_text(rig, other, "delete big\r\n");
	rig_turns(rig, 1);
	for (int i = 0; i < 400; i++) {
		char line[64];

		snprintf(line, sizeof line, "set fill%d 0 0 60000 noreply\r\n", i);
		rig_receive_text(rig, other, line);
		rig_receive(rig, other, value + i, 60000);
		rig_receive_text(rig, other, "\r\n");
		rig_turn(rig);
	}
	value_stands_at(c, 0, "big", len);
	rig_acked(rig, c); /* compares the pieces with their state when queued */
	rig_lose(rig, c);
	rig_lose(rig, other);
}

TEST(a_large_value_stays_as_it_was_until_it_is_acknowledged)
{
	stays_as_it_was(60000);
	stays_as_it_was(900000);
}

TEST(an_acknowledged_value_is_let_go)
{
	struct conn *c = rig_open(rig);
	const struct {
		uint32_t len;
		int times;
	} rows[] = {{60000, 400}, {900000, 40}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (int n = 0; n < rows[i].times; n++) {
			set_value(c, "big", rows[i].len, 60000);
			rig_receive_text(rig, c, "get big\r\n");
			rig_turn(rig);
			value_stands_at(c, 0, "big", rows[i].len);
			rig_acked(rig, c);
			rig_forget_sent(c);
		}
}

TEST(a_value_that_finds_no_piece_waits_and_what_follows_waits_too)
{
	struct conn *c = rig_open(rig);
	uint32_t at;

	set_value(c, "big", 100000, 1460);
	for (uint32_t pieces = 0; pieces < 4; pieces++) {
		rig_set_pieces(rig, pieces);
		rig_receive_text(rig, c, "get big\r\nset s 0 0 3\r\nabc\r\nget s");
		rig_receive_text(rig, c, "\r\nget big\r\nversion\r\nset t 0 0 5\r\nhe");
		rig_turns(rig, 2);
		check_null(strstr(rig_sent(c, NULL), "VERSION"));
		rig_receive_text(rig, c, "llo\r\n");
		rig_turns(rig, 2);
		rig_set_pieces(rig, 1000);
		rig_turns(rig, 4);
		at = value_stands_at(c, 0, "big", 100000);
		check_bytes(rig_sent(c, NULL) + at, "STORED\r\nVALUE s 0 3\r\nabc\r\nEND\r\n", 31);
		at = value_stands_at(c, at + 31, "big", 100000);
		check_str(rig_sent(c, NULL) + at, "VERSION 9.8.7\r\nSTORED\r\n");
		rig_acked(rig, c);
		rig_forget_sent(c);
		check_eq(rig_chunks_used(rig), 0);
	}
	check(rig_count(rig, CONN_DEFERRED) > 0);
}

TEST(more_bytes_than_a_read_buffer_behind_a_waiting_value_are_not_lost)
{
	static char text[8192];
	struct conn *c = rig_open(rig);
	uint32_t at;

	set_value(c, "big", 50000, 1460);
	strcpy(text, "get big\r\n");
	for (char k = 'a'; k < 'f'; k++)
		sprintf(text + strlen(text), "set %c 0 0 1000\r\n%01000d\r\n", k, 0);
	rig_set_pieces(rig, 0);
	rig_receive_text(rig, c, text);
	rig_turns(rig, 3);
	rig_set_pieces(rig, 1000);
	rig_turns(rig, 3);
	at = value_stands_at(c, 0, "big", 50000);
	check_str(rig_sent(c, NULL) + at, "STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nSTORED\r\n");
}

TEST(a_broken_long_line_behind_a_waiting_value_is_skipped_to_its_end)
{
	static char text[8192];
	struct conn *c = rig_open(rig);
	uint32_t at;

	set_value(c, "big", 50000, 1460);
	sprintf(text, "get big\r\nget none %0300d", 0);
	for (int i = 0; i < 500; i++)
		strcat(text, " none");
	strcat(text, "\r\nversion\r\n");
	rig_set_pieces(rig, 0);
	rig_receive_text(rig, c, text);
	rig_turns(rig, 3);
	rig_set_pieces(rig, 1000);
	rig_turns(rig, 3);
	at = value_stands_at(c, 0, "big", 50000);
	check_str(rig_sent(c, NULL) + at,
		  "CLIENT_ERROR bad command line format\r\nVERSION 9.8.7\r\n");
}

TEST(a_client_that_does_not_read_stops_being_served_and_then_gets_it_all)
{
	struct conn *c = rig_open(rig);
	uint32_t len, at = 0;

	set_value(c, "big", 100000, 1460);
	for (int i = 0; i < 12; i++)
		rig_receive_text(rig, c, "get big\r\n");
	rig_turns(rig, 5);
	rig_sent(c, &len);
	check(len < CONN_SENDQ_BYTES + 100100);
	for (int i = 0; i < 12; i++) {
		rig_acked(rig, c);
		rig_turns(rig, 2);
	}
	for (int i = 0; i < 12; i++)
		at = value_stands_at(c, at, "big", 100000);
	rig_sent(c, &len);
	check_eq(at, len);
}

TEST(a_connection_lost_in_the_middle_of_anything_leaves_nothing_behind)
{
	struct conn *filling = rig_open(rig);
	struct conn *in_line = rig_open(rig);
	struct conn *waiting = rig_open(rig);

	set_value(waiting, "big", 200000, 1460);
	rig_receive_text(rig, filling, "set f 0 0 5000\r\nabc");
	rig_receive_text(rig, in_line, "get a");
	rig_set_pieces(rig, 1);
	rig_receive_text(rig, waiting, "get big\r\nget a\r\n");
	rig_turns(rig, 2);
	rig_lose(rig, filling);
	rig_lose(rig, in_line);
	rig_lose(rig, waiting);
	check_eq(rig_chunks_used(rig), 0);
	check_eq(rig_count(rig, CONN_ENDED), 3);
}

TEST(what_a_lost_connection_held_in_the_store_is_free_again)
{
	char line[64];

	for (int i = 0; i < 60; i++) {
		struct conn *filling = rig_open(rig);
		struct conn *waiting = rig_open(rig);

		rig_receive_text(rig, filling, "set f 0 0 900000\r\nabc");
		snprintf(line, sizeof line, "w%d", i);
		rig_set_pieces(rig, 0);
		set_value(waiting, line, 900000, 60000);
		snprintf(line, sizeof line, "get w%d\r\n", i);
		rig_receive_text(rig, waiting, line);
		rig_turns(rig, 1);
		rig_lose(rig, filling);
		rig_lose(rig, waiting);
		rig_turns(rig, 1);
	}
	check_eq(rig_count(rig, STORE_NO_MEMORY_COUNT), 0);
}

/* The values need more memory than a turn can evict. */
TEST(a_large_set_waits_for_memory_and_loses_nothing)
{
	enum { CONNS = 6, LEN = 1000000 };
	struct conn *c[CONNS];
	char line[64];
	uint32_t waited = 0;

	rig_fill(rig);
	for (int i = 0; i < CONNS; i++) {
		c[i] = rig_open(rig);
		snprintf(line, sizeof line, "set big%d 0 0 %u\r\n", i, LEN);
		rig_receive_text(rig, c[i], line);
		rig_receive(rig, c[i], value, LEN / 2);
	}
	for (; rig_count(rig, CMD_SET) < CONNS && waited < 200; waited++)
		rig_turns(rig, 1);
	check(waited > 2);
	check(rig_count(rig, CONN_DEFERRED) > 0);
	for (int i = 0; i < CONNS; i++) {
		rig_receive(rig, c[i], value + LEN / 2, LEN / 2);
		snprintf(line, sizeof line, "\r\nget big%d\r\n", i);
		rig_receive_text(rig, c[i], line);
		rig_turns(rig, 2);
		check_bytes(rig_sent(c[i], NULL), "STORED\r\n", 8);
		snprintf(line, sizeof line, "big%d", i);
		value_stands_at(c[i], 8, line, LEN);
		rig_acked(rig, c[i]);
	}
	check_eq(rig_count(rig, STORE_NO_MEMORY_COUNT), 0);
	check_eq(rig_count(rig, REQ_TCP), 2 * CONNS); /* however often they were read */
	printf("the last of %d began after %u turns\n", CONNS, waited);
}

/* A waiting large set whose peer closes gives its chunk back. */
TEST(a_large_set_that_waits_may_be_cut_off)
{
	struct conn *c[8];
	char line[64];

	rig_fill(rig);
	for (int i = 0; i < 8; i++) {
		c[i] = rig_open(rig);
		snprintf(line, sizeof line, "set big%d 0 0 1000000\r\nabc", i);
		rig_receive_text(rig, c[i], line);
	}
	rig_turns(rig, 1);
	check(rig_chunks_used(rig) > 0);
	for (int i = 0; i < 8; i++)
		rig_lose(rig, c[i]);
	rig_turns(rig, 1);
	check_eq(rig_chunks_used(rig), 0);
}

/* Chunks allow for one cut line. */
TEST(a_cut_line_yields_its_read_buffer_to_the_next_one)
{
	struct conn *lazy = rig_open(rig);
	struct conn *next = rig_open(rig);

	rig_set_chunks(rig, 7); /* a quarter of them for read buffers: one */
	rig_receive_text(rig, lazy, "get a");
	rig_turns(rig, 2);
	rig_receive_text(rig, next, "get b");
	rig_turns(rig, 1);
	check(rig_aborted(lazy) && !rig_aborted(next));
	check_eq(rig_count(rig, CONN_SLOW_REQUEST), 1);
	rig_receive_text(rig, next, "\r\n");
	rig_turns(rig, 2);
	check_str(rig_sent(next, NULL), "END\r\n");
}

TEST(a_cut_line_that_is_ended_yields_nothing)
{
	struct conn *first = rig_open(rig);
	struct conn *next = rig_open(rig);

	rig_set_chunks(rig, 7);
	rig_receive_text(rig, first, "get a");
	rig_turns(rig, 2);
	rig_receive_text(rig, first, "\r\n");
	rig_turns(rig, 1);
	rig_receive_text(rig, next, "get b");
	rig_turns(rig, 2);
	rig_receive_text(rig, next, "\r\n");
	rig_turns(rig, 2);
	check_str(rig_sent(first, NULL), "END\r\n");
	check_str(rig_sent(next, NULL), "END\r\n");
	check_eq(rig_count(rig, CONN_SLOW_REQUEST), 0);
}

/* Three lines are cut, and there are two buffers. More bytes of the first line arrive before the
 * third begins. */
TEST(the_line_that_began_first_yields)
{
	struct conn *c[3];

	rig_set_chunks(rig, 11);
	for (uint32_t i = 0; i < 3; i++) {
		c[i] = rig_open(rig);
		rig_receive_text(rig, c[i], "get a");
		rig_turns(rig, 2);
		if (i == 1) {
			rig_receive_text(rig, c[0], "b");
			rig_turns(rig, 2);
		}
	}
	check(rig_aborted(c[0]) && !rig_aborted(c[1]) && !rig_aborted(c[2]));
}

TEST(a_long_broken_line_read_to_its_end_holds_no_chunk)
{
	struct conn *c = rig_open(rig);
	char key[3000];

	memset(key, 'k', sizeof key);
	rig_receive_text(rig, c, "get ");
	rig_turns(rig, 1);
	rig_receive(rig, c, key, sizeof key);
	rig_receive_text(rig, c, "\r\n");
	rig_turns(rig, 2);
	check_str(rig_sent(c, NULL), "CLIENT_ERROR bad command line format\r\n");
	rig_acked(rig, c);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(an_end_of_stream_behind_a_waiting_value_waits_too)
{
	struct conn *c = rig_open(rig);
	uint32_t sent;

	set_value(c, "big", 5000, 1460);
	rig_set_pieces(rig, 0);
	rig_receive_text(rig, c, "get big\r\n");
	rig_eof(rig, c);
	rig_turns(rig, 2);
	check(!rig_closed(c));
	rig_set_pieces(rig, 1);
	rig_turns(rig, 2);
	rig_sent(c, &sent);
	check_eq(value_stands_at(c, 0, "big", 5000), sent);
	check(rig_closed(c));
}

/* The last chunk is taken between the parsing of requests and the answer of a value. */
TEST(requests_behind_a_waiting_value_find_a_place_when_chunks_run_out)
{
	static const uint32_t replies[] = {20, 20, 20, 2};
	struct conn *others[4];
	struct conn *waiting = rig_open(rig);

	set_value(waiting, "big", 5000, 1460);
	rig_set_chunks(rig, 2 * OPS_MAX);
	for (uint32_t i = 0; i < 4; i++) {
		others[i] = rig_open(rig);
		for (uint32_t n = 0; n < replies[i]; n++)
			rig_receive_text(rig, others[i], "get a\r\n");
	}
	rig_receive_text(rig, waiting, "get big\r\nversion\r\n");
	rig_turns(rig, 1);
	check(!rig_aborted(waiting));
	for (uint32_t i = 0; i < 4; i++)
		rig_acked(rig, others[i]);
	rig_acked(rig, waiting); /* acknowledges nothing, but the stack wakes the connection */
	rig_turns(rig, 2);
	check_str(rig_sent(waiting, NULL) + value_stands_at(waiting, 0, "big", 5000),
		  "VERSION 9.8.7\r\n");
	rig_acked(rig, waiting);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(without_chunks_replies_wait_for_them)
{
	struct conn *c = rig_open(rig);

	rig_set_chunks(rig, 0);
	rig_receive_text(rig, c, "get a\r\nversion\r\n");
	rig_turns(rig, 3);
	check_str(rig_sent(c, NULL), "");
	rig_set_chunks(rig, 16);
	rig_acked(rig, c);
	rig_turns(rig, 2);
	check_str(rig_sent(c, NULL), "END\r\nVERSION 9.8.7\r\n");
}
