/*
 * resp_codec.c - writes GET, MGET and SET as arrays of bulk strings, and compares replies.
 */
#include "resp_codec.h"

#include <stdio.h>

#define WORD_BYTES 32u

static uint32_t
put_word(uint8_t *at, const char *word)
{
	return (uint32_t)sprintf((char *)at, "$%zu\r\n%s\r\n", strlen(word), word);
}

uint32_t
resp_put(const struct workload *w, const struct request *req, uint8_t *at)
{
	const bool set = req->op == LOAD_SET;
	const char *word = set ? "SET" : req->key_count > 1 ? "MGET" : "GET";
	uint32_t len = (uint32_t)sprintf((char *)at, "*%u\r\n", req->key_count + 1 + set);

	len += put_word(at + len, word);
	for (uint32_t i = 0; i < req->key_count; i++) {
		const uint32_t key_len = workload_key_len(w, req->keys[i]);

		len += (uint32_t)sprintf((char *)at + len, "$%u\r\n", key_len);
		item_key_put(at + len, req->keys[i], key_len);
		len += key_len;
		at[len++] = '\r';
		at[len++] = '\n';
	}
	if (set)
		len += (uint32_t)sprintf((char *)at + len, "$%u\r\n",
					 workload_value_len(w, req->keys[0]));
	return len;
}

/* Reads "X<number>\r\n" at *at. REPLY_MORE: it is incomplete. */
static enum reply_status
take_head(struct view in, uint32_t *at, char type, int32_t *n)
{
	const uint8_t *from = in.data + *at;
	const uint8_t *end = memchr(from, '\n', in.len - *at);
	char text[WORD_BYTES];
	uint32_t len;

	if (end == NULL)
		return in.len - *at < WORD_BYTES ? REPLY_MORE : REPLY_MALFORMED;
	len = (uint32_t)(end - from);
	if (len < 3 || len >= WORD_BYTES || from[0] != (uint8_t)type || end[-1] != '\r')
		return REPLY_MALFORMED;
	memcpy(text, from + 1, len - 2);
	text[len - 2] = '\0';
	*at += len + 1;
	return sscanf(text, "%d", n) == 1 ? REPLY_DONE : REPLY_MALFORMED;
}

struct values {
	uint32_t hits, misses, wrong;
};

/* Reads one value or its absence. */
static enum reply_status
take_value(const struct workload *w, uint32_t key, struct view in, uint32_t *at,
	   struct values *found)
{
	const uint32_t want = workload_value_len(w, key);
	struct item_value v;
	int32_t n;
	const enum reply_status status = take_head(in, at, '$', &n);

	if (status != REPLY_DONE)
		return status;
	if (n < 0) {
		found->misses++;
		return REPLY_DONE;
	}
	if ((uint32_t)n + 2 > in.len - *at)
		return REPLY_MORE;
	item_value_expect(&v, key, want);
	if ((uint32_t)n != want || !item_value_is(&v, in.data + *at, want))
		found->wrong++;
	found->hits++;
	*at += (uint32_t)n + 2;
	return REPLY_DONE;
}

static enum reply_status
read_get(const struct workload *w, const struct request *req, struct view in, uint32_t *at,
	 struct values *found)
{
	enum reply_status status = REPLY_DONE;
	int32_t n = 1;

	if (req->key_count > 1)
		status = take_head(in, at, '*', &n);
	if (status == REPLY_DONE && (uint32_t)n != req->key_count)
		return REPLY_MALFORMED;
	for (uint32_t i = 0; i < req->key_count && status == REPLY_DONE; i++)
		status = take_value(w, req->keys[i], in, at, found);
	return status;
}

static enum reply_status
read_set(struct view in, uint32_t *at)
{
	static const char good[] = "+OK\r\n";

	if (in.len < sizeof good - 1)
		return REPLY_MORE;
	*at = sizeof good - 1;
	return memcmp(in.data, good, sizeof good - 1) == 0 ? REPLY_DONE : REPLY_MALFORMED;
}

enum reply_status
resp_read(const struct workload *w, const struct request *req, const struct reply_sink *sink,
	  struct view in, uint32_t *used)
{
	struct values found = {0};
	enum reply_status status;
	uint32_t at = 0;

	status = req->op == LOAD_SET ? read_set(in, &at) : read_get(w, req, in, &at, &found);
	*used = 0;
	if (status == REPLY_MALFORMED)
		counter_add(&sink->tally[LOAD_BROKEN], 1);
	if (status != REPLY_DONE)
		return status;
	*used = at;
	counter_add(&sink->tally[LOAD_HITS], found.hits);
	counter_add(&sink->tally[LOAD_MISSES], found.misses);
	counter_add(&sink->tally[LOAD_WRONG_VALUE], found.wrong);
	if (req->op == LOAD_SET)
		counter_add(&sink->tally[LOAD_STORED], 1);
	else
		counter_add(&sink->tally[LOAD_KEYS_ASKED], req->key_count);
	return REPLY_DONE;
}
