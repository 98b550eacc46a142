/*
 * txq.h - bytes sent and not acknowledged, and bytes waiting to be sent.
 *
 * A segment is copied out of the queue each time it is sent, so a retransmission needs no
 * frame held back, and the queue may be cut anywhere.
 *
 * Shape:  a list of pieces. A piece is the filled part of a chunk, or bytes that lie elsewhere
 *         (a pinned value). The cursor stands where the next new byte is sent from.
 * Units:  bytes; offset 0 is the oldest unacknowledged byte.
 * Owner:  chunks belong to the pool; bytes elsewhere to whoever gave them, until release().
 * Thread: core-local.
 * Errors: NULL or false when the pool is empty; nothing is queued then.
 * Bounds: the pool has cfg.chunks chunks and as many descriptors for bytes elsewhere.
 */
#ifndef CLOCKOO_TXQ_H
#define CLOCKOO_TXQ_H

#include "stack.h"

#include "base/check.h"

struct piece {
	struct piece *next;
	const uint8_t *data; /* oldest unacknowledged byte of this piece */
	uint32_t len;
	bool inline_bytes;                /* in a chunk; else elsewhere */
	void (*release)(const void *arg); /* elsewhere only */
	const void *arg;
};

struct chunk {
	struct piece piece;
	uint8_t bytes[CHUNK_BYTES - sizeof(struct piece)];
};
static_assert(sizeof(struct chunk) == CHUNK_BYTES, "chunks lie side by side");
static_assert(CHUNK_BYTES - sizeof(struct piece) >= CONN_RESERVE_MAX, "a reservation fits");

struct txq_pool {
	struct chunk *chunks_free; /* a stack: the last used is the warmest */
	struct piece *pieces_free;
	uint32_t chunks, chunks_left, pieces_left; /* as many pieces as chunks */
	uint32_t promised; /* of chunks_left: reservations conn_writable vouched for this turn */
};

struct txq {
	struct piece *head, *tail;
	struct piece *cursor; /* NULL: at the end */
	uint32_t cursor_used; /* bytes of the cursor's piece before the cursor */
	uint32_t bytes;
	struct piece *hint; /* where something was last sent again; NULL: nowhere */
	uint32_t hint_at;   /* offset of that piece */
};

size_t txq_pool_bytes(uint32_t chunks);
void txq_pool_create(struct txq_pool *pool, struct region *region, uint32_t chunks);

uint8_t *txq_chunk_get(struct txq_pool *pool);      /* CHUNK_BYTES of scratch */
uint8_t *txq_chunk_promised(struct txq_pool *pool); /* one that was promised to a reply */
static inline void
txq_chunk_put(struct txq_pool *pool, uint8_t *bytes)
{
	struct chunk *chunk = (struct chunk *)(void *)bytes;

	chunk->piece.next = (struct piece *)pool->chunks_free;
	pool->chunks_free = chunk;
	pool->chunks_left++;
}

void txq_init(struct txq *q);
/* Contiguous room for bytes <= CONN_RESERVE_MAX at the end of the queue. */
uint8_t *txq_reserve(struct txq *q, struct txq_pool *pool, uint32_t bytes);
/* The same, and how much there is. */
uint8_t *txq_room(struct txq *q, struct txq_pool *pool, uint32_t bytes, uint32_t *room);
/* The first bytes of the last reservation are queued, the rest is given back. */
void txq_commit(struct txq *q, struct txq_pool *pool, uint32_t bytes);
bool txq_extern(struct txq *q, struct txq_pool *pool, struct piece bytes);

/* Forget the first bytes (acknowledged). */
void txq_drop(struct txq *q, struct txq_pool *pool, uint32_t bytes);
/* The same; all there is in one chunk, as a rule. */
static inline void
txq_drop_whole(struct txq *q, struct txq_pool *pool, uint32_t bytes)
{
	struct piece *p = q->head;

	if (unlikely(bytes != q->bytes || p != q->tail || !p->inline_bytes || q->hint != NULL)) {
		txq_drop(q, pool, bytes);
		return;
	}
	q->bytes = 0;
	q->head = q->tail = q->cursor = NULL;
	q->cursor_used = 0;
	txq_chunk_put(pool, (uint8_t *)p);
}
void txq_clear(struct txq *q, struct txq_pool *pool);

void txq_copy_next(struct txq *q, uint8_t *to, uint32_t len); /* moves the cursor */
/* The same; all there is in one piece, as a rule. */
static inline void
txq_copy_last(struct txq *q, uint8_t *to, uint32_t len)
{
	const struct piece *p = q->cursor;

	if (unlikely(p != q->tail || len > p->len - q->cursor_used)) {
		txq_copy_next(q, to, len);
		return;
	}
	memcpy(to, p->data + q->cursor_used, len);
	q->cursor_used += len;
}
/* Leaves it. Offsets that rise from call to call cost no walk. */
void txq_copy_at(struct txq *q, uint32_t offset, uint8_t *to, uint32_t len);

#endif
