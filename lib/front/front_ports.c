/*
 * front_ports.c - words that all cores share, with relaxed accesses: a port that is seen late or
 * twice costs one more attempt.
 */
#include "front_ports.h"

#include "base/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static_assert(CORES_MAX <= 64, "a bit a core");

struct ports_server {
	_Atomic uint64_t cores; /* bit n: a reply has reached core n */
	_Atomic uint32_t lost;
};

struct front_ports {
	uint32_t cores, servers;
	struct ports_server *server;
	_Atomic uint16_t *port; /* [c * servers + s]: for core c and server s; 0: none */
};

size_t
front_ports_bytes(uint32_t cores, uint32_t servers)
{
	return sizeof(struct front_ports) + servers * sizeof(struct ports_server) +
	       (size_t)cores * servers * sizeof(uint16_t) + 3 * CACHE_LINE_BYTES;
}

struct front_ports *
front_ports_create(struct region *region, uint32_t cores, uint32_t servers)
{
	struct front_ports *p = region_take(region, sizeof *p, CACHE_LINE_BYTES);

	ensure(cores - 1 < CORES_MAX);
	p->cores = cores;
	p->servers = servers;
	p->server = region_take(region, servers * sizeof *p->server, CACHE_LINE_BYTES);
	p->port = region_take(region, (size_t)cores * servers * sizeof *p->port, CACHE_LINE_BYTES);
	return p;
}

static _Atomic uint16_t *
port_of(struct front_ports *p, uint32_t server, uint32_t core)
{
	return &p->port[(size_t)core * p->servers + server];
}

void
front_ports_reached_mt(struct front_ports *p, uint32_t server, uint32_t core)
{
	atomic_fetch_or_explicit(&p->server[server].cores, 1ull << core, memory_order_relaxed);
}

void
front_ports_lost_mt(struct front_ports *p, uint32_t server, uint16_t port, uint32_t core)
{
	front_ports_reached_mt(p, server, core);
	atomic_fetch_add_explicit(&p->server[server].lost, 1, memory_order_relaxed);
	atomic_store_explicit(port_of(p, server, core), port, memory_order_relaxed);
}

uint16_t
front_ports_take_mt(struct front_ports *p, uint32_t server, uint32_t core)
{
	_Atomic uint16_t *port = port_of(p, server, core);

	if (atomic_load_explicit(port, memory_order_relaxed) == 0)
		return 0;
	return atomic_exchange_explicit(port, 0, memory_order_relaxed);
}

bool
front_ports_unreached_mt(const struct front_ports *p, struct front_unreached *which)
{
	const uint64_t all = UINT64_MAX >> (64 - p->cores);

	for (uint32_t i = 0; i < p->servers; i++) {
		const struct ports_server *s = &p->server[i];
		const uint64_t cores = atomic_load_explicit(&s->cores, memory_order_relaxed);

		if (cores == all || atomic_load_explicit(&s->lost, memory_order_relaxed) <
					    FRONT_PORT_TRIES * p->cores)
			continue;
		*which = (struct front_unreached){i, cores};
		return true;
	}
	return false;
}

void
front_ports_words(const struct front_unreached *which, char words[FRONT_UNREACHED_BYTES])
{
	size_t used = 0;

	for (uint32_t i = 0; i < CORES_MAX; i++)
		if (which->cores >> i & 1)
			used += (size_t)snprintf(words + used, FRONT_UNREACHED_BYTES - used, "%s%u",
						 used == 0 ? "" : ", ", i);
	snprintf(words + used, FRONT_UNREACHED_BYTES - used, " only");
}
