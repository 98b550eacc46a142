/*
 * workload.h - keys, sizes and operations of a load, and the text of its requests.
 *
 * Shape:  one immutable struct shared by all cores. A request is drawn from it with the core's
 *         random numbers and written into memory of the caller.
 * Units:  bytes.
 * Thread: immutable after workload_init; the functions are pure.
 * Bounds: MULTIGET_MAX keys a request; a request without its value fits workload_head_bytes().
 */
#ifndef CLOCKOO_WORKLOAD_H
#define CLOCKOO_WORKLOAD_H

#include "item_text.h"
#include "key_distribution.h"
#include "size_distribution.h"

#define MULTIGET_MAX 128u

enum load_protocol { LOAD_TEXT, LOAD_META };
enum load_op { LOAD_GET, LOAD_SET, LOAD_DELETE };

/* The bytes before and after the key in the line of a value: "VALUE " and " 0 32\r\n", "VA 32 k"
 * and "\r\n". */
struct value_line {
	uint32_t before_len, after_len;
	uint8_t before[16], after[16];
};

/* Parts of the line of a value for the fast path: all keys have one length and all values
 * another, a short one. A reply is then compared with words. */
struct fast_value {
	bool on;
	uint32_t before_len, key_len, after_len, value_len;
	uint32_t all; /* bytes from "VALUE" to the line end behind the value */
	uint64_t before, before_mask, after, after_mask;
};

struct workload {
	enum load_protocol protocol;
	struct key_distribution keys;
	struct size_distribution key_size, value_size;
	double set_share, delete_share; /* shares of the requests; the others are gets */
	uint32_t multiget;              /* keys of a get */
	/* computed by workload_init */
	uint32_t set_below, delete_below; /* shares as parts of 2^32 */
	struct value_line line;           /* the line of a value of value_size.least bytes */
	struct fast_value fast;
};

/* A request; its reply is compared with this, too. */
struct request {
	enum load_op op;
	uint32_t key_count;
	uint32_t version; /* version of a set's value */
	uint32_t *keys;   /* numbers of keys, in the order of the request */
};

void workload_init(struct workload *w);

/* Makes the line of a value of that length. */
void workload_value_line(const struct workload *w, uint32_t len, struct value_line *line);

/* Returns the most bytes of a request, without a set's value and the line end after it. */
uint32_t workload_head_bytes(const struct workload *w);

static inline uint32_t
workload_key_len(const struct workload *w, uint32_t key)
{
	const struct size_distribution *dist = &w->key_size;

	return dist->least == dist->most ? dist->least
					 : size_distribution_of(dist, load_mix(key + 1));
}

static inline uint32_t
workload_value_len(const struct workload *w, uint32_t key)
{
	const struct size_distribution *dist = &w->value_size;

	return dist->least == dist->most ? dist->least
					 : size_distribution_of(dist, load_mix(~(uint64_t)key));
}

/* Draws the next request; req->keys has room for w->multiget. */
void request_draw(const struct workload *w, struct load_rng *r, struct request *req);

/* Writes the request: all of a get or delete, a set up to where its value begins. at has room for
 * workload_head_bytes(). Returns the bytes written. */
uint32_t request_put(const struct workload *w, const struct request *req, uint8_t *at);

#endif
