/*
 * test_front_reply.c - the answer to a request is read; anything else ends the connection.
 *
 * Goal:   each line that a server may send is read as the answer to each request that it may
 *         answer; each near miss is broken.
 * Method: a table of lines; every one whole, cut at each byte, and as the answer to all other
 *         requests.
 */
#include "front/front_reply.h"
#include "support/guard.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define KEYS 3

static const struct view keys[KEYS] = {
	{(const uint8_t *)"a", 1}, {(const uint8_t *)"key", 3}, {(const uint8_t *)"user:\xff", 6}};

static struct front_asked
ask(enum front_ask what)
{
	return (struct front_asked){.ask = what,
				    .received = true,
				    .nkeys = what == FRONT_ASK_GET ? KEYS : 1,
				    .keys = keys};
}

#define IS(k, a, l)                                                                                \
	{                                                                                          \
		.ask = FRONT_ASK_##a, .line = l, .kind = FRONT_REPLY_##k                           \
	}
#define STATUS(a, l, s)                                                                            \
	{                                                                                          \
		.ask = FRONT_ASK_##a, .line = l, .kind = FRONT_REPLY_STATUS, .status = FRONT_##s   \
	}
#define WITH_CAS(k, l)                                                                             \
	{                                                                                          \
		.ask = FRONT_ASK_GET, .line = l, .kind = FRONT_REPLY_##k, .cas = true              \
	}
#define ENDS(a, l)                                                                                 \
	{                                                                                          \
		.ask = FRONT_ASK_##a, .line = l, .kind = FRONT_REPLY_ERROR, .ends = true           \
	}

/* Meta lines answer requests with opaque o7. With cas the request was a gets. */
static const struct {
	enum front_ask ask;
	const char *line;
	enum front_reply_kind kind;
	enum front_status status;
	bool cas, ends;
} cases[] = {
	IS(VALUE, GET, "VALUE a 0 5\r\n"),
	IS(VALUE, GET, "VALUE user:\xff 4294967295 1073741824\r\n"),
	WITH_CAS(VALUE, "VALUE a 1 5 18446744073709551615\r\n"),
	WITH_CAS(BROKEN, "VALUE a 1 5\r\n"),
	IS(BROKEN, GET, "VALUE a 1 5 7\r\n"),
	IS(BROKEN, GET, "VALUE b 0 5\r\n"),
	IS(BROKEN, GET, "VALUE a 4294967296 5\r\n"),
	IS(BROKEN, GET, "VALUE a 0 1073741825\r\n"),
	IS(BROKEN, GET, "VALUE a 0 -1\r\n"),
	IS(BROKEN, GET, "VALUE  a 0 5\r\n"),
	IS(BROKEN, GET, "VALUE a 0 5 \r\n"),
	IS(BROKEN, GET, "VALUE a 0 5\n"),
	IS(BROKEN, GET, "VALUE a 0\r\n"),
	IS(END, GET, "END\r\n"),
	IS(BROKEN, GET, "END \r\n"),
	IS(BROKEN, GET, "STORED\r\n"),
	IS(ERROR, GET, "SERVER_ERROR out of memory writing get response\r\n"),
	IS(ERROR, GET, "ERROR\r\n"),
	IS(BROKEN, GET, "\r\n"),
	IS(BROKEN, GET, "\n"),
	STATUS(STORE, "STORED\r\n", STORED),
	STATUS(STORE, "NOT_STORED\r\n", NOT_STORED),
	STATUS(STORE, "EXISTS\r\n", EXISTS),
	STATUS(STORE, "NOT_FOUND\r\n", NOT_FOUND),
	IS(BROKEN, STORE, "STORED x\r\n"),
	IS(BROKEN, STORE, "STORED.\n"),
	IS(BROKEN, STORE, "DELETED\r\n"),
	IS(ERROR, STORE, "SERVER_ERROR object too large for cache\r\n"),
	IS(ERROR, STORE, "SERVER_ERROR out of memory storing object\r\n"),
	ENDS(STORE, "SERVER_ERROR anything else\r\n"),
	ENDS(STORE, "CLIENT_ERROR bad data chunk\r\n"),
	ENDS(STORE, "ERROR\r\n"),
	STATUS(DELETE, "DELETED\r\n", DELETED),
	STATUS(DELETE, "NOT_FOUND\r\n", NOT_FOUND),
	IS(NUMBER, ARITHMETIC, "18446744073709551615\r\n"),
	IS(BROKEN, ARITHMETIC, "18446744073709551616\r\n"),
	IS(BROKEN, ARITHMETIC, "1 \r\n"),
	STATUS(ARITHMETIC, "NOT_FOUND\r\n", NOT_FOUND),
	IS(ERROR, ARITHMETIC, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"),
	STATUS(TOUCH, "TOUCHED\r\n", TOUCHED),
	STATUS(TOUCH, "NOT_FOUND\r\n", NOT_FOUND),
	STATUS(FLUSH, "OK\r\n", OK),
	STATUS(VERSION, "VERSION 1.6.45\r\n", VERSION),
	IS(BROKEN, VERSION, "VERSION\r\n"),
	STATUS(ME, "ME a exp=-1 la=0 cas=2 fetch=no cls=1 size=63\r\n", ME),
	IS(BROKEN, ME, "ME a la=0\r\n"),
	IS(BROKEN, ME, "ME a exp=1 exp=2\r\n"),
	IS(BROKEN, ME, "ME a exp=-2147483648\r\n"),
	IS(BROKEN, ME, "ME b exp=1\r\n"),
	STATUS(ME, "EN\r\n", EN),
	IS(VALUE, MG, "VA 5 f3 t-1 s5 c9 h1 l0 ka Oo7\r\n"),
	IS(VALUE, MG, "VA 0 W X Z Oo7\r\n"),
	IS(BROKEN, MG, "VA 5\r\n"),
	IS(BROKEN, MG, "VA 5 Oo8\r\n"),
	IS(BROKEN, MG, "VA 5 kb Oo7\r\n"),
	IS(BROKEN, MG, "VA 5 h2 Oo7\r\n"),
	IS(BROKEN, MG, "VA 5 W1 Oo7\r\n"),
	IS(BROKEN, MG, "VA 5 c Oo7\r\n"),
	IS(BROKEN, MG, "VA 5 y Oo7\r\n"),
	STATUS(MG, "HD t5 Oo7\r\n", HD),
	STATUS(MG, "EN\r\n", EN),
	STATUS(MG, "EN ka Oo7\r\n", EN),
	IS(BROKEN, MG, "EN Oo8\r\n"),
	IS(BROKEN, MG, "EN ka\r\n"),
	IS(BROKEN, MG, "NF Oo7\r\n"),
	STATUS(MS, "HD c12 Oo7\r\n", HD),
	STATUS(MS, "NS Oo7\r\n", NS),
	STATUS(MS, "EX Oo7\r\n", EX),
	STATUS(MS, "NF Oo7\r\n", NF),
	IS(BROKEN, MS, "VA 1 Oo7\r\n"),
	ENDS(MS, "CLIENT_ERROR bad data chunk\r\n"),
	STATUS(MD, "HD Oo7\r\n", HD),
	STATUS(MD, "NF Oo7\r\n", NF),
	STATUS(MD, "EX Oo7\r\n", EX),
	IS(BROKEN, MD, "NS Oo7\r\n"),
	IS(VALUE, MA, "VA 2 t-1 Oo7\r\n"),
	STATUS(MA, "NS Oo7\r\n", NS),
	STATUS(MN, "MN\r\n", MN),
	IS(BROKEN, MN, "MN x\r\n"),
	IS(ROW, STATS, "STAT 31:addr tcp:10.99.0.1:41234\r\n"),
	IS(ROW, STATS, "STAT auth \r\n"),
	IS(ROW, STATS, "STAT auth\r\n"),
	IS(BROKEN, STATS, "STAT \r\n"),
	IS(BROKEN, STATS, "STAT  x\r\n"),
	IS(BROKEN, STATS, "STATS a b\r\n"),
	IS(BROKEN, STATS, "VALUE a 0 5\r\n"),
	IS(END, STATS, "END\r\n"),
	IS(ERROR, STATS, "CLIENT_ERROR unauthenticated\r\n"),
};

#define CASES (sizeof cases / sizeof cases[0])

static bool
is_meta(enum front_ask what)
{
	return what == FRONT_ASK_MG || what == FRONT_ASK_MS || what == FRONT_ASK_MD ||
	       what == FRONT_ASK_MA;
}

static struct front_asked
asked_in(size_t i)
{
	struct front_asked asked = ask(cases[i].ask);

	asked.wants_cas = cases[i].cas;
	asked.opaque = is_meta(cases[i].ask) ? text_view("o7") : (struct view){.data = NULL};
	return asked;
}

TEST(a_line_is_what_it_says)
{
	for (size_t i = 0; i < CASES; i++) {
		struct front_asked asked = asked_in(i);
		struct front_reply r;

		front_reply_read(&r, &asked, text_view(cases[i].line));
		if (r.kind != cases[i].kind)
			print_error("%s", cases[i].line);
		check_eq(r.kind, cases[i].kind);
		check_eq(r.ends_connection, cases[i].ends);
		if (r.kind == FRONT_REPLY_STATUS)
			check_eq(r.status, cases[i].status);
		if (r.kind != FRONT_REPLY_BROKEN)
			check_eq(r.line_len, strlen(cases[i].line));
	}
}

/* A line that is cut anywhere is incomplete and changes no state. The cut line ends where
 * readable memory does. */
TEST(a_cut_line_waits)
{
	for (size_t i = 0; i < CASES; i++) {
		for (size_t cut = 0; cut < strlen(cases[i].line); cut++) {
			struct front_asked asked = asked_in(i);
			struct front_reply r;

			front_reply_read(
				&r, &asked,
				(struct view){.data = at_page_end(cases[i].line, (uint32_t)cut),
					      .len = (uint32_t)cut});
			check_eq(r.kind, FRONT_REPLY_MORE);
			check_eq(asked.had, 0);
		}
	}
}

/* A line answers one kind of request only, except errors and words that several kinds share. */
TEST(a_line_answers_no_other_question)
{
	static const char *const shared[] = {"END", "NOT_FOUND", "EN\r", "HD",    "NS",
					     "EX ", "NF",        "VA ",  "STORED"};

	for (size_t i = 0; i < CASES; i++) {
		bool many =
			cases[i].kind == FRONT_REPLY_ERROR || cases[i].kind == FRONT_REPLY_BROKEN;

		for (size_t s = 0; s < sizeof shared / sizeof shared[0]; s++)
			many |= strncmp(cases[i].line, shared[s], strlen(shared[s])) == 0;
		for (int other = 0; !many && other < FRONT_ASKS_COUNT; other++) {
			struct front_asked asked = ask((enum front_ask)other);
			struct front_reply r;

			asked.wants_cas = cases[i].cas;
			front_reply_read(&r, &asked, text_view(cases[i].line));
			if ((enum front_ask)other != cases[i].ask)
				check_eq(r.kind, FRONT_REPLY_BROKEN);
		}
	}
}

static void
read_one(struct front_reply *r, struct front_asked *asked, const char *line)
{
	front_reply_read(r, asked, text_view(line));
}

TEST(a_key_has_one_value_in_any_order)
{
	struct front_asked asked = ask(FRONT_ASK_GET);
	struct front_reply r;

	read_one(&r, &asked, "VALUE key 0 1\r\n");
	check_eq(r.key, 1);
	read_one(&r, &asked, "VALUE a 0 1\r\n");
	check_eq(r.key, 0);
	read_one(&r, &asked, "VALUE key 0 1\r\n");
	check_eq(r.kind, FRONT_REPLY_BROKEN);
}

/* A key that is requested twice has two values. */
TEST(a_key_asked_twice_has_two_values)
{
	const struct view twice[] = {keys[0], keys[1], keys[0]};
	struct front_asked asked = ask(FRONT_ASK_GET);
	struct front_reply r;

	asked.keys = twice;
	read_one(&r, &asked, "VALUE a 0 1\r\n");
	check_eq(r.key, 0);
	read_one(&r, &asked, "VALUE a 0 1\r\n");
	check_eq(r.key, 2);
	read_one(&r, &asked, "VALUE a 0 1\r\n");
	check_eq(r.kind, FRONT_REPLY_BROKEN);
}

TEST(an_answer_before_its_question_is_broken)
{
	struct front_asked asked = ask(FRONT_ASK_STORE);
	struct front_reply r;

	asked.received = false;
	read_one(&r, &asked, "");
	check_eq(r.kind, FRONT_REPLY_MORE);
	read_one(&r, &asked, "S");
	check_eq(r.kind, FRONT_REPLY_BROKEN);
}

TEST(a_line_without_end_is_broken)
{
	static uint8_t line[FRONT_REPLY_LINE_MAX + 2];
	struct front_asked asked = ask(FRONT_ASK_VERSION);
	struct front_reply r;

	memset(line, 'x', sizeof line);
	memcpy(line, "VERSION ", 8);
	front_reply_read(&r, &asked, (struct view){.data = line, .len = FRONT_REPLY_LINE_MAX - 1});
	check_eq(r.kind, FRONT_REPLY_MORE);
	front_reply_read(&r, &asked, (struct view){.data = line, .len = FRONT_REPLY_LINE_MAX});
	check_eq(r.kind, FRONT_REPLY_BROKEN);
	memcpy(line + FRONT_REPLY_LINE_MAX - 2, "\r\n", 2);
	front_reply_read(&r, &asked, (struct view){.data = line, .len = FRONT_REPLY_LINE_MAX});
	check_eq(r.kind, FRONT_REPLY_STATUS);
	check_eq(r.text.len, FRONT_REPLY_LINE_MAX - 10);
}

/* Lines of memcached 1.6.18, and of 1.6.45 with the other sign. */
TEST(what_is_left_to_live_is_read_of_either_sign)
{
	static const struct {
		const char *line;
		int32_t ttl_s;
	} rows[] = {
		{"ME a exp=-100 la=0 cas=1 fetch=no cls=1 size=61\r\n", 100},
		{"ME a exp=100 la=0 cas=1 fetch=no cls=1 size=61\r\n", 100},
		{"ME a exp=-1 la=0 cas=1 fetch=no cls=1 size=61\r\n", -1},
		{"ME a exp=-2\r\n", 2},
		{"ME a exp=1\r\n", 1},
		{"ME a exp=0\r\n", 0},
		{"ME a exp=-2147483647\r\n", INT32_MAX},
	};
	struct front_reply r;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct front_asked asked = ask(FRONT_ASK_ME);

		read_one(&r, &asked, rows[i].line);
		check_eq(r.kind, FRONT_REPLY_STATUS);
		check_eq(r.ttl_s, rows[i].ttl_s);
	}
}

TEST(versions_with_a_usable_me_command_are_known)
{
	static const char *const known[] = {"1.6.24", "1.6.45", "1.6.45-clockoo-0.1", "1.6.100",
					    "1.6.24_3_gabc"};
	static const char *const others[] = {"1.6.18",  "1.6.23", "1.6.23_9_gabc", "1.6.9",  "1.6.",
					     "UNKNOWN", "1",      "1.5.24",        "1.7.30", "1.6",
					     "0.5.0",   "",       "1.6.x24"};
	struct front_reply r;
	char line[64];

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		struct front_asked asked = ask(FRONT_ASK_VERSION);

		snprintf(line, sizeof line, "VERSION %s\r\n", known[i]);
		read_one(&r, &asked, line);
		check(r.reports_ttl);
	}
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		struct front_asked asked = ask(FRONT_ASK_VERSION);

		snprintf(line, sizeof line, "VERSION %s\r\n", others[i]);
		read_one(&r, &asked, line);
		check_eq(r.kind, FRONT_REPLY_STATUS);
		check(!r.reports_ttl);
	}
}

TEST(numbers_of_a_meta_reply_are_read)
{
	struct front_asked asked = ask(FRONT_ASK_MG);
	struct front_reply r;

	read_one(&r, &asked, "VA 12 f3 t77 s12 c99 h1 l6 X\r\n");
	check_eq(r.value_len, 12);
	check_eq(r.client_flags, 3);
	check_eq(r.ttl_s, 77);
	check_eq(r.size, 12);
	check_eq(r.cas, 99);
	check_eq(r.hit, 1);
	check_eq(r.last_access_s, 6);
	check_eq(r.meta, FRONT_META_FLAGS | FRONT_META_TTL | FRONT_META_SIZE | FRONT_META_CAS |
				 FRONT_META_HIT | FRONT_META_LAST_ACCESS | FRONT_META_STALE);
}

static bool
is_text(struct view v, const char *text)
{
	return view_equal(v, text_view(text));
}

TEST(a_row_has_a_name_and_what_is_left)
{
	struct front_asked asked = ask(FRONT_ASK_STATS);
	struct front_reply r;

	read_one(&r, &asked, "STAT 31:addr tcp:10.99.0.1:41234\r\n");
	check(is_text(r.name, "31:addr") && is_text(r.text, "tcp:10.99.0.1:41234"));
	read_one(&r, &asked, "STAT path a b \r\n");
	check(is_text(r.name, "path") && is_text(r.text, "a b "));
	read_one(&r, &asked, "STAT inter \r\n");
	check(is_text(r.name, "inter") && r.text.len == 0);
	read_one(&r, &asked, "STAT inter\r\n");
	check(is_text(r.name, "inter") && r.text.len == 0);
}

TEST(a_whole_value_of_the_expected_key_is_read_at_once)
{
	static const struct {
		const char *bytes;
		bool read;
	} rows[] = {
		{"VALUE a 0 3\r\nabc\r\n", true},
		{"VALUE a 12345678 0\r\n\r\nEND\r\n", true},
		{"VALUE a 123456789 3\r\nabc\r\n", false}, /* more digits than are parsed */
		{"VALUE a 0 3\r\nabc\r", false},
		{"VALUE a 0 3\r\nabcd\r\n", false},
		{"VALUE a 0 \r\nabc\r\n", false},
		{"VALUE a  3\r\nabc\r\n", false},
		{"VALUE a 0 3\nabcd\r\n", false},
		{"VALUE a 0 3 7\r\nabc\r\n", false},
		{"VALUE a 0 -3\r\nabc\r\n", false},
		{"VALUE key 0 3\r\nabc\r\n", false}, /* the second key comes later */
		{"END\r\n", false},
		{"", false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct front_asked asked = ask(FRONT_ASK_GET), late = asked, cas = asked;
		const struct view v = text_view(rows[i].bytes);
		struct front_value value;

		late.received = false;
		cas.wants_cas = true;
		check(!front_value_read(&value, &late, v));
		check(!front_value_read(&value, &cas, v));
		check_eq(front_value_read(&value, &asked, v), rows[i].read);
		check_eq(asked.next, rows[i].read);
		check_eq(asked.had, rows[i].read);
		check(!front_value_read(&value, &asked, v)); /* another key is expected now */
	}
}

TEST(a_length_is_what_its_digits_say)
{
	static const char *const flags[] = {"0", "00", "7", "65535"};
	static const struct view names[] = {{(const uint8_t *)"k", 1}};
	char text[1200];

	for (uint32_t n = 0; n < 4 * 1100; n++) {
		const uint32_t value_len = n / 4;
		const int head = sprintf(text, "VALUE k %s %s%u\r\n", flags[n % 4],
					 n % 3 ? "" : "0", value_len);
		struct front_asked asked = {
			.ask = FRONT_ASK_GET, .nkeys = 1, .received = true, .keys = names};
		struct front_value v;
		struct view whole = {(const uint8_t *)text, (uint32_t)head + value_len + 2};

		memset(text + head, '0', value_len);
		memcpy(text + head + value_len, "\r\n", 2);
		whole.len--;
		check(!front_value_read(&v, &asked, whole));
		whole.len++;
		check(front_value_read(&v, &asked, whole));
		check_eq(v.value_len, value_len);
		check_eq(v.client_flags, strtoul(flags[n % 4], NULL, 10));
		check_eq(v.at, head);
		check_eq(v.bytes, whole.len);
	}
}

TEST(a_value_ends_with_its_line)
{
	check(front_value_end(text_view("")));
	check(front_value_end(text_view("\r")));
	check(front_value_end(text_view("\r\n")));
	check(front_value_end(text_view("\r\nEND")));
	check(!front_value_end(text_view("\n")));
	check(!front_value_end(text_view("\rE")));
	check(!front_value_end(text_view("EN")));
}
