/*
 * serve_read_buf.h - read buffers: chunks that hold a partial line, or a request that waits.
 *
 * Private to lib/serve. A session takes a place with its buffer. There are fewer places than
 * chunks, so that sessions that wait for their peers leave chunks to the replies of others.
 * Deferred requests are in the chunk of their own reply, and need no place.
 *
 * When no place is left, another session yields its place (BUDGET.md). If it has a partial line, it
 * is reset. If its value waits for the fill quota, the value is refused at the session's next
 * visit; until then its buffer is without a place.
 *
 * Owner:  session.read_buf_link is in serve.read_bufs while the session has a place.
 * Thread: core-local.
 * Bounds: there are places for 1/READ_BUFS_PART of the chunks. Once a search for a place finds
 *         none, no further search is made in that turn.
 */
#ifndef CLOCKOO_SERVE_READ_BUF_H
#define CLOCKOO_SERVE_READ_BUF_H

#include "serve_internal.h"

#define READ_BUFS_PART 4u /* 1/READ_BUFS_PART of the chunks may be read buffers with a place */

enum read_buf_state {
	READ_BUF_OK,
	READ_BUF_NO_PLACE, /* no session can yield its place in this turn */
	READ_BUF_NO_CHUNK,
};

void read_bufs_create(struct serve *sv, struct region *region);
/* Gives the session a place, and a read buffer if it has none. If no place is left, another session
 * yields one: its connection is reset, or its value refused. If none yields, a session that already
 * has a buffer keeps it without a place. */
enum read_buf_state read_buf_take(struct serve *sv, struct session *ss);
/* Makes the chunk of one credit the read buffer, without a place. */
void read_buf_take_credited(struct serve *sv, struct session *ss);
/* Moves the unread bytes to the beginning of the buffer. They belong to a line that began after the
 * bytes already read. */
void read_buf_compact(struct serve *sv, struct session *ss);
/* Gives up the session's place; its buffer stays. No effect without a place. */
void read_buf_leave(struct serve *sv, struct session *ss);
void read_buf_free(struct serve *sv, struct session *ss);

#endif
