/*
 * front_compose.h - how an operation is asked of a server: its form, and its line.
 *
 * Shape:  a query is what a request asks beside its key and its value. Plain gets of many keys are
 *         gathered by the caller; all others have a line of their own. What a text client asks is
 *         asked in its own words, as far as the key is text; all else in meta commands.
 * Thread: pure functions.
 * Errors: FRONT_FORM_NONE: a server that speaks no more than this cannot be asked.
 * Bounds: FRONT_QUERY_LINE_MAX bytes a line, its end included.
 * Source: memcached doc/protocol.txt; memcached.c, realtime(): from how many seconds on an exptime
 * is one of the wall clock.
 */
#ifndef CLOCKOO_FRONT_COMPOSE_H
#define CLOCKOO_FRONT_COMPOSE_H

#include "front_reply.h"

#include "proto/mc_req.h"

/* X(symbol, what answers it). */
#define FRONT_FORMS(X)                                                                             \
	X(GET, GET) /* gathered */                                                                 \
	X(GETS, GET)                                                                               \
	X(GAT, GET)                                                                                \
	X(GATS, GET)                                                                               \
	X(MG, MG)                                                                                  \
	X(MG_TOUCH, MG) /* without a value */                                                      \
	X(STORE, STORE)                                                                            \
	X(DELETE, DELETE)                                                                          \
	X(ARITHMETIC, ARITHMETIC)                                                                  \
	X(TOUCH, TOUCH)                                                                            \
	X(FLUSH, FLUSH)                                                                            \
	X(MS, MS)                                                                                  \
	X(MD, MD)                                                                                  \
	X(MA, MA)

#define FRONT_FORM_SYMBOL(symbol, ask) FRONT_FORM_##symbol,
enum front_form { FRONT_FORMS(FRONT_FORM_SYMBOL) FRONT_FORM_NONE };
extern const uint8_t front_form_asks[FRONT_FORM_NONE]; /* enum front_ask */

struct front_query {
	uint8_t verb; /* enum mc_verb */
	uint8_t mode; /* enum mc_mode */
	bool cas;     /* the answer is to have it */
	bool compare; /* with version */
	uint32_t flags;
	uint32_t client_flags, body_len;
	int32_t exptime, vivify_exptime, recache_s;
	uint64_t version, new_cas, delta, initial;
};

/* A meta line with every flag, and a key in base64. */
#define FRONT_QUERY_LINE_MAX (3u + MC_KEY_BASE64_MAX + 12u + 10 * 2 + 5 * 13 + 4 * 22 + 12 + 2)

struct front_query front_query_of(const struct mc_req *req);
/* A set that stores whatever was there before, and whose answer tells nothing of what it has
 * stored.
 */
bool front_query_is_plain_set(const struct front_query *q);
/* What it stores, or touches, ends in most_s at the latest; unix_s: the wall clock's second. */
void front_query_cut(struct front_query *q, int32_t most_s, int64_t unix_s);
/* How a server is asked that speaks meta commands, or text alone. */
enum front_form front_query_form(const struct front_query *q, struct view key, bool meta);
/* A line of its own: not of FRONT_FORM_GET and FRONT_FORM_GETS. The opaque is a meta line's: its
 * answer repeats it, and no other one. */
uint8_t *front_put_query(uint8_t *at, const struct front_query *q, enum front_form form,
			 struct view key, uint32_t opaque);

#endif
