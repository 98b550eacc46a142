/*
 * front_stats.h - counts each core's requests to each server, and makes the rows of `stats front`.
 *
 * Shape:  a core counts for each server; a reader adds up the counts of all cores. They are counts
 *         since the start or the last reset, which a core obeys in its next turn. A round trip
 *         lasts from the turn that sends a request to the turn that reads the end of its answer; it
 *         is counted once a request.
 *
 * A server's load is the number of keys sent to it. To compare it with the mean, it is divided by
 * the server's share of all keys that clients have requested. Copies answer some of these.
 *
 * Units:  round trips in us; relative loads in thousandths.
 * Owner:  struct front_stats is the caller's, zeros at first, and outlives the fronts. Counts
 *         belong to a front.
 * Thread: front_stats_attach: before any core turns. front_stats_look: one thread. _mt: any thread,
 *         with relaxed accesses. front_stats_row: the core that answers. The others: the core that
 *         owns the counts.
 * Bounds: a percentile is at most a quarter too high, 1 us if it is below 5; above 2 s it is
 *         reported as 2 s. A row reads one server's counts of all cores; front_stats_look reads
 *         those of all servers.
 * Source: names of rows are nutcracker 0.5.0's where it has them.
 *
 * Invariants (tests/sim/test_front):
 * - Keys are pending until they are answered, fail, or have no client left: queue is 0 in the
 *   end.
 */
#ifndef CLOCKOO_FRONT_STATS_H
#define CLOCKOO_FRONT_STATS_H

#include "copies/peers.h"
#include "front_control.h"
#include "front_fleet.h"
#include "copies/admission.h"
#include "serve/serve_rows.h"

#include "base/counter.h"

/* Counts for a server; most are of keys. */
enum front_server_count {
	FRONT_SERVER_TAKEN,    /* requests for one key that began, sent or not */
	FRONT_SERVER_FREED,    /* of those, ended */
	FRONT_SERVER_KEYS,     /* keys sent */
	FRONT_SERVER_REQUESTS, /* requests in which keys were sent */
	FRONT_SERVER_FAILED,   /* keys, sent or not, that it did not answer */
	FRONT_SERVER_OPENED,   /* connections on which it has answered */
	FRONT_SERVER_ENDED,    /* of those, ended */
	FRONT_SERVER_ERR,      /* connections that were not opened, or reset for an invalid reply */
	FRONT_SERVER_TIMEDOUT,
	FRONT_SERVER_EOF,
	/* Keys that copies answered; a sample counts as FRONT_LOOK_WEIGHT keys. */
	FRONT_SERVER_SPARED,
	FRONT_SERVER_FILLS,  /* keys sent to make copies */
	FRONT_SERVER_JOINED, /* keys answered by another client's request */
	FRONT_SERVER_LOST,   /* writes that were answered before their outcome was known */
	/* Version words whose keys have no copies since a write's outcome became unknown. */
	FRONT_SERVER_UNKNOWN,
	/* version words that are settled: lists of connections have shown that the write is over */
	FRONT_SERVER_SETTLED,
	FRONT_SERVER_EJECTED,    /* times that the server has left the fleet */
	FRONT_SERVER_LEFT_AT_S,  /* Unix time of the last one; one core has it */
	FRONT_SERVER_HANDED_IN,  /* keys that former servers handed over to it */
	FRONT_SERVER_HANDED_OUT, /* keys that it handed over */
	FRONT_SERVER_COUNTS,
};

/* One in FRONT_LOOK_SAMPLES of the sampled requests (admission.h) is counted for its key's
 * server. */
#define FRONT_LOOK_SAMPLES 64u
/* Requests that one sample stands for. */
#define FRONT_LOOK_WEIGHT ((SAMPLER_MAX + 1) / 2 * FRONT_LOOK_SAMPLES)

#define FRONT_TRIP_SHIFT 10u /* a cell counts in units of 1.024 us */
#define FRONT_TRIP_CELLS 80u /* 4 of one unit each, then 4 for each power of two, up to 2.1 s */

struct front_server_counts {
	alignas(64) struct counter count[FRONT_SERVER_COUNTS];
	struct counter trips[FRONT_TRIP_CELLS];
};

/* A core's counts of keys exchanged between fronts of a fleet. */
struct front_peer_counts {
	struct counter count[PEERS_COUNTS];
};

struct front_stats {
	uint32_t servers, cores; /* places of the fleet; cores that are attached */
	struct front_server_counts *counts[CORES_MAX];
	struct front_peer_counts *peers[CORES_MAX];
	_Atomic uint32_t resets;
	/* Results of the last front_stats_look. */
	_Atomic uint32_t busiest; /* as in front_load, since the last reset */
	_Atomic uint32_t by_mean;
	_Atomic uint64_t sum[FRONT_SERVER_COUNTS]; /* totals of all servers */
	/* By server: its load between the last two calls, in thousandths of its share. */
	_Atomic uint32_t recent[FRONT_SERVERS_MAX];
};

/* Attaches a core's counts: one struct for each server. */
void front_stats_attach(struct front_stats *stats, struct front_server_counts *counts,
			struct front_peer_counts *peers, uint32_t servers);

static inline void
front_server_add(struct front_server_counts *counts, enum front_server_count which)
{
	counter_add(&counts->count[which], 1);
}

static inline void
front_trip_add(struct front_server_counts *counts, uint64_t ns)
{
	const uint64_t n = ns >> FRONT_TRIP_SHIFT;
	uint64_t cell = n;

	if (n >= 4) {
		const uint32_t power = 63u - (uint32_t)__builtin_clzll(n);

		cell = 4 * (power - 1) + (n >> (power - 2) & 3);
	}
	counter_add(&counts->trips[cell < FRONT_TRIP_CELLS ? cell : FRONT_TRIP_CELLS - 1], 1);
}

/* Resets the counts, except for those of requests and connections that are open. */
void front_counts_reset(struct front_server_counts *counts, struct front_peer_counts *peers,
			uint32_t servers);

/* Makes all cores reset their counts (`stats reset`). */
void front_stats_reset_mt(struct front_stats *stats);

uint64_t front_stats_sum_mt(const struct front_stats *stats, uint32_t server,
			    enum front_server_count which);
uint64_t front_stats_peers_mt(const struct front_stats *stats, enum peers_count which);
/* Returns the round trip that `percent` % of the requests did not exceed; 0: there was no
 * request. */
uint64_t front_stats_trip_us_mt(const struct front_stats *stats, uint32_t server, uint32_t percent);

struct front_load {
	uint32_t busiest; /* index of the server with the most keys for its share */
	/* keys of that server in thousandths of the keys due to it; 0: there was no request */
	uint32_t by_mean;
	uint32_t live; /* servers to which all connections are open */
	uint64_t keys; /* sent to all servers */
};

/* State of the thread that calls front_stats_look; zeros at first. */
struct front_looker {
	uint32_t resets;
	/* Keys and writes requested by clients, at the last call and at the last reset. */
	uint64_t wanted, wanted_before;
	uint64_t keys[FRONT_SERVERS_MAX];  /* by server: keys sent, at the last call */
	uint64_t since[FRONT_SERVERS_MAX]; /* by server: keys sent between the last two calls */
};

/* Computes each place's share of the keys, 0..1, by weight, if keys are requested evenly. A place
 * of the gutter gets the mean share, a vacant one 0. */
void front_stats_due(const struct front_control *c, double due[FRONT_SERVERS_MAX]);

/* Computes the load. Called once a second. *load is the load since the last call; the rows of the
 * busiest server are since the last reset. wanted: keys and writes that clients have requested so
 * far. links: connections of a core to a server. due: each place's share of the keys, 0..1. */
void front_stats_look(struct front_stats *stats, struct front_looker *looker, uint64_t wanted,
		      uint32_t links, const double *due, struct front_load *load);

/* Facts for the rows that are not in the counts. */
struct front_shown {
	const struct front_state *names;       /* the fleet's state in this turn */
	const struct front_exchange *exchange; /* has the reports */
	uint32_t links;                        /* connections of a core to a server */
	bool copies;                           /* the front keeps copies */
	/* The age limit of copies; 0: they have none, as they end with each write. */
	uint64_t copy_ns;
	bool fence; /* copies are kept only of servers that are fenced */
};

/* Writes row n of `stats front`. False: there is no such row. */
bool front_stats_row(struct front_stats *stats, struct front_shown *shown, uint32_t n,
		     struct serve_row *row);

extern const char *const front_stats_names[]; /* the rows of each server */
extern const char *const front_fleet_names[]; /* the rows behind those of the servers */
extern const uint32_t front_stats_name_count, front_fleet_name_count;

#endif
