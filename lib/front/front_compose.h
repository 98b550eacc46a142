/*
 * front_compose.h - how a retrieval is asked of a server.
 *
 * Shape:  a query is what a request asks beside its key. Plain gets of many keys are gathered by
 *         the caller; all others have a line of their own.
 * Thread: pure functions.
 * Errors: FRONT_FORM_NONE: a server that speaks no more than this cannot be asked.
 * Bounds: FRONT_QUERY_LINE_MAX bytes a line, its end included.
 * Source: memcached doc/protocol.txt.
 */
#ifndef CLOCKOO_FRONT_COMPOSE_H
#define CLOCKOO_FRONT_COMPOSE_H

#include "proto/mc_req.h"

enum front_form {
	FRONT_FORM_GET, /* gathered */
	FRONT_FORM_GETS,
	FRONT_FORM_GAT,
	FRONT_FORM_GATS,
	FRONT_FORM_MG,
	FRONT_FORM_NONE,
};

struct front_query {
	uint8_t verb; /* enum mc_verb */
	bool cas;     /* the answer is to have it */
	uint32_t flags;
	int32_t exptime, vivify_exptime, recache_s;
	uint64_t new_cas;
};

/* A meta line with every flag, and a key in base64. */
#define FRONT_QUERY_LINE_MAX (3u + MC_KEY_BASE64_MAX + 8 * 2 + 3 * 13 + 22 + 12 + 2)

struct front_query front_query_of(const struct mc_req *req);
/* How a server is asked that speaks meta commands, or text alone. */
enum front_form front_query_form(const struct front_query *q, struct view key, bool meta);
/* A line of its own: not of FRONT_FORM_GET and FRONT_FORM_GETS. The opaque is a meta line's: its
 * answer repeats it, and no other one. */
uint8_t *front_put_query(uint8_t *at, const struct front_query *q, enum front_form form,
			 struct view key, uint32_t opaque);

#endif
