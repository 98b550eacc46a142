/*
 * port_watch.h - acts on what the driver announces of its port (dpdk/port_events.h).
 *
 * The cores pause between two turns while the driver or this thread has the port. A reset then sets
 * the port up again with its queues, RSS, MAC, groups and rules; after a recovery by the driver,
 * groups and rules are set again. Items, connections and requests stay as they are. What was in the
 * NIC's rings is lost, and TCP sends it again.
 *
 * A port that is removed, that its driver cannot recover, or that is away for PORT_AWAY_MAX_NS ends
 * the program with ERROR_PORT. The next start examines the device anew.
 *
 * Units:  ns of CLOCK_MONOTONIC.
 * Owner:  main; the parts outlive the watch.
 * Thread: begin and end by the main thread, the rest by the control thread.
 */
#ifndef CLOCKOO_PORT_WATCH_H
#define CLOCKOO_PORT_WATCH_H

#include "base/counter.h"
#include "dpdk/device.h"
#include "dpdk/port_events.h"
#include "process/process.h"

#define PORT_AWAY_MAX_NS 30000000000ull
#define PORT_WATCH_NICS  2u
#define PORT_RETRY_NS    500000000ull /* from a reset that failed to the next attempt */

struct neigh_table;

#define PORT_WATCH_COUNTERS(X)                                                                     \
	X(NIC_RESETS, "resets that the NIC's driver asked for, carried out")                       \
	X(NIC_RESETS_FAILED, "attempts at such a reset that failed")                               \
	X(NIC_RECOVERIES, "recoveries of the NIC by its driver")                                   \
	X(NIC_AWAY_NS, "time in which the cores waited for the NIC's reset or recovery")

enum port_watch_counter { PORT_WATCH_COUNTERS(COUNTER_SYMBOL) PORT_WATCH_COUNTER_COUNT };
extern const struct counter_name port_watch_counter_names[PORT_WATCH_COUNTER_COUNT];

struct port_watch_parts {
	struct process *process;
	struct device *device;
	struct device_request request;
	struct neigh_table *neigh;
	struct device *other; /* the bond's second member; NULL: none */
};

/* The events of a NIC, and what is due of them. A bond has two NICs. */
struct port_watch_nic {
	struct device *device;
	struct port_events events;
	uint32_t wanted;   /* enum port_event: announced, and not yet dealt with */
	uint64_t retry_ns; /* no attempt at a reset before */
};

struct port_watch {
	struct port_watch_parts of;
	struct port_watch_nic nic[PORT_WATCH_NICS];
	uint32_t nics;
	uint64_t left_ns;  /* when the pause of the cores began, as passed to port_watch_run */
	uint64_t began_ns; /* the same by the clock, for how long a reset took */
	struct error end;  /* why the program ends (port_watch_has_ended) */
	struct counter counters[PORT_WATCH_COUNTER_COUNT];
};

bool port_watch_begin(struct port_watch *w, const struct port_watch_parts *parts,
		      struct error *err);
void port_watch_end(struct port_watch *w);

/* Acts on the events so far. */
void port_watch_run(struct port_watch *w, uint64_t now_ns);
/* True if the program must end, for the reason in w->end. */
static inline bool
port_watch_has_ended(const struct port_watch *w)
{
	return w->end.text[0] != '\0';
}
/* Returns the file to poll for events of the first NIC; those of another wait for the next call. */
static inline int
port_watch_fd(const struct port_watch *w)
{
	return w->nic[0].events.fd;
}
/* True while the cores wait for the port. */
bool port_watch_is_away(const struct port_watch *w);

#endif
