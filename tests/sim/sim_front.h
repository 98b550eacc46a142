/*
 * sim_front.h - a fleet for a front in memory.
 *
 * Owner:  sim_front_fleet_free gives it back.
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_FRONT_H
#define CLOCKOO_SIM_FRONT_H

#include "front/front.h"
#include "front/front_config.h"

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

/* For one front: copies of as many keys as that, of all that are asked for (FRONT_ITEMS_MEMORY), or
 * of none (0). */
struct front_shared sim_front_shared(uint32_t items);
void sim_front_shared_free(struct front_shared *shared);

#endif
