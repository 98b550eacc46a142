/*
 * front_stats.h - what each server was asked and how it answered: counts of each core, and the rows
 * of `stats front`.
 *
 * Shape:  a core counts by server; who asks adds up those of all cores. Counts are since the start
 *         or the last reset, which each core obeys in its next turn. A round trip is counted once a
 *         request, from the turn that sends it to the turn that reads its end.
 *
 *         A server's load is the keys that were sent to it; by the mean: by its part of all that
 *         clients have asked for, copies answer some of that.
 *
 * Units:  us of round trips; thousandths of loads by the mean.
 * Owner:  struct front_stats is the caller's, zeros, and outlives the fronts; counts are a front's.
 * Thread: attach: before any core turns. look: one thread. _mt: any; relaxed. row: the core that is
 *         asked. The others: the core whose counts they are.
 * Bounds: a percentile is at most a quarter too high (1 us below 5); from 2 s on it is told as 2 s.
 *         A row looks at one server on all cores; look at all of them.
 * Source: names of rows are nutcracker 0.5.0's where it has them.
 *
 * Invariants (tests/sim/test_front):
 * - Keys wait until they are answered, fail, or nobody waits for them: queue is 0 in the end.
 */
#ifndef CLOCKOO_FRONT_STATS_H
#define CLOCKOO_FRONT_STATS_H

#include "front_fleet.h"
#include "front_slots.h"
#include "front_top.h"
#include "serve/serve_await.h"

#include "base/counter.h"

enum front_server_count {
	FRONT_SERVER_TAKEN,    /* keys that wait for it: sent or not */
	FRONT_SERVER_FREED,    /* of them */
	FRONT_SERVER_KEYS,     /* sent */
	FRONT_SERVER_REQUESTS, /* they were sent in */
	FRONT_SERVER_FAILED,   /* keys that it did not answer, sent or not */
	FRONT_SERVER_OPENED,   /* connections that it has answered on */
	FRONT_SERVER_ENDED,    /* of them */
	FRONT_SERVER_ERR,      /* not opened, or reset: nonsense came */
	FRONT_SERVER_TIMEDOUT,
	FRONT_SERVER_EOF,
	FRONT_SERVER_SPARED,  /* keys that copies answered: FRONT_LOOK_WEIGHT for each looked at */
	FRONT_SERVER_FILLS,   /* keys sent to be kept as copies */
	FRONT_SERVER_JOINED,  /* keys that another client's request answered */
	FRONT_SERVER_LOST,    /* writes whose fate was not known when they were told */
	FRONT_SERVER_UNKNOWN, /* of their cells, those of which nothing was kept any more */
	FRONT_SERVER_SETTLED, /* of them: lists have told that all is over */
	FRONT_SERVER_EJECTED, /* times that it has left */
	FRONT_SERVER_LEFT_AT_S, /* Unix time of the last one; of one core */
	FRONT_SERVER_COUNTS,
};

/* Of the requests that are sampled (front_slots.h) one in FRONT_LOOK_SAMPLES is looked at for its
 * key's server and name. */
#define FRONT_LOOK_SAMPLES 64u
#define FRONT_LOOK_WEIGHT  ((FRONT_SAMPLE_MAX + 1) / 2 * FRONT_LOOK_SAMPLES) /* requests */

#define FRONT_TRIP_SHIFT 10u /* cells count in 1.024 us: */
#define FRONT_TRIP_CELLS 80u /* 4 of one, then quarters of powers of two up to 2.1 s */

struct front_server_counts {
	alignas(64) struct counter count[FRONT_SERVER_COUNTS];
	struct counter trips[FRONT_TRIP_CELLS];
};

/* Keys that fronts of one fleet tell each other, as FRONT_COUNTERS has them; of one core. */
enum front_peer_count {
	FRONT_PEER_TOLD,
	FRONT_PEER_LOST,
	FRONT_PEER_HEARD,
	FRONT_PEER_REFUSED,
	FRONT_PEER_COUNTS,
};

struct front_peer_counts {
	struct counter count[FRONT_PEER_COUNTS];
};

struct front_stats {
	uint32_t servers, cores; /* attached; places of the fleet */
	struct front_server_counts *counts[CORES_MAX];
	struct front_peer_counts *peers[CORES_MAX];
	_Atomic uint32_t resets;
	/* What the last look has found. */
	_Atomic uint32_t busiest, by_mean;
	_Atomic uint64_t sum[FRONT_SERVER_COUNTS]; /* of all servers */
	struct front_top top;
};

/* counts: one for each server. */
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

/* Begin again, but for what is open. */
void front_counts_reset(struct front_server_counts *counts, struct front_peer_counts *peers,
			uint32_t servers);

/* `stats reset` */
void front_stats_reset_mt(struct front_stats *stats);

uint64_t front_stats_sum_mt(const struct front_stats *stats, uint32_t server,
			    enum front_server_count which);
uint64_t front_stats_peers_mt(const struct front_stats *stats, enum front_peer_count which);
/* Of so many percent of the requests; 0: there was none. */
uint64_t front_stats_trip_us_mt(const struct front_stats *stats, uint32_t server, uint32_t percent);

struct front_load {
	uint32_t busiest; /* server */
	uint32_t by_mean; /* thousandths; 0: nothing was asked for */
	uint32_t live;    /* servers with all of their connections */
	uint64_t keys;    /* sent to all servers */
};

/* What the one who looks keeps; zeros. */
struct front_looker {
	uint32_t resets;
	uint64_t wanted, wanted_before; /* at the last look, at the last reset */
	uint64_t keys[FRONT_SERVERS_MAX];
};

/* Once a second: *load is what came since the last look; the rows busiest are what came since the
 * last reset. wanted: keys and writes that clients have asked for so far. links: connections of a
 * core to a server. servers: without the gutter's; the mean is theirs. */
void front_stats_look(struct front_stats *stats, struct front_looker *looker, uint64_t wanted,
		      uint32_t links, uint32_t servers, struct front_load *load);

/* Of what is shown, what counts do not tell. */
struct front_shown {
	const struct front_state *names;       /* the fleet, in this turn */
	const struct front_exchange *exchange; /* its reports */
	uint32_t links;
	bool copies;               /* are kept at all */
	uint64_t copy_ns;          /* how old they get; 0: they are right, or gone */
	bool fence;                /* only of servers that are fenced */
	struct front_top_list top; /* made with the first of its rows */
};

/* Row n of `stats front`; false: there are no more. */
bool front_stats_row(struct front_stats *stats, struct front_shown *shown, uint32_t n,
		     struct serve_row *row);

extern const char *const front_stats_names[]; /* a server's rows */
extern const char *const front_fleet_names[]; /* behind them */
extern const char *const front_top_names[];   /* and behind those, FRONT_TOP_SHOWN at most */
extern const uint32_t front_stats_name_count, front_fleet_name_count;

#endif
