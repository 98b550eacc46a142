/*
 * early_answers.c - turns of stacks that refuse every connection, on all ports of the device.
 */
#include "early_answers.h"
#include "kernel/kernel_lane.h"
#include "net/neigh_table.h"
#include "process/last_words.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Slots of a stack that opens no connection. */
#define EARLY_CONNS    2u
#define EARLY_CHUNKS   64u
#define EARLY_TX_TURNS 64u /* turns in which the last answers are sent */

struct early_stack {
	struct stack *stack;
	struct port *port;
	struct classified in;
};

/* Returns the settings of a stack that has the addresses and ports of a core's, and no memory for
 * connections. */
static struct stack_config
early_config(const struct stack_config *of)
{
	struct stack_config c = *of;

	c.net.udp_port = c.net.udp_ports = 0;
	c.net.rx_frames_max = BURST_MAX;
	c.tcp.conns_max = EARLY_CONNS;
	c.tcp.active_reserve = 0;
	c.tcp.pipes = false;
	c.tcp.chunks = EARLY_CHUNKS;
	c.tcp.conns_per_source = 0;
	c.tcp.sources = NULL;
	c.tcp.syn_lines = 0;
	c.tcp.lent_bytes_max = 0;
	return c;
}

static void
turn(struct early_stack *e, uint64_t now_ns)
{
	const uint32_t room = stack_rx_budget(e->stack);

	e->in.rx.count = 0;
	if (room != 0)
		e->port->ops->rx(e->port, &e->in.rx, room < BURST_MAX ? room : BURST_MAX);
	stack_classify(e->stack, &e->in);
	stack_match(e->stack, &e->in);
	stack_input(e->stack, &e->in, now_ns);
	stack_release(e->stack);
	stack_tick(e->stack, now_ns);
	stack_output(e->stack, now_ns);
	stack_tx(e->stack);
}

static void *
run(void *arg)
{
	const struct timespec pause = {.tv_nsec = EARLY_PAUSE_NS};
	struct early_answers *e = arg;

	last_words_thread("the thread of early answers");
	while (!atomic_load_explicit(&e->end, memory_order_relaxed)) {
		for (uint32_t i = 0; i < e->cores; i++)
			turn(&e->stacks[i], tsc_clock_ns(e->clock));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Creates the stacks of all cores in one piece of memory. False: there is none. */
static bool
create_stacks(struct early_answers *e, struct nic *nic, const struct config *cfg,
	      const struct stack_config *stack)
{
	const bool has_tap = cfg->kernel[0] != '\0' && !config_shares_nic(cfg);
	const size_t lane_bytes = has_tap ? kernel_lane_bytes(cfg->mtu, false) : 0;
	struct stack_config c = early_config(stack);
	struct region region = {.zeroed = true};
	struct neigh_table *neigh;

	region.size = neigh_table_bytes() +
		      cfg->cores * (stack_bytes(&c) + lane_bytes + 2 * CACHE_LINE_BYTES) +
		      CACHE_LINE_BYTES;
	e->memory = region.base = calloc(1, region.size);
	e->stacks = calloc(cfg->cores, sizeof *e->stacks);
	if (e->memory == NULL || e->stacks == NULL)
		return false;
	neigh = neigh_table_create(&region);
	for (uint32_t i = 0; i < cfg->cores; i++) {
		if (has_tap)
			c.net.kernel = kernel_lane_create(&region, cfg->mtu, false);
		e->stacks[i].port = nic_port(nic, i);
		e->stacks[i].stack = stack_create(&region, &c, e->stacks[i].port, neigh);
		stack_refuse(e->stacks[i].stack, REFUSE_RESET);
	}
	return true;
}

static void
free_stacks(struct early_answers *e)
{
	free(e->stacks);
	free(e->memory);
	e->stacks = NULL;
	e->memory = NULL;
}

bool
early_answers_begin(struct early_answers *e, struct nic *nic, const struct config *cfg,
		    const struct stack_config *stack, struct error *err)
{
	int rc;

	if (config_is_user(cfg))
		return true;
	e->clock = &nic->clock;
	e->cores = cfg->cores;
	if (!create_stacks(e, nic, cfg, stack)) {
		free_stacks(e);
		return error_set(err, "memory: none is left for the start");
	}
	atomic_store_explicit(&e->end, false, memory_order_relaxed);
	rc = pthread_create(&e->thread, NULL, run, e);
	if (rc == 0)
		return true;
	for (uint32_t i = 0; i < e->cores; i++)
		stack_end(e->stacks[i].stack);
	free_stacks(e);
	return error_set(err, "cannot start a thread: %s", strerror(rc));
}

void
early_answers_end(struct early_answers *e)
{
	if (e->stacks == NULL)
		return;
	atomic_store_explicit(&e->end, true, memory_order_relaxed);
	pthread_join(e->thread, NULL);
	for (uint32_t i = 0; i < e->cores; i++) {
		for (uint32_t t = 0; t < EARLY_TX_TURNS && stack_has_work(e->stacks[i].stack); t++)
			stack_tx(e->stacks[i].stack);
		stack_end(e->stacks[i].stack);
	}
	free_stacks(e);
}
