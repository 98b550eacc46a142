/*
 * sim_client.h - the clients of a serving core (sim_service.h), each with one connection at a time,
 * and their waiting times.
 *
 * Shape:  a test's own client struct has a struct sim_client as a member, and is found from it with
 *         container_of.
 * Units:  ns on the virtual clock.
 * Owner:  the caller's structs; a client does not move until the service is destroyed.
 * Thread: one.
 * Bounds: SIM_CLIENTS_MAX clients, SIM_CLIENT_SLOTS connections, SIM_WAITS_MAX waits; more stop the
 *         process.
 */
#ifndef CLOCKOO_SIM_CLIENT_H
#define CLOCKOO_SIM_CLIENT_H

#include "base/list.h"
#include "sim_service.h"

#define SIM_CLIENTS_MAX  1024u
#define SIM_CLIENT_SLOTS 1024u
#define SIM_WAITS_MAX    200000u

struct sim_client {
	struct conn *conn; /* NULL: not connected */
	bool open;         /* the handshake is complete */
	bool gone;         /* the core has ended the connection */
};

struct sim_clients_user {
	void *arg;
	/* Called in each turn for each open client, in the order of their first connections. */
	void (*turn)(void *arg, struct sim_client *cl);
	void (*opened)(void *arg, struct sim_client *cl); /* may be NULL */
	void (*gone)(void *arg, struct sim_client *cl);   /* may be NULL */
};

struct sim_clients {
	struct sim_service *service;
	struct sim_clients_user user;
	struct sim_client *all[SIM_CLIENTS_MAX], *of_slot[SIM_CLIENT_SLOTS];
	uint32_t count;
};

/* Creates the clients and the service. */
void sim_clients_create(struct sim_clients *cs, struct sim_service *s,
			const struct sim_service_options *options,
			const struct sim_clients_user *user);
/* Opens the client's first connection, or the next one after the core has ended it. */
void sim_client_connect(struct sim_clients *cs, struct sim_client *cl);
void sim_client_connect6(struct sim_clients *cs, struct sim_client *cl); /* over IPv6 */

struct sim_waits {
	uint32_t count;
	uint64_t ns[SIM_WAITS_MAX];
};

void sim_waits_add(struct sim_waits *w, uint64_t ns);
/* Returns the given percentile of the waits, which it sorts. */
uint64_t sim_waits_percentile(struct sim_waits *w, uint32_t percent);

#endif
