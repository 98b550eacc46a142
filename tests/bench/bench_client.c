/*
 * bench_client.c - sets up workload, stack and generator on the port of a bench.
 */
#include "bench_client.h"

#include "bench_fixture.h"
#include "net/neigh_table.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_BYTES    16u
#define CLIENT_PORT  40000u
#define CLIENT_PORTS 16u
#define CHUNKS       4096u
#define TIMEOUT_NS   60000000000ull /* on a busy machine frames are late, not lost */

static struct stack_config
stack_config_of(const struct bench_workload *a)
{
	const bool tcp = a->transport == LOAD_TCP;

	return (struct stack_config){
		.net.ipv4 = BENCH_CLIENT_IP,
		.net.prefix_len = 24,
		.net.udp_port = tcp ? 0 : CLIENT_PORT,
		.net.udp_ports = tcp ? 0 : CLIENT_PORTS,
		.tcp.conns_max = tcp ? a->conns : 1,
		.tcp.chunks = CHUNKS,
		.net.rx_frames_max = a->rx_frames_max,
		.tcp.keepalive_idle_ns = 7200000000000ull,
		.tcp.timestamps = true,
	};
}

static struct load_config
load_config_of(const struct bench_client *c, const struct bench_workload *a)
{
	return (struct load_config){
		.workload = &c->w,
		.transport = a->transport,
		.server = ip_addr_v4(BENCH_SERVER_IP),
		.port = BENCH_CACHE_PORT,
		.local_port = CLIENT_PORT,
		.local_ports = CLIENT_PORTS,
		.conns_max = a->conns,
		.depth_max = a->depth_max,
		.burst = a->burst,
		.timeout_ns = TIMEOUT_NS,
		.core = a->core,
		.cores = a->cores != 0 ? a->cores : 1,
		.seed = 42,
	};
}

void
bench_client_plan(struct bench_client *c, const struct bench_workload *a)
{
	c->w = (struct workload){
		.keys = {.kind = a->zipf > 0 ? KEYS_ZIPF : KEYS_UNIFORM,
			 .n = a->keys,
			 .zipf_s = a->zipf},
		.set_share = a->sets,
		.multiget = a->multiget,
	};
	size_distribution_uniform(&c->w.key_size, KEY_BYTES, KEY_BYTES);
	size_distribution_uniform(&c->w.value_size, a->value_bytes, a->value_bytes);
	workload_init(&c->w);
}

size_t
bench_client_bytes(const struct bench_client *c, const struct bench_workload *a)
{
	const struct stack_config stack_cfg = stack_config_of(a);
	const struct load_config load_cfg = load_config_of(c, a);

	return stack_bytes(&stack_cfg) + neigh_table_bytes() + load_core_bytes(&load_cfg) +
	       (64u << 10);
}

void
bench_client_make(struct bench_client *c, const struct bench_workload *a, struct region *r,
		  struct port *port)
{
	const struct stack_config stack_cfg = stack_config_of(a);
	const struct load_config load_cfg = load_config_of(c, a);
	struct stack *stack = stack_create(r, &stack_cfg, port, neigh_table_create(r));

	c->core = load_core_create(r, &load_cfg, port, stack);
}

uint64_t
bench_client_count(const struct bench_client *c, enum load_counter which)
{
	return counter_read(&load_core_result(c->core)->all[which]);
}

void
bench_client_check(const struct bench_client *c)
{
	static const enum load_counter wrong[] = {LOAD_WRONG_KEY, LOAD_WRONG_VALUE, LOAD_BROKEN,
						  LOAD_MISSES,    LOAD_REFUSED,     LOAD_LOST,
						  LOAD_RESET};

	for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (bench_client_count(c, wrong[i]) != 0) {
			fprintf(stderr, "bench: %llu %s\n",
				(unsigned long long)bench_client_count(c, wrong[i]),
				load_counter_names[wrong[i]].words);
			exit(1);
		}
}
