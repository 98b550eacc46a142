/*
 * wire_fleet.h - turns the core of a wire_run into a front, with a core that is all servers of
 * its fleet.
 *
 * The servers are connections to one core of the appliance, which has a store of its own and
 * shares the generator's thread. All of the front's work is done.
 *
 * Shape:  servers, copies and bypassed are set by the caller, the rest by wire_fleet_make.
 * Owner:  the caller's region.
 * Thread: the front belongs to its core's thread, the servers to the generator's.
 */
#ifndef CLOCKOO_WIRE_FLEET_H
#define CLOCKOO_WIRE_FLEET_H

#include "../bench_fixture.h"
#include "front/front.h"
#include "split_port.h"
#include "wire_port.h"

#define WIRE_SERVERS_MAX 16u

struct wire_fleet {
	uint32_t servers;        /* 0: no front */
	uint32_t copies;         /* that the front may keep */
	bool bypassed;           /* the core is no front: the servers run without requests */
	uint64_t requests, keys; /* of the servers at wire_fleet_begin */
	struct bench_fixture fixture;
	struct split_port split; /* side 0 is the generator's */
	struct front *front;
	struct front_exchange *exchange;
	struct front_stats stats;
};

/* Returns the bytes of a fleet; 0 without servers. */
size_t wire_fleet_bytes(const struct wire_fleet *fleet, uint32_t memory_mib);
/* Makes the fleet. own is the core at end 0 of the wire, made here with a front. */
void wire_fleet_make(struct wire_fleet *fleet, struct bench_fixture *own,
		     const struct bench_shared *shared, uint32_t memory_mib, struct region *region,
		     struct wire *wire);
/* Excludes the front's requests so far from the figures. */
void wire_fleet_begin(struct wire_fleet *fleet);
/* Prints a line of JSON with the front's requests to its servers since wire_fleet_begin. */
void wire_fleet_say(const struct wire_fleet *fleet);

#endif
