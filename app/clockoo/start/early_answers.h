/*
 * early_answers.h - a thread that answers on the ports while the start sets memory aside.
 *
 * To touch the memory takes a second for each gigabyte of ordinary pages. Until the cores turn,
 * this thread turns small stacks on their ports: they answer ARP, neighbour solicitations and
 * echo requests for our addresses, and reset each segment and each SYN, so that a client learns at
 * once that there is no service yet. Frames for the kernel (network.kernel) are dropped, as
 * its thread does not run yet. Datagrams get no answer.
 *
 * Owner:  from begin to end the ports are the thread's, and no core may turn. The stacks' memory is
 *         freed by end, after which every frame is the ports' again.
 * Thread: begin and end by main.
 * Errors: struct error, one line.
 * Bounds: a burst a port in EARLY_PAUSE_NS; resets as of any closed port (tcp_stateless.c).
 */
#ifndef CLOCKOO_EARLY_ANSWERS_H
#define CLOCKOO_EARLY_ANSWERS_H

#include "nic.h"
#include "stack/stack.h"

#include <pthread.h>
#include <stdatomic.h>

#define EARLY_PAUSE_NS 500000u

struct early_stack;

struct early_answers {
	const struct tsc_clock *clock;
	uint32_t cores;
	struct early_stack *stacks; /* one a core; NULL: no thread runs */
	uint8_t *memory;            /* of the stacks */
	pthread_t thread;
	atomic_bool
		end; /* carries no data: relaxed on both sides, pthread_join() orders the rest */
};

/* Starts the thread on the ports, whose addresses are probed. stack: the settings of the cores'
 * stacks, of which ports, addresses and keys are taken. Does nothing with port user, whose sockets
 * are not open yet. */
bool early_answers_begin(struct early_answers *e, struct nic *nic, const struct config *cfg,
			 const struct stack_config *stack, struct error *err);
/* Ends the thread, if it runs. */
void early_answers_end(struct early_answers *e);

#endif
