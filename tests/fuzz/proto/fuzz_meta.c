/*
 * Goal:   a meta line is read as the flags it was written from, and a reply shows exactly the
 *         requested flags, in their order. Method: a line is composed from the input, parsed
 *         whole and in pieces; its reply is composed from the parsed flags and read back word by
 *         word. Part of the inputs is a line of the input's own bytes.
 */
#include "fuzz_target.h"
#include "input.h"
#include "pieces.h"
#include "proto/mc_meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

/* A line, and the fields that it was made from. */
struct line {
	uint8_t text[MC_LINE_MAX];
	uint32_t len;
	uint32_t flags;
	uint8_t order[MC_META_RETURNED_MAX];
	uint32_t order_count;
	uint8_t key[MC_KEY_DECODED_MAX];
	uint32_t key_len;
	uint64_t numbers[256]; /* by letter */
	uint8_t opaque[MC_OPAQUE_MAX];
	uint32_t opaque_len;
};

static void
put(struct line *l, const char *text)
{
	const uint32_t len = (uint32_t)strlen(text);

	memcpy(l->text + l->len, text, len);
	l->len += len;
}

/* Returns a byte that may be part of a word. */
static uint8_t
word_byte(uint8_t c)
{
	return c <= ' ' || c == 127 ? (uint8_t)('a' + c % 26) : c;
}

static void
put_key(struct line *l, struct input *in, bool base64)
{
	l->key_len = 1 + take_u8(in) % MC_KEY_DECODED_MAX;
	for (uint32_t i = 0; i < l->key_len; i++)
		l->key[i] = base64 ? take_u8(in) : word_byte(take_u8(in));
	if (base64)
		l->len = (uint32_t)(mc_put_base64(l->text + l->len,
						  (struct view){l->key, l->key_len}) -
				    l->text);
	else {
		memcpy(l->text + l->len, l->key, l->key_len);
		l->len += l->key_len;
	}
}

static void
put_argument(struct line *l, struct input *in, uint8_t letter)
{
	char text[32] = "";

	l->numbers[letter] = take_number(in);
	if (letter == 'N' || letter == 'T' || letter == 'R')
		snprintf(text, sizeof text, "%" PRId32, (int32_t)l->numbers[letter]);
	else if (letter == 'F')
		snprintf(text, sizeof text, "%" PRIu32, (uint32_t)l->numbers[letter]);
	else if (strchr("CEJD", letter) != NULL)
		snprintf(text, sizeof text, "%" PRIu64, l->numbers[letter]);
	put(l, text);
	if (letter != 'O')
		return;
	l->opaque_len = take_u8(in) % (MC_OPAQUE_MAX + 1);
	for (uint32_t i = 0; i < l->opaque_len; i++)
		l->opaque[i] = l->text[l->len++] = word_byte(take_u8(in));
}

/* Adds each letter once, at most as many as fit a line; M is left to its own table
 * (test_mc_meta.c). */
static void
put_flags(struct line *l, struct input *in)
{
	static const char letters[] = "cfhklqstuvxCDEFIJLNOPRT";
	uint32_t words = 3 + ((l->flags & MC_FLAG_BASE64) != 0);

	for (uint32_t n = take_u8(in) % 17; n > 0 && words < MC_META_TOKENS_MAX; n--) {
		const uint8_t letter = (uint8_t)letters[take_u8(in) % (sizeof letters - 1)];
		const uint32_t bit = mc_meta_bit(letter);

		if (l->flags & bit)
			continue;
		l->flags |= bit;
		words++;
		if (bit & MC_META_RETURNED)
			l->order[l->order_count++] = letter;
		l->text[l->len++] = ' ';
		l->text[l->len++] = letter;
		put_argument(l, in, letter);
	}
}

static void
line_compose(struct line *l, struct input *in)
{
	static const char *const commands[] = {"mg ", "md ", "ma ", "ms "};
	const uint8_t choice = take_u8(in);
	const bool base64 = (choice & 4) != 0;

	memset(l, 0, sizeof *l);
	put(l, commands[choice % 4]);
	put_key(l, in, base64);
	if (choice % 4 == 3)
		put(l, " 0");
	if (base64)
		put(l, " b");
	l->flags = base64 ? MC_FLAG_BASE64 : 0;
	put_flags(l, in);
	put(l, choice & 8 ? "\n" : "\r\n");
}

static void
numbers_agree(const struct line *l, const struct mc_req *req)
{
	const struct mc_meta *m = &req->meta;

	must(!(l->flags & MC_FLAG_COMPARE) || req->cas == l->numbers['C']);
	must(!(l->flags & MC_FLAG_NEW_CAS) || m->new_cas == l->numbers['E']);
	must(!(l->flags & MC_FLAG_INITIAL) || m->initial == l->numbers['J']);
	must(!(l->flags & MC_FLAG_DELTA) || req->delta == l->numbers['D']);
	must(!(l->flags & MC_FLAG_SET_CLIENT) || req->client_flags == (uint32_t)l->numbers['F']);
	must(!(l->flags & MC_FLAG_SET_EXPTIME) || req->exptime == (int32_t)l->numbers['T']);
	must(!(l->flags & MC_FLAG_VIVIFY) || m->vivify_exptime == (int32_t)l->numbers['N']);
	must(!(l->flags & MC_FLAG_RECACHE) || m->recache_s == (int32_t)l->numbers['R']);
}

static void
line_agrees(const struct line *l, const struct mc_req *req)
{
	const struct mc_meta *m = &req->meta;
	uint8_t key[MC_KEY_DECODED_MAX];
	struct view have = req->key;

	must(req->verb != MC_BAD);
	must((m->flags & ~MC_META_ORDER) == l->flags);
	must(((req->flags & MC_QUIET) != 0) == ((l->flags & MC_FLAG_QUIET) != 0));
	must(m->order_count == l->order_count && memcmp(m->order, l->order, l->order_count) == 0);
	must(m->opaque_len == l->opaque_len && memcmp(m->opaque, l->opaque, l->opaque_len) == 0);
	if (req->flags & MC_KEY_BASE64)
		have = (struct view){key, (uint32_t)(mc_base64_decode(key, have) - key)};
	must(have.len == l->key_len && memcmp(have.data, l->key, l->key_len) == 0);
	numbers_agree(l, req);
}

/* Checks a reply: " <letter>" and the value of each flag that is shown, then
 * the marks, then the end. */
static void
reply_agrees(const struct line *l, const struct mc_meta_item *item, const uint8_t *at,
	     const uint8_t *end)
{
	for (uint32_t i = 0; i < l->order_count; i++) {
		if (!(item->shown & mc_meta_bit(l->order[i])))
			continue;
		must(end - at > 2 && at[0] == ' ' && at[1] == l->order[i]);
		at += 2;
		if (l->order[i] == 'O') {
			must(memcmp(at, l->opaque, l->opaque_len) == 0);
			at += l->opaque_len;
		} else if (l->order[i] == 'c') {
			must(strtoull((const char *)at, NULL, 10) == item->cas);
		}
		while (*at != ' ' && *at != '\r')
			at++;
		if (l->order[i] == 'k' && item->base64) {
			must(memcmp(at, " b", 2) == 0);
			at += 2;
		}
	}
	for (uint32_t i = 0; i < 3; i++)
		if ((const bool[]){item->sent, item->stale, item->won}[i]) {
			must(at[0] == ' ' && at[1] == "ZXW"[i]);
			at += 2;
		}
	must(end - at == 2 && memcmp(at, "\r\n", 2) == 0);
}

static void
reply_compose(const struct line *l, const struct mc_req *req, struct input *in)
{
	const uint8_t marks = take_u8(in);
	const struct mc_meta_item item = {
		.shown = MC_META_RETURNED & ~(uint32_t)take_number(in),
		.base64 = (l->flags & MC_FLAG_BASE64) != 0,
		.fetched = marks & 1,
		.sent = marks & 2,
		.stale = marks & 4,
		.won = marks & 8,
		.key = {l->key, l->key_len},
		.size = (uint32_t)take_number(in),
		.client_flags = (uint32_t)take_number(in),
		.ttl_s = (int32_t)take_number(in),
		.idle_s = (uint32_t)take_number(in),
		.cas = take_number(in),
	};
	uint8_t *text = malloc(MC_META_LINE_MAX); /* a byte more would be detected */
	const uint8_t *end = mc_put_meta(text, MC_META_HD, &req->meta, &item);

	must(memcmp(text, "HD", 2) == 0);
	reply_agrees(l, &item, text + 2, end);
	end = mc_put_meta_value_head(text, item.size, &req->meta, &item);
	must(end <= text + MC_META_LINE_MAX);
	must(strtoull((const char *)text + 3, NULL, 10) == item.size);
	free(text);
}

static void
round_trip(struct input *in)
{
	static const uint8_t lengths[PIECE_LENGTHS] = {0, 6, 2, 40};
	static struct line line;
	struct mc_parser ps = {0};
	struct mc_result r;
	struct mc_req req;

	line_compose(&line, in);
	r = mc_parse(&ps, &req, line.text, line.len);
	must(r.status == MC_OK && r.used == line.len);
	line_agrees(&line, &req);
	reply_compose(&line, &req, in);
	pieces_agree(lengths, line.text, line.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t stream[512] = "m";

	if (size < PIECE_LENGTHS + 1 || size > sizeof stream - 1)
		return 0;
	if (take_u8(&in) & 1) {
		round_trip(&in);
		return 0;
	}
	memcpy(stream + 1, in.data, in.left);
	pieces_agree(data, stream, (uint32_t)in.left + 1);
	return 0;
}
