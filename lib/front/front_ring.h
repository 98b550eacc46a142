/*
 * front_ring.h - places keys on servers as nutcracker and libmemcached do.
 *
 * Shape:  an immutable ring of a fleet with some live servers. A key belongs to one live server.
 * Units:  weight: parts of the fleet's sum, 1..FRONT_WEIGHT_MAX.
 * Owner:  the caller: front_ring_bytes() at the alignment of a uint64_t; names are not kept.
 * Thread: one thread builds it; any number look up.
 * Errors: front_ring_build: false if no server is live, or no live one's weight is worth a point.
 * Bounds: FRONT_SERVERS_MAX servers; FRONT_POINTS_MAX points a server on average; a lookup takes
 *         log2 of all points.
 * Source: nutcracker 0.5.0 (nc_ketama.c, nc_modula.c, nc_server.c), libmemcached 1.1.4 (hosts.cc,
 *         hash.cc); jump: memcached 1.6.45's proxy. tests/conform/run_placement compares with the
 *         first two.
 */
#ifndef CLOCKOO_FRONT_RING_H
#define CLOCKOO_FRONT_RING_H

#include "front_hash.h"

#define FRONT_SERVERS_MAX     1024u
#define FRONT_WEIGHT_MAX      1000000u
#define FRONT_NAME_BYTES      76u  /* with its end; nutcracker reads beyond it for longer ones */
#define FRONT_SKIP_BYTES      129u /* libmemcached's longest namespace, with its zero byte */
#define FRONT_RING_BITS       10u
#define FRONT_POINTS_WEIGHTED 160u
#define FRONT_POINTS_EQUAL    100u
#define FRONT_POINTS_MAX      164u /* rounding gives a server at most four more */
#define FRONT_POINTS_COUNTED  3u   /* points that may be read after the last one */

enum front_distribution {
	FRONT_KETAMA,     /* weighted: nutcracker's ketama, libmemcached's KETAMA_WEIGHTED */
	FRONT_CONSISTENT, /* libmemcached's CONSISTENT without weights: points by the key's hash */
	FRONT_MODULA,
	FRONT_JUMP, /* that of memcached's proxy: XXH3, all weights equal */
};

/* A server with its name: as configured, else the host, with ":port" if that is not 11211. */
struct front_server {
	char name[FRONT_NAME_BYTES];
	uint32_t weight;
};

struct front_fleet {
	enum front_distribution distribution;
	enum front_hash hash;
	char tag[2]; /* only the part of a key {between} these is hashed; {0}: all of it */
	char skip[FRONT_SKIP_BYTES]; /* prefix of keys that is not hashed, libmemcached's namespace;
					"": none */
	bool given_order; /* libmemcached's order; else nutcracker's: shorter names first, then by
			     bytes */
	uint32_t nservers;
	const struct front_server *servers;
};

struct front_point {
	uint32_t value; /* the point; with modula the sum of weights up to here */
	uint32_t server;
};

struct front_ring {
	enum front_distribution distribution;
	enum front_hash hash;
	char tag[2];
	char skip[FRONT_SKIP_BYTES];
	uint32_t skip_len;
	bool whole_keys;   /* it has points, and hashes whole keys */
	uint32_t nservers; /* live or not */
	uint32_t npoints;
	/* For values with these highest bits: the first point not below the least of them. */
	uint32_t from[(1u << FRONT_RING_BITS) + 1];
	struct front_point points[];
};

size_t front_ring_bytes(uint32_t nservers);

/* Builds a ring. live[i] is for server i; NULL: all are live. */
bool front_ring_build(struct front_ring *ring, const struct front_fleet *fleet, const bool *live);

/* Replaces index i by names[i] in the ring. */
void front_ring_rename(struct front_ring *ring, const uint16_t *names);

/* Returns the key's server: an index of front_fleet's servers, or its name. */
uint32_t front_ring_server(const struct front_ring *ring, struct view key);

/* Sets gains[i] if keys may go to server i of *is that went to another server in *was. False is
 * certain for ketama and consistent; with the others every server gains. */
void front_ring_gains(const struct front_ring *was, const struct front_ring *is, bool *gains);

/* Computes each server's share of evenly hashed keys, 0..1, by index. */
void front_ring_shares(const struct front_ring *ring, double *shares);

#endif
