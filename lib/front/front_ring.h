/*
 * front_ring.h - places keys on servers as nutcracker and libmemcached do.
 *
 * Shape:  a ring of a fleet, of which some servers are live; it does not change. Each key belongs
 *         to one live server.
 * Units:  weight: a server's part of the sum of weights, 1..FRONT_WEIGHT_MAX.
 * Owner:  the caller: front_ring_bytes(), aligned to a uint64_t. The ring keeps no names.
 * Thread: one thread builds it; any number look up.
 * Errors: front_ring_build: false if no server is live, or the weights of all live ones are too
 *         small for a point.
 * Bounds: FRONT_SERVERS_MAX servers; FRONT_POINTS_MAX points for a server on average. A lookup
 *         takes log2 of the number of points.
 * Source: nutcracker 0.5.0 (nc_ketama.c, nc_modula.c, nc_server.c), libmemcached 1.1.4 (hosts.cc,
 *         hash.cc); jump: memcached 1.6.45's proxy. tests/conform/run_placement compares with the
 *         first two.
 */
#ifndef CLOCKOO_FRONT_RING_H
#define CLOCKOO_FRONT_RING_H

#include "front_hash.h"

#define FRONT_SERVERS_MAX 1024u
#define FRONT_WEIGHT_MAX  1000000u
/* With its zero byte; nutcracker reads beyond the end of longer names. */
#define FRONT_NAME_BYTES      76u
#define FRONT_SKIP_BYTES      129u /* libmemcached's longest namespace, with its zero byte */
#define FRONT_RING_BITS       10u
#define FRONT_POINTS_WEIGHTED 160u
#define FRONT_POINTS_EQUAL    100u
#define FRONT_POINTS_MAX      164u /* on average; rounding gives a server at most four more */
#define FRONT_POINTS_COUNTED  3u   /* a lookup may read this many points behind the last one */

enum front_distribution {
	FRONT_KETAMA, /* weighted: nutcracker's ketama, libmemcached's KETAMA_WEIGHTED */
	/* Libmemcached's CONSISTENT, which ignores weights: points by the fleet's hash of keys. */
	FRONT_CONSISTENT,
	FRONT_MODULA,
	/* Jump hashing by XXH3, as memcached's proxy has it; all weights must be equal. */
	FRONT_JUMP,
};

/* A server. Its name is the configured one; without one, the host, with ":port" if that is not
 * 11211. */
struct front_server {
	char name[FRONT_NAME_BYTES];
	uint32_t weight;
};

struct front_fleet {
	enum front_distribution distribution;
	enum front_hash hash;
	/* only the part of a key between these two is hashed, {as here}; {0}: the whole key */
	char tag[2];
	/* A prefix of keys that is not hashed: libmemcached's namespace. "": none. */
	char skip[FRONT_SKIP_BYTES];
	/* True: servers in the given order, as libmemcached. False: shorter names first, then by
	 * bytes, as nutcracker. */
	bool given_order;
	uint32_t nservers;
	const struct front_server *servers;
};

struct front_point {
	uint32_t value; /* the point; with modula the sum of the weights up to this server */
	uint32_t server;
};

struct front_ring {
	enum front_distribution distribution;
	enum front_hash hash;
	char tag[2];
	char skip[FRONT_SKIP_BYTES];
	uint32_t skip_len;
	bool whole_keys;   /* it has points, and hashes keys as a whole */
	uint32_t nservers; /* of the fleet, live or not */
	uint32_t npoints;
	/* Entry h is for the values whose highest bits are h: the first point that is not below the
	 * least of these values. */
	uint32_t from[(1u << FRONT_RING_BITS) + 1];
	struct front_point points[];
};

size_t front_ring_bytes(uint32_t nservers);

/* Builds a ring. live[i]: server i is live; NULL: all are. */
bool front_ring_build(struct front_ring *ring, const struct front_fleet *fleet, const bool *live);

/* Replaces each index i in the ring by names[i]. */
void front_ring_rename(struct front_ring *ring, const uint16_t *names);

/* Returns the server of a key: its index in front_fleet.servers or, after front_ring_rename, its
 * name. */
uint32_t front_ring_server(const struct front_ring *ring, struct view key);

/* Sets gains[i] if server i of *is may have keys that another server has in *was. If not set,
 * server i gains no key; that is exact for ketama and consistent. With the other distributions all
 * are set. */
void front_ring_gains(const struct front_ring *was, const struct front_ring *is, bool *gains);

/* Computes the share of keys, 0..1, that each server has if keys are hashed evenly. By index. */
void front_ring_shares(const struct front_ring *ring, double *shares);

#endif
