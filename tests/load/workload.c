/*
 * workload.c - operations and keys drawn for a request, and the text of the request.
 */
#include "workload.h"

#include "base/check.h"

#define NUMBER_BYTES 10u /* digits of a 32-bit number */
#define SET_WORDS    16u /* "set " and " 0 0 " and the line's end, with room to spare */
#define GET_WORDS    16u

static uint32_t
share_of_32_bits(double share)
{
	return share >= 1 ? UINT32_MAX : (uint32_t)(share * 0x1p32);
}

uint32_t
workload_head_bytes(const struct workload *w)
{
	const uint32_t one = w->key_size.most + GET_WORDS;
	const uint32_t get = w->protocol == LOAD_META
				     ? one * w->multiget
				     : (w->key_size.most + 1) * w->multiget + GET_WORDS;
	const uint32_t set = w->key_size.most + SET_WORDS + NUMBER_BYTES;

	/* Keys are written in whole words. */
	return (get > set ? get : set) + 8;
}

void
request_draw(const struct workload *w, struct load_rng *r, struct request *req)
{
	const uint64_t dice = load_random(r);
	const uint32_t which = (uint32_t)dice;

	req->op = which >= w->set_below     ? LOAD_GET
		  : which < w->delete_below ? LOAD_DELETE
					    : LOAD_SET;
	req->key_count = req->op == LOAD_GET ? w->multiget : 1;
	req->version = (uint32_t)(dice >> 32);
	for (uint32_t i = 0; i < req->key_count; i++)
		req->keys[i] = key_distribution_draw(&w->keys, r);
}

/* Writes len bytes of words, a literal of at most 8 bytes; at has room
 * for 8. Returns their end. */
static inline uint8_t *
put_words(uint8_t *at, const char words[8], uint32_t len)
{
	memcpy(at, words, 8);
	return at + len;
}

static inline uint8_t *
put_key(const struct workload *w, uint8_t *at, uint32_t key)
{
	const uint32_t len = workload_key_len(w, key);

	item_key_put(at, key, len);
	return at + len;
}

static uint8_t *
put_number(uint8_t *at, uint32_t n)
{
	uint8_t digits[NUMBER_BYTES];
	uint32_t i = NUMBER_BYTES;

	do {
		digits[--i] = (uint8_t)('0' + n % 10);
		n /= 10;
	} while (n != 0);
	memcpy(at, digits + i, NUMBER_BYTES - i);
	return at + NUMBER_BYTES - i;
}

void
workload_value_line(const struct workload *w, uint32_t len, struct value_line *line)
{
	uint8_t *before = line->before, *after = line->after;

	if (w->protocol == LOAD_META) {
		before = put_words(before, "VA \0\0\0\0", 3);
		before = put_number(before, len);
		*before++ = ' ';
		*before++ = 'k';
	} else {
		before = put_words(before, "VALUE \0", 6);
		after = put_words(after, " 0 \0\0\0\0", 3);
		after = put_number(after, len);
	}
	*after++ = '\r';
	*after++ = '\n';
	line->before_len = (uint32_t)(before - line->before);
	line->after_len = (uint32_t)(after - line->after);
}

static inline uint64_t
mask_of(uint32_t bytes)
{
	return bytes >= 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
}

static void
plan_fast(struct workload *w)
{
	const struct value_line *line = &w->line;
	struct fast_value *p = &w->fast;

	p->on = w->key_size.least == w->key_size.most &&
		w->value_size.least == w->value_size.most &&
		w->value_size.least >= ITEM_VERSIONED && line->before_len <= 8 &&
		line->after_len <= 8;
	p->before_len = line->before_len;
	p->key_len = w->key_size.least;
	p->after_len = line->after_len;
	p->value_len = w->value_size.least;
	p->all = p->before_len + p->key_len + p->after_len + p->value_len + 2;
	p->before_mask = mask_of(p->before_len);
	p->after_mask = mask_of(p->after_len);
	memcpy(&p->before, line->before, sizeof p->before);
	memcpy(&p->after, line->after, sizeof p->after);
}

void
workload_init(struct workload *w)
{
	key_distribution_init(&w->keys);
	w->delete_below = share_of_32_bits(w->delete_share);
	w->set_below = share_of_32_bits(w->delete_share + w->set_share);
	workload_value_line(w, w->value_size.least, &w->line);
	plan_fast(w);
}

static uint8_t *
put_get(const struct workload *w, const struct request *req, uint8_t *at)
{
	at = put_words(at, "get\0\0\0\0", 3);
	for (uint32_t i = 0; i < req->key_count; i++) {
		*at++ = ' ';
		at = put_key(w, at, req->keys[i]);
	}
	return put_words(at, "\r\n\0\0\0\0\0", 2);
}

/* Writes gets that return values and keys: a key distinguishes a reply from its neighbour. */
static uint8_t *
put_meta_get(const struct workload *w, const struct request *req, uint8_t *at)
{
	for (uint32_t i = 0; i < req->key_count; i++) {
		at = put_words(at, "mg \0\0\0\0", 3);
		at = put_key(w, at, req->keys[i]);
		at = put_words(at, " k v\r\n\0", 6);
	}
	return at;
}

static uint8_t *
put_set(const struct workload *w, const struct request *req, uint8_t *at)
{
	const bool meta = w->protocol == LOAD_META;

	at = meta ? put_words(at, "ms \0\0\0\0", 3) : put_words(at, "set \0\0\0", 4);
	at = put_key(w, at, req->keys[0]);
	at = meta ? put_words(at, " \0\0\0\0\0\0", 1) : put_words(at, " 0 0 \0\0", 5);
	at = put_number(at, workload_value_len(w, req->keys[0]));
	return put_words(at, "\r\n\0\0\0\0\0", 2);
}

static uint8_t *
put_delete(const struct workload *w, const struct request *req, uint8_t *at)
{
	at = w->protocol == LOAD_META ? put_words(at, "md \0\0\0\0", 3)
				      : put_words(at, "delete ", 7);
	at = put_key(w, at, req->keys[0]);
	return put_words(at, "\r\n\0\0\0\0\0", 2);
}

/* Writes the usual request: one key, and all keys have one length. Returns its bytes. */
static uint32_t
put_get_fast(const struct workload *w, uint32_t key, uint8_t *at)
{
	memcpy(at, "get ", 4);
	item_key_put(at + 4, key, w->fast.key_len);
	memcpy(at + 4 + w->fast.key_len, "\r\n", 2);
	return 6 + w->fast.key_len;
}

uint32_t
request_put(const struct workload *w, const struct request *req, uint8_t *at)
{
	uint8_t *end;

	if (likely(w->fast.on && req->op == LOAD_GET && req->key_count == 1 &&
		   w->protocol == LOAD_TEXT))
		return put_get_fast(w, req->keys[0], at);

	switch (req->op) {
	case LOAD_SET:
		end = put_set(w, req, at);
		break;
	case LOAD_DELETE:
		end = put_delete(w, req, at);
		break;
	default:
		end = w->protocol == LOAD_META ? put_meta_get(w, req, at) : put_get(w, req, at);
		break;
	}
	return (uint32_t)(end - at);
}
