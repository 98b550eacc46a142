/*
 * serve_session.c - functions of sessions that all files use: another visit, and closing.
 */
#include "serve_internal.h"

void
session_requeue(struct serve *sv, struct session *ss)
{
	ss->requeue_next = sv->requeue;
	sv->requeue = ss;
}

void
session_close(struct serve *sv, struct session *ss)
{
	/* If a large value were still queued, its pin would be lost. A request that closes comes
	 * behind the value, or waits for it. */
	ensure(ss->value.item == NULL);
	if (ss->conn != NULL)
		conn_close_detach(sv->stack, ss->conn);
}
