/*
 * load_program.c - memory, port and cores made from the options; cores run; all of it given back.
 */
#include "load_program.h"
#include "dpdk/eal.h"
#include "dpdk/lcore_run.h"
#include "load_coordinator.h"
#include "net/neigh_table.h"
#include "stack_sizes.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#define KEEPALIVE_NS  (7200ull * 1000000000u) /* RFC 9293 section 3.8.4 */
#define RX_FRAMES_UDP 512u
#define RX_FRAMES_TCP 8192u
#define BURST_MIN     8u
/* The first port of ours over UDP; the second is used if the first ones include the server's. */
#define LOCAL_PORT   40000u
#define LOCAL_PORT_2 50000u

static uint32_t
largest_of(const struct load_options *o, enum load_vary what, uint32_t most)
{
	for (uint32_t i = 0; o->vary == what && i < o->vary_count; i++)
		most = o->vary_values[i] > most ? o->vary_values[i] : most;
	return most;
}

static void
count_flights(struct load_program *p)
{
	const struct load_options *o = &p->options;
	const uint32_t conns = largest_of(o, VARY_CONNECTIONS, o->conns);

	p->conns_of_core = (conns + p->config.cores - 1) / p->config.cores;
	p->depth_max = largest_of(o, VARY_DEPTH, o->depth);
	if (p->depth_max < FILL_DEPTH_TCP)
		p->depth_max = FILL_DEPTH_TCP;
}

static uint16_t
local_port(const struct load_options *o)
{
	return o->server_port - LOCAL_PORT < LOAD_PORTS_MAX ? LOCAL_PORT_2 : LOCAL_PORT;
}

static struct stack_config
stack_config_of(const struct load_program *p)
{
	const bool tcp = p->options.transport == LOAD_TCP;
	const struct config *cfg = &p->config;
	const uint64_t chunks = 4ull * p->conns_of_core * (1 + p->depth_max / 16);

	return (struct stack_config){
		.net.ipv4 = cfg->ipv4,
		.net.prefix_len = cfg->prefix_len,
		.net.gateway = cfg->gateway,
		.net.vlan = (uint16_t)cfg->vlan,
		.net.vlan_priority = (uint8_t)cfg->vlan_priority,
		.net.udp_port = tcp ? 0 : local_port(&p->options),
		.net.udp_ports = tcp ? 0 : (uint16_t)p->options.udp_ports,
		.tcp.conns_max = tcp ? p->conns_of_core : 1,
		.tcp.chunks = clamp(chunks, CHUNKS_MIN, CHUNKS_MAX),
		.net.rx_frames_max = tcp ? RX_FRAMES_TCP : RX_FRAMES_UDP,
		.tcp.keepalive_idle_ns = KEEPALIVE_NS,
		.tcp.timestamps = !p->options.no_timestamps,
	};
}

/* Returns the burst of frames. If all requests were received in one burst, each end would wait for
 * the other. A client that receives them in parts keeps both busy. */
static uint32_t
burst_of(const struct load_program *p)
{
	const uint32_t part = p->conns_of_core / 4;

	if (p->options.burst != 0)
		return p->options.burst;
	if (p->options.transport == LOAD_UDP || part >= BURST_MAX)
		return BURST_MAX;
	return part < BURST_MIN ? BURST_MIN : part;
}

static struct load_config
load_config_of(const struct load_program *p)
{
	const struct load_options *o = &p->options;

	return (struct load_config){
		.workload = &p->workload,
		.transport = o->transport,
		.server = ip_addr_v4(o->server),
		.port = o->server_port,
		.local_port = local_port(o),
		.local_ports = o->udp_ports,
		.conns_max = p->conns_of_core,
		.depth_max = p->depth_max,
		.burst = burst_of(p),
		.timeout_ns = (uint64_t)(o->timeout * 1e9),
		.cores = p->config.cores,
		.seed = o->seed,
	};
}

static size_t
block_bytes(const struct stack_config *stack, const struct load_config *load)
{
	return neigh_table_bytes() + sizeof(struct load_result) + sizeof(struct load_report) +
	       load->cores * (stack_bytes(stack) + load_core_bytes(load) + 2 * PAGE_BYTES) +
	       5 * PAGE_BYTES;
}

static uint32_t
frames_of(const struct stack_config *stack)
{
	return stack->net.rx_frames_max + STACK_FRAMES_MAX + 2 * BURST_MAX;
}

/* True if a request fits one datagram or one reservation. */
static bool
requests_fit(const struct load_program *p, struct error *err)
{
	const struct workload *w = &p->workload;
	const bool udp = p->options.transport == LOAD_UDP;
	const bool may_set = !p->options.no_fill || w->set_share > 0;
	const uint32_t room = udp ? p->config.mtu - 28 - 8 : CONN_RESERVE_MAX;
	const uint32_t head = workload_head_bytes(w);

	if (head > room)
		return error_set(err, "--multiget and --key-size: a request of %u bytes; %u fit",
				 head, room);
	if (udp && may_set && head + w->value_size.most + 2 > room)
		return error_set(
			err,
			"--value-size: sets over UDP are one datagram: values of up to %u "
			"bytes; --transport tcp takes any, and --no-fill --sets 0 sets none",
			room - head - 2);
	return true;
}

/* True if an answer arrives at the core that sent its request. */
static bool
check_cores(const struct load_program *p, struct error *err)
{
	if (p->config.cores == 1 || (p->nic.profile.spread == SPREAD_PEER && !p->nic.plan.handover))
		return true;
	return error_set(
		err, "--cores: more than one needs a port whose other end answers on the queue it "
		     "was asked on, such as vhost and virtio_user");
}

static bool
build(struct load_program *p, struct stack_config *stack_cfg, struct load_config *load_cfg,
      struct error *err)
{
	struct region region = {0};
	struct neigh_table *neigh;

	if (!huge_block_alloc(&p->block, block_bytes(stack_cfg, load_cfg), &p->config,
			      p->nic.device.node, err))
		return false;
	region.base = p->block.base;
	region.size = p->block.bytes;
	neigh = neigh_table_create(&region);
	p->merged = region_take(&region, sizeof *p->merged, PAGE_BYTES);
	p->report = region_take(&region, sizeof *p->report, PAGE_BYTES);
	for (uint32_t i = 0; i < p->config.cores; i++) {
		struct port *port = nic_port(&p->nic, i);
		struct stack *stack = stack_create(&region, stack_cfg, port, neigh);

		load_cfg->core = i;
		p->workers[i] = (struct load_worker){
			.core = load_core_create(&region, load_cfg, port, stack),
			.stack = stack,
			.clock = &p->nic.clock,
			.stop = &p->stop,
			.yield = p->config.yield,
		};
	}
	return true;
}

bool
load_program_start(struct load_program *p, struct error *err)
{
	struct stack_config stack_cfg;
	struct load_config load_cfg;

	sched_getaffinity(0, sizeof p->all_cpus, &p->all_cpus);
	if (!load_options_workload(&p->options, &p->workload, err) || !requests_fit(p, err) ||
	    !nic_prepare(&p->nic, &p->config, err) || !check_cores(p, err))
		return false;
	count_flights(p);
	stack_cfg = stack_config_of(p);
	load_cfg = load_config_of(p);
	stack_cfg.net.seed = p->options.seed;
	if (getrandom(&stack_cfg.tcp.secret, sizeof stack_cfg.tcp.secret, 0) < 0)
		return error_set(err, "no random numbers from the kernel");
	if (!nic_check_resources(&p->nic, &p->config, block_bytes(&stack_cfg, &load_cfg),
				 frames_of(&stack_cfg), err) ||
	    !nic_start(&p->nic, &p->config, frames_of(&stack_cfg), err))
		return false;
	if (check_cores(p, err) && build(p, &stack_cfg, &load_cfg, err))
		return true;
	nic_stop(&p->nic);
	return false;
}

static int
run_core(void *arg)
{
	const struct load_worker *w = arg;

	/* Pairs with the store in load_coordinator.c; the flag carries no data. */
	while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
		load_core_turn(w->core, tsc_clock_ns(w->clock));
		if (!load_core_busy(w->core))
			lcore_idle(w->yield);
	}
	return 0;
}

bool
load_program_run(struct load_program *p, struct error *err)
{
	void *args[CORES_MAX];
	pthread_t coordinator;

	for (uint32_t i = 0; i < p->config.cores; i++)
		args[i] = &p->workers[i];
	if (!load_coordinator_start(&coordinator, p, err))
		return false;
	if (!lcores_run(&p->config.lcores, run_core, args, err))
		return false;
	pthread_join(coordinator, NULL);
	*err = p->error;
	return !p->failed;
}

void
load_program_stop(struct load_program *p)
{
	nic_stop(&p->nic);
	huge_block_free(&p->block);
}
