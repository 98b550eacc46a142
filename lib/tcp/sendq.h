/*
 * sendq.h - the send queue: unacknowledged bytes, and bytes not sent yet.
 *
 * Segments are copied out each time they are sent, so a retransmission holds no frame, and segments
 * may begin and end anywhere.
 *
 * Shape:  a list of buffers: the filled part of a chunk, or an external buffer (a pinned value).
 *         The cursor is where the next new byte is sent from.
 * Units:  bytes; offset 0 is the oldest unacknowledged byte.
 * Owner:  chunks belong to the pool, external buffers to the caller until release().
 * Thread: core-local.
 * Errors: NULL or false when the pool is empty; nothing is queued then.
 * Bounds: cfg.chunks chunks, and as many descriptors of external buffers.
 */
#ifndef CLOCKOO_SENDQ_H
#define CLOCKOO_SENDQ_H

#include "conn.h"

#include "base/budget.h"
#include "base/check.h"
#include "base/copy.h"
#include "base/region.h"

struct sendq_buf {
	struct sendq_buf *next;
	const uint8_t *data; /* oldest unacknowledged byte of this buffer */
	uint32_t len;
	bool inline_bytes;                /* in a chunk; else external */
	bool lendable;                    /* external: arg may be lent to the port (lending.h) */
	void (*release)(const void *arg); /* external only */
	const void *arg;
};

struct chunk {
	struct sendq_buf buf;
	uint8_t bytes[CHUNK_BYTES - sizeof(struct sendq_buf)];
};
static_assert(sizeof(struct chunk) == CHUNK_BYTES, "chunks lie side by side");
static_assert(CHUNK_BYTES - sizeof(struct sendq_buf) >= CONN_RESERVE_MAX, "a reservation fits");

struct sendq_pool {
	struct chunk *chunks_free; /* a stack: the chunk freed last is most likely cached */
	struct sendq_buf *bufs_free;
	struct budget chunks, pieces; /* there are as many pieces (external buffers) as chunks */
	uint32_t credits_out;         /* chunks left that are credited in this turn and not used */
	/* Bytes that a queue may hold beyond its peer's window; none while chunks are short. */
	uint32_t queue_least;
};

struct sendq {
	struct sendq_buf *head, *tail;
	struct sendq_buf *cursor; /* NULL: everything is sent */
	uint32_t cursor_used;     /* bytes before the cursor in its buffer */
	uint32_t bytes;
	struct sendq_buf *hint;  /* where the last retransmission began; NULL: no hint */
	uint32_t hint_at;        /* offset of that buffer */
	uint16_t chunks, pieces; /* held by this queue */
};

size_t sendq_pool_bytes(uint32_t chunks);
/* reserve: how many chunks, and how many pieces, are reserved (base/budget.h). */
void sendq_pool_create(struct sendq_pool *pool, struct region *region, uint32_t chunks,
		       uint32_t reserve, uint64_t seed);

uint8_t *sendq_chunk_get(struct sendq_pool *pool); /* CHUNK_BYTES of scratch memory */
/* A chunk that was credited to a reply. */
uint8_t *sendq_chunk_get_credited(struct sendq_pool *pool);
static inline void
sendq_chunk_put(struct sendq_pool *pool, uint8_t *bytes)
{
	struct chunk *chunk = (struct chunk *)(void *)bytes;

	chunk->buf.next = (struct sendq_buf *)pool->chunks_free;
	pool->chunks_free = chunk;
	budget_give(&pool->chunks, 1);
}
/* Returns a credited chunk to the pool; the credit is valid again. */
static inline void
sendq_chunk_credit(struct sendq_pool *pool, uint8_t *bytes)
{
	sendq_chunk_put(pool, bytes);
	pool->credits_out++;
}

void sendq_init(struct sendq *q);
/* Contiguous room for bytes <= CONN_RESERVE_MAX at the end of the queue. */
uint8_t *sendq_reserve(struct sendq *q, struct sendq_pool *pool, uint32_t bytes);
/* Like sendq_reserve(). *room: the number of contiguous bytes. */
uint8_t *sendq_reserve_room(struct sendq *q, struct sendq_pool *pool, uint32_t bytes,
			    uint32_t *room);
/* Queues a copy of a few bytes in an empty queue, with a credit. False, and nothing was done: the
 * queue is not empty, no chunk is left, or there are too many bytes or none. */
bool sendq_write_first(struct sendq *q, struct sendq_pool *pool, struct view bytes);
/* Queues the first bytes of the last reservation and returns the rest. */
void sendq_commit(struct sendq *q, struct sendq_pool *pool, uint32_t bytes);
/* Does the same for bytes that are known to fit the reservation, and to be more than 0. */
static inline void
sendq_commit_known(struct sendq *q, uint32_t bytes)
{
	/* If everything was sent, the cursor is at the end of this buffer already. */
	q->tail->len += bytes;
	q->bytes += bytes;
}
bool sendq_add_external(struct sendq *q, struct sendq_pool *pool, struct sendq_buf bytes);

/* Drops the first bytes, which are acknowledged. */
void sendq_drop(struct sendq *q, struct sendq_pool *pool, uint32_t bytes);
/* Drops all queued bytes; fast if they are in one chunk. */
static inline void
sendq_drop_all(struct sendq *q, struct sendq_pool *pool, uint32_t bytes)
{
	struct sendq_buf *p = q->head;

	if (unlikely(bytes != q->bytes || p != q->tail || !p->inline_bytes || q->hint != NULL)) {
		sendq_drop(q, pool, bytes);
		return;
	}
	q->bytes = 0;
	q->head = q->tail = q->cursor = NULL;
	q->cursor_used = 0;
	q->chunks = 0;
	sendq_chunk_put(pool, (uint8_t *)p);
}
void sendq_clear(struct sendq *q, struct sendq_pool *pool);

void sendq_copy_next(struct sendq *q, uint8_t *to, uint32_t len); /* moves the cursor */
/* Copies the bytes from the cursor to the end of the queue and moves the cursor; fast for one
 * buffer. */
static inline void
sendq_copy_last(struct sendq *q, uint8_t *to, uint32_t len)
{
	const struct sendq_buf *p = q->cursor;

	if (unlikely(p != q->tail || len > p->len - q->cursor_used)) {
		sendq_copy_next(q, to, len);
		return;
	}
	bytes_copy(to, p->data + q->cursor_used, len);
	q->cursor_used += len;
}

/* Returns the lendable buffer that has all of the next len bytes at the cursor; NULL: there is
 * none. */
static inline const struct sendq_buf *
sendq_lendable(const struct sendq *q, uint32_t len)
{
	const struct sendq_buf *p = q->cursor;

	return p != NULL && p->lendable && len <= p->len - q->cursor_used ? p : NULL;
}
/* Moves the cursor over the bytes that sendq_lendable() found. */
void sendq_skip(struct sendq *q, uint32_t len);
/* Copies without moving the cursor. Calls with rising offsets do not walk from the beginning. */
void sendq_copy_at(struct sendq *q, uint32_t offset, uint8_t *to, uint32_t len);

#endif
