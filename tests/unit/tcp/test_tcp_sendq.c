/*
 * The send queue. Goal: the bytes that come out are those that went in, wherever they are cut,
 * sent again or acknowledged; every chunk and every lent byte is returned; a promise of room is
 * kept. Method: seeded random operations against a flat array; small tables for the promises.
 */
#include "tcp/sendq.h"

#include "support/test.h"

#include <stdlib.h>

#define CHUNKS 6u
#define ROUNDS 50000u
#define STREAM (1u << 20)

static uint64_t state;
static uint32_t released;

static uint32_t
below(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static void
on_release(const void *arg)
{
	released += (uint32_t)(uintptr_t)arg;
}

static struct region
region_for(struct sendq_pool *pool)
{
	struct region r = {.size = sendq_pool_bytes(CHUNKS)};

	r.base = malloc(r.size);
	sendq_pool_create(pool, &r, CHUNKS, CHUNKS / 2, 1);
	return r;
}

/* The bytes of the stream; lent bytes lie here as well. */
static uint8_t text[STREAM];

struct model {
	uint32_t acked, sent, queued, lent;
};

static void
add(struct sendq *q, struct sendq_pool *pool, struct model *m)
{
	const uint32_t n = 1 + below(CONN_RESERVE_MAX);

	if (m->queued + n > STREAM)
		return;
	if (below(3) == 0) {
		const struct sendq_buf lent = {.data = text + m->queued,
					       .len = n,
					       .release = on_release,
					       .arg = (void *)(uintptr_t)n};

		if (!sendq_add_external(q, pool, lent))
			return;
		m->lent += n;
	} else {
		uint8_t *to = sendq_reserve(q, pool, CONN_RESERVE_MAX);

		if (to == NULL)
			return;
		memcpy(to, text + m->queued, n);
		sendq_commit(q, pool, n);
	}
	m->queued += n;
}

static void
step(struct sendq *q, struct sendq_pool *pool, struct model *m)
{
	uint8_t got[4096];
	uint32_t n;

	switch (below(6)) {
	case 0:
	case 1:
		add(q, pool, m);
		break;
	case 2:
	case 3:
		n = below(m->queued - m->sent + 1) % sizeof got;
		sendq_copy_next(q, got, n);
		check_bytes(got, text + m->sent, n);
		m->sent += n;
		break;
	case 4:
		n = below(m->queued - m->acked + 1); /* beyond snd_nxt: a probe */
		sendq_drop(q, pool, n);
		m->acked += n;
		m->sent = m->sent < m->acked ? m->acked : m->sent;
		break;
	default:
		for (uint32_t i = 0; i < 4; i++) {
			const uint32_t at = below(m->queued - m->acked + 1);

			n = below(m->queued - m->acked - at + 1) % sizeof got;
			sendq_copy_at(q, at, got, n);
			check_bytes(got, text + m->acked + at, n);
		}
	}
	check_eq(q->bytes, m->queued - m->acked);
}

TEST(bytes_come_out_as_they_went_in)
{
	struct sendq_pool pool;
	struct region r = region_for(&pool);
	struct sendq q;
	struct model m = {0};

	state = 7;
	released = 0;
	for (uint32_t i = 0; i < STREAM; i++)
		text[i] = (uint8_t)(i * 31 + (i >> 8));
	sendq_init(&q);
	for (uint32_t i = 0; i < ROUNDS; i++)
		step(&q, &pool, &m);
	check(m.acked > STREAM / 2);
	sendq_clear(&q, &pool);
	check_eq(pool.chunks.left, CHUNKS);
	check_eq(released, m.lent);
	free(r.base);
}

TEST(an_empty_commit_gives_the_chunk_back)
{
	struct sendq_pool pool;
	struct region r = region_for(&pool);
	struct sendq q;
	uint8_t byte;

	sendq_init(&q);
	check_ptr(sendq_reserve(&q, &pool, 10));
	sendq_commit(&q, &pool, 0);
	check_eq(pool.chunks.left, CHUNKS);
	memset(sendq_reserve(&q, &pool, 10), 'a', 1);
	sendq_commit(&q, &pool, 1);
	check_ptr(sendq_reserve(&q, &pool, CONN_RESERVE_MAX));
	sendq_commit(&q, &pool, 0);
	check_eq(pool.chunks.left, CHUNKS - 1);
	sendq_copy_next(&q, &byte, 1);
	check_eq(byte, 'a');
	sendq_clear(&q, &pool);
	free(r.base);
}

TEST(scratch_never_takes_credited_chunks)
{
	struct sendq_pool pool;
	struct region r = region_for(&pool);
	struct sendq q;
	uint8_t *scratch[CHUNKS];
	uint32_t n = 0;

	sendq_init(&q);
	pool.credits_out = 3;
	while (n < CHUNKS && (scratch[n] = sendq_chunk_get(&pool)) != NULL)
		n++;
	check_eq(n, CHUNKS - 3);
	check_ptr(scratch[n++] = sendq_chunk_get_credited(&pool)); /* in place of a reply */
	check_eq(pool.credits_out, 2);
	for (uint32_t i = 0; i < 2; i++) {
		check_ptr(sendq_reserve(&q, &pool, CONN_RESERVE_MAX));
		sendq_commit(&q, &pool, CONN_RESERVE_MAX);
	}
	check_null(sendq_reserve(&q, &pool, CONN_RESERVE_MAX));
	sendq_chunk_credit(&pool, scratch[--n]); /* the chunk is a reply's again */
	check_null(sendq_chunk_get(&pool));
	check_ptr(sendq_reserve(&q, &pool, CONN_RESERVE_MAX));
	sendq_commit(&q, &pool, CONN_RESERVE_MAX);
	check_eq(pool.credits_out, 0);
	sendq_clear(&q, &pool);
	while (n > 0)
		sendq_chunk_put(&pool, scratch[--n]);
	check_eq(pool.chunks.left, CHUNKS);
	free(r.base);
}
