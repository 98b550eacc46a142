/*
 * bench_refused.c - the time of a core for a frame that the kernel's share refuses: SYNs to a port
 * of the kernel, a million a second, for tools/bench nic.
 *
 * A stack on a port in memory turns under a virtual clock, which advances as a million frames a
 * second ask for; bursts are full and come from many sources, and the NIC has verified their
 * checksums. A frame's time is that of the median turn divided by its frames, so the rest of a turn
 * is in it. The lane is read between turns. Prints one line of JSON.
 *
 *   bench_refused [--turns N]
 */
#include "../bench_options.h"
#include "base/time_units.h"
#include "kernel/kernel_lane.h"
#include "net/net_counters.h"
#include "refused_syn.h"
#include "sim/sim_stack.h"

#include <stdio.h>
#include <stdlib.h>

#define TURNS_MAX 100000u
#define FLOOD_NS  1000u /* time between two frames */
#define POOL      1024u
#define CHECKED   (FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD)

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Turns once over a full burst. Returns the ns of each frame. */
static double
turn(struct sim_stack *ss, uint32_t number)
{
	uint64_t from;

	for (uint32_t i = 0; i < BURST_MAX; i++)
		refused_syn_write(mem_port_feed(ss->port, REFUSED_SYN_BYTES, CHECKED), sim_mac,
				  sim_peer_mac, SIM_IP, number + i);
	ss->now_ns += BURST_MAX * FLOOD_NS;
	from = clock_ns(CLOCK_MONOTONIC);
	sim_stack_turn(ss);
	return (double)(clock_ns(CLOCK_MONOTONIC) - from) / BURST_MAX;
}

static void
read_lane(struct kernel_lane *lane)
{
	uint32_t len;

	while (kernel_ring_first(&lane->to_kernel, &len) != NULL)
		kernel_ring_pop(&lane->to_kernel);
}

int
main(int argc, char **argv)
{
	static double ns[TURNS_MAX];
	uint32_t turns = 20000;
	const struct bench_option known[] = {BENCH_NUMBER("turns", &turns, 100, TURNS_MAX), {0}};
	struct region region = {.size = kernel_lane_bytes(MEM_MTU, true)};
	struct stack_config cfg = sim_config(1);
	struct sim_stack *ss;

	bench_options(argc, argv, known);
	region.base = malloc(region.size);
	if (region.base == NULL)
		return 1;
	cfg.net.kernel = kernel_lane_create(&region, MEM_MTU, true);
	ss = sim_stack_create(&cfg, POOL, 0);
	for (uint32_t i = 0; i < turns; i++) {
		ns[i] = turn(ss, i * BURST_MAX);
		read_lane(cfg.net.kernel);
	}
	qsort(ns, turns, sizeof ns[0], by_value);
	printf("{\"refused_frame_ns\": %.1f, \"refused\": %llu, \"given\": %llu}\n", ns[turns / 2],
	       (unsigned long long)sim_stack_count(ss, KERNEL_DROP_RATE),
	       (unsigned long long)sim_stack_count(ss, KERNEL_GIVEN));
	sim_stack_destroy(ss);
	free(region.base);
	return 0;
}
