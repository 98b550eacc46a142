/*
 * Requests over a byte stream. Goal: every command is answered as memcached 1.6.45 answers it,
 * in order, wherever the network cuts the stream. Method: conversations as a table, each fed
 * whole, cut in two at every byte, and byte by byte, over a real store and a stack whose received
 * bytes vanish at the end of each turn.
 */
#include "support/test.h"
#include "conversation.h"
#include "one_rig.h"

TEST(every_command_has_its_answer)
{
	const struct row rows[] = {
		{"get a\r\n", "END\r\n"},
		{"set a 7 0 5\r\nhello\r\nget a\r\n", "STORED\r\nVALUE a 7 5\r\nhello\r\nEND\r\n"},
		{"set a 0 0 0\r\n\r\nget a\r\n", "STORED\r\nVALUE a 0 0\r\n\r\nEND\r\n"},
		{"set a 0 0 1\r\nx\r\nset b 0 0 1\r\ny\r\nget a no b\r\n",
		 "STORED\r\nSTORED\r\nVALUE a 0 1\r\nx\r\nVALUE b 0 1\r\ny\r\nEND\r\n"},
		{"add a 0 0 1\r\nx\r\nadd a 0 0 1\r\ny\r\nget a\r\n",
		 "STORED\r\nNOT_STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n"},
		{"replace a 0 0 1\r\nx\r\nset a 0 0 1\r\nx\r\nreplace a 3 0 2\r\nyz\r\nget a\r\n",
		 "NOT_STORED\r\nSTORED\r\nSTORED\r\nVALUE a 3 2\r\nyz\r\nEND\r\n"},
		{"append a 0 0 1\r\nx\r\nset a 5 0 1\r\nx\r\nappend a 9 0 2\r\nyz\r\n"
		 "prepend a 0 0 1\r\nw\r\nget a\r\n",
		 "NOT_STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nVALUE a 5 4\r\nwxyz\r\nEND\r\n"},
		{"cas a 0 0 1 1\r\nx\r\nset a 0 0 1\r\nx\r\ncas a 0 0 1 0\r\ny\r\n",
		 "NOT_FOUND\r\nSTORED\r\nEXISTS\r\n"},
		{"delete a\r\nset a 0 0 1\r\nx\r\ndelete a\r\nget a\r\n",
		 "NOT_FOUND\r\nSTORED\r\nDELETED\r\nEND\r\n"},
		{"incr n 1\r\nset n 0 0 2\r\n10\r\nincr n 5\r\ndecr n 100\r\nget n\r\n",
		 "NOT_FOUND\r\nSTORED\r\n15\r\n0\r\nVALUE n 0 2\r\n0 \r\nEND\r\n"},
		{"set n 0 0 1\r\nx\r\nincr n 1\r\n",
		 "STORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
		{"touch a 0\r\nset a 0 0 1\r\nx\r\ntouch a 100\r\ngat 100 a b\r\n",
		 "NOT_FOUND\r\nSTORED\r\nTOUCHED\r\nVALUE a 0 1\r\nx\r\nEND\r\n"},
		{"version\r\nverbosity 1\r\nflush_all\r\n", "VERSION 9.8.7\r\nOK\r\nOK\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(noreply_is_silent_and_done)
{
	const struct row rows[] = {
		{"set a 0 0 1 noreply\r\nx\r\nget a\r\n", "VALUE a 0 1\r\nx\r\nEND\r\n"},
		{"add a 0 0 1 noreply\r\nx\r\nincr a 1 noreply\r\nbogus noreply\r\n"
		 "delete a noreply\r\ntouch a 1 noreply\r\nget a\r\n",
		 "END\r\n"},
		/* A wrong byte, and two, in place of the line end: the rest is an empty line. */
		{"set a 0 0 1 noreply\r\nxyz\r\nget a\r\n",
		 "CLIENT_ERROR bad command line format\r\nEND\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(a_body_is_used_up_exactly_whatever_is_wrong)
{
	const struct row rows[] = {
		{"set a 0 0 3\r\nabcdeversion\r\nget a\r\n",
		 "CLIENT_ERROR bad data chunk\r\nVERSION 9.8.7\r\nEND\r\n"},
		{"set a 0 0 3\r\nabc\n\nversion\r\n",
		 "CLIENT_ERROR bad data chunk\r\nVERSION 9.8.7\r\n"},
		{"set a x 0 3\r\nabc\r\nversion\r\n",
		 "CLIENT_ERROR bad command line format\r\nVERSION 9.8.7\r\n"},
		{"set a 0 0 -1\r\nversion\r\n",
		 "CLIENT_ERROR bad command line format\r\nVERSION 9.8.7\r\n"},
		{"bogus\r\nget\r\ndelete a 5\r\nincr a x\r\ntouch a x\r\n",
		 "ERROR\r\nCLIENT_ERROR bad command line format\r\n"
		 "NOT_FOUND\r\n"
		 "CLIENT_ERROR invalid numeric delta argument\r\n"
		 "CLIENT_ERROR invalid exptime argument\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(a_stream_byte_by_byte_gets_the_same_answers)
{
	const char *in = "set a 1 0 5\r\nhello\r\nget a b\r\nset b x 0 3\r\nabc\r\ncas a 0 0 2 "
			 "0\r\nhi\r\ngets\r\ndelete a\r\nget a\r\n";
	struct conn *c = rig_open(rig);

	for (const char *at = in; *at != 0; at++) {
		rig_receive(rig, c, at, 1);
		rig_turn(rig);
	}
	check_str(rig_sent(c, NULL), "STORED\r\nVALUE a 1 5\r\nhello\r\nEND\r\n"
				     "CLIENT_ERROR bad command line format\r\nEXISTS\r\n"
				     "CLIENT_ERROR bad command line format\r\nDELETED\r\nEND\r\n");
	rig_acked(rig, c);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(a_cas_from_gets_stores_once)
{
	struct conn *c = rig_open(rig);
	unsigned long long cas;
	char line[128];

	rig_receive_text(rig, c, "set a 0 0 1\r\nx\r\ngets a\r\n");
	rig_turn(rig);
	check_eq(sscanf(rig_sent(c, NULL), "STORED\r\nVALUE a 0 1 %llu\r\nx\r\nEND\r\n", &cas), 1);
	rig_acked(rig, c);
	rig_forget_sent(c);
	snprintf(line, sizeof line, "cas a 0 0 1 %llu\r\ny\r\ncas a 0 0 1 %llu\r\nz\r\nget a\r\n",
		 cas, cas);
	rig_receive_text(rig, c, line);
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "STORED\r\nEXISTS\r\nVALUE a 0 1\r\ny\r\nEND\r\n");
	check_eq(rig_count(rig, CAS_HITS), 1);
	check_eq(rig_count(rig, CAS_BADVAL), 1);
}

TEST(an_exptime_is_relative_up_to_thirty_days_and_absolute_above)
{
	const struct {
		const char *exptime;
		uint32_t alive_s; /* open after this many seconds, and closed a second later */
	} rows[] = {
		{"1", 0},
		{"10", 9},
		{"2592000", 2591999},
		{"1700000010", 9},
	};
	const char *past[] = {"-1", "2592001", "1700000000", "1699999999"};
	char line[128];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct conn *c = rig_open(rig);
		const struct serve_clock then = rig->clock;

		rig->clock.unix_s = FAKE_UNIX;
		snprintf(line, sizeof line, "set a 0 %s 1\r\nx\r\n", rows[i].exptime);
		rig_receive_text(rig, c, line);
		rig_turn(rig);
		rig->clock.now_s = then.now_s + rows[i].alive_s;
		rig_receive_text(rig, c, "get a\r\n");
		rig_turn(rig);
		rig->clock.now_s++;
		rig_receive_text(rig, c, "get a\r\n");
		rig_turn(rig);
		check_str(rig_sent(c, NULL), "STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\nEND\r\n");
		rig_lose(rig, c);
	}
	for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
		struct conn *c = rig_open(rig);

		snprintf(line, sizeof line, "set a 0 %s 1\r\nx\r\nget a\r\n", past[i]);
		rig_receive_text(rig, c, line);
		rig_turn(rig);
		check_str(rig_sent(c, NULL), "STORED\r\nEND\r\n");
		rig_lose(rig, c);
	}
}

TEST(a_delayed_flush_waits)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "set a 0 0 1\r\nx\r\nflush_all 3\r\nget a\r\n");
	rig_turn(rig);
	rig->clock.now_s += 3;
	rig_turns(rig, 2);
	rig_receive_text(rig, c, "get a\r\nset a 0 0 1\r\ny\r\nget a\r\n");
	rig_turns(rig, 2);
	check_str(rig_sent(c, NULL), "STORED\r\nOK\r\nVALUE a 0 1\r\nx\r\nEND\r\nEND\r\n"
				     "STORED\r\nVALUE a 0 1\r\ny\r\nEND\r\n");
}

TEST(quit_closes_behind_the_earlier_replies_and_reads_no_more)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "version\r\nquit\r\nversion\r\n");
	rig_turns(rig, 2);
	check_str(rig_sent(c, NULL), "VERSION 9.8.7\r\n");
	check(rig_closed(c));
}

TEST(the_end_of_the_stream_closes_behind_the_replies)
{
	struct conn *whole = rig_open(rig);
	struct conn *in_line = rig_open(rig);
	struct conn *in_body = rig_open(rig);

	rig_receive_text(rig, whole, "version\r\n");
	rig_eof(rig, whole);
	rig_receive_text(rig, in_line, "version\r\nget a");
	rig_eof(rig, in_line);
	rig_receive_text(rig, in_body, "version\r\nset a 0 0 10\r\nhell");
	rig_eof(rig, in_body);
	rig_turns(rig, 2);
	check_str(rig_sent(whole, NULL), "VERSION 9.8.7\r\n");
	check_str(rig_sent(in_line, NULL), "VERSION 9.8.7\r\n");
	check_str(rig_sent(in_body, NULL), "VERSION 9.8.7\r\n");
	check(rig_closed(whole) && rig_closed(in_line) && rig_closed(in_body));
}

TEST(a_browser_gets_no_reply_and_is_closed)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	rig_turns(rig, 2);
	check_str(rig_sent(c, NULL), "");
	check(rig_closed(c));
}

TEST(a_connection_has_its_share_of_a_turn_and_goes_on_in_the_next)
{
	struct conn *busy = rig_open(rig);
	struct conn *calm = rig_open(rig);
	uint32_t len;

	for (int i = 0; i < 50; i++)
		rig_receive_text(rig, busy, "get a\r\n");
	rig_receive_text(rig, calm, "get a\r\n");
	rig_turn(rig);
	rig_sent(busy, &len);
	check_eq(len, 20 * 5);
	check_str(rig_sent(calm, NULL), "END\r\n");
	check(rig_count(rig, CONN_YIELDS) > 0);
	rig_turns(rig, 2);
	rig_sent(busy, &len);
	check_eq(len, 50 * 5);
}

TEST(a_line_of_many_keys_is_one_request_of_that_share)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "get");
	for (int i = 0; i < 100; i++)
		rig_receive_text(rig, c, " k");
	rig_receive_text(rig, c, "\r\n");
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "END\r\n");
	check_eq(rig_count(rig, CONN_YIELDS), 0);
}

TEST(a_get_of_many_keys_is_answered_over_many_turns)
{
	struct conn *c = rig_open(rig);
	uint32_t len;

	rig_receive_text(rig, c, "set k 0 0 1\r\nx\r\nget");
	for (int i = 0; i < 3000; i++)
		rig_receive_text(rig, c, " k");
	rig_receive_text(rig, c, "\r\nversion\r\n");
	rig_turns(rig, 3000 / 20 + 5);
	rig_sent(c, &len);
	check_eq(len, 8 + 3000 * 16 + 5 + 15);
	check_str(rig_sent(c, NULL) + len - 23, "x\r\nEND\r\nVERSION 9.8.7\r\n");
}

static void
is_served(struct conn *c)
{
	rig_receive_text(rig, c, "get a\r\n");
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "END\r\n");
}

TEST(one_connection_too_many_gets_an_error_and_harms_no_other)
{
	struct conn *crowd[FAKE_CONNS - FAKE_SPARE];
	struct conn *late;

	for (uint32_t i = 0; i < FAKE_CONNS - FAKE_SPARE; i++)
		crowd[i] = rig_open(rig);
	late = rig_open(rig);
	check_str(rig_sent(late, NULL), "ERROR Too many open connections\r\n");
	check(rig_closed(late));
	check_eq(rig_count(rig, CONN_REJECTED), 1);
	is_served(crowd[0]);
	/* The refused connection still has its slot, but keeps no other out. */
	rig_lose(rig, crowd[0]);
	is_served(rig_open(rig));
	rig_lose(rig, late);
	check_str(rig_sent(rig_open(rig), NULL), "ERROR Too many open connections\r\n");
	check_eq(rig_count(rig, CONN_REJECTED), 2);
}
