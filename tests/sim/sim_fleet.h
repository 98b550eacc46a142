/*
 * sim_fleet.h - two minimal memcached servers on one stack: connections over IPv4 belong to the
 * first, connections over IPv6 to the second. They fail as the test chooses.
 *
 * Shape:  a key determines its value by its first letter and the number after that.
 *
 *           s  a value, or a miss for every fifth number; over 1 KiB for some
 *           m  a value of 20 to 60 KB
 *           b  a value of 100 KiB and more
 *
 *         The value begins with the server's number, so that an answer of the wrong server is
 *         detected.
 *
 * Owner:  the caller's struct; its stack calls sim_fleet_opened, sim_fleet_gone and
 *         sim_fleet_turn.
 * Thread: one.
 * Errors: a request that is not one of memcached's retrievals stops the process.
 * Bounds: FLEET_CONNS connections, FLEET_BYTES unread of each.
 */
#ifndef CLOCKOO_SIM_FLEET_H
#define CLOCKOO_SIM_FLEET_H

#include "stack/stack.h"

#define FLEET_SERVERS 2u
#define FLEET_CONNS   64u
#define FLEET_BYTES   65536u
#define FLEET_OUT     (128u << 20) /* untouched memory costs nothing */

enum fleet_mode {
	FLEET_OK,
	FLEET_SILENT, /* reads requests, and answers only probes */
	FLEET_DEAF,   /* reads nothing */
	FLEET_RESETS, /* resets the connection of a request */
	FLEET_CLOSES,
	FLEET_REFUSES, /* refuses every connection, and resets open ones */
	FLEET_REPEATS, /* sends each answer twice */
	FLEET_SAYS,    /* answers every request with a key by `says` */
};

struct fleet_server {
	enum fleet_mode mode;
	bool meta;
	const char *says;
	/* A connection must begin with these bytes, a set of text authentication; NULL: any may. */
	const char *login;
	uint32_t logins; /* connections that did so */
	/* Lists a connection that does not exist, from the front's address. */
	bool lists_former;
	uint32_t piece; /* bytes sent a turn; 0: unlimited */
	uint32_t rests; /* turns between two pieces */
	uint64_t asked, requests, opened;
};

struct fleet_conn {
	struct conn *conn; /* NULL: the slot has no connection */
	uint32_t server;
	bool logged_in;
	uint32_t in_len;
	char in[FLEET_BYTES];
	uint32_t out_at, out_len, rested;
	char *out;
};

struct sim_fleet {
	struct stack *stack;
	struct fleet_server server[FLEET_SERVERS];
	struct fleet_conn conn[FLEET_CONNS];
};

void sim_fleet_create(struct sim_fleet *fleet, struct stack *stack);
void sim_fleet_destroy(struct sim_fleet *fleet);
void sim_fleet_opened(struct sim_fleet *fleet, struct conn *c);
void sim_fleet_gone(struct sim_fleet *fleet, const struct conn *c);
void sim_fleet_turn(struct sim_fleet *fleet);

/* Writes the server's value of a key; returns its length, or -1 for a miss. */
int sim_fleet_value(uint32_t server, struct view key, char *value);
#define FLEET_VALUE_MAX (200u << 10)
uint64_t sim_fleet_cas(struct view key);
uint32_t sim_fleet_flags(struct view key);

#endif
