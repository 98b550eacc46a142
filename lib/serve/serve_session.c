/*
 * serve_session.c - functions on sessions for all files: another visit, closing, read buffers.
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
	/* A large value that is still queued would lose its pin. A closing request comes behind
	 * the value, or waits for it. */
	ensure(ss->value.item == NULL);
	if (ss->conn != NULL)
		conn_close_detach(sv->stack, ss->conn);
}

bool
read_buf_alloc(struct serve *sv, struct session *ss)
{
	ss->read_buf = stack_chunk_get(sv->stack);
	ss->read_buf_at = ss->read_buf_len = 0;
	ss->read_buf_since_s = sv->clock.now_s;
	sv->read_bufs_used += ss->read_buf != NULL;
	return ss->read_buf != NULL;
}

void
read_buf_free(struct serve *sv, struct session *ss)
{
	stack_chunk_put(sv->stack, ss->read_buf);
	sv->read_bufs_used--;
	ss->read_buf = NULL;
	ss->read_buf_at = ss->read_buf_len = 0;
}
