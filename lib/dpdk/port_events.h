/*
 * port_events.h - what a driver announces of its port: reset, recovery, removal.
 *
 * A driver calls back from DPDK's interrupt thread, some with locks of their own held. The call
 * notes the event and wakes the thread that polls fd, which takes the events and acts.
 *
 * Shape:  a word of bits, enum port_event. A new recovery cancels the result of an earlier one, so
 *         that the word never says that a port under recovery has recovered.
 * Owner:  the caller keeps the struct in its place from begin to end.
 * Thread: begin and end by the main thread, take by one thread, events by any.
 * Errors: struct error.
 */
#ifndef CLOCKOO_PORT_EVENTS_H
#define CLOCKOO_PORT_EVENTS_H

#include "config/errors.h"

#include <stdbool.h>
#include <stdint.h>

enum port_event {
	PORT_EVENT_RESET = 1u << 0,           /* the application must reset the port */
	PORT_EVENT_RECOVERING = 1u << 1,      /* the driver recovers the port by itself */
	PORT_EVENT_RECOVERED = 1u << 2,       /* it did; rules and groups may be lost */
	PORT_EVENT_RECOVERY_FAILED = 1u << 3, /* it could not: the port is of no more use */
	PORT_EVENT_REMOVED = 1u << 4,         /* the device is removed, or will be at once */
};

struct port_events {
	uint16_t id;
	const char *device; /* DPDK's name of the device, for its bus */
	int fd;             /* an eventfd: readable while events are pending */
	_Atomic uint32_t pending;
};

/* Registers for the events of port id. */
bool port_events_begin(struct port_events *e, uint16_t id, const char *device, struct error *err);
void port_events_end(struct port_events *e);

/* Returns the pending events and clears them; 0: none. */
uint32_t port_events_take(struct port_events *e);

#endif
