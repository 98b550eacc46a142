/*
 * sim_front.h - a fleet for a front in memory, and the stations (fronts, servers, clients) of a
 * hub.
 *
 * Owner:  sim_front_fleet_free frees the fleet. sim_cores_destroy frees a station, and
 *         mem_port_destroy its port.
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_FRONT_H
#define CLOCKOO_SIM_FRONT_H

#include "front/front.h"
#include "front/front_config.h"
#include "sim_core.h"
#include "sim_service.h"

/* Creates a fleet of servers with equal weight; addresses[i] belongs to servers[i]. */
struct front_exchange *sim_front_fleet(const struct front_server *servers,
				       const struct front_address *addresses, uint32_t count);
/* Creates a fleet for a front of several cores. */
struct front_exchange *sim_front_fleet_of_cores(const struct front_server *servers,
						const struct front_address *addresses,
						uint32_t count, uint32_t cores);
void sim_front_fleet_free(struct front_exchange *fleet);
/* Changes the address of a server from the next turn on. */
void sim_front_move(struct front_exchange *fleet, uint32_t server,
		    const struct front_address *address);
/* Makes connections that are opened later begin with this login. */
void sim_front_login(struct front_exchange *fleet, const char *line);
/* Returns the server of a key. */
uint32_t sim_front_server(struct front_exchange *fleet, struct view key);

/* Gives the service's core and its clients' stack an IPv6 address each. */
void sim_front_two_addresses(struct sim_service_options *o);
/* Creates a front on the core of the service, with two servers on its clients' stack: "one" over
 * IPv4, "two" over IPv6. The caller sets conns_max, the times and answer_bytes_max of the settings,
 * and frees *memory and *servers (sim_front_fleet_free). */
struct front *sim_front_two(const struct sim_service *service, struct front_settings settings,
			    struct front_stats *stats, struct front_exchange **servers,
			    struct region *memory);

struct sim_station {
	uint32_t number;       /* its number on the hub, which determines MAC and address */
	uint32_t frames, caps; /* of its port */
	uint32_t links;        /* connections that it may open, pipes included */
	bool pipes;            /* some are pipes (conn_pipe.h) */
	size_t memory_bytes;
	uint64_t seed;
};

static inline uint32_t
sim_station_ip(uint32_t number)
{
	return SIM_IP + number;
}
/* Creates a whole core behind a new port *port. */
struct sim_cores *sim_station_create(const struct sim_station *station, struct mem_port **port);

/* Creates the shared state of one front. items: how many keys it copies; FRONT_ITEMS_MEMORY: all
 * that are requested; 0: none. */
struct copies_shared sim_front_shared(uint32_t items);
void sim_front_shared_free(struct copies_shared *shared);

/* A front on the core of a service. The clients' stack is also its only server. */
struct sim_one_front {
	struct front *front;
	struct front_exchange *fleet;
	struct copies_shared shared;
	struct region memory;
};

/* Creates the front, and fills in server, fleet and shared state of the settings. copies: as in
 * sim_front_shared(). */
void sim_one_front_create(struct sim_one_front *f, struct sim_service *s,
			  const struct front_settings *settings, uint32_t copies);
/* Frees the front. Called after its service is freed. */
void sim_one_front_destroy(struct sim_one_front *f);

/* Lists the stations first, first + 1 and so on as servers, which are named "a", "b" and so on. */
void sim_station_servers(struct front_servers *s, uint32_t first, uint32_t count);

#endif
