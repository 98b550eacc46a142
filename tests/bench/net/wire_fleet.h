/*
 * wire_fleet.h - what makes the core of a wire_run a front: a fleet, and a core that is all of its
 * servers.
 *
 * The servers are connections to one core of the appliance, which has a store of its own and shares
 * the generator's thread; of the front's work nothing is left out.
 *
 * Shape:  servers, copies and bypassed are set by the caller, the rest by wire_fleet_make.
 * Owner:  the caller's region.
 * Thread: the front's half is its core's, the servers' the generator's.
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
	uint32_t copies;         /* that the front keeps */
	bool bypassed;           /* the core is no front: the servers turn, and are asked nothing */
	uint64_t requests, keys; /* of the servers, that wire_fleet_say() does not count */
	struct bench_fixture fixture;
	struct split_port split; /* side 0: the generator's */
	struct front *front;
	struct front_exchange *exchange;
	struct front_stats stats;
};

/* 0 without servers. */
size_t wire_fleet_bytes(const struct wire_fleet *fleet, uint32_t memory_mib);
/* own: the core at end 0 of the wire, made here with a front. */
void wire_fleet_make(struct wire_fleet *fleet, struct bench_fixture *own,
		     const struct bench_shared *shared, uint32_t memory_mib, struct region *region,
		     struct wire *wire);
/* What the front has asked of its servers so far is not told. */
void wire_fleet_begin(struct wire_fleet *fleet);
/* A line of JSON: what the front asked of its servers since then. */
void wire_fleet_say(const struct wire_fleet *fleet);

#endif
