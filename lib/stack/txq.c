#include "txq.h"

size_t
txq_pool_bytes(uint32_t chunks)
{
	return (size_t)chunks * (sizeof(struct chunk) + sizeof(struct piece)) +
	       2 * CACHE_LINE_BYTES;
}

void
txq_pool_create(struct txq_pool *pool, struct region *region, uint32_t chunks)
{
	struct chunk *chunk = region_take(region, (size_t)chunks * sizeof *chunk, CACHE_LINE_BYTES);
	struct piece *piece = region_take(region, (size_t)chunks * sizeof *piece, CACHE_LINE_BYTES);

	*pool = (struct txq_pool){.chunks = chunks, .pieces_left = chunks};
	for (uint32_t i = 0; i < chunks; i++) {
		txq_chunk_put(pool, (uint8_t *)&chunk[i]);
		piece[i].next = pool->pieces_free;
		pool->pieces_free = &piece[i];
	}
}

static struct chunk *
chunk_take(struct txq_pool *pool)
{
	struct chunk *chunk = pool->chunks_free;

	if (chunk == NULL)
		return NULL;
	pool->chunks_free = (struct chunk *)chunk->piece.next;
	pool->chunks_left--;
	return chunk;
}

uint8_t *
txq_chunk_get(struct txq_pool *pool)
{
	/* What was promised to replies is not scratch. */
	if (pool->chunks_left <= pool->promised)
		return NULL;
	return (uint8_t *)chunk_take(pool);
}

uint8_t *
txq_chunk_promised(struct txq_pool *pool)
{
	ensure(pool->promised > 0 && pool->chunks_left >= pool->promised);
	pool->promised--;
	return (uint8_t *)chunk_take(pool);
}

void
txq_init(struct txq *q)
{
	*q = (struct txq){0};
}

static void
append(struct txq *q, struct piece *p)
{
	p->next = NULL;
	if (q->tail != NULL)
		q->tail->next = p;
	else
		q->head = p;
	q->tail = p;
	if (q->cursor == NULL) {
		q->cursor = p;
		q->cursor_used = 0;
	}
}

/* Where the next byte of an inline piece goes, and how many more fit. */
static uint8_t *
tail_room(const struct txq *q, uint32_t *room)
{
	struct chunk *chunk = (struct chunk *)q->tail;
	uint32_t used;

	*room = 0;
	if (chunk == NULL || !chunk->piece.inline_bytes)
		return NULL;
	used = (uint32_t)(chunk->piece.data - chunk->bytes) + chunk->piece.len;
	*room = (uint32_t)sizeof chunk->bytes - used;
	return chunk->bytes + used;
}

uint8_t *
txq_room(struct txq *q, struct txq_pool *pool, uint32_t bytes, uint32_t *room)
{
	uint8_t *at = tail_room(q, room);
	struct chunk *chunk;

	ensure(bytes <= CONN_RESERVE_MAX);
	if (pool->promised > 0)
		pool->promised--;
	if (*room >= bytes && at != NULL)
		return at;
	chunk = chunk_take(pool);
	if (chunk == NULL)
		return NULL;
	chunk->piece = (struct piece){.data = chunk->bytes, .inline_bytes = 1};
	append(q, &chunk->piece);
	*room = (uint32_t)sizeof chunk->bytes;
	return chunk->bytes;
}

uint8_t *
txq_reserve(struct txq *q, struct txq_pool *pool, uint32_t bytes)
{
	uint32_t room;

	return txq_room(q, pool, bytes, &room);
}

/* Take the tail off again: a reservation of which nothing was used. */
static void
drop_empty_tail(struct txq *q, struct txq_pool *pool)
{
	struct piece *last = NULL;

	if (q->head != q->tail)
		for (last = q->head; last->next != q->tail;)
			last = last->next;
	if (q->cursor == q->tail)
		q->cursor = NULL;
	txq_chunk_put(pool, (uint8_t *)q->tail);
	q->tail = last;
	if (last == NULL)
		q->head = NULL;
	else
		last->next = NULL;
}

void
txq_commit(struct txq *q, struct txq_pool *pool, uint32_t bytes)
{
	uint32_t room;

	(void)tail_room(q, &room);
	ensure(bytes <= room || bytes == 0);
	if (bytes == 0) {
		if (q->tail != NULL && q->tail->len == 0)
			drop_empty_tail(q, pool);
		return;
	}
	/* A cursor that had sent all there was stands at the end of this very piece. */
	q->tail->len += bytes;
	q->bytes += bytes;
}

bool
txq_extern(struct txq *q, struct txq_pool *pool, struct piece bytes)
{
	struct piece *p = pool->pieces_free;

	if (p == NULL)
		return false;
	pool->pieces_free = p->next;
	pool->pieces_left--;
	*p = bytes;
	p->inline_bytes = 0;
	append(q, p);
	q->bytes += p->len;
	return true;
}

static void
piece_free(struct txq_pool *pool, struct piece *p)
{
	if (p->inline_bytes) {
		txq_chunk_put(pool, (uint8_t *)p);
		return;
	}
	p->release(p->arg);
	p->next = pool->pieces_free;
	pool->pieces_free = p;
	pool->pieces_left++;
}

/* The first bytes go away, perhaps with the piece that the hint stands on. */
static void
hint_moves(struct txq *q, uint32_t bytes)
{
	if (bytes >= q->hint_at + q->hint->len)
		q->hint = NULL;
	else
		q->hint_at = q->hint_at > bytes ? q->hint_at - bytes : 0;
}

void
txq_drop(struct txq *q, struct txq_pool *pool, uint32_t bytes)
{
	ensure(bytes <= q->bytes);
	q->bytes -= bytes;
	if (q->hint != NULL)
		hint_moves(q, bytes);
	while (bytes > 0) {
		struct piece *p = q->head;
		const uint32_t n = bytes < p->len ? bytes : p->len;
		const bool here = q->cursor == p;

		bytes -= n;
		p->data += n;
		p->len -= n;
		/* A window probe that was taken lies behind the cursor: it moves along. */
		if (here)
			q->cursor_used = q->cursor_used > n ? q->cursor_used - n : 0;
		if (p->len > 0)
			return;
		q->head = p->next;
		if (q->head == NULL)
			q->tail = NULL;
		if (here) {
			q->cursor = q->head;
			q->cursor_used = 0;
		}
		piece_free(pool, p);
	}
}

void
txq_clear(struct txq *q, struct txq_pool *pool)
{
	while (q->head != NULL) {
		struct piece *p = q->head;

		q->head = p->next;
		piece_free(pool, p);
	}
	txq_init(q);
}

void
txq_copy_next(struct txq *q, uint8_t *to, uint32_t len)
{
	while (len > 0) {
		struct piece *p = q->cursor;
		uint32_t left, n;

		ensure(p != NULL);
		left = p->len - q->cursor_used;
		n = len < left ? len : left;
		memcpy(to, p->data + q->cursor_used, n);
		q->cursor_used += n;
		to += n;
		len -= n;
		/* Stay at the end of the last piece: more may be committed to it. */
		if (q->cursor_used == p->len && p->next != NULL) {
			q->cursor = p->next;
			q->cursor_used = 0;
		}
	}
}

void
txq_copy_at(struct txq *q, uint32_t offset, uint8_t *to, uint32_t len)
{
	struct piece *p = q->hint;
	uint32_t at = q->hint_at;

	ensure(offset + len <= q->bytes);
	if (p == NULL || at > offset) {
		p = q->head;
		at = 0;
	}
	while (len > 0) {
		uint32_t skip, n;

		ensure(p != NULL);
		if (offset >= at + p->len) {
			at += p->len;
			p = p->next;
			continue;
		}
		q->hint = p;
		q->hint_at = at;
		skip = offset - at;
		n = len < p->len - skip ? len : p->len - skip;
		memcpy(to, p->data + skip, n);
		to += n;
		len -= n;
		offset += n;
	}
}
