/*
 * Requests to servers. Goal: each operation becomes one line that means the same to memcached, in
 * text where text can express it, in meta commands where the server speaks them; an operation
 * that a server cannot do is refused; no byte of a key becomes a command. Method: a table of
 * requests as clients send them, parsed by the product's parser, and the lines for a server that
 * speaks meta commands and one that does not.
 */
#include "front/front_request.h"

#include "proto/mc_base64.h"
#include "proto/mc_reply.h"
#include "support/test.h"

#include <stdio.h>

/* Plain gets are gathered into a multi-get and have no line of their own. */
static const char PLAIN[] = "get", CASES[] = "gets";
#define NONE NULL

static const struct {
	const char *request;
	const char *meta, *text; /* without line ends */
} rows[] = {
	{"get k", PLAIN, PLAIN},
	{"gets k", CASES, CASES},
	{"gat 9 k", "gat 9 k", "gat 9 k"},
	{"gats -1 k", "gats -1 k", "gats -1 k"},
	{"set k 5 60 3", "set k 5 60 3", "set k 5 60 3"},
	{"set k 5 60 3 noreply", "set k 5 60 3", "set k 5 60 3"},
	{"add k 0 -1 0", "add k 0 -1 0", "add k 0 -1 0"},
	{"replace k 0 0 1", "replace k 0 0 1", "replace k 0 0 1"},
	{"append k 0 0 1", "append k 0 0 1", "append k 0 0 1"},
	{"prepend k 0 0 1", "prepend k 0 0 1", "prepend k 0 0 1"},
	{"cas k 4294967295 2147483647 1 18446744073709551615",
	 "cas k 4294967295 2147483647 1 18446744073709551615",
	 "cas k 4294967295 2147483647 1 18446744073709551615"},
	{"delete k noreply", "delete k", "delete k"},
	{"incr k 18446744073709551615", "incr k 18446744073709551615",
	 "incr k 18446744073709551615"},
	{"decr k 1", "decr k 1", "decr k 1"},
	{"touch k 100", "touch k 100", "touch k 100"},
	{"flush_all", "flush_all 0", "flush_all 0"},
	{"flush_all 30 noreply", "flush_all 30", "flush_all 30"},
	{"mg k v", "mg k v f O7", PLAIN},
	{"mg k v c k Oabc q", "mg k v f c O7", CASES},
	{"mg k s", "mg k v f O7", PLAIN},
	{"mg k v t h l u", "mg k v f h l u t O7", NONE},
	{"mg k v T30", "mg k v f T30 O7", NONE},
	{"mg k t T30", "mg k v f t T30 O7", NONE},
	{"mg k T30 t", "mg k v f T30 t O7", NONE},
	{"mg k N10 t T30 R5 v", "mg k v f N10 t T30 R5 O7", NONE},
	{"mg k t N10 v", "mg k v f t N10 O7", NONE},
	{"mg k R5 T30 N10 t v", "mg k v f R5 T30 N10 t O7", NONE},
	{"mg k T30 t N10 v", "mg k v f T30 t N10 O7", NONE},
	{"mg k E77 N10 v", "mg k v f N10 E77 O7", NONE},
	{"mg Zm9v b v", "mg foo v f O7", PLAIN},
	{"mg YSBi b v", "mg YSBi b v f O7", NONE},                         /* "a b" */
	{"mg YQ0KZmx1c2hfYWxs b v", "mg YQ0KZmx1c2hfYWxs b v f O7", NONE}, /* "a\r\nflush_all" */
	{"ms k 3", "ms k 3 O7", "set k 0 0 3"},
	{"ms k 3 T60 F5 I q Oab", "ms k 3 T60 F5 I O7", NONE},
	{"ms k 3 T60 F5 q Oab", "ms k 3 T60 F5 O7", "set k 5 60 3"},
	{"ms k 3 ME", "ms k 3 ME O7", "add k 0 0 3"},
	{"ms k 3 MA N9", "ms k 3 N9 MA O7", NONE},
	{"ms k 3 MP", "ms k 3 MP O7", "prepend k 0 0 3"},
	{"ms k 3 MR", "ms k 3 MR O7", "replace k 0 0 3"},
	{"ms k 3 C9", "ms k 3 C9 O7", "cas k 0 0 3 9"},
	{"ms k 3 c s E5", "ms k 3 E5 s c O7", NONE},
	{"ms YSBi 3 b", "ms YSBi 3 b O7", NONE},
	{"md k", "md k O7", "delete k"},
	{"md k q I T30 C8", "md k I T30 C8 O7", NONE},
	{"md k x E4", "md k x E4 O7", NONE},
	{"ma k", "ma k D1 v O7", "incr k 1"},
	{"ma k MD D5 v", "ma k D5 MD v O7", "decr k 5"},
	{"ma k t T60", "ma k t T60 D1 v O7", NONE},
	{"ma k N0 J13 T60 t c C3 E4", "ma k N0 T60 t J13 D1 C3 E4 c v O7", NONE},
};

static struct mc_req
parsed(const char *text)
{
	static char line[300];
	struct mc_parser parser = {0};
	struct mc_req req = {0};
	const int n = snprintf(line, sizeof line, "%s\r\n", text);

	check_eq(mc_text_parse(&parser, &req, (uint8_t *)line, (uint32_t)n).status, MC_OK);
	check(req.verb != MC_BAD);
	return req;
}

static void
asked_is(const struct mc_req *req, const char *name, bool meta, const char *want)
{
	uint8_t decoded[MC_KEY_MAX], line[FRONT_QUERY_LINE_MAX];
	const struct front_query q = front_query_of(req);
	struct view key = req->key;
	enum front_form form;
	uint32_t len;

	if (req->flags & MC_KEY_BASE64) {
		key.len = (uint32_t)(mc_base64_decode(decoded, key) - decoded);
		key.data = decoded;
	}
	form = front_query_form(&q, key, meta);
	if (want == NONE || want == PLAIN || want == CASES) {
		const enum front_form forms = want == NONE    ? FRONT_FORM_NONE
					      : want == PLAIN ? FRONT_FORM_GET
							      : FRONT_FORM_GETS;

		if (form != forms)
			fail_msg("%s: form %u", name, form);
		return;
	}
	if (form >= FRONT_FORM_NONE)
		fail_msg("%s, meta %d: not asked", name, meta);
	len = (uint32_t)(front_put_query(line, &q, form, key, 7) - line);
	check(len <= FRONT_QUERY_LINE_MAX);
	if (len != strlen(want) + 2 || memcmp(line, want, len - 2) != 0 ||
	    memcmp(line + len - 2, "\r\n", 2) != 0)
		fail_msg("%s: \"%.*s\", not \"%s\"", name, (int)len, line, want);
}

TEST(each_request_is_one_line_that_means_the_same)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct mc_req req = parsed(rows[i].request);

		asked_is(&req, rows[i].request, true, rows[i].meta);
		asked_is(&req, rows[i].request, false, rows[i].text);
	}
}

/* Requests of the binary protocol, by their fields. */
TEST(binary_requests_are_asked_with_their_cas)
{
	static const struct {
		struct mc_req req;
		const char *meta, *text;
	} binary[] = {
		{{.verb = MC_BIN_GET}, CASES, CASES},
		{{.verb = MC_BIN_GET, .cas = 5}, CASES, CASES}, /* a get does not compare its cas */
		{{.verb = MC_BIN_GAT, .exptime = 9}, "gats 9 k", "gats 9 k"},
		{{.verb = MC_BIN_TOUCH, .exptime = 9}, "mg k f c T9 O7", "touch k 9"},
		{{.verb = MC_BIN_SET, .exptime = 9, .client_flags = 5, .body_len = 3},
		 "ms k 3 T9 F5 MS c O7",
		 "set k 5 9 3"},
		{{.verb = MC_BIN_SET, .body_len = 3, .cas = 8},
		 "ms k 3 T0 F0 MS C8 c O7",
		 "cas k 0 0 3 8"},
		{{.verb = MC_BIN_ADD, .body_len = 3}, "ms k 3 T0 F0 ME c O7", "add k 0 0 3"},
		{{.verb = MC_BIN_ADD, .body_len = 3, .cas = 8},
		 "ms k 3 T0 F0 MS C8 c O7",
		 "cas k 0 0 3 8"},
		{{.verb = MC_BIN_APPEND, .body_len = 3, .cas = 8}, "ms k 3 T0 F0 MA C8 c O7", NONE},
		{{.verb = MC_BIN_DELETE}, "md k O7", "delete k"},
		{{.verb = MC_BIN_DELETE, .cas = 8}, "md k C8 O7", NONE},
		{{.verb = MC_BIN_INCR, .delta = 2}, "ma k D2 c v O7", "incr k 2"},
		{{.verb = MC_BIN_DECR,
		  .delta = 2,
		  .meta = {.flags = MC_FLAG_VIVIFY, .vivify_exptime = 6, .initial = 4}},
		 "ma k N6 J4 D2 MD c v O7",
		 NONE},
		{{.verb = MC_BIN_FLUSH, .exptime = 3}, "flush_all 3", "flush_all 3"},
	};

	for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
		struct mc_req req = binary[i].req;
		char name[20];

		snprintf(name, sizeof name, "row %zu", i);
		req.key = (struct view){(const uint8_t *)"k", 1};
		asked_is(&req, name, true, binary[i].meta);
		asked_is(&req, name, false, binary[i].text);
	}
}

/* A key of 250 bytes fits no line in base64; 186 bytes do. */
TEST(a_key_that_fits_no_request_is_refused)
{
	uint8_t bytes[MC_KEY_MAX];
	const struct mc_req req = {.verb = MC_BIN_GET};
	const struct front_query q = front_query_of(&req);

	memset(bytes, 'k', sizeof bytes);
	check_eq(front_query_form(&q, (struct view){bytes, MC_KEY_MAX}, true), FRONT_FORM_GETS);
	for (uint32_t c = 0; c < 256; c++) {
		const bool text = c > ' ' && c != 127;

		bytes[3] = (uint8_t)c;
		check_eq(front_query_form(&q, (struct view){bytes, MC_KEY_DECODED_MAX}, true),
			 text ? FRONT_FORM_GETS : FRONT_FORM_MG);
		check_eq(front_query_form(&q, (struct view){bytes, MC_KEY_DECODED_MAX + 1}, true),
			 text ? FRONT_FORM_GETS : FRONT_FORM_NONE);
		check_eq(front_query_form(&q, (struct view){bytes, 10}, false),
			 text ? FRONT_FORM_GETS : FRONT_FORM_NONE);
	}
}

/* A stand-in's item expires soon even if a late expiry was requested; an expired item stays
 * expired. */
TEST(what_a_stand_in_stores_ends_in_time)
{
	static const int32_t unix_s = 1900000000;
	static const struct {
		int32_t asked, is;
	} cuts[] = {
		{0, 10},
		{1, 1},
		{9, 9},
		{11, 10},
		{2592000, 10},
		{-1, -1},
		{INT32_MIN, INT32_MIN},
		{unix_s + 3, 3},
		{unix_s + 11, 10},
		{unix_s, -1},
		{2592001, -1},
	};
	struct mc_req req = {.verb = MC_MS};
	struct front_query q;

	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		req.exptime = cuts[i].asked;
		req.meta.vivify_exptime = cuts[i].asked;
		q = front_query_of(&req);
		front_query_cut(&q, 10, unix_s);
		check_eq(q.exptime, cuts[i].is);
		check_eq(q.vivify_exptime, cuts[i].is);
		check(q.flags & MC_FLAG_SET_EXPTIME); /* without T the item would never expire */
	}
	req.verb = MC_MG;
	q = front_query_of(&req);
	front_query_cut(&q, 10, unix_s);
	check(!(q.flags & MC_FLAG_SET_EXPTIME)); /* reads do not change an expiry */
}

/* The line has every number at its longest. */
TEST(the_longest_line_fits)
{
	uint8_t key[MC_KEY_DECODED_MAX], line[FRONT_QUERY_LINE_MAX + 64];
	struct mc_req req = {.exptime = INT32_MIN,
			     .client_flags = UINT32_MAX,
			     .body_len = 1u << 30,
			     .cas = UINT64_MAX,
			     .delta = UINT64_MAX,
			     .meta = {.flags = (1u << MC_META_LETTER_COUNT) - 1,
				      .mode = MC_MODE_DECR,
				      .vivify_exptime = INT32_MIN,
				      .recache_s = INT32_MIN,
				      .new_cas = UINT64_MAX,
				      .initial = UINT64_MAX}};

	memset(key, ' ', sizeof key);
	for (enum mc_verb verb = MC_MG; verb <= MC_MA; verb++) {
		const struct view k = {key, sizeof key};
		struct front_query q;

		req.verb = (uint8_t)verb;
		req.meta.mode = verb == MC_MS ? MC_MODE_APPEND : MC_MODE_DECR;
		q = front_query_of(&req);
		check(front_put_query(line, &q, front_query_form(&q, k, true), k, UINT32_MAX) -
			      line <=
		      FRONT_QUERY_LINE_MAX);
	}
}

TEST(a_key_is_text_wherever_it_stands)
{
	static const uint8_t bytes[] = {0, ' ', '!', 126, 127, 128, 255};
	struct front_request key;

	memset(&key, '\n', sizeof key); /* also behind the key */
	for (uint32_t n = 0; n < 40 * 40 * sizeof bytes; n++) {
		const uint32_t at = n / (40 * sizeof bytes), len = n / sizeof bytes % 40;

		memset(key.bytes, 'k', len);
		if (at < len)
			key.bytes[at] = bytes[n % sizeof bytes];
		key.len = (uint8_t)len;
		check_eq(front_request_is_text(&key), mc_key_is_text(front_request_key(&key)));
		key.bytes[len] = '\n';
	}
}
