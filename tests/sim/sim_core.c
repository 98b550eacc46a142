#include "sim_core.h"
#include "zeroed.h"

#include "admin/admin.h"
#include "net/neigh_table.h"
#include "image/store_image.h"

#include <stdlib.h>

struct sim_cores_options
sim_cores_defaults(uint64_t seed)
{
	return (struct sim_cores_options){
		.cores = 1,
		.frames = 4096,
		.conn_requests_max = 32,
		.memory_bytes = 64u << 20,
		.stack = sim_config(seed),
	};
}

static struct store_config
store_of(const struct sim_cores_options *o)
{
	return (struct store_config){
		.memory_bytes = o->memory_bytes,
		.cores = o->cores,
		.value_max = o->value_max != 0 ? o->value_max : STORE_VALUE_MAX,
		.seed = o->stack.net.seed,
	};
}

static struct serve_config
serve_of(const struct sim_cores_options *o, uint32_t core)
{
	return (struct serve_config){
		.conns_max = o->stack.tcp.conns_max,
		.links_max = o->stack.tcp.active_reserve,
		.conn_requests_max = o->conn_requests_max,
		.core = core,
	};
}

static void
core_create(struct sim_cores *sc, uint32_t i, const struct sim_cores_options *o,
	    struct serve_shared *shared, struct neigh_table *neigh)
{
	struct sim_core *c = &sc->cores[i];
	const struct serve_config serve_cfg = serve_of(o, i);
	struct stack_config stack_cfg = o->stack;
	struct stack *stack;
	struct serve *serve;
	struct port *port;

	c->port = o->ports == NULL ? mem_port_create(sim_mac, o->frames, o->caps) : NULL;
	port = o->ports == NULL ? &c->port->port : o->ports[i];
	stack_cfg.tcp.core = i;
	stack_cfg.tcp.cores = o->cores;
	stack = stack_create(&sc->region, &stack_cfg, port, neigh);
	serve = serve_create(&sc->region, &serve_cfg, shared, stack);
	admin_create(&sc->region, serve);
	core_init(&c->core, port, stack, serve, store_core_of(sc->store, i), sc->now_ns,
		  SIM_UNIX_START * 1000000000ll);
}

struct sim_cores *
sim_cores_create(const struct sim_cores_options *o)
{
	const struct store_config store_cfg = store_of(o);
	const struct serve_config serve_cfg = serve_of(o, 0);
	const size_t one = stack_bytes(&o->stack) + serve_bytes(&serve_cfg) +
			   admin_bytes(&serve_cfg) + 4 * CACHE_LINE_BYTES;
	struct sim_cores *sc = calloc(1, sizeof *sc);
	struct serve_shared *shared;
	struct neigh_table *neigh;

	ensure(sc != NULL);
	sc->count = o->cores;
	sc->now_ns = SIM_START;
	sc->cores = aligned_alloc(CACHE_LINE_BYTES, o->cores * sizeof *sc->cores);
	sc->region = zeroed_region(store_bytes(&store_cfg) + serve_shared_bytes(o->cores) +
				   admin_shared_bytes() + neigh_table_bytes() + o->cores * one +
				   8 * CACHE_LINE_BYTES);
	ensure(sc->cores != NULL);
	sc->store = store_create(&sc->region, &store_cfg);
	shared = serve_shared_create(&sc->region, sc->store, o->cores, "sim");
	admin_shared_create(&sc->region, shared);
	sc->shared = shared;
	neigh = neigh_table_create(&sc->region);
	for (uint32_t i = 0; i < o->cores; i++)
		core_create(sc, i, o, shared, neigh);
	return sc;
}

void
sim_cores_destroy(struct sim_cores *sc)
{
	for (uint32_t i = 0; i < sc->count; i++)
		if (sc->cores[i].port != NULL)
			mem_port_destroy(sc->cores[i].port);
	zeroed_free(sc->region.base, sc->region.size);
	free(sc->cores);
	free(sc);
}

void
sim_cores_turn(struct sim_cores *sc)
{
	for (uint32_t i = 0; i < sc->count; i++) {
		struct core *core = &sc->cores[i].core;

		if (!sc->pauses && sc->now_ns - core->last_ns >= STACK_PAUSE_NS)
			core->last_ns = sc->now_ns;
		core_turn(core, sc->now_ns);
	}
}

uint64_t
sim_cores_next(const struct sim_cores *sc)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < sc->count; i++) {
		const uint64_t at = stack_next_timer(sc->cores[i].core.stack);

		next = at < next ? at : next;
	}
	return next;
}
