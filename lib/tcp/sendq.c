/*
 * sendq.c - the send queue: a list of buffers (chunks, or external data), a cursor where new data
 * is sent from, and the pools both are taken from.
 */
#include "sendq.h"

size_t
sendq_pool_bytes(uint32_t chunks)
{
	return (size_t)chunks * (sizeof(struct chunk) + sizeof(struct sendq_buf)) +
	       2 * budget_bytes() + 2 * CACHE_LINE_BYTES;
}

void
sendq_pool_create(struct sendq_pool *pool, struct region *region, uint32_t chunks, uint32_t reserve,
		  uint64_t seed)
{
	struct chunk *chunk = region_take(region, (size_t)chunks * sizeof *chunk, CACHE_LINE_BYTES);
	struct sendq_buf *buf = region_take(region, (size_t)chunks * sizeof *buf, CACHE_LINE_BYTES);

	*pool = (struct sendq_pool){0};
	for (uint32_t i = 0; i < chunks; i++) {
		sendq_chunk_put(pool, (uint8_t *)&chunk[i]);
		buf[i].next = pool->bufs_free;
		pool->bufs_free = &buf[i];
	}
	budget_create(&pool->chunks, region, chunks, reserve, seed);
	budget_create(&pool->pieces, region, chunks, reserve, ~seed);
}

static struct chunk *
chunk_take(struct sendq_pool *pool)
{
	struct chunk *chunk = pool->chunks_free;

	if (chunk == NULL)
		return NULL;
	pool->chunks_free = (struct chunk *)chunk->buf.next;
	budget_take(&pool->chunks, 1);
	return chunk;
}

uint8_t *
sendq_chunk_get(struct sendq_pool *pool)
{
	/* Chunks credited to replies are not given out as scratch. */
	if (pool->chunks.left <= pool->credits_out)
		return NULL;
	return (uint8_t *)chunk_take(pool);
}

uint8_t *
sendq_chunk_get_credited(struct sendq_pool *pool)
{
	ensure(pool->credits_out > 0 && pool->chunks.left >= pool->credits_out);
	pool->credits_out--;
	return (uint8_t *)chunk_take(pool);
}

void
sendq_init(struct sendq *q)
{
	*q = (struct sendq){0};
}

static void
buf_append(struct sendq *q, struct sendq_buf *p)
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

/* Returns the place of the next byte in an inline tail buffer. *room: how many bytes fit there. */
static uint8_t *
tail_room(const struct sendq *q, uint32_t *room)
{
	struct chunk *chunk = (struct chunk *)q->tail;
	uint32_t used;

	*room = 0;
	if (chunk == NULL || !chunk->buf.inline_bytes)
		return NULL;
	used = (uint32_t)(chunk->buf.data - chunk->bytes) + chunk->buf.len;
	*room = (uint32_t)sizeof chunk->bytes - used;
	return chunk->bytes + used;
}

/* Takes an empty chunk; NULL: none is left. */
static inline struct chunk *
chunk_begin(struct sendq_pool *pool)
{
	struct chunk *chunk = chunk_take(pool);

	if (chunk == NULL)
		return NULL;
	chunk->buf.next = NULL;
	chunk->buf.data = chunk->bytes;
	chunk->buf.len = 0;
	chunk->buf.inline_bytes = true;
	chunk->buf.lendable = false;
	return chunk;
}

/* Reserves the first bytes of an empty queue. */
static inline uint8_t *
reserve_first(struct sendq *q, struct sendq_pool *pool, uint32_t *room)
{
	struct chunk *chunk = chunk_begin(pool);

	*room = 0;
	if (unlikely(chunk == NULL))
		return NULL;
	q->head = q->tail = q->cursor = &chunk->buf;
	q->cursor_used = 0;
	q->chunks = 1;
	*room = (uint32_t)sizeof chunk->bytes;
	return chunk->bytes;
}

bool
sendq_write_first(struct sendq *q, struct sendq_pool *pool, struct view bytes)
{
	uint32_t room;

	if (unlikely(q->tail != NULL || pool->credits_out == 0 || pool->chunks_free == NULL ||
		     bytes.len - 1 >= COPY_INLINE_MAX))
		return false;
	pool->credits_out--;
	bytes_copy(reserve_first(q, pool, &room), bytes.data, bytes.len);
	sendq_commit_known(q, bytes.len);
	return true;
}

static NOT_FLAT uint8_t *
reserve_behind(struct sendq *q, struct sendq_pool *pool, uint32_t bytes, uint32_t *room)
{
	uint8_t *at = tail_room(q, room);
	struct chunk *chunk;

	if (*room >= bytes && at != NULL)
		return at;
	chunk = chunk_begin(pool);
	if (chunk == NULL)
		return NULL;
	buf_append(q, &chunk->buf);
	q->chunks++;
	*room = (uint32_t)sizeof chunk->bytes;
	return chunk->bytes;
}

uint8_t *
sendq_reserve_room(struct sendq *q, struct sendq_pool *pool, uint32_t bytes, uint32_t *room)
{
	ensure(bytes <= CONN_RESERVE_MAX);
	if (pool->credits_out > 0)
		pool->credits_out--;
	return likely(q->tail == NULL) ? reserve_first(q, pool, room)
				       : reserve_behind(q, pool, bytes, room);
}

uint8_t *
sendq_reserve(struct sendq *q, struct sendq_pool *pool, uint32_t bytes)
{
	uint32_t room;

	return sendq_reserve_room(q, pool, bytes, &room);
}

/* Removes an empty tail, the remains of a reservation of which nothing was used. */
static void
drop_empty_tail(struct sendq *q, struct sendq_pool *pool)
{
	struct sendq_buf *last = NULL;

	if (q->head != q->tail)
		for (last = q->head; last->next != q->tail;)
			last = last->next;
	if (q->cursor == q->tail)
		q->cursor = NULL;
	q->chunks--;
	sendq_chunk_put(pool, (uint8_t *)q->tail);
	q->tail = last;
	if (last == NULL)
		q->head = NULL;
	else
		last->next = NULL;
}

void
sendq_commit(struct sendq *q, struct sendq_pool *pool, uint32_t bytes)
{
	struct sendq_buf *last = q->tail;

	if (unlikely(bytes == 0)) {
		if (last != NULL && last->len == 0)
			drop_empty_tail(q, pool);
		return;
	}
	ensure(last != NULL && last->inline_bytes &&
	       last->data + last->len + bytes <= (const uint8_t *)last + CHUNK_BYTES);
	sendq_commit_known(q, bytes);
}

bool
sendq_add_external(struct sendq *q, struct sendq_pool *pool, struct sendq_buf bytes)
{
	struct sendq_buf *p = pool->bufs_free;

	if (p == NULL)
		return false;
	pool->bufs_free = p->next;
	budget_take(&pool->pieces, 1);
	q->pieces++;
	*p = bytes;
	p->inline_bytes = p->lendable = false;
	buf_append(q, p);
	q->bytes += p->len;
	return true;
}

static void
buf_free(struct sendq *q, struct sendq_pool *pool, struct sendq_buf *p)
{
	if (p->inline_bytes) {
		q->chunks--;
		sendq_chunk_put(pool, (uint8_t *)p);
		return;
	}
	p->release(p->arg);
	p->next = pool->bufs_free;
	pool->bufs_free = p;
	budget_give(&pool->pieces, 1);
	q->pieces--;
}

/* Adjusts the retransmission hint when the first bytes are dropped, perhaps with the buffer it
 * refers to. */
static void
hint_moves(struct sendq *q, uint32_t bytes)
{
	if (bytes >= q->hint_at + q->hint->len)
		q->hint = NULL;
	else
		q->hint_at = q->hint_at > bytes ? q->hint_at - bytes : 0;
}

NOT_FLAT void
sendq_drop(struct sendq *q, struct sendq_pool *pool, uint32_t bytes)
{
	ensure(bytes <= q->bytes);
	q->bytes -= bytes;
	if (q->hint != NULL)
		hint_moves(q, bytes);
	while (bytes > 0) {
		struct sendq_buf *p = q->head;
		/* NOLINTNEXTLINE(clang-analyzer-core.*): the buffers hold q->bytes together */
		const uint32_t n = bytes < p->len ? bytes : p->len;
		const bool here = q->cursor == p;

		bytes -= n;
		p->data += n;
		p->len -= n;
		/* A window probe may be acknowledged before the cursor has passed its byte; the
		 * cursor follows. */
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
		buf_free(q, pool, p);
	}
}

void
sendq_clear(struct sendq *q, struct sendq_pool *pool)
{
	while (q->head != NULL) {
		struct sendq_buf *p = q->head;

		q->head = p->next;
		buf_free(q, pool, p);
	}
	sendq_init(q);
}

/* Moves the cursor within its buffer, or to the next one. It stays at the end of the last buffer,
 * where more may be committed. */
static inline void
cursor_move(struct sendq *q, uint32_t len)
{
	const struct sendq_buf *p = q->cursor;

	q->cursor_used += len;
	if (q->cursor_used == p->len && p->next != NULL) {
		q->cursor = p->next;
		q->cursor_used = 0;
	}
}

void
sendq_skip(struct sendq *q, uint32_t len)
{
	cursor_move(q, len);
}

void
sendq_copy_next(struct sendq *q, uint8_t *to, uint32_t len)
{
	while (len > 0) {
		const struct sendq_buf *p = q->cursor;
		uint32_t left, n;

		ensure(p != NULL);
		left = p->len - q->cursor_used;
		n = len < left ? len : left;
		memcpy(to, p->data + q->cursor_used, n);
		to += n;
		len -= n;
		cursor_move(q, n);
	}
}

void
sendq_copy_at(struct sendq *q, uint32_t offset, uint8_t *to, uint32_t len)
{
	struct sendq_buf *p = q->hint;
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
