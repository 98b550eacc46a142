/*
 * sim_stack.h - one stack on a port in memory, under a virtual clock.
 *
 * Shape:  a turn is core_turn's, with the test's function instead of the service.
 * Units:  ns on the virtual clock, which only sim_stack_run and the caller advance.
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_STACK_H
#define CLOCKOO_SIM_STACK_H

#include "mem_port.h"
#include "stack/stack.h"

#define SIM_IP     0x0a000001u /* 10.0.0.1 */
#define SIM_PEERS  0x0a000100u /* 10.0.1.0 and up: the peers */
#define SIM_PREFIX 16u
#define SIM_PORT   11211u
#define SIM_START  (1000000000ull) /* the clock at the start of the simulation */

extern const uint8_t sim_mac[6];
extern const uint8_t sim_peer_mac[6];

struct sim_stack {
	struct stack *stack;
	struct mem_port *port;
	struct neigh_table *neigh;
	struct region region;
	struct classified in;
	uint64_t now_ns;
	/* The test's service; NULL: received data is not read. */
	void (*serve)(void *arg);
	void *arg;
};

/* Returns the configuration of a small stack. */
struct stack_config sim_config(uint64_t seed);

struct sim_stack *sim_stack_create(const struct stack_config *cfg, uint32_t frames, uint32_t caps);
/* Creates a second stack on the same wire, with a MAC of its own. */
struct sim_stack *sim_stack_create_as(const struct stack_config *cfg, uint32_t frames,
				      uint32_t caps, const uint8_t mac[6]);
void sim_stack_destroy(struct sim_stack *ss);

void sim_stack_turn(struct sim_stack *ss);
/* Runs turns until the clock is at until_ns and all timers up to then have fired. */
void sim_stack_run(struct sim_stack *ss, uint64_t until_ns);

/* Appends all that a connection has received to `to`, which has *len of room bytes. More than fits
 * stops the process. */
void sim_receive(struct stack *s, struct conn *c, void *to, uint32_t *len, uint32_t room);

uint64_t sim_stack_count(const struct sim_stack *ss, uint32_t which);

#endif
