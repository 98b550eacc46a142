/*
 * serve_get.h - finds the item of a get, and touches it if the command does; for text and binary.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_GET_H
#define CLOCKOO_SERVE_GET_H

#include "serve_execute.h"

/* Finds the item of a get, and touches it if `touch` is set. *it is NULL for a miss. False: a touch
 * found no memory, and *status is the outcome of the request. */
static inline bool
get_find(struct serve *sv, struct op *op, bool touch, const struct item **it,
	 enum exec_status *status)
{
	enum store_result touched = STORE_OK;

	*it = NULL;
	if (touch)
		touched = touch_and_get(sv, op, it);
	else
		*it = store_get_probed(sv->store, &op->probe, op->req.key);
	if (likely(!touch_lacks_memory(touched)))
		return true;
	*status = touch_without_memory(sv, op, touched);
	return false;
}

#endif
