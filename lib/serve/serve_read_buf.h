/*
 * serve_read_buf.h - read buffers: chunks that hold a partial line, or a request that waits.
 *
 * Private to lib/serve. A session takes a place with its buffer, so that those who wait for their
 * peers leave chunks to the replies of others. The buffer of deferred requests is the chunk of
 * their own reply, and has no place.
 *
 * When no place is left, another session yields its own (BUDGET.md). A partial line is reset. A
 * value that waits for the fill quota is refused at the session's next visit; until then its
 * buffer has no place.
 *
 * Owner:  session.read_buf_link is in serve.read_bufs while the session has a place.
 * Thread: core-local.
 * Bounds: places: 1/READ_BUFS_PART of the chunks. A search that finds none ends the searches of its
 *         turn.
 */
#ifndef CLOCKOO_SERVE_READ_BUF_H
#define CLOCKOO_SERVE_READ_BUF_H

#include "serve_internal.h"

#define READ_BUFS_PART 4u /* read buffers that have places take this part of the chunks */

enum read_buf_state {
	READ_BUF_OK,
	READ_BUF_NO_PLACE, /* no session yields its place in this turn */
	READ_BUF_NO_CHUNK,
};

void read_bufs_create(struct serve *sv, struct region *region);
/* Gives the session a place, and a read buffer if it has none. If no place is left, another session
 * yields one: its connection is reset, or its value refused. If none yields, a session that has a
 * buffer keeps it without a place. */
enum read_buf_state read_buf_take(struct serve *sv, struct session *ss);
/* Takes a chunk for one credit as the read buffer, without a place. */
void read_buf_take_credited(struct serve *sv, struct session *ss);
/* Moves the unread bytes to the front of the buffer. They belong to a line that began after those
 * already read. */
void read_buf_compact(struct serve *sv, struct session *ss);
/* Returns the session's place; its buffer stays. Harmless without a place. */
void read_buf_leave(struct serve *sv, struct session *ss);
void read_buf_free(struct serve *sv, struct session *ss);

#endif
