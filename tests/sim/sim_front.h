/*
 * sim_front.h - a fleet for a front in memory, and the stations of a hub that fronts, servers and
 * clients are.
 *
 * Owner:  sim_front_fleet_free gives it back; a station is freed by sim_cores_destroy, its port by
 *         mem_port_destroy.
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_FRONT_H
#define CLOCKOO_SIM_FRONT_H

#include "front/front.h"
#include "front/front_config.h"
#include "sim_core.h"

/* Servers of equal weight by their names; addresses[i] of server i. */
struct front_exchange *sim_front_fleet(const struct front_server *servers,
				       const struct front_address *addresses, uint32_t count);
/* The same for a front of several cores. */
struct front_exchange *sim_front_fleet_of_cores(const struct front_server *servers,
						const struct front_address *addresses,
						uint32_t count, uint32_t cores);
void sim_front_fleet_free(struct front_exchange *fleet);
/* From the next turn on server i is at this address. */
void sim_front_move(struct front_exchange *fleet, uint32_t server,
		    const struct front_address *address);
/* The server of a key. */
uint32_t sim_front_server(struct front_exchange *fleet, struct view key);

struct sim_station {
	uint32_t number;       /* of all on the hub: its MAC and address follow */
	uint32_t frames, caps; /* of its port */
	uint32_t links;        /* connections that it may open itself */
	size_t memory_bytes;
	uint64_t seed;
};

static inline uint32_t
sim_station_ip(uint32_t number)
{
	return SIM_IP + number;
}
/* A whole core behind *port, which is made. */
struct sim_cores *sim_station_create(const struct sim_station *station, struct mem_port **port);

/* For one front: copies of as many keys as that, of all that are asked for (FRONT_ITEMS_MEMORY), or
 * of none (0). */
struct front_shared sim_front_shared(uint32_t items);
void sim_front_shared_free(struct front_shared *shared);

#endif
