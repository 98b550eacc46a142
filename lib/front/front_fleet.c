/*
 * front_fleet.c - the draft of a state, and its exchange for the current one.
 */
#include "front_fleet.h"

#include "base/check.h"

#define LINE_BYTES 64u

static size_t
ring_bytes(void)
{
	return (front_ring_bytes(FRONT_SERVERS_MAX) + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
}

size_t
front_exchange_bytes(void)
{
	return sizeof(struct front_exchange) + 2 * ring_bytes();
}

void
front_exchange_init(struct front_exchange *x, uint32_t cores)
{
	uint8_t *rings = (uint8_t *)(x + 1);

	ensure(cores - 1 < CORES_MAX);
	x->cores = cores;
	x->state[0].ring = (struct front_ring *)(void *)rings;
	x->state[1].ring = (struct front_ring *)(void *)(rings + ring_bytes());
	x->draft = &x->state[1];
	atomic_store_explicit(&x->now, &x->state[0], memory_order_release);
}

static bool
is_seen_by_all(const struct front_exchange *x, uint32_t generation)
{
	for (uint32_t i = 0; i < x->cores; i++)
		if (atomic_load_explicit(&x->core[i].generation, memory_order_acquire) !=
		    generation)
			return false;
	return true;
}

struct front_state *
front_exchange_draft(struct front_exchange *x)
{
	const struct front_state *now = atomic_load_explicit(&x->now, memory_order_relaxed);
	struct front_state *draft = x->draft;
	struct front_ring *ring = draft->ring;

	if (!is_seen_by_all(x, now->generation))
		return NULL;
	*draft = *now;
	draft->ring = ring;
	memcpy(ring, now->ring, sizeof *ring + now->ring->npoints * sizeof now->ring->points[0]);
	draft->generation = now->generation + 1;
	return draft;
}

void
front_exchange_publish(struct front_exchange *x)
{
	struct front_state *was = atomic_load_explicit(&x->now, memory_order_relaxed);

	/* Pairs with front_exchange_turn_mt. */
	atomic_store_explicit(&x->now, x->draft, memory_order_release);
	x->draft = was;
}

void
front_state_set(struct front_state *state, const struct front_config *config)
{
	const struct front_servers *servers = &config->servers;
	const struct front_fleet fleet = front_config_fleet(config);

	state->count = servers->count;
	for (uint32_t i = 0; i < servers->count; i++) {
		state->server[i] = servers->server[i];
		state->address[i] = (struct front_address){.port = servers->host[i].port};
	}
	ensure(front_ring_build(state->ring, &fleet, NULL));
}

bool
front_state_locate(struct front_state *state, uint32_t server, const struct ip_addr *ip)
{
	struct ip_addr *at = &state->address[server].ip;

	ensure(server < state->count);
	if (ip_addr_equal(at, ip))
		return false;
	*at = *ip;
	return true;
}
