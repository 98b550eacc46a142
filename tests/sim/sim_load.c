#include "sim_load.h"

#include "zeroed.h"

#include "base/check.h"
#include "net/neigh_table.h"

#include <stdlib.h>

#define FRAMES    4096u
#define CONNS_MAX 64u
#define DEPTH_MAX 64u
/* Over TCP the generator waits longer than the stack itself does. */
#define TIMEOUT_NS 20000000000ull
#define UDP_WAIT   20000000ull

static const uint8_t load_mac[6] = {2, 0, 0, 0, 0, 2};

static struct load_config
config_of(const struct workload *w, enum load_transport transport, uint64_t seed)
{
	return (struct load_config){
		.workload = w,
		.transport = transport,
		.server = ip_addr_v4(SIM_IP),
		.port = SIM_PORT,
		.local_port = SIM_LOAD_PORT,
		.local_ports = SIM_LOAD_PORTS,
		.conns_max = CONNS_MAX,
		.depth_max = DEPTH_MAX,
		.timeout_ns = transport == LOAD_UDP ? UDP_WAIT : TIMEOUT_NS,
		.cores = 1,
		.seed = seed,
	};
}

static void
create_generator(struct sim_load *sl, const struct load_config *cfg)
{
	struct stack_config stack_cfg = sim_config(cfg->seed + 1);
	struct neigh_table *neigh;

	stack_cfg.net.ipv4 = SIM_LOAD_IP;
	stack_cfg.tcp.port = 0;
	stack_cfg.net.udp_port = SIM_LOAD_PORT;
	stack_cfg.net.udp_ports = SIM_LOAD_PORTS;
	sl->port = mem_port_create(load_mac, FRAMES, 0);
	sl->region = zeroed_region(stack_bytes(&stack_cfg) + neigh_table_bytes() +
				   load_core_bytes(cfg) + 8 * CACHE_LINE_BYTES);
	neigh = neigh_table_create(&sl->region);
	sl->stack = stack_create(&sl->region, &stack_cfg, &sl->port->port, neigh);
	sl->core = load_core_create(&sl->region, cfg, &sl->port->port, sl->stack);
}

struct sim_load *
sim_load_create(struct workload *w, enum load_transport transport, const struct sim_faults *faults,
		uint64_t seed)
{
	struct sim_cores_options options = sim_cores_defaults(seed);
	struct sim_load *sl = calloc(1, sizeof *sl);
	struct load_config cfg;

	ensure(sl != NULL);
	workload_init(w);
	cfg = config_of(w, transport, seed);
	sl->server = sim_cores_create(&options);
	create_generator(sl, &cfg);
	sl->wire = sim_wire_create(sl->server->cores[0].port, sl->port, faults, seed);
	sl->step_ns = 5000;
	return sl;
}

void
sim_load_destroy(struct sim_load *sl)
{
	sim_wire_destroy(sl->wire);
	sim_cores_destroy(sl->server);
	mem_port_destroy(sl->port);
	zeroed_free(sl->region.base, sl->region.size);
	free(sl);
}

void
sim_load_turn(struct sim_load *sl)
{
	sl->server->now_ns += sl->step_ns;
	sim_wire_turn(sl->wire, sl->server->now_ns);
	sim_cores_turn(sl->server);
	load_core_turn(sl->core, sl->server->now_ns);
}

bool
sim_load_execute(struct sim_load *sl, const struct load_command *order, uint64_t limit_ns)
{
	const uint64_t until_ns = sl->server->now_ns + limit_ns;

	load_core_command_mt(sl->core, order);
	while (!load_core_done_mt(sl->core) && sl->server->now_ns < until_ns)
		sim_load_turn(sl);
	return load_core_done_mt(sl->core);
}

uint64_t
sim_load_count(const struct sim_load *sl, enum load_counter which)
{
	return counter_read(&load_core_result(sl->core)->all[which]);
}
