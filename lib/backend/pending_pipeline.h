/*
 * pending_pipeline.h - requests behind writes of their connection that a supplier has not answered
 * yet.
 *
 * Private to lib/backend.
 *
 * Shape:  a write of another key, whole and no larger than a read buffer, is asked for at once; a
 *         retrieval of one key, too, or at its turn, if there is a copy or an earlier request of
 *         that key. All of them are kept (pending.h), and told in order. All else is left
 *         unread until the answers have been told: so nothing is told, refused or read out of turn,
 *         and requests of a key keep their order.
 *
 * Thread: core-local.
 *
 * Bounds: AWAIT_KEPT_MAX of a connection; chunks: backend.h.
 */
#ifndef CLOCKOO_PENDING_PIPELINE_H
#define CLOCKOO_PENDING_PIPELINE_H

#include "pending.h"

#include "serve/serve_parse.h"

/* Some kept request has no answer yet, or is told behind the one that this pass tells. */
static inline bool
session_keeps_open(const struct session *ss)
{
	const struct await *a = ss->kept;

	return a != NULL && (a->state != AWAIT_READY || a->next != NULL);
}

/* May it stand in a pipeline with writes: has it one key, and if it writes, an answer without a
 * value as it was read? */
bool await_is_keyed_write(const struct mc_req *req);
bool await_is_keyed_read(const struct mc_req *req);
/* Behind others of their connection: may more be kept? (pending_kept.c) */
bool kept_have_room(const struct serve *sv);
/* May a session that has kept requests keep one more? */
bool session_may_pipeline(const struct serve *sv, const struct session *ss);
/* What a pass reads of such a session. */
enum parse_step kept_behind_parse(struct serve *sv, struct session *ss);

#endif
