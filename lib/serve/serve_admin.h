/*
 * serve_admin.h - the interface of administration for the data path: a table of functions.
 *
 * Private to lib/serve and lib/admin. lib/admin includes this room and attaches its table to each
 * service (admin_create); this room calls administration only through the table.
 *
 * Owner:  items and views are valid during the call.
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_ADMIN_H
#define CLOCKOO_SERVE_ADMIN_H

#include "serve_internal.h"

struct serve_admin_ops {
	/* Executes an administrative command: MC_STATS to MC_REFRESH_CERTS, MC_BIN_STAT. */
	enum exec_status (*execute)(struct serve *sv, struct op *op);
	void (*turn)(struct serve *sv); /* once a turn, before requests are read */

	void (*conn_opened)(struct serve *sv, const struct session *ss);
	void (*conn_active)(struct serve *sv, const struct session *ss); /* at most once a second */
	void (*conn_closed)(struct serve *sv, struct session *ss);

	/* Events for watchers; called while serve.observed is set. */
	void (*request)(struct serve *sv, const struct op *op);
	/* Reports a retrieval. it NULL: a miss. */
	void (*got)(struct serve *sv, const struct op *op, const struct item *it);
	void (*looked_up)(struct serve *sv, const struct op *op, const struct item *it);
	/* Reports the lookup of a command that will store or count. */
	void (*writes)(struct serve *sv, const struct op *op, uint64_t hash);
	/* Reports a store. it: the published item; NULL: none was published. */
	void (*stored)(struct serve *sv, const struct op *op, enum store_result r,
		       const struct item *it);
	/* Reports a delete. it NULL: the key was not found. */
	void (*deleted)(struct serve *sv, const struct op *op, const struct item *it);
};

/* Reports the first input of the connection in this second. */
static inline void
session_active(struct serve *sv, struct session *ss)
{
	ss->active_s = sv->clock.now_s;
	sv->admin_ops->conn_active(sv, ss);
}

#endif
