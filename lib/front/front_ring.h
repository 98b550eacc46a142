/*
 * front_ring.h - which server has a key: placement as nutcracker and libmemcached compute it.
 *
 * Shape:  an immutable ring of a fleet, of which some servers are live. A key goes to one live
 *         server.
 * Units:  weight: parts of the fleet's sum, 1..FRONT_WEIGHT_MAX.
 * Owner:  the caller: front_ring_bytes() at the alignment of a uint64_t; names are not kept.
 * Thread: one builds it; any number look up.
 * Errors: front_ring_build: false if no server is live, or no live one's weight is worth a point.
 * Bounds: FRONT_SERVERS_MAX servers; FRONT_POINTS_MAX points a server on average; a lookup: log2 of
 *         all points.
 * Source: nutcracker 0.5.0 (nc_ketama.c, nc_modula.c, nc_server.c), libmemcached 1.1.4 (hosts.cc,
 *         hash.cc); jump: memcached 1.6.45's proxy. tests/conform/run_placement asks the first two.
 */
#ifndef CLOCKOO_FRONT_RING_H
#define CLOCKOO_FRONT_RING_H

#include "front_hash.h"

#define FRONT_SERVERS_MAX     1024u
#define FRONT_WEIGHT_MAX      1000000u
#define FRONT_NAME_BYTES      76u /* with its end; nutcracker reads behind the end of longer ones */
#define FRONT_SKIP_BYTES      129u /* with its end: libmemcached's longest namespace */
#define FRONT_RING_BITS       10u
#define FRONT_POINTS_WEIGHTED 160u
#define FRONT_POINTS_EQUAL    100u
#define FRONT_POINTS_MAX      164u /* rounding gives a server four more at most */
#define FRONT_POINTS_COUNTED  3u   /* that may be read behind the last one */

enum front_distribution {
	FRONT_KETAMA,     /* weighted: nutcracker's ketama, libmemcached's KETAMA_WEIGHTED */
	FRONT_CONSISTENT, /* libmemcached's CONSISTENT without weights: points by the key's hash */
	FRONT_MODULA,
	FRONT_JUMP, /* the proxy's: XXH3, all weights equal */
};

/* Its name: as configured, else host, and ":port" if that is not 11211. */
struct front_server {
	char name[FRONT_NAME_BYTES];
	uint32_t weight;
};

struct front_fleet {
	enum front_distribution distribution;
	enum front_hash hash;
	char tag[2]; /* of a key {between} two characters only that is hashed; {0}: the key */
	char skip[FRONT_SKIP_BYTES]; /* what keys begin with and is not hashed: libmemcached's
				      * namespace; "": nothing */
	bool given_order; /* libmemcached's; else nutcracker's: shorter names first, then by bytes
			   */
	uint32_t nservers;
	const struct front_server *servers;
};

struct front_point {
	uint32_t value; /* the point; modula: the sum of the weights up to here */
	uint32_t server;
};

struct front_ring {
	enum front_distribution distribution;
	enum front_hash hash;
	char tag[2];
	char skip[FRONT_SKIP_BYTES];
	uint32_t skip_len;
	bool whole_keys;   /* points, and hashes of whole keys */
	uint32_t nservers; /* live or not */
	uint32_t npoints;
	/* Of values with these highest bits: the first point that is not below the least. */
	uint32_t from[(1u << FRONT_RING_BITS) + 1];
	struct front_point points[];
};

size_t front_ring_bytes(uint32_t nservers);

/* live[i] of server i; NULL: all are. */
bool front_ring_build(struct front_ring *ring, const struct front_fleet *fleet, const bool *live);

/* names[i] instead of index i from now on. */
void front_ring_rename(struct front_ring *ring, const uint16_t *names);

/* An index of front_fleet's servers, or its name. */
uint32_t front_ring_server(const struct front_ring *ring, struct view key);

/* gains[i]: keys may go to server i of *is that went to another one of *was. False is certain for
 * ketama and consistent; of the others every server gains. */
void front_ring_gains(const struct front_ring *was, const struct front_ring *is, bool *gains);

/* What each of the fleet's servers has of evenly hashed keys: 0..1. Of indexes. */
void front_ring_shares(const struct front_ring *ring, double *shares);

#endif
