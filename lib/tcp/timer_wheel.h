/*
 * timer_wheel.h - a hierarchical timer wheel (Varghese and Lauck, SOSP 1987, scheme 7).
 *
 * Arming, disarming and the next deadline are O(1). A distant timer is in a coarse slot and
 * cascades to finer ones as its deadline approaches.
 *
 * Shape:  WHEEL_LEVELS rings of 64 slots; a tick is 2^20 ns (2^17 costs 51 instructions a request
 *         and gains only at 0.2 ms of round trip with 3 % loss). A slot is a list of nodes that
 *         lie inside their owners; a bitmap a level says which slots hold any.
 * Units:  ns on the caller's clock, which never decreases.
 * Owner:  the wheel owns nothing; an owner disarms its node before it is freed.
 * Thread: core-local.
 * Bounds: a timer fires at most one tick late if the wheel is popped often enough. A deadline
 *         beyond 2^44 ns (4.8 h) is rearmed internally after that time.
 */
#ifndef CLOCKOO_TIMER_WHEEL_H
#define CLOCKOO_TIMER_WHEEL_H

#include "base/list.h"

#include <stdint.h>

#define WHEEL_LEVELS     4u
#define WHEEL_BITS       6u
#define WHEEL_SLOTS      (1u << WHEEL_BITS)
#define WHEEL_TICK_SHIFT 20u
#define WHEEL_NEVER      UINT64_MAX

struct wheel_node {
	struct list link;
	uint64_t at_tick;
	uint8_t level, slot; /* its slot; level WHEEL_LEVELS: it is in the due list */
};

struct wheel {
	uint64_t tick; /* slots up to here have been emptied into due */
	struct list due;
	uint64_t used[WHEEL_LEVELS]; /* bit i: slot i is not empty */
	struct list slot[WHEEL_LEVELS][WHEEL_SLOTS];
};

void wheel_init(struct wheel *w);
void wheel_node_init(struct wheel_node *n);
bool wheel_armed(const struct wheel_node *n);

/* Arms a node, again if it is armed already. It never fires before at_ns. */
void wheel_arm(struct wheel *w, struct wheel_node *n, uint64_t at_ns);
void wheel_disarm(struct wheel *w, struct wheel_node *n);

/* Returns the next due node, unarmed; NULL if none is due or *budget is used up. Every node
 * examined takes one from *budget. */
struct wheel_node *wheel_pop(struct wheel *w, uint64_t now_ns, uint32_t *budget);

/* Returns when to call wheel_pop next (ns): no later than the tick of the earliest deadline. */
uint64_t wheel_next(const struct wheel *w);

#endif
