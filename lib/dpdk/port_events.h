/*
 * port_events.h - the events that a driver announces for its port: reset, recovery, removal.
 *
 * Drivers call back in DPDK's interrupt thread, some while they hold locks. The callback only notes
 * the event and wakes the thread that polls fd, which takes the events and acts.
 *
 * Shape:  a word of bits, enum port_event. The begin of a recovery clears the result of an earlier
 *         one, so that the word never says of a port under recovery that it has recovered.
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
	PORT_EVENT_RESET = 1u << 0,      /* the application must reset the port */
	PORT_EVENT_RECOVERING = 1u << 1, /* the driver recovers the port by itself */
	/* The recovery succeeded; rules and groups may be lost. */
	PORT_EVENT_RECOVERED = 1u << 2,
	/* The recovery failed, and the port cannot be used any more. */
	PORT_EVENT_RECOVERY_FAILED = 1u << 3,
	PORT_EVENT_REMOVED = 1u << 4, /* the device is removed, or will be in a moment */
};

struct port_events {
	uint16_t id;
	const char *device; /* DPDK's name of the device, by which the bus knows it */
	int fd;             /* an eventfd: readable while events are pending */
	_Atomic uint32_t pending;
};

/* Registers for the events of port id. */
bool port_events_begin(struct port_events *e, uint16_t id, const char *device, struct error *err);
void port_events_end(struct port_events *e);

/* Returns the pending events and clears them; 0: none. */
uint32_t port_events_take(struct port_events *e);

#endif
