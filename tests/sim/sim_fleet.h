/*
 * sim_fleet.h - two memcached servers of a few lines on one stack: what it accepts over IPv4 is the
 * first's, over IPv6 the second's. They fail as they are told.
 *
 * Shape:  what a key has is told by the key: its first letter, and a number behind it.
 *
 *           s  a value, or a miss for every fifth number; over 1 KiB for some
 *           b  a value of 100 KiB and more
 *
 *         The value begins with the server's number, so a key that another server is asked for is
 *         seen.
 *
 * Owner:  the caller's struct; its stack calls sim_fleet_opened, sim_fleet_gone and
 *         sim_fleet_turn.
 * Thread: one.
 * Errors: a request that is no retrieval of memcached's stops the process.
 * Bounds: FLEET_CONNS connections, FLEET_BYTES unread of each.
 */
#ifndef CLOCKOO_SIM_FLEET_H
#define CLOCKOO_SIM_FLEET_H

#include "stack/stack.h"

#define FLEET_SERVERS 2u
#define FLEET_CONNS   64u
#define FLEET_BYTES   65536u
#define FLEET_OUT     (128u << 20) /* untouched, it takes no memory */

enum fleet_mode {
	FLEET_OK,
	FLEET_SILENT, /* reads and answers nothing but probes */
	FLEET_DEAF,   /* reads nothing */
	FLEET_RESETS, /* when a key is asked */
	FLEET_CLOSES,
	FLEET_REFUSES, /* every connection, and resets those that are there */
	FLEET_REPEATS, /* each answer */
	FLEET_SAYS,    /* `says` to every request of a key */
};

struct fleet_server {
	enum fleet_mode mode;
	bool meta;
	const char *says;
	bool lists_former; /* a connection that is not there, of the front's address */
	uint32_t piece;    /* bytes sent a turn; 0: any number */
	uint32_t rests;    /* turns between two pieces */
	uint64_t asked, requests, opened;
};

struct fleet_conn {
	struct conn *conn; /* NULL: none in this slot */
	uint32_t server;
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

/* The value of a key on a server; returns its length, or -1 for none. */
int sim_fleet_value(uint32_t server, struct view key, char *value);
#define FLEET_VALUE_MAX (200u << 10)
uint64_t sim_fleet_cas(struct view key);
uint32_t sim_fleet_flags(struct view key);

#endif
