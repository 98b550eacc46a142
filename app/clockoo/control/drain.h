/*
 * drain.h - the stages of a drain, and what each of them asks for.
 *
 * Shape:  without an order (config_drain RESET, SILENT, CLOSE) the appliance is not ready from the
 *         first step on: DRAIN_LEAVING. ANYCAST has an order, since a router that leaves the
 *         appliance leads the packets of open connections to another host, which resets them:
 *
 *         CLOSING  ready; connections end behind their next answer, or once they are idle
 *         LAST     ready; SYNs get no answer, so that their peers repeat them a second later
 *         IDLE     ready; a connection without a request ends at once
 *         LEAVING  not ready: routers leave
 *
 *         CLOSING and IDLE end as soon as no connection is open, and LAST then has no purpose.
 *         A stop that is requested has the same order with ANYCAST; a second request is at once.
 * Owner:  the caller has the connections and the clock.
 * Thread: the control thread.
 * Bounds: CLOSING lasts at most DRAIN_CLOSING_NS and half of the drain's time, LAST and IDLE
 *         DRAIN_LAST_NS each, LEAVING until no connection has been open for DRAIN_QUIET_NS, with
 *         ANYCAST for DRAIN_ROUTERS_NS; the whole drain at most its time.
 */
#ifndef CLOCKOO_DRAIN_H
#define CLOCKOO_DRAIN_H

#include "base/time_units.h"
#include "config/config_choices.h"
#include "serve/serve_policy.h"

#include <stdbool.h>
#include <stdint.h>

/* An idle connection is found within two seconds of DRAIN_IDLE_S: the clock of sessions and the
 * walk over them have steps of one each. */
#define DRAIN_CLOSING_NS ((DRAIN_IDLE_S + 2) * NS_PER_S)
/* With LAST, IDLE and half a second until routers have left, a repeated SYN reaches another host.
 */
#define DRAIN_LAST_NS (250 * NS_PER_MS)
/* The hook of a routing daemon has that time to notice that the appliance is not ready. With
 * ANYCAST it withdraws meanwhile, by programs that a busy host may start late. */
#define DRAIN_QUIET_NS   NS_PER_S
#define DRAIN_ROUTERS_NS (3 * NS_PER_S)

enum drain_stage { DRAIN_OFF, DRAIN_CLOSING, DRAIN_LAST, DRAIN_IDLE, DRAIN_LEAVING, DRAIN_ENDED };

struct drain {
	enum config_drain how;
	enum drain_stage stage;
	bool applied; /* the cores have the stage in their table */
	bool stops;   /* a stop was requested */
	uint64_t since_ns, closing_end_ns, end_ns;
	uint64_t open_ns; /* when a connection was last seen open */
};

/* The connections of clients on all cores. */
struct drain_conns {
	uint32_t open;    /* the service has not closed them */
	uint32_t leaving; /* half-open, or the peer has not acknowledged the last answer */
};

/* Begins a drain of this time. */
void drain_begin(struct drain *d, enum config_drain how, uint64_t time_ns, uint64_t now_ns);

/* True if a stop that is requested now is to be at once. Otherwise the drain is under way, or
 * begins with this time, and the stop follows it. */
bool drain_stop(struct drain *d, enum config_drain how, uint64_t time_ns, uint64_t now_ns);

/* Returns what the cores are to do in this stage. */
enum serve_drain drain_asks(const struct drain *d);

/* Moves on to the stage of this moment and returns it. settled: the cores obey the stage; conns is
 * what was open after that. */
enum drain_stage drain_step(struct drain *d, const struct drain_conns *conns, bool settled,
			    uint64_t now_ns);

#endif
