/*
 * sim_client.h - the clients of a core that serves (sim_service.h), each with one connection at a
 * time, and how long they waited for answers.
 *
 * Shape:  a test's own struct of a client has a struct sim_client as member, and gets from that to
 *         itself with container_of.
 * Units:  ns on the virtual clock.
 * Owner:  the caller's structs; a client stays where it is until the service is destroyed.
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
	struct conn *conn; /* NULL: it has none */
	bool open;         /* the handshake is complete */
	bool gone;         /* the core has ended the connection */
};

struct sim_clients_user {
	void *arg;
	/* Each turn of the clients, for each that is open, in the order of their first connections.
	 */
	void (*turn)(void *arg, struct sim_client *cl);
	void (*opened)(void *arg, struct sim_client *cl); /* these may be NULL */
	void (*gone)(void *arg, struct sim_client *cl);
};

struct sim_clients {
	struct sim_service *service;
	struct sim_clients_user user;
	struct sim_client *all[SIM_CLIENTS_MAX], *of_slot[SIM_CLIENT_SLOTS];
	uint32_t count;
};

/* Creates the service, too. */
void sim_clients_create(struct sim_clients *cs, struct sim_service *s,
			const struct sim_service_options *options,
			const struct sim_clients_user *user);
/* Opens a connection for a client: its first, or the next after one that has gone. */
void sim_client_connect(struct sim_clients *cs, struct sim_client *cl);

struct sim_waits {
	uint32_t count;
	uint64_t ns[SIM_WAITS_MAX];
};

void sim_waits_add(struct sim_waits *w, uint64_t ns);
/* The one that so many of a hundred do not exceed. Sorts them. */
uint64_t sim_waits_percentile(struct sim_waits *w, uint32_t percent);

#endif
