/*
 * stack.h - one core's network stack: a net (lib/net) and TCP over it (lib/tcp). It carries bytes
 * and does not know requests.
 *
 * The core drives it stage by stage (core_turn). The service reads and writes byte streams
 * (tcp/conn.h) and datagrams (net/net.h) between stack_input() and stack_output().
 *
 * Shape:  one stack a core; only neighbour table, source table and path MTU reports are shared.
 * Units:  times are ns on the caller's clock.
 * Owner:  from classify to stack_release() the stack owns the received frames. Views into them
 *         (conn_peek, datagram payload) are valid until stack_release().
 * Thread: core-local, except *_mt.
 * Errors: invalid frames and segments are dropped and counted by reason (STACK_COUNTERS).
 * Bounds: as in net.h and conn.h.
 */
#ifndef CLOCKOO_STACK_H
#define CLOCKOO_STACK_H

#include "base/region.h"
#include "tcp/conn.h"
#include "tcp/conn_pipe.h"
#include "net/net.h"
#include "net/net_counters.h"
#include "tcp/tcp_counters.h"

#define STACK_COUNTERS(X) NET_COUNTERS(X) TCP_COUNTERS(X)

struct neigh_table;

struct stack_config {
	struct net_config net;
	struct tcp_config tcp;
};

size_t stack_bytes(const struct stack_config *cfg);
struct stack *stack_create(struct region *region, const struct stack_config *cfg, struct port *port,
			   struct neigh_table *neigh);
void stack_attach(struct stack *s, const struct stack_user *user);
/* Lets the stack lend external buffers to its port, as far as the port takes them. */
void stack_lender_set(struct stack *s, const struct lender *lender);

/* ---- pauses of the process ---- */

/*
 * Call before stage 1 of a turn if something kept the process away until end_ns; the turn before
 * began at begin_ns. Frames that waited meanwhile are not timed, and timers are postponed. Not
 * needed for less than STACK_PAUSE_NS.
 */
void stack_paused(struct stack *s, uint64_t begin_ns, uint64_t end_ns);
#define STACK_PAUSE_NS 10000000u

/* ---- the stages, in order; called by core_turn, and by early_answers.c before it ---- */

/* Returns how many frames stage 1 may receive: as many as can be answered. Stage 1 must not ask for
 * fewer, since a turn that received this many counts as one with more frames waiting. */
uint32_t stack_rx_budget(const struct stack *s);
void stack_classify(struct stack *s, struct classified *in);               /* stage 2 */
void stack_match(struct stack *s, struct classified *in);                  /* stage 3 */
void stack_input(struct stack *s, struct classified *in, uint64_t now_ns); /* stage 4 */
void stack_release(struct stack *s);                 /* end of stage 7: frees frames */
void stack_tick(struct stack *s, uint64_t now_ns);   /* stage 8 */
void stack_output(struct stack *s, uint64_t now_ns); /* stage 9 */
/* Stage 10. Frames that the port refuses stay in the transmit queue. Returns the frames sent. */
uint32_t stack_tx(struct stack *s);

/* Returns when the next timer is due (ns); UINT64_MAX: none. For cores that sleep, and
 * simulators. */
uint64_t stack_next_timer(const struct stack *s);
/* True if there is work after a turn without a frame or a timer: requeued connections, datagrams
 * kept, or frames that the port refused. */
bool stack_has_work(const struct stack *s);

/* Refuses new connections and closes all others, for a shutdown; true once none is left. */
bool stack_drain(struct stack *s, uint64_t now_ns);
/* Resets the connections that stack_drain() has left, as far as there is room for their RSTs, and
 * frees them all. */
void stack_abort_all(struct stack *s, uint64_t now_ns);
/* Gives all frames back to the port, sent or not. Call between turns, without connections and kept
 * datagrams; then only the stack's memory is left to be freed. */
void stack_end(struct stack *s);

/* ---- telemetry ---- */

/* Returns the bytes of the values that the port reads: core-local. */
uint64_t stack_lent_bytes(const struct stack *s);
const struct counter *stack_counters(const struct stack *s); /* an array of STACK_COUNTER_COUNT */
extern const struct counter_name stack_counter_names[STACK_COUNTER_COUNT];

#endif
