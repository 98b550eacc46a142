/*
 * The ends of pending writes. Goal: a write is requested once or never, its client gets the
 * result as far as that is known, and its value's memory is freed, in every state of its
 * connection, its backend and the table. Method: as test_pending_reads.c; the results of a backend
 * are a table of lines and replies.
 */
#include "few_writes.h"
#include "serve/serve_internal.h"
#include "serve/serve_shared.h"
#include "store/introspect.h"

#include <stdlib.h>

#define LARGE "SERVER_ERROR object too large for cache\r\n"

/* Sends a set of len bytes and the text behind it, except for the last `less` bytes. */
static void
say_set(struct conn *c, const char *key, uint32_t len, const char *behind, uint32_t less)
{
	char *text = malloc(len + 128);
	const int head = sprintf(text, "set %s 0 0 %u\r\n", key, len);
	uint32_t bytes = (uint32_t)head + len;

	memset(text + head, 'b', len);
	bytes += (uint32_t)sprintf(text + bytes, "\r\n%s", behind) - less;
	for (uint32_t at = 0; at < bytes; at += 4000)
		rig_receive(rig, c, text + at, bytes - at < 4000 ? bytes - at : 4000);
	free(text);
}

/* ---- results ---- */

/* The backend's answer follows from the key's number: late_backend.c, pretend(). */
static const struct {
	const char *says, *reply;
} results[] = {
	{"set s0 0 0 1\r\nx\r\n", "STORED\r\n"},
	{"add s1 0 0 1\r\nx\r\n", "NOT_STORED\r\n"},
	{"cas s2 0 0 1 5\r\nx\r\n", "EXISTS\r\n"},
	{"cas s3 0 0 1 5\r\nx\r\n", "NOT_FOUND\r\n"},
	{"append s4 0 0 1\r\nx\r\n", LARGE},
	{"prepend s5 0 0 1\r\nx\r\n", "SERVER_ERROR out of memory storing object\r\n"},
	{"replace s10 0 0 1\r\nx\r\n", LARGE},
	{"set s1 0 0 1 noreply\r\nx\r\n", ""},
	{"delete s0\r\n", "DELETED\r\n"},
	{"delete s3\r\n", "NOT_FOUND\r\n"},
	{"delete s10\r\n", LARGE},
	{"delete s3 noreply\r\n", ""},
	{"incr s7 1\r\n", "7000021\r\n"},
	{"decr s3 1\r\n", "NOT_FOUND\r\n"},
	{"incr s6 1\r\n", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
	{"incr s7 1 noreply\r\n", ""},
	{"touch s0 0\r\n", "TOUCHED\r\n"},
	{"touch s3 0\r\n", "NOT_FOUND\r\n"},
	{"gat 0 s1\r\n", S1 "END\r\n"},
	{"gat 0 s5\r\n", "END\r\n"},
	{"gat 0 s5 s1\r\n", S1 "END\r\n"},
	{"gats 0 s1\r\n", "VALUE s1 1 31 1001\r\nbipwdkryfmtahovcjqxelszgnubipwd\r\nEND\r\n"},
	{"ms s7 1 k s c Oab\r\nx\r\n", "HD ks7 s7 c7 Oab\r\n"},
	{"ms s7 1 q\r\nx\r\n", ""},
	{"ms s1 1 k\r\nx\r\n", "NS ks1\r\n"},
	{"ms s2 1 k\r\nx\r\n", "EX ks2\r\n"},
	{"ms s3 1 k\r\nx\r\n", "NF ks3\r\n"},
	{"md s0 k\r\n", "HD ks0\r\n"},
	{"md s0 q\r\n", ""},
	{"md s2 k\r\n", "EX ks2\r\n"},
	{"md s3 k\r\n", "NF ks3\r\n"},
	{"ma s7 v t c k\r\n", "VA 7 t6 c7 ks7\r\n7000021\r\n"},
	{"ma s7 t\r\n", "HD t6\r\n"},
	{"ma s7 q\r\n", ""},
	{"ma s3 k\r\n", "NF ks3\r\n"},
	{"ma s2 k\r\n", "EX ks2\r\n"},
	{"ma s6\r\n", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
	{"mg s1 T0 k f\r\n", "HD ks1 f1\r\n"},
	{"mg s5 N0 v\r\n", "EN\r\n"},
	{"mg czE= b k T0 f\r\n", "HD ks1 f1\r\n"},
	{"flush_all\r\n", "OK\r\n"},
	{"flush_all noreply\r\n", ""},
};

TEST(each_result_is_the_reply_of_its_verb)
{
	for (uint32_t i = 0; i < sizeof results / sizeof results[0]; i++) {
		const uint64_t asked = late_asked(late);
		struct conn *c = say(results[i].says);
		char expect[256];

		rig_receive_text(rig, c, "mn\r\n");
		turns(10);
		sprintf(expect, "%sMN\r\n", results[i].reply);
		SAYS(c, expect);
		check_eq(late_asked(late) - asked, i == 20 ? 2 : 1);
		rig_lose(rig, c);
	}
}

TEST(a_malformed_write_is_not_asked_for)
{
	struct conn *c = say("set l1 0 0 1\r\nxyzset l1 0 0 x\r\nincr l1 x\r\nversion\r\n");

	say_set(c, "l2", 1 << 21, "mn\r\n", 0); /* above -I */
	turns(5);
	check_eq(late_asked(late), 0);
	SAYS(c, "CLIENT_ERROR bad data chunk\r\n"
		"CLIENT_ERROR bad command line format\r\n"
		"CLIENT_ERROR invalid numeric delta argument\r\nVERSION 9.8.7\r\n" LARGE "MN\r\n");
}

/* ---- order ---- */

TEST(nothing_else_behind_a_write_is_asked_before_its_answer)
{
	struct conn *c = say("get s1\r\nset l1 0 0 1\r\nx\r\nget s1 s1\r\nset l1 0 0 1\r\ny\r\n"
			     "get l1\r\n");

	late_hold(late, true);
	turns(3);
	check_eq(late_asked(late), 1);
	late_hold(late, false);
	turns(1);
	late_hold(late, true);
	turns(3);
	check_eq(late_asked(late), 2);
	SAYS(c, S1 "END\r\n");
	late_hold(late, false);
	turns(10);
	SAYS(c, S1 "END\r\nSTORED\r\n" S1 S1 "END\r\nSTORED\r\nVALUE l1 0 1\r\ny\r\nEND\r\n");
	check_eq(late_written(late, 1), 2);
}

/* ---- pipelines ---- */

TEST(writes_of_other_keys_are_asked_one_behind_the_other)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\nms l2 1 k Oab\r\ny\r\ndelete l3\r\n"
			     "set l4 0 0 1 noreply\r\nz\r\nincr l5 1\r\nget l1 l2 l4\r\n");

	late_hold(late, true);
	turns(5);
	check_eq(late_asked(late), PENDING_KEPT_MAX);
	SAYS(c, "");
	late_hold(late, false);
	turns(12);
	SAYS(c, "STORED\r\nHD kl2 Oab\r\nNOT_FOUND\r\nNOT_FOUND\r\n"
		"VALUE l1 0 1\r\nx\r\nVALUE l2 0 1\r\ny\r\nVALUE l4 0 1\r\nz\r\nEND\r\n");
	check_eq(rig_count(rig, REQ_TCP), 6);
}

/* Completed writes are answered in one turn, though no event schedules the connection again. */
TEST(answers_of_one_turn_are_sent_together)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\nset l2 0 0 1\r\ny\r\nset l3 0 0 1\r\nz\r\n");

	late_hold(late, true);
	turns(3);
	late_hold(late, false);
	turns(1);
	SAYS(c, "STORED\r\nSTORED\r\nSTORED\r\n");
}

TEST(a_write_of_the_same_key_waits_for_the_answer)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\nset l2 0 0 1\r\nx\r\nappend l1 0 0 1\r\ny\r\n"
			     "set l3 0 0 1\r\nx\r\nget l1\r\n");

	late_hold(late, true);
	turns(5);
	check_eq(late_asked(late), 2);
	late_hold(late, false);
	turns(10);
	SAYS(c, "STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nVALUE l1 0 2\r\nxy\r\nEND\r\n");
}

/* Each line waits behind a write, and another write waits behind the line. */
TEST(other_requests_wait_for_the_answer_of_a_write)
{
	static const char *const lines[] = {"get s1 s2\r\n",    "version\r\n",
					    "bogus\r\n",        "mn\r\n",
					    "gat 0 s1\r\n",     "mg s1 T0 v\r\n",
					    "flush_all\r\n",    "set l2 0 0 1\r\nxyz\r\n",
					    "set l2 0 0 x\r\n", "ms bDI= 1 b\r\nx\r\n",
					    "quit\r\n"};

	for (uint32_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		const uint64_t asked = late_asked(late);
		struct conn *c = say("set l1 0 0 1\r\nx\r\n");

		rig_receive_text(rig, c, lines[i]);
		rig_receive_text(rig, c, "set l3 0 0 1\r\nx\r\n");
		late_hold(late, true);
		turns(4);
		check_eq(late_asked(late) - asked, 1);
		SAYS(c, "");
		check(!rig_closed(c));
		late_hold(late, false);
		turns(10);
		check(strncmp(rig_sent(c, NULL), "STORED\r\n", 8) == 0);
		check_eq(rig_closed(c), i + 1 == sizeof lines / sizeof lines[0]);
		rig_lose(rig, c);
	}
}

/* A write in any number of pieces is requested when it is whole, unless it is
 * larger than a read buffer. */
TEST(a_write_that_comes_in_pieces_is_asked_when_it_is_whole)
{
	static const char text[] = "set l2 3 0 6\r\nabcdef\r\n";
	struct conn *c = say("set l1 0 0 1\r\nx\r\n"), *large = say("set l3 0 0 1\r\nx\r\n");

	late_hold(late, true);
	turns(1);
	for (uint32_t i = 0; i + 1 < sizeof text; i++) {
		check_eq(late_asked(late), 2);
		rig_receive(rig, c, text + i, 1);
		turns(1);
	}
	check_eq(late_asked(late), 3);
	say_set(large, "l4", 3000, "", 0);
	turns(3);
	check_eq(late_asked(late), 3);
	late_hold(late, false);
	turns(8);
	SAYS(c, "STORED\r\nSTORED\r\n");
	SAYS(large, "STORED\r\nSTORED\r\n");
	rig_receive_text(rig, c, "get l2\r\n");
	turns(5);
	SAYS(c, "STORED\r\nSTORED\r\nVALUE l2 3 6\r\nabcdef\r\nEND\r\n");
}

/* The bytes after the write are no complete request. */
TEST(a_client_that_ends_amid_a_request_has_its_earlier_answers)
{
	static const char *const rests[] = {"", "set l", "set l2 0 0 9\r\nabc"};

	for (uint32_t i = 0; i < 3; i++) {
		struct conn *c = say("set l1 0 0 1\r\nx\r\n");

		rig_receive_text(rig, c, rests[i]);
		rig_eof(rig, c);
		late_hold(late, true);
		turns(4);
		check(!rig_closed(c));
		late_hold(late, false);
		turns(6);
		SAYS(c, "STORED\r\n");
		check(rig_closed(c));
	}
	check_eq(late_written(late, 2), 0);
}

static uint32_t number_of_lane(uint32_t lane, uint32_t from);

/* The waiting write is not retried all the time, and is counted once. It is as
 * large as a read buffer. */
TEST(a_write_without_a_place_behind_another_waits_for_that)
{
	const uint32_t n = number_of_lane(0, 1), other = number_of_lane(1, 1);
	uint64_t asked, deferred;
	struct conn *c;
	char text[96], key[16];

	fill_lane(0);
	asked = rig_count(rig, REQ_TCP);
	sprintf(text, "set l%u 0 0 1\r\nx\r\n", other);
	late_hold(late, true);
	deferred = rig_count(rig, CONN_DEFERRED);
	c = say(text);
	/* 15: "set ", " 0 0 NNNN" and its line end; 2: the value's line end. */
	say_set(c, key, MC_LINE_MAX - (uint32_t)sprintf(key, "l%u", n) - 15 - 2, "", 0);
	turns(10);
	check(rig_count(rig, CONN_DEFERRED) - deferred <= 4);
	check_eq(late_written(late, other), 1);
	check_eq(late_written(late, n), 0);
	late_hold(late, false);
	turns(TIMEOUT_TURNS + 20);
	SAYS(c, "STORED\r\nSTORED\r\n");
	check_eq(late_written(late, n), 1);
	check_eq(rig_count(rig, REQ_TCP) - asked, 2);
}

static uint32_t
versions_sent(struct conn *c)
{
	const char *at = rig_sent(c, NULL);
	uint32_t count = 0;

	while ((at = strstr(at, "VERSION 9.8.7\r\n")) != NULL) {
		at++;
		count++;
	}
	return count;
}

/* The two answers are completed in one turn, the second in a pass that
 * another connection causes. */
TEST(answers_do_not_leave_the_limit_of_requests_behind)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\nset l2 0 0 1\r\ny\r\n"), *other = say("");

	for (uint32_t i = 0; i < 20; i++)
		rig_receive_text(rig, c, "version\r\n");
	rig->serve->cfg.conn_requests_max = 1;
	late_hold(late, true);
	turns(4);
	check_eq(late_asked(late), 2);
	late_hold(late, false);
	for (uint32_t i = 0; i < 30; i++) {
		const uint32_t before = versions_sent(c);

		rig_receive_text(rig, other, "delete s3\r\n");
		turns(1);
		check(versions_sent(c) <= before + 1);
	}
	check_eq(versions_sent(c), 20);
	rig->serve->cfg.conn_requests_max = 20;
	turns(30);
}

/* Each append needs a turn's share of work before it is requested. */
TEST(an_answer_does_not_wait_for_work_that_stands_behind_it, start_with_copies, stop)
{
	struct conn *of[4], *c = say("");
	char text[64];

	for (uint32_t i = 0; i < 5; i++) {
		sprintf(text, "l%u", 100 + i);
		say_set(c, text, 1000000, "", 0);
		turns(30);
	}
	late_hold(late, true);
	for (uint32_t i = 0; i < 4; i++)
		of[i] = say("");
	rig_receive_text(rig, c, "set l1 0 0 1\r\nx\r\n");
	turns(1);
	for (uint32_t i = 0; i < 4; i++) {
		sprintf(text, "append l%u 0 0 1\r\ny\r\n", 100 + i);
		rig_receive_text(rig, of[i], text);
	}
	rig_receive_text(rig, c, "append l104 0 0 1\r\ny\r\n");
	turns(1);
	late_hold(late, false);
	turns(1);
	SAYS(c, "STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nSTORED\r\n");
	turns(20);
}

/* Read buffers that are left are for other connections. */
TEST(a_partial_line_behind_a_write_leaves_the_last_read_buffers)
{
	struct conn *cut = say("get s"), *c = say("set l1 0 0 1\r\nx\r\n");
	uint64_t yields;

	late_hold(late, true);
	turns(2);
	rig_set_chunks(rig, 7); /* one read buffer, and it is taken */
	yields = rig_count(rig, CONN_YIELDS);
	rig_receive_text(rig, c, "set l3 0 ");
	rig->clock.now_s += 5;
	turns(5);
	check_eq(rig_count(rig, CONN_YIELDS), yields);
	check_eq(rig_count(rig, CONN_SLOW_REQUEST), 0);
	check(!rig_closed(cut));
	rig_set_chunks(rig, 4096);
	late_hold(late, false);
	turns(5);
	SAYS(c, "STORED\r\n");
}

TEST(a_line_of_gat_ends_with_the_key_that_fails)
{
	struct conn *c = say("gat 0 s1 f1 s2 s2\r\nversion\r\n");

	turns(8);
	SAYS(c, S1 NO_ANSWER "VERSION 9.8.7\r\n");
	check_eq(late_asked(late), 2);
}

TEST(only_a_get_that_may_not_is_asked_for_in_spite_of_a_copy, start_with_copies, stop)
{
	struct conn *c = say("get s1\r\nget s1\r\ngets s1\r\nmg s1 k\r\nget s1\r\n");

	turns(8);
	check_eq(late_asked(late), 2);
	SAYS(c, S1 "END\r\n" S1 "END\r\n"
		   "VALUE s1 1 31 1001\r\nbipwdkryfmtahovcjqxelszgnubipwd\r\nEND\r\nHD ks1\r\n" S1
		   "END\r\n");
}

TEST(a_request_is_counted_once)
{
	say("set l1 0 0 1\r\n5\r\nincr l1 1\r\ngat 0 l1 l9\r\ndelete l1\r\nmd l1\r\nflush_all\r\n");
	turns(10);
	check_eq(rig_count(rig, REQ_TCP), 6);
	check_eq(rig_count(rig, CMD_SET), 1);
	check_eq(rig_count(rig, INCR_HITS), 1);
	check_eq(rig_count(rig, CMD_TOUCH), 2);
	check_eq(rig_count(rig, TOUCH_HITS), 1);
	check_eq(rig_count(rig, DELETE_HITS), 1);
	check_eq(rig_count(rig, DELETE_MISSES), 1);
	check_eq(rig_count(rig, CMD_META), 1);
	check_eq(rig_count(rig, CMD_FLUSH), 1);
}

/* ---- ends ---- */

TEST(a_write_without_answer_fails_at_its_deadline, start_with_misses, stop)
{
	struct conn *c =
		say("set d1 0 0 1\r\nx\r\nset d1 0 0 1 noreply\r\ny\r\nms d2 1 q k\r\nx\r\n"
		    "gat 0 d1\r\nversion\r\n");

	turns(TIMEOUT_TURNS - 2);
	SAYS(c, "");
	turns(4);
	SAYS(c, NO_ANSWER);
	turns(TIMEOUT_TURNS + 4); /* the second, and with it the third */
	SAYS(c, NO_ANSWER NO_ANSWER);
	turns(TIMEOUT_TURNS + 10);
	SAYS(c, NO_ANSWER NO_ANSWER NO_ANSWER "VERSION 9.8.7\r\n");
	check_eq(late_asked(late), 4);
	check_eq(late_stale(late), 4);
	check_eq(late_values(late), 0);
}

TEST(a_flush_without_reply_that_fails_ends_its_connection)
{
	struct conn *c = say("flush_all noreply\r\nversion\r\n"),
		    *flusher = say("flush_all\r\nmn\r\n");

	late_hold(late, true);
	turns(TIMEOUT_TURNS + 3);
	check(rig_closed(c));
	SAYS(c, "");
	SAYS(flusher, NO_ANSWER "MN\r\n");
}

TEST(writes_of_a_lost_connection_are_done)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\nset l2 0 0 1\r\nx\r\n");

	late_hold(late, true);
	turns(2);
	check_eq(OPEN, 2);
	rig_lose(rig, c);
	check_eq(OPEN, 0);
	check_eq(rig_chunks_used(rig), 0);
	check_eq(late_values(late), 2);
	/* The next connection in the slot does not receive the answer. */
	check(say("get l1\r\n") == c);
	late_hold(late, false);
	turns(5);
	SAYS(c, "VALUE l1 0 1\r\nx\r\nEND\r\n");
	check_eq(late_written(late, 2), 1);
	check_eq(late_values(late), 0);
}

TEST(a_connection_lost_amid_a_body_has_not_written)
{
	struct conn *c = rig_open(rig);

	say_set(c, "l1", 9000, "", 100);
	turns(3);
	rig_lose(rig, c);
	turns(2);
	check_eq(late_asked(late), 0);
}

TEST(a_connection_that_ends_is_answered_and_closed)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\n"), *large = rig_open(rig);

	say_set(large, "l2", 9000, "get l1\r\nquit\r\n", 0);
	rig_eof(rig, c);
	rig_eof(rig, large);
	late_hold(late, true);
	turns(5);
	check(!rig_closed(c) && !rig_closed(large));
	late_hold(late, false);
	turns(8);
	SAYS(c, "STORED\r\n");
	SAYS(large, "STORED\r\nVALUE l1 0 1\r\nx\r\nEND\r\n");
	check(rig_closed(c) && rig_closed(large));
}

/* Only the chunk that it holds itself is left. */
TEST(the_answer_has_its_room_from_the_ask_on)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\n");

	late_hold(late, true);
	turns(2);
	rig_set_chunks(rig, rig_chunks_used(rig));
	late_hold(late, false);
	turns(2);
	SAYS(c, "STORED\r\n");
	check_eq(OPEN, 0);
	rig_set_chunks(rig, 4096);
	rig_acked(rig, c);
}

/* ---- places ---- */

/* Returns the number, from this one on, of a key with an l of this lane. */
static uint32_t
number_of_lane(uint32_t lane, uint32_t from)
{
	char key[16];

	for (;; from++) {
		const struct view v = {(const uint8_t *)key, (uint32_t)sprintf(key, "l%u", from)};

		if (store_hash(rig->core, v) % LATE_LANES == lane)
			return from;
	}
}

TEST(a_write_waits_for_a_place)
{
	const uint32_t n = number_of_lane(0, 1);
	struct conn *c;
	char text[64];

	fill_lane(0);
	sprintf(text, "set l%u 0 0 1\r\nx\r\nget l%u\r\n", n, n);
	c = say(text);
	turns(5);
	SAYS(c, "");
	check_eq(late_written(late, n), 0);
	turns(TIMEOUT_TURNS + 20);
	sprintf(text, "STORED\r\nVALUE l%u 0 1\r\nx\r\nEND\r\n", n);
	SAYS(c, text);
	check_eq(late_written(late, n), 1);
}

/* The body of the large set is not read before there is a place. */
static void
large_waits(uint32_t len)
{
	const uint32_t n = number_of_lane(0, 1);
	struct conn *c;
	char key[16];

	fill_lane(0);
	c = rig_open(rig);
	sprintf(key, "l%u", n);
	say_set(c, key, len, "version\r\nquit\r\n", 0);
	turns(5);
	SAYS(c, "");
	check_eq(atomic_load(&rig->shared->quota_used[FILL_QUOTA_PROVEN]), 0);
	turns(TIMEOUT_TURNS + 20);
	SAYS(c, "STORED\r\nVERSION 9.8.7\r\n");
	check_eq(late_written(late, n), 1);
	check(rig_closed(c));
}

TEST(a_large_write_waits_for_a_place)
{
	large_waits(9000);
}

/* The whole body has arrived: more bytes than are put back. */
TEST(a_write_of_one_segment_waits_for_a_place)
{
	large_waits(3000);
}

/* The body has arrived when the places are taken. */
TEST(a_value_that_is_complete_waits_for_a_place)
{
	const uint32_t n = number_of_lane(0, 1);
	struct conn *c = rig_open(rig), *lost = rig_open(rig);
	char key[16];

	sprintf(key, "l%u", n);
	say_set(c, key, 9000, "quit\r\n", 8);
	say_set(lost, key, 9000, "", 2);
	turns(2);
	fill_lane(0);
	rig_receive_text(rig, c, "\r\nquit\r\n");
	rig_receive_text(rig, lost, "\r\n");
	turns(3);
	check_eq(late_written(late, n), 0);
	SAYS(c, "");
	rig_lose(rig, lost);
	turns(TIMEOUT_TURNS + 5);
	SAYS(c, "STORED\r\n");
	check_eq(late_written(late, n), 1);
	check(rig_closed(c));
}

static void
no_place_in_time(uint32_t len)
{
	const uint32_t n = number_of_lane(0, 1);
	struct conn *c;
	char key[16];

	late_hold(late, true);
	fill_lane(0);
	c = rig_open(rig);
	sprintf(key, "l%u", n);
	say_set(c, key, len, "version\r\n", 0);
	turns(1);
	rig->clock.now_ns += LATE_TIMEOUT_NS;
	turns(3);
	SAYS(c, NO_ANSWER "VERSION 9.8.7\r\n");
	check_eq(late_written(late, n), 0);
}

TEST(a_write_without_a_place_in_time_is_never_asked_for)
{
	no_place_in_time(1);
}

TEST(a_large_write_without_a_place_in_time_is_never_asked_for)
{
	no_place_in_time(9000);
}

/* Writes may take an eighth of the chunks. */
TEST(writes_leave_chunks_to_others)
{
	struct conn *c, *first;

	late_hold(late, true);
	rig_set_chunks(rig, 16);
	first = say("set l1 0 0 1\r\nx\r\n");
	turns(1);
	say("set l2 0 0 1\r\nx\r\n");
	turns(1);
	c = say("set l3 0 0 1\r\nx\r\n");
	turns(2);
	check_eq(OPEN, 2);
	SAYS(c, "");
	rig_lose(rig, first);
	turns(3);
	check_eq(late_written(late, 3), 1);
	rig_set_chunks(rig, 4096);
}

/* Values may take half as much as the fill quota; waiting ones take turns. */
TEST(values_take_a_share_of_the_memory)
{
	const uint64_t most = store_begun_max(rig->core) / 2;
	const uint32_t len = 500000, count = 6;
	struct conn *c[6];
	char key[16];

	late_hold(late, true);
	for (uint32_t i = 0; i < count; i++) {
		c[i] = rig_open(rig);
		sprintf(key, "l%u", i);
		say_set(c[i], key, len, "", 0);
		turns(1);
	}
	turns(5);
	check(late_values(late) > 0 && late_values(late) < count);
	check(late_values(late) * len <= most);
	late_hold(late, false);
	turns(50);
	for (uint32_t i = 0; i < count; i++) {
		SAYS(c[i], "STORED\r\n");
		check_eq(late_written(late, i), 1);
	}
}

/* The small value would have room. */
TEST(a_small_value_does_not_pass_a_large_one_of_its_lane)
{
	const uint32_t a = number_of_lane(1, 1), b = number_of_lane(1, a + 1),
		       large = number_of_lane(0, 1), small = number_of_lane(0, large + 1);
	const struct {
		uint32_t number, len;
	} sets[] = {{a, 600000}, {b, 600000}, {large, 1000000}, {small, 10}};
	struct conn *c[4];
	char key[16];

	late_hold(late, true);
	for (uint32_t i = 0; i < 4; i++) {
		c[i] = rig_open(rig);
		sprintf(key, "l%u", sets[i].number);
		say_set(c[i], key, sets[i].len, "", 0);
		turns(3);
	}
	check_eq(late_values(late), 2);
	check_eq(late_written(late, small), 0);
	late_hold(late, false);
	turns(50);
	for (uint32_t i = 0; i < 4; i++)
		SAYS(c[i], "STORED\r\n");
}

/* ---- requests that are put back ---- */

#define MUCH 17u /* requests: as many as a turn reads of a connection */

/* Sends more than a read buffer; all of it has arrived. */
static void
say_much(struct conn *c)
{
	char text[4096] = "";

	for (uint32_t i = 0; i < MUCH; i++)
		strcat(text, "version\r\n");
	rig_receive_text(rig, c, text);
	say_set(c, "l9", 1900, "", 0);
}

static void
much_is_answered(struct conn *c)
{
	check_eq(versions_sent(c), MUCH);
	check_eq(late_written(late, 9), 1);
}

TEST(requests_behind_a_large_write_fit_a_read_buffer)
{
	struct conn *c = rig_open(rig);

	say_set(c, "l1", 3000, "", 0);
	say_much(c);
	turns(20);
	much_is_answered(c);
}

/* s3 has 2,215 bytes, which wait for pieces. */
TEST(requests_behind_an_answer_fit_a_read_buffer)
{
	struct conn *c = say("gat 0 s3\r\n");

	say_much(c);
	rig_set_pieces(rig, 0);
	turns(5);
	rig_set_pieces(rig, 4096);
	turns(20);
	much_is_answered(c);
}

/* ---- drain ---- */

TEST(a_drain_asks_for_no_write)
{
	struct conn *a = say("set l1 0 0 1\r\nx\r\nset l1 0 0 1\r\ny\r\n"), *large = rig_open(rig),
		    *b;

	say_set(large, "l2", 9000, "mn\r\n", 100);
	late_hold(late, true);
	turns(2);
	check(!backend_drain(rig->serve, false));
	b = say("delete l1\r\nversion\r\n");
	say_set(large, "", 0, "", 0);
	turns(2);
	SAYS(b, NO_ANSWER "VERSION 9.8.7\r\n");
	SAYS(a, "");
	late_hold(late, false);
	turns(4);
	SAYS(a, "STORED\r\n" NO_ANSWER);
	check(backend_drain(rig->serve, false));
	check_eq(late_written(late, 1), 1);
}

TEST(a_hurried_drain_ends_pending_writes)
{
	struct conn *c = say("set l1 0 0 1\r\nx\r\n"), *body = rig_open(rig);

	say_set(body, "l2", 9000, "", 4);
	rig_datagram_text(rig, 7, "delete l3\r\n");
	late_hold(late, true);
	turns(2);
	check(!backend_drain(rig->serve, true));
	rig_receive_text(rig, body, "bb\r\n");
	turns(1);
	SAYS(c, NO_ANSWER);
	SAYS(body, NO_ANSWER);
	check(backend_drain(rig->serve, true));
	check_eq(OPEN, 0);
	check_eq(late_written(late, 2), 0);
}

/* ---- datagrams ---- */

static uint32_t
sent_is(uint32_t i, uint16_t id, const char *text)
{
	const struct fake_sent *sent;
	const uint32_t count = rig_datagrams_sent(rig, &sent);

	check(i < count);
	check_eq((uint32_t)sent[i].bytes[0] << 8 | sent[i].bytes[1], id);
	check_eq(sent[i].len, 8 + strlen(text));
	check_bytes(sent[i].bytes + 8, text, strlen(text));
	return count;
}

TEST(a_datagrams_write_is_answered_when_it_is_done)
{
	const struct fake_sent *sent;

	late_hold(late, true);
	rig_datagram_from(rig, 3, 7, "set l1 0 0 1\r\nx\r\n");
	rig_datagram_from(rig, 4, 8, "set l2 0 0 1 noreply\r\nx\r\n");
	rig_datagram_from(rig, 5, 9, "version\r\n");
	turns(3);
	check_eq(sent_is(0, 9, "VERSION 9.8.7\r\n"), 1);
	check_eq(OPEN, 2);
	late_hold(late, false);
	turns(3);
	check_eq(sent_is(1, 7, "STORED\r\n"), 2);
	rig_datagrams_sent(rig, &sent);
	check_eq(sent[1].to, 3);
	check_eq(late_written(late, 1) + late_written(late, 2), 2);
	check_eq(rig_count(rig, REQ_UDP), 3);
}

TEST(a_datagram_without_answer_fails_and_one_without_place_is_dropped)
{
	const struct fake_sent *sent;

	late_hold(late, true);
	for (uint16_t i = 0; i < 3 * PENDING_UDP_MAX; i++)
		rig_datagram_text(rig, i, "set d1 0 0 1\r\nx\r\n");
	turns(2);
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY) + late_asked(late), 3 * PENDING_UDP_MAX);
	check(late_asked(late) > 0 && late_asked(late) <= PENDING_UDP_MAX);
	turns(TIMEOUT_TURNS);
	check_eq(rig_datagrams_sent(rig, &sent), late_asked(late));
	check_eq(sent_is(0, 0, NO_ANSWER), late_asked(late));
}

TEST(a_datagram_without_a_chunk_is_dropped)
{
	struct conn *c = rig_open(rig);

	for (uint32_t i = 0; i < 16; i++)
		rig_receive_text(rig, c, "version\r\n");
	turns(1);
	check_eq(rig_chunks_used(rig), 16);
	rig_set_chunks(rig, 16);
	rig_datagram_text(rig, 7, "set l1 0 0 1\r\nx\r\n");
	turns(2);
	check_eq(rig_count(rig, UDP_DROP_NO_MEMORY), 1);
	check_eq(late_asked(late), 0);
	rig_set_chunks(rig, 4096);
	rig_acked(rig, c);
}

TEST(each_key_of_a_datagram_is_asked_for_once)
{
	const char *both = S1 "VALUE s2 2 62\r\n";
	const struct fake_sent *sent;

	rig_datagram_text(rig, 7, "gat 0 s1 s5 s2 s1\r\n");
	turns(5);
	check_eq(late_asked(late), 3);
	check_eq(rig_datagrams_sent(rig, &sent), 1);
	check_bytes(sent[0].bytes + 8, both, strlen(both));
}

/* Writes that wait at a stop are not sent, and their memory is freed. */
TEST(datagrams_that_wait_are_dropped_at_a_stop)
{
	late_hold(late, true);
	rig_datagram_text(rig, 7, "set l1 0 0 1\r\nx\r\n");
	turns(2);
	check_eq(OPEN, 1);
	serve_drop_messages(rig->serve);
	check_eq(OPEN, 0);
	check_eq(rig_chunks_used(rig), 0);
}
