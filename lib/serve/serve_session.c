/*
 * serve_session.c - functions of sessions that all files use: visiting one again, and closing.
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
	/* A large value that is still queued would lose its pin. A request that closes the
	 * connection follows the value, or waits for it. */
	ensure(ss->value.item == NULL);
	if (ss->conn != NULL)
		conn_close_detach(sv->stack, ss->conn);
}
