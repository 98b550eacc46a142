/*
 * drain.h - the stages of a drain, and the order to the cores in each of them.
 *
 * Shape:  CONFIG_DRAIN_RESET, SILENT and CLOSE have one stage, LEAVING: the appliance is not ready
 *         from the beginning. ANYCAST goes through four stages. A router that leaves the appliance
 *         sends packets of its open connections to another host, which resets them; so
 *         connections are closed before the routers leave:
 *
 *         CLOSING  ready; a connection is closed after its next answer, or once it is idle
 *         LAST     ready; SYNs get no answer: their clients repeat them a second later
 *         IDLE     ready; a connection without a request is closed at once
 *         LEAVING  not ready: routers leave
 *
 *         CLOSING, LAST and IDLE end early once no connection is open. With ANYCAST a requested
 *         stop drains in the same way; a second request stops at once.
 * Owner:  the caller counts the connections and reads the clock.
 * Thread: the control thread.
 * Bounds: CLOSING lasts DRAIN_CLOSING_NS at most, and half of the drain's time. LAST and IDLE last
 *         DRAIN_LAST_NS each. LEAVING lasts until no connection has been open for DRAIN_QUIET_NS,
 *         or DRAIN_ROUTERS_NS with ANYCAST. The whole drain lasts its configured time at most.
 */
#ifndef CLOCKOO_DRAIN_H
#define CLOCKOO_DRAIN_H

#include "base/time_units.h"
#include "config/config_choices.h"
#include "serve/serve_policy.h"

#include <stdbool.h>
#include <stdint.h>

/* A connection idle for DRAIN_IDLE_S is closed up to 2 s later: the clock of sessions has steps of
 * 1 s, and the walk over the sessions takes 1 s. */
#define DRAIN_CLOSING_NS ((DRAIN_IDLE_S + 2) * NS_PER_S)
/* A client repeats a SYN after 1 s. LAST and IDLE take half of that; routers must have left within
 * the other half, so that the repeated SYN reaches another host. */
#define DRAIN_LAST_NS (250 * NS_PER_MS)
/* In this time the hook of a routing daemon notices that the appliance is not ready. With ANYCAST
 * it gets more time, since it also withdraws the route, by programs that a busy host may start
 * late. */
#define DRAIN_QUIET_NS   NS_PER_S
#define DRAIN_ROUTERS_NS (3 * NS_PER_S)

enum drain_stage { DRAIN_OFF, DRAIN_CLOSING, DRAIN_LAST, DRAIN_IDLE, DRAIN_LEAVING, DRAIN_ENDED };

struct drain {
	enum config_drain how;
	enum drain_stage stage;
	bool applied;      /* the cores obey the stage */
	bool stops;        /* a stop was requested */
	uint64_t since_ns; /* begin of the stage */
	uint64_t closing_end_ns;
	uint64_t end_ns;  /* of the drain */
	uint64_t open_ns; /* last time that a connection was open */
};

/* Connections of clients on all cores. */
struct drain_conns {
	uint32_t open;    /* not closed by the appliance yet */
	uint32_t leaving; /* half-open, or without an acknowledgement of the last answer */
};

/* Begins a drain of this time. */
void drain_begin(struct drain *d, enum config_drain how, uint64_t time_ns, uint64_t now_ns);

/* Handles a request to stop. True: stop at once. False: the stop follows the drain in progress, or
 * one that begins now with this time. */
bool drain_stop(struct drain *d, enum config_drain how, uint64_t time_ns, uint64_t now_ns);

/* Returns the order to the cores in the present stage. */
enum serve_drain drain_asks(const struct drain *d);

/* Advances to the stage of now_ns, and returns it. settled: every core obeys the present stage, and
 * conns was counted after that. */
enum drain_stage drain_step(struct drain *d, const struct drain_conns *conns, bool settled,
			    uint64_t now_ns);

#endif
