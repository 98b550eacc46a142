/*
 * front_compose.h - composes the request that an operation sends to a server: the form of command,
 * and the line.
 *
 * Shape:  a query is a request without its key and value. The caller combines plain gets into
 *         one line of many keys; every other query has its own line. A text client's request is
 *         sent as the same text command, if the key is text; all others are meta commands.
 * Thread: pure functions.
 * Errors: FRONT_FORM_NONE: a server with this protocol cannot execute the query.
 * Bounds: FRONT_QUERY_LINE_MAX bytes a line, its end included.
 * Source: memcached doc/protocol.txt; memcached.c, realtime(): the value above which an exptime
 * is an absolute Unix time.
 */
#ifndef CLOCKOO_FRONT_COMPOSE_H
#define CLOCKOO_FRONT_COMPOSE_H

#include "front_reply.h"

#include "proto/mc_req.h"

/* X(symbol, the kind of its answer). */
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
extern const uint8_t front_form_asks[FRONT_FORM_NONE]; /* enum front_ask */

struct front_query {
	uint8_t verb; /* enum mc_verb */
	uint8_t mode; /* enum mc_mode */
	bool cas;     /* the answer must have the cas */
	bool compare; /* the server stores only if the item's cas is version */
	uint32_t flags;
	uint32_t client_flags, body_len;
	int32_t exptime, vivify_exptime, recache_s;
	uint64_t version, new_cas, delta, initial;
};

/* Length of a meta line with every flag, and a key in base64. */
#define FRONT_QUERY_LINE_MAX (3u + MC_KEY_BASE64_MAX + 12u + 10 * 2 + 5 * 13 + 4 * 22 + 12 + 2)

struct front_query front_query_of(const struct mc_req *req);
/* True if the query is a set that does not depend on the current value and whose reply says
 * nothing about the stored item. */
bool front_query_is_plain_set(const struct front_query *q);
/* Limits the expiry of a store or touch to most_s from now. unix_s: the wall clock's second. */
void front_query_cut(struct front_query *q, int32_t most_s, int64_t unix_s);
/* Returns the form to send. meta: the server supports meta commands; otherwise only text. */
enum front_form front_query_form(const struct front_query *q, struct view key, bool meta);
/* Writes the query's own line; not for FRONT_FORM_GET and FRONT_FORM_GETS, which the caller
 * gathers. Only meta lines use opaque; their replies repeat it. */
uint8_t *front_put_query(uint8_t *at, const struct front_query *q, enum front_form form,
			 struct view key, uint32_t opaque);

#endif
