/*
 * front_stats.h - counts the requests to each server and its answers, on each core, and makes the
 * rows of `stats front`.
 *
 * Shape:  a core counts by server; a reader sums over all cores. Counts are since the start or
 *         the last reset, which each core obeys in its next turn. A round trip is counted once a
 *         request, from the turn that sends it to the turn that reads its end.
 *
 *         A server's load is the number of keys sent to it. Relative to the mean, it is divided
 *         by the server's share of all that clients have requested, some of which copies answer.
 *
 * Units:  round trips in us; relative loads in thousandths.
 * Owner:  struct front_stats is the caller's, zeros, and outlives the fronts; counts are a front's.
 * Thread: attach: before any core turns. look: one thread. _mt: any thread, with relaxed
 *         accesses. row: the core that answers. The others: the core that owns the counts.
 * Bounds: a percentile is at most a quarter too high (1 us below 5); from 2 s on it is reported
 *         as 2 s. A row reads one server on all cores; look reads all servers.
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

enum front_server_count {
	FRONT_SERVER_TAKEN,    /* pending keys: sent or not */
	FRONT_SERVER_FREED,    /* of those */
	FRONT_SERVER_KEYS,     /* sent */
	FRONT_SERVER_REQUESTS, /* in which keys were sent */
	FRONT_SERVER_FAILED,   /* keys that it did not answer, sent or not */
	FRONT_SERVER_OPENED,   /* connections that it has answered on */
	FRONT_SERVER_ENDED,    /* of those */
	FRONT_SERVER_ERR,      /* not opened, or reset because of an invalid reply */
	FRONT_SERVER_TIMEDOUT,
	FRONT_SERVER_EOF,
	FRONT_SERVER_SPARED,     /* keys that copies answered: FRONT_LOOK_WEIGHT a record */
	FRONT_SERVER_FILLS,      /* keys sent for copies */
	FRONT_SERVER_JOINED,     /* keys answered by another client's request */
	FRONT_SERVER_LOST,       /* writes whose outcome was unknown when they were answered */
	FRONT_SERVER_UNKNOWN,    /* version words of those whose keys had no copies any more */
	FRONT_SERVER_SETTLED,    /* of those: lists have shown that all is over */
	FRONT_SERVER_EJECTED,    /* times that the server has left */
	FRONT_SERVER_LEFT_AT_S,  /* Unix time of the last one; counted by one core */
	FRONT_SERVER_HANDED_IN,  /* keys that former servers handed over to it */
	FRONT_SERVER_HANDED_OUT, /* keys that it handed over */
	FRONT_SERVER_COUNTS,
};

/* One in FRONT_LOOK_SAMPLES of the sampled requests (admission.h) is recorded with its key's
 * server. */
#define FRONT_LOOK_SAMPLES 64u
#define FRONT_LOOK_WEIGHT  ((SAMPLER_MAX + 1) / 2 * FRONT_LOOK_SAMPLES) /* requests */

#define FRONT_TRIP_SHIFT 10u /* cells count units of 1.024 us */
#define FRONT_TRIP_CELLS 80u /* 4 of one unit, then quarters of powers of two up to 2.1 s */

struct front_server_counts {
	alignas(64) struct counter count[FRONT_SERVER_COUNTS];
	struct counter trips[FRONT_TRIP_CELLS];
};

/* Keys exchanged between fronts of one fleet, as in FRONT_COUNTERS; of one core. */
struct front_peer_counts {
	struct counter count[PEERS_COUNTS];
};

struct front_stats {
	uint32_t servers, cores; /* places of the fleet; cores attached */
	struct front_server_counts *counts[CORES_MAX];
	struct front_peer_counts *peers[CORES_MAX];
	_Atomic uint32_t resets;
	/* Results of the last look. */
	_Atomic uint32_t busiest, by_mean;
	_Atomic uint64_t sum[FRONT_SERVER_COUNTS];  /* over all servers */
	_Atomic uint32_t recent[FRONT_SERVERS_MAX]; /* each server's load since the look before, in
						       thousandths */
};

/* Attaches a core's counts, one for each server. */
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

/* Resets the counts, except those of open requests and connections. */
void front_counts_reset(struct front_server_counts *counts, struct front_peer_counts *peers,
			uint32_t servers);

/* Resets all counts: `stats reset`. */
void front_stats_reset_mt(struct front_stats *stats);

uint64_t front_stats_sum_mt(const struct front_stats *stats, uint32_t server,
			    enum front_server_count which);
uint64_t front_stats_peers_mt(const struct front_stats *stats, enum peers_count which);
/* Returns the round trip that this percentage of the requests does not exceed; 0: there was
 * none. */
uint64_t front_stats_trip_us_mt(const struct front_stats *stats, uint32_t server, uint32_t percent);

struct front_load {
	uint32_t busiest; /* index of the server with the most keys for its weight */
	uint32_t by_mean; /* its keys by those due to it, in thousandths; 0: no request */
	uint32_t live;    /* servers with all of their connections */
	uint64_t keys;    /* sent to all servers */
};

/* State of the thread that calls look; zeros at first. */
struct front_looker {
	uint32_t resets;
	uint64_t wanted, wanted_before; /* at the last look, and at the last reset */
	uint64_t keys[FRONT_SERVERS_MAX];
	uint64_t since[FRONT_SERVERS_MAX]; /* keys between the last two looks */
};

/* Computes each place's share of evenly requested keys, 0..1, by weight. The mean share stands for
 * a place of the gutter, and 0 for a vacant one. */
void front_stats_due(const struct front_control *c, double due[FRONT_SERVERS_MAX]);

/* Computes the load; called once a second. *load is that since the last look; the rows busiest
 * are those since the last reset. wanted: keys and writes that clients have requested so far.
 * links: connections of a core to a server. due: each place's share of the keys, 0..1. */
void front_stats_look(struct front_stats *stats, struct front_looker *looker, uint64_t wanted,
		      uint32_t links, const double *due, struct front_load *load);

/* Facts for the rows that counts do not contain. */
struct front_shown {
	const struct front_state *names;       /* the fleet in this turn */
	const struct front_exchange *exchange; /* has the reports */
	uint32_t links;
	bool copies;      /* there are copies at all */
	uint64_t copy_ns; /* maximum age of copies; 0: they are right, or removed */
	bool fence;       /* only of servers that are fenced */
};

/* Writes row n of `stats front`. False: there are no more. */
bool front_stats_row(struct front_stats *stats, struct front_shown *shown, uint32_t n,
		     struct serve_row *row);

extern const char *const front_stats_names[]; /* rows of a server */
extern const char *const front_fleet_names[]; /* rows after those */
extern const uint32_t front_stats_name_count, front_fleet_name_count;

#endif
