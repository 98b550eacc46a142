/*
 * serve_pipeline.h - writes behind writes of their connection that a supplier has not answered yet.
 *
 * Private to lib/serve.
 *
 * Shape:  a write of another key, whole and no larger than a read buffer, is asked for at once. All
 *         else is left unread until the answers have been told: so nothing is told, refused or
 *         read out of turn, and the writes of a key, and reads behind them, keep their order.
 *
 * Thread: core-local.
 *
 * Bounds: AWAIT_WRITES_MAX of a connection; chunks: serve_await.h.
 */
#ifndef CLOCKOO_SERVE_PIPELINE_H
#define CLOCKOO_SERVE_PIPELINE_H

#include "await_table.h"
#include "serve_parse.h"

/* Some write has no answer yet, beside the one that this pass tells. */
static inline bool
session_has_open_write(const struct session *ss)
{
	const struct await *a = session_write(ss);

	return a != NULL && (a->state == AWAIT_ASKED || a->next != NULL);
}

/* May it stand in a pipeline of writes: has it one key, whose answer is no value as it was read? */
bool await_is_keyed_write(const struct mc_req *req);
/* May a session whose writes have no answer ask for one more? (serve_await_write.c) */
bool session_may_pipeline(const struct serve *sv, const struct session *ss);
/* What a pass reads of such a session. */
enum parse_step writes_behind_parse(struct serve *sv, struct session *ss);

#endif
