/*
 * Goal:   the load generator reads any bytes of a server within its bounds, and finds the same in
 *         them wherever they were cut. Method: the input is a stream of replies, in which two
 *         bytes stand for a right answer so that a fuzzer need not guess one; it is read whole,
 *         in a block of its own size, and again in pieces.
 */
#include "fuzz_target.h"

#include "load/reply_reader.h"

#include <stdlib.h>
#include <string.h>

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

#define STREAM_MAX 8192u
#define RIGHT      0xfe /* followed by the place of a key: its line, value and end */
#define KEYS       4u

struct reading {
	struct counter tally[LOAD_COUNTER_COUNT];
	struct reply_mismatch mismatch;
	struct reply_reader reader;
	uint8_t line[REPLY_LINE_MAX];
	enum reply_status last;
	uint32_t replies;
};

static uint32_t keys[KEYS] = {0, 7, 7, 1000};

static void
setting(struct workload *w, struct request *req, uint8_t how)
{
	static const uint32_t sizes[][2] = {{0, 0}, {2, 2}, {32, 32}, {3, 700}};
	const uint32_t *size = sizes[how >> 3 & 3];

	*w = (struct workload){
		.protocol = how & 1 ? LOAD_META : LOAD_TEXT,
		.keys = {.n = 2000},
		.multiget = KEYS,
	};
	size_distribution_uniform(&w->key_size, 8, how & 0x20 ? 250 : 8);
	size_distribution_uniform(&w->value_size, size[0], size[1]);
	workload_init(w);
	*req = (struct request){
		.op = how >> 1 & 3,
		.key_count = (how >> 1 & 3) == LOAD_GET ? 1 + (how >> 6) : 1,
		.keys = keys,
	};
}

static uint32_t
put_right(const struct workload *w, uint8_t *at, uint32_t key)
{
	const uint32_t key_len = workload_key_len(w, key), len = workload_value_len(w, key);
	struct value_line line;
	struct item_value v;
	uint8_t *p = at;

	workload_value_line(w, len, &line);
	memcpy(p, line.before, line.before_len);
	item_key_put(p + line.before_len, key, key_len);
	p += line.before_len + key_len;
	memcpy(p, line.after, line.after_len);
	p += line.after_len;
	item_value_begin(&v, key, len, 5);
	item_value_put(&v, p, len);
	memcpy(p + len, "\r\n", 2);
	return (uint32_t)(p + len + 2 - at);
}

static uint32_t
stream_make(const struct workload *w, const uint8_t *data, size_t size, uint8_t *stream)
{
	uint32_t len = 0;

	for (size_t i = 0; i < size && len + 1100 < STREAM_MAX; i++) {
		if (data[i] == RIGHT && i + 1 < size)
			len += put_right(w, stream + len, keys[data[++i] % KEYS]);
		else
			stream[len++] = data[i];
	}
	return len;
}

/* Reads one piece; false if the stream is broken. */
static bool
take(struct reading *r, const struct workload *w, const struct request *req, struct view in)
{
	const struct reply_sink sink = {r->tally, &r->mismatch};

	while (in.len != 0) {
		uint32_t used;

		r->last = reply_read(&r->reader, w, req, &sink, in, &used);
		must(used <= in.len);
		if (r->last == REPLY_MALFORMED)
			return false;
		must(used == in.len || r->last == REPLY_DONE);
		must(used != 0);
		in.data += used;
		in.len -= used;
		if (r->last != REPLY_DONE)
			continue;
		r->replies++;
		reply_begin(&r->reader);
	}
	return true;
}

static void
begin(struct reading *r)
{
	memset(r, 0, sizeof *r);
	r->reader.line = r->line;
	reply_begin(&r->reader);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct workload w;
	static struct reading whole, pieces;
	static uint8_t stream[STREAM_MAX + ITEM_KEY_ROOM];
	struct request req;
	uint32_t len, step;
	uint8_t *exact;

	if (size < 2)
		return 0;
	setting(&w, &req, data[0]);
	len = stream_make(&w, data + 2, size - 2, stream);
	exact = malloc(len + 1);
	must(exact != NULL);
	memcpy(exact, stream, len);
	begin(&whole);
	take(&whole, &w, &req, (struct view){exact, len});
	free(exact);
	begin(&pieces);
	for (uint32_t at = 0; at < len; at += step) {
		bool good;

		step = 1 + (data[1] * 7 + at * 3) % (1 + data[1]);
		step = step < len - at ? step : len - at;
		exact = malloc(step);
		must(exact != NULL);
		memcpy(exact, stream + at, step);
		good = take(&pieces, &w, &req, (struct view){exact, step});
		free(exact);
		if (!good)
			break;
	}
	must((whole.last == REPLY_MALFORMED) == (pieces.last == REPLY_MALFORMED));
	must(whole.replies == pieces.replies);
	for (uint32_t i = 0; i < LOAD_COUNTER_COUNT; i++)
		must(counter_read(&whole.tally[i]) == counter_read(&pieces.tally[i]));
	must(whole.mismatch.seen == pieces.mismatch.seen);
	return 0;
}
