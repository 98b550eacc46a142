/*
 * Replies of meta and binary commands. Goal: they are the bytes a client expects, within the
 * bounds the headers state, and written requests can be read back. Method: known bytes, the
 * longest of everything in front of a guard page, and round trips of random fields.
 */
#include "support/guard.h"
#include "support/test.h"
#include "proto/mc_binary.h"
#include "proto/mc_reply.h"

#include <stdlib.h>

static uint64_t
random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- meta replies ---- */

static struct mc_req
request_of(const char *line)
{
	struct mc_parser ps = {0};
	struct mc_req req;
	const struct mc_result r =
		mc_parse(&ps, &req, (const uint8_t *)line, (uint32_t)strlen(line));

	check_eq(r.status, MC_OK);
	check_ne(req.verb, MC_BAD);
	return req;
}

static struct mc_meta_item
some_item(void)
{
	return (struct mc_meta_item){
		.shown = MC_META_RETURNED,
		.key = text_view("foo"),
		.size = 10,
		.client_flags = 7,
		.ttl_s = 59,
		.idle_s = 3,
		.cas = 42,
	};
}

TEST(a_meta_reply_shows_what_was_asked_for_in_that_order)
{
	const struct {
		const char *request, *reply;
	} rows[] = {
		{"mg foo\r\n", "HD\r\n"},
		{"mg foo s v t\r\n", "HD s10 t59\r\n"},
		{"mg foo t s\r\n", "HD t59 s10\r\n"},
		{"mg foo f h l c k O77\r\n", "HD f7 h0 l3 c42 kfoo O77\r\n"},
		{"mg foo O q\r\n", "HD O\r\n"},
		{"mg foo t s l k h f c Osss\r\n", "HD t59 s10 l3 kfoo h0 f7 c42 Osss\r\n"},
		{"md foo k O1\r\n", "HD kfoo O1\r\n"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct mc_meta_item item = some_item();
		uint8_t text[MC_META_LINE_MAX + 1];
		struct mc_req req;

		req = request_of(rows[i].request);
		*mc_put_meta(text, MC_META_HD, &req.meta, &item) = 0;
		check_str((char *)text, rows[i].reply);
	}
}

TEST(a_meta_reply_shows_only_what_there_is)
{
	const struct mc_req req = request_of("mg foo s t k c O5\r\n");
	struct mc_meta_item item = some_item();
	uint8_t text[MC_META_LINE_MAX + 1];

	item.shown = MC_META_ECHOED;
	*mc_put_meta(text, MC_META_EN, &req.meta, &item) = 0;
	check_str((char *)text, "EN kfoo O5\r\n");
	*mc_put_meta(text, MC_META_NF, &req.meta, &item) = 0;
	check_str((char *)text, "NF kfoo O5\r\n");
	item.shown = 0;
	*mc_put_meta(text, MC_META_EX, &req.meta, &item) = 0;
	check_str((char *)text, "EX\r\n");
	*mc_put_meta(text, MC_META_NS, &req.meta, &item) = 0;
	check_str((char *)text, "NS\r\n");
}

TEST(the_marks_stand_behind_the_flags)
{
	const struct mc_req req = request_of("mg foo t\r\n");
	struct mc_meta_item item = some_item();
	uint8_t text[MC_META_LINE_MAX + 1];

	item.ttl_s = -1;
	item.stale = true;
	item.won = true;
	*mc_put_meta_value_head(text, 5, &req.meta, &item) = 0;
	check_str((char *)text, "VA 5 t-1 X W\r\n");
	item.won = false;
	item.sent = true;
	*mc_put_meta_value_head(text, 0, &req.meta, &item) = 0;
	check_str((char *)text, "VA 0 t-1 Z X\r\n");
}

TEST(a_binary_key_is_shown_as_base64)
{
	const struct mc_req req = request_of("mg Zm9v b k s\r\n");
	struct mc_meta_item item = some_item();
	uint8_t text[MC_META_LINE_MAX + 1];

	item.base64 = true;
	*mc_put_meta(text, MC_META_HD, &req.meta, &item) = 0;
	check_str((char *)text, "HD kZm9v b s10\r\n");
}

TEST(the_longest_meta_line_fits_its_bound)
{
	struct mc_req req = request_of("mg foo c f h k l s t O1234567890123456789012345678901\r\n");
	uint8_t key[MC_KEY_MAX];
	const struct mc_meta_item item = {
		.shown = MC_META_RETURNED,
		.base64 = true,
		.fetched = true,
		.sent = true,
		.stale = true,
		.won = true,
		.key = {key, sizeof key},
		.size = UINT32_MAX,
		.client_flags = UINT32_MAX,
		.ttl_s = INT32_MAX,
		.idle_s = UINT32_MAX,
		.cas = UINT64_MAX,
	};
	uint8_t *text = at_page_end("", 0) - MC_META_LINE_MAX;

	memset(key, 0xff, sizeof key);
	check(mc_put_meta_value_head(text, UINT32_MAX, &req.meta, &item) <=
	      text + MC_META_LINE_MAX);
	check_eq(req.meta.order_count, MC_META_RETURNED_MAX);
}

TEST(every_flag_has_a_letter_of_its_own)
{
	uint32_t seen = 0, count = 0;

	for (uint32_t c = 0; c < 256; c++) {
		const uint32_t bit = mc_meta_bit((uint8_t)c);

		check_eq(seen & bit, 0);
		seen |= bit;
		count += bit != 0;
	}
	check_eq(count, MC_META_LETTER_COUNT);
}

/* ---- dumps ---- */

TEST(what_is_known_of_an_item_is_written_as_memcached_writes_it)
{
	const struct mc_item_info f = {
		.key = text_view("a/b c%"),
		.exptime = -1,
		.access = 1700000000,
		.cas = 12,
		.slab_class = 3,
		.size = 96,
		.client_flags = 7,
	};
	struct mc_item_info text_key = f;
	uint8_t text[MC_ITEM_INFO_LINE_MAX + 1];

	*mc_put_metadump(text, &f) = 0;
	check_str((char *)text, "key=a%2Fb%20c%25 exp=-1 la=1700000000 cas=12 fetch=no cls=3 "
				"size=96 flags=7 \n");
	text_key.key = text_view("foo");
	text_key.exptime = 55;
	text_key.access = 2;
	text_key.fetched = true;
	*mc_put_debug(text, &text_key) = 0;
	check_str((char *)text, "ME foo exp=55 la=2 cas=12 fetch=yes cls=3 size=96\r\n");
	*mc_put_mgdump(text, &text_key) = 0;
	check_str((char *)text, "mg foo\r\n");
	text_key.exptime = 0; /* its last second */
	*mc_put_debug(text, &text_key) = 0;
	check_str((char *)text, "ME foo exp=0 la=2 cas=12 fetch=yes cls=3 size=96\r\n");
	text_key.exptime = 55;
	text_key.base64 = true;
	*mc_put_debug(text, &text_key) = 0;
	check_str((char *)text, "ME Zm9v exp=55 la=2 cas=12 fetch=yes cls=3 size=96\r\n");
	*mc_put_mgdump(text, &text_key) = 0;
	check_str((char *)text, "mg Zm9v b\r\n");
}

/* RFC 3986, section 2.3, lists the unreserved bytes. */
TEST(a_uri_shows_unreserved_bytes_as_they_are_and_all_others_in_hex)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789-._~";

	for (uint32_t c = 0; c < 256; c++) {
		const uint8_t key[1] = {(uint8_t)c};
		char want[8], have[8];

		snprintf(want, sizeof want,
			 c != 0 && strchr(unreserved, (int)c) != NULL ? "%c" : "%%%02X", c);
		*mc_put_uri((uint8_t *)have, (struct view){key, 1}) = 0;
		check_str(have, want);
	}
}

TEST(the_longest_line_of_a_dump_fits_its_bound)
{
	uint8_t key[MC_KEY_MAX];
	const struct mc_item_info f = {
		.key = {key, sizeof key},
		.exptime = INT64_MIN,
		.access = UINT64_MAX,
		.cas = UINT64_MAX,
		.slab_class = UINT32_MAX,
		.size = UINT32_MAX,
		.client_flags = UINT32_MAX,
	};
	uint8_t *text = at_page_end("", 0) - MC_ITEM_INFO_LINE_MAX;

	memset(key, 0xff, sizeof key);
	check(mc_put_metadump(text, &f) <= text + MC_ITEM_INFO_LINE_MAX);
	check(mc_put_debug(text, &f) <= text + MC_ITEM_INFO_LINE_MAX);
}

/* ---- binary responses ---- */

static const struct mc_bin_echo echo = {.opcode = 0x0c, .opaque = {{0xde, 0xad, 0xbe, 0xef}}};

TEST(a_value_stands_behind_header_flags_and_key)
{
	static const uint8_t want[] = {
		0x81, 0x0c, 0, 3, 4, 0, 0, 0, 0, 0, 0, 12, 0xde, 0xad, 0xbe, 0xef,
		0,    0,    0, 0, 0, 0, 1, 2, 0, 0, 0, 7,  'f',  'o',  'o',
	};
	const struct mc_bin_value v = {
		.key = text_view("foo"), .client_flags = 7, .len = 5, .cas = 0x102};
	uint8_t bytes[MC_BIN_VALUE_HEAD_MAX];

	check_eq(mc_put_bin_value_head(bytes, echo, &v) - bytes, sizeof want);
	check_bytes(bytes, want, sizeof want);
}

TEST(every_status_has_its_code_and_text)
{
	const struct {
		enum mc_bin_status status;
		uint16_t code;
		const char *text;
	} rows[] = {
		{MC_STATUS_OK, 0, ""},
		{MC_STATUS_NOT_FOUND, 1, "Not found"},
		{MC_STATUS_EXISTS, 2, "Data exists for key."},
		{MC_STATUS_TOO_LARGE, 3, "Too large."},
		{MC_STATUS_INVALID, 4, "Invalid arguments"},
		{MC_STATUS_NOT_STORED, 5, "Not stored."},
		{MC_STATUS_NOT_NUMERIC, 6, "Non-numeric server-side value for incr or decr"},
		{MC_STATUS_AUTH, 0x20, "Auth failure."},
		{MC_STATUS_AUTH_CONTINUE, 0x21, ""},
		{MC_STATUS_UNKNOWN, 0x81, "Unknown command"},
		{MC_STATUS_MEMORY, 0x82, "Out of memory"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t bytes[MC_BIN_STATUS_MAX];
		const uint32_t len = (uint32_t)strlen(rows[i].text);

		check_eq(mc_put_bin_status(bytes, echo, rows[i].status) - bytes,
			 MC_BIN_HEAD_BYTES + len);
		check_eq(bytes[6] << 8 | bytes[7], rows[i].code);
		check_eq(bytes[11], len);
		check_bytes(bytes + 16, "\0\0\0\0\0\0\0", 8);
		check_bytes(bytes + 12, "\xde\xad\xbe\xef", 4);
		check_bytes(bytes + 24, rows[i].text, len);
	}
}

TEST(numbers_texts_misses_and_statistics_have_their_lengths)
{
	uint8_t bytes[128];

	check_eq(mc_put_bin_number(bytes, echo, 0x0102030405060708, 9) - bytes, 32);
	check_bytes(bytes + 16, "\0\0\0\0\0\0\0\x09\1\2\3\4\5\6\7\x08", 16);
	check_eq(mc_put_bin_text(bytes, echo, text_view("1.6.45")) - bytes, 30);
	check_bytes(bytes + 8, "\0\0\0\6", 4);
	check_bytes(bytes + 24, "1.6.45", 6);
	check_eq(mc_put_bin_miss(bytes, echo, text_view("foo")) - bytes, 27);
	check_bytes(bytes, "\x81\x0c\0\3\0\0\0\1\0\0\0\3", 12);
	check_eq(mc_put_bin_stat(bytes, echo, text_view("pid"), text_view("42")) - bytes, 29);
	check_bytes(bytes, "\x81\x0c\0\3\0\0\0\0\0\0\0\5", 12);
	check_bytes(bytes + 24, "pid42", 5);
	check_eq(mc_put_bin_stat(bytes, echo, text_view(""), text_view("")) - bytes, 24);
	check_bytes(bytes, "\x81\x0c\0\0\0\0\0\0\0\0\0\0", 12);
	check_eq(mc_put_bin_head(bytes, echo, MC_STATUS_OK, 0, 7) - bytes, 24);
	check_eq(bytes[23], 7);
}

TEST(four_opcodes_show_the_key)
{
	for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++)
		check_eq(mc_bin_shows_key(mc_opcodes[i].opcode),
			 strstr(mc_opcodes[i].name, "tK") != NULL ||
				 strstr(mc_opcodes[i].name, "TK") != NULL);
}

/* Requests of either protocol, written from random fields, are read as those fields. */
TEST(a_written_meta_line_is_read_as_it_was_meant)
{
	static const char letters[] = "cfhklqstuvxIPL";
	uint64_t seed = 7;

	for (uint32_t round = 0; round < 20000; round++) {
		const uint64_t dice = random_next(&seed);
		char line[256], *at = line;
		uint32_t flags = 0;
		const uint64_t cas = random_next(&seed);
		const int32_t exptime = (int32_t)random_next(&seed);
		struct mc_req req;

		at += sprintf(at, "%s k%u", dice & 1 ? "mg" : "md", (uint32_t)(dice >> 40));
		for (uint32_t i = 0; i < sizeof letters - 1; i++)
			if (dice >> (8 + i) & 1) {
				at += sprintf(at, " %c", letters[i]);
				flags |= mc_meta_bit((uint8_t)letters[i]);
			}
		at += sprintf(at, " C%llu T%d\r\n", (unsigned long long)cas, exptime);
		req = request_of(line);
		check_eq(req.meta.flags & ~MC_META_ORDER,
			 flags | MC_FLAG_COMPARE | MC_FLAG_SET_EXPTIME);
		check_eq(req.cas, cas);
		check_eq(req.exptime, exptime);
		check_eq(req.meta.order_count, __builtin_popcount(flags & MC_META_RETURNED));
	}
}
