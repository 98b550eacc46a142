/*
 * port_watch.h - acts on what the driver announces of its port (dpdk/port_events.h).
 *
 * The cores pause between two turns while the driver or this thread works on the port. After a
 * reset this thread sets queues, RSS, MAC, groups and rules again; after a recovery by the driver,
 * groups and rules. Items, connections and requests stay. Frames in the NIC's rings are lost, and
 * TCP sends them again.
 *
 * Three events end the program with ERROR_PORT: the port is removed, its driver cannot recover it,
 * or the port is away for PORT_AWAY_MAX_NS. The next start examines the device again.
 *
 * Units:  ns of CLOCK_MONOTONIC.
 * Owner:  main; the parts outlive the watch.
 * Thread: the main thread begins and ends; the control thread calls the others.
 */
#ifndef CLOCKOO_PORT_WATCH_H
#define CLOCKOO_PORT_WATCH_H

#include "base/counter.h"
#include "dpdk/device.h"
#include "dpdk/port_events.h"
#include "process/process.h"

#define PORT_AWAY_MAX_NS 30000000000ull
#define PORT_WATCH_NICS  2u
#define PORT_RETRY_NS    500000000ull /* from a failed reset to the next attempt */

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
	struct device *other; /* the bond's second NIC; NULL: none */
};

/* A NIC and its events. A bond has two NICs. */
struct port_watch_nic {
	struct device *device;
	struct port_events events;
	uint32_t wanted;   /* bits of enum port_event: announced and not handled yet */
	uint64_t retry_ns; /* no reset is tried before this time */
};

struct port_watch {
	struct port_watch_parts of;
	struct port_watch_nic nic[PORT_WATCH_NICS];
	uint32_t nics;
	/* Start of the present pause of the cores, as passed to port_watch_run(). */
	uint64_t left_ns;
	uint64_t began_ns; /* the same moment on CLOCK_MONOTONIC, for the length of the pause */
	struct error end;  /* the reason that ends the program; empty: it does not end */
	struct counter counters[PORT_WATCH_COUNTER_COUNT];
};

bool port_watch_begin(struct port_watch *w, const struct port_watch_parts *parts,
		      struct error *err);
void port_watch_end(struct port_watch *w);

/* Handles the events announced so far. */
void port_watch_run(struct port_watch *w, uint64_t now_ns);
/* True if the program must end, for the reason in w->end. */
static inline bool
port_watch_has_ended(const struct port_watch *w)
{
	return w->end.text[0] != '\0';
}
/* Returns the file to poll for events of the first NIC. Events of a second NIC wait for the next
 * call of port_watch_run(). */
static inline int
port_watch_fd(const struct port_watch *w)
{
	return w->nic[0].events.fd;
}
/* True while the cores wait for the port. */
bool port_watch_is_away(const struct port_watch *w);

#endif
