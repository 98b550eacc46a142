/*
 * front_compose.h - composes what an operation sends to a server: the form of command, and its
 * line.
 *
 * Shape:  a query is a request without its key and value. The caller puts several plain gets into
 *         one line; every other query has a line of its own. A request that came as text is sent as
 *         the same text command if its key is text. All others are sent as meta commands.
 * Thread: pure functions.
 * Errors: FRONT_FORM_NONE: a server with this protocol cannot execute the query.
 * Bounds: a line has FRONT_QUERY_LINE_MAX bytes, its end included.
 * Source: memcached doc/protocol.txt; memcached.c, realtime(): the value above which an exptime
 * is an absolute Unix time.
 */
#ifndef CLOCKOO_FRONT_COMPOSE_H
#define CLOCKOO_FRONT_COMPOSE_H

#include "front_reply.h"

#include "proto/mc_req.h"

/* X(symbol, the kind of its answer: FRONT_ASK_...). */
#define FRONT_FORMS(X)                                                                             \
	X(GET, GET) /* gathered by the caller */                                                   \
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
extern const uint8_t front_form_asks[FRONT_FORM_NONE]; /* by form: enum front_ask of its answer */

struct front_query {
	uint8_t verb; /* enum mc_verb */
	uint8_t mode; /* enum mc_mode */
	bool cas;     /* the answer must have the cas */
	bool compare; /* the server must store only if the item's cas is version */
	uint32_t flags;
	uint32_t client_flags, body_len;
	int32_t exptime, vivify_exptime, recache_s;
	uint64_t version, new_cas, delta, initial;
};

/* The longest meta line: every flag, and a key in base64. */
#define FRONT_QUERY_LINE_MAX (3u + MC_KEY_BASE64_MAX + 12u + 10 * 2 + 5 * 13 + 4 * 22 + 12 + 2)

struct front_query front_query_of(const struct mc_req *req);
/* True if the query is a set that does not depend on the current value, and whose reply has nothing
 * of the stored item. */
bool front_query_is_plain_set(const struct front_query *q);
/* Limits the expiry of a store or touch to most_s seconds from now. unix_s: now, by the wall
 * clock. */
void front_query_cut(struct front_query *q, int32_t most_s, int64_t unix_s);
/* Returns the form in which to send the query. meta: the server knows meta commands.
 * FRONT_FORM_NONE: it cannot execute the query. */
enum front_form front_query_form(const struct front_query *q, struct view key, bool meta);
/* Writes the query's line, except for FRONT_FORM_GET and FRONT_FORM_GETS. opaque is written to meta
 * lines only; their replies repeat it. Returns the line's end. */
uint8_t *front_put_query(uint8_t *at, const struct front_query *q, enum front_form form,
			 struct view key, uint32_t opaque);

#endif
