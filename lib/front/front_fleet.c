/*
 * front_fleet.c - copies the current state to the draft, and makes the draft the current state.
 */
#include "front_fleet.h"

#include "base/check.h"

#define LINE_BYTES 64u
#define RINGS      5u /* in a state */

static size_t
ring_bytes(uint32_t room)
{
	return (front_ring_bytes(room) + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
}

static size_t
hosts_bytes(uint32_t room)
{
	return room * sizeof(char[FRONT_HOST_BYTES]);
}

size_t
front_exchange_bytes(uint32_t room)
{
	return sizeof(struct front_exchange) + 2 * (RINGS * ring_bytes(room) + hosts_bytes(room));
}

void
front_exchange_init(struct front_exchange *x, uint32_t cores, uint32_t room)
{
	uint8_t *at = (uint8_t *)(x + 1);

	ensure(cores - 1 < CORES_MAX && room - 1 < FRONT_SERVERS_MAX);
	x->cores = cores;
	x->room = room;
	for (uint32_t i = 0; i < 2; i++) {
		struct front_state *s = &x->state[i];
		struct front_ring **const rings[RINGS] = {&s->ring, &s->stand, &s->next, &s->was,
							  &s->before};

		for (uint32_t k = 0; k < RINGS; k++, at += ring_bytes(room))
			*rings[k] = (struct front_ring *)(void *)at;
	}
	for (uint32_t i = 0; i < 2; i++, at += hosts_bytes(room))
		x->state[i].host = (char(*)[FRONT_HOST_BYTES])(void *)at;
	x->draft = &x->state[1];
	atomic_store_explicit(&x->now, &x->state[0], memory_order_release);
}

static bool
is_settled_by_all(const struct front_exchange *x, uint32_t generation)
{
	for (uint32_t i = 0; i < x->cores; i++)
		if (atomic_load_explicit(&x->core[i].settled, memory_order_acquire) != generation)
			return false;
	return true;
}

void
front_exchange_ring_copy(struct front_ring *to, const struct front_ring *from)
{
	memcpy(to, from, sizeof *to + from->npoints * sizeof from->points[0]);
}

struct front_state *
front_exchange_draft(struct front_exchange *x)
{
	const struct front_state *now = atomic_load_explicit(&x->now, memory_order_relaxed);
	struct front_state *draft = x->draft;
	struct front_ring *const ring = draft->ring, *const stand = draft->stand,
				 *const next = draft->next, *const was = draft->was,
				 *const before = draft->before;
	char(*const host)[FRONT_HOST_BYTES] = draft->host;

	if (!is_settled_by_all(x, now->generation))
		return NULL;
	*draft = *now;
	draft->ring = ring;
	draft->stand = stand;
	draft->next = next;
	draft->was = was;
	draft->before = before;
	draft->host = host;
	memcpy(host, now->host, hosts_bytes(x->room));
	front_exchange_ring_copy(ring, now->ring);
	front_exchange_ring_copy(stand, now->stand);
	front_exchange_ring_copy(next, now->next);
	front_exchange_ring_copy(was, now->was);
	front_exchange_ring_copy(before, now->before);
	draft->generation = now->generation + 1;
	return draft;
}

void
front_exchange_publish(struct front_exchange *x)
{
	struct front_state *was = atomic_load_explicit(&x->now, memory_order_relaxed);

	/* Release: pairs with the acquire in front_exchange_turn_mt. */
	atomic_store_explicit(&x->now, x->draft, memory_order_release);
	x->draft = was;
}
