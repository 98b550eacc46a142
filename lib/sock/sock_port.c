/*
 * sock_port.c - the core's end: opens and closes places, writes and reads their rings, and wakes
 * the helper if it sleeps.
 */
#include "sock_port.h"

#include <string.h>
#include <unistd.h>

static_assert((SOCK_RING_BYTES & (SOCK_RING_BYTES - 1)) == 0, "positions wrap with the ring");

size_t
sock_port_bytes(uint32_t count)
{
	return sizeof(struct sock_port) +
	       count * (sizeof(struct sock_place) + 2 * (size_t)SOCK_RING_BYTES) +
	       3 * CACHE_LINE_BYTES;
}

struct sock_port *
sock_port_create(struct region *region, uint32_t count, struct sock_signal *signal)
{
	struct sock_port *p = region_take(region, sizeof *p, CACHE_LINE_BYTES);
	uint8_t *rings;

	ensure(count > 0 && count <= SOCK_PLACES_MAX);
	p->signal = signal;
	p->count = count;
	p->places = region_take(region, count * sizeof *p->places, CACHE_LINE_BYTES);
	rings = region_take(region, count * 2 * (size_t)SOCK_RING_BYTES, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < count; i++) {
		p->places[i].out = rings + (size_t)i * 2 * SOCK_RING_BYTES;
		p->places[i].in = p->places[i].out + SOCK_RING_BYTES;
	}
	return p;
}

/* Notes for the helper that a place has news, and wakes it if it sleeps. The core stores its note
 * and then checks for a sleeper; the helper declares itself asleep and then checks for notes. All
 * four accesses are sequentially consistent, so one of the two sees the other. The write cannot
 * block: the counter of an eventfd is far from its limit, and the descriptor is non-blocking. */
static void
notify(struct sock_port *p, uint32_t place)
{
	static const uint64_t one = 1;

	atomic_fetch_or(&p->to_helper[place / 64], 1ull << place % 64);
	if (likely(atomic_load(&p->signal->asleep) == 0) ||
	    atomic_exchange(&p->signal->asleep, 0) == 0)
		return;
	p->wakes++;
	if (write(p->signal->fd, &one, sizeof one) < 0)
		return; /* the counter is full, so the helper wakes up anyway */
}

void
sock_port_open(struct sock_port *p, uint32_t place, const struct sock_target *target)
{
	struct sock_place *at = &p->places[place];
	const uint32_t asked = atomic_load_explicit(&at->asked, memory_order_relaxed);

	ensure(asked % 2 == 0);
	at->target = *target;
	atomic_store_explicit(&at->put, 0, memory_order_relaxed);
	atomic_store_explicit(&at->got, 0, memory_order_relaxed);
	atomic_store_explicit(&at->taken, 0, memory_order_relaxed);
	atomic_store_explicit(&at->arrived, 0, memory_order_relaxed);
	atomic_store_explicit(&at->in_is_full, 0, memory_order_relaxed);
	/* Pairs with the load in the helper's visit: target and positions are visible. */
	atomic_store_explicit(&at->asked, asked + 1, memory_order_release);
	notify(p, place);
}

void
sock_port_close(struct sock_port *p, uint32_t place)
{
	struct sock_place *at = &p->places[place];
	const uint32_t asked = atomic_load_explicit(&at->asked, memory_order_relaxed);

	ensure(asked % 2 == 1);
	/* Pairs with the load in the helper's visit: the core has read what it shows of `in`. */
	atomic_store_explicit(&at->asked, asked + 1, memory_order_release);
	notify(p, place);
}

bool
sock_port_state(const struct sock_port *p, uint32_t place, enum sock_state *state,
		enum sock_failure *failure)
{
	const struct sock_place *at = &p->places[place];
	/* Pairs with the helper's say(): bytes that arrived before an end are visible, and the
	 * helper no longer touches a closed place. */
	const uint64_t said = atomic_load_explicit(&at->said, memory_order_acquire);

	*state = (enum sock_state)(said & 0xff);
	*failure = (enum sock_failure)(said >> 8 & 0xff);
	return said >> 32 == atomic_load_explicit(&at->asked, memory_order_relaxed);
}

uint8_t *
sock_port_room(const struct sock_port *p, uint32_t place, uint32_t *bytes)
{
	const struct sock_place *at = &p->places[place];
	const uint32_t put = atomic_load_explicit(&at->put, memory_order_relaxed);
	/* Pairs with the helper's store of taken: it has sent the bytes that are overwritten. */
	const uint32_t taken = atomic_load_explicit(&at->taken, memory_order_acquire);
	const uint32_t offset = put % SOCK_RING_BYTES, room = SOCK_RING_BYTES - (put - taken);

	*bytes = room < SOCK_RING_BYTES - offset ? room : SOCK_RING_BYTES - offset;
	return at->out + offset;
}

void
sock_port_put(struct sock_port *p, uint32_t place, uint32_t bytes)
{
	struct sock_place *at = &p->places[place];
	const uint32_t put = atomic_load_explicit(&at->put, memory_order_relaxed);

	/* Pairs with the helper's load of put: the bytes are visible. */
	atomic_store_explicit(&at->put, put + bytes, memory_order_release);
	notify(p, place);
}

struct view
sock_port_view(const struct sock_port *p, uint32_t place)
{
	const struct sock_place *at = &p->places[place];
	const uint32_t got = atomic_load_explicit(&at->got, memory_order_relaxed);
	/* Pairs with the helper's store of arrived: the bytes are visible. */
	const uint32_t arrived = atomic_load_explicit(&at->arrived, memory_order_acquire);
	const uint32_t offset = got % SOCK_RING_BYTES, here = arrived - got;

	return (struct view){.data = at->in + offset,
			     .len = here < SOCK_RING_BYTES - offset ? here
								    : SOCK_RING_BYTES - offset};
}

void
sock_port_get(struct sock_port *p, uint32_t place, uint32_t bytes)
{
	struct sock_place *at = &p->places[place];
	const uint32_t got = atomic_load_explicit(&at->got, memory_order_relaxed);

	/* The core makes room and then checks whether the helper waits for it; the helper notes
	 * that it waits and then checks for room. Sequentially consistent, as in notify(). */
	atomic_store(&at->got, got + bytes);
	if (unlikely(atomic_load(&at->in_is_full) != 0))
		notify(p, place);
}
