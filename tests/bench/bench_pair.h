/*
 * bench_pair.h - the appliance's core and the load generator's in one process, turned
 * alternately.
 *
 * Shape:  each end has a port that plays prepared frames; a step is a turn of each. The generator
 *         is the client of every kind of request: a closed loop that checks every byte. TCP speaks
 *         timestamps, as kernel clients do.
 * Units:  cycles of the time stamp counter.
 * Thread: one.
 * Errors: a wrong answer, or a missing one, ends the process.
 */
#ifndef CLOCKOO_BENCH_PAIR_H
#define CLOCKOO_BENCH_PAIR_H

#include "bench_fixture.h"
#include "bench_client.h"

struct kind {
	const char *name;
	enum load_transport transport;
	uint32_t depth; /* requests in flight on a connection, or over UDP in all */
	uint32_t multiget;
	double sets, zipf; /* zipf 0: uniform */
	uint32_t value_bytes;
	bool lent; /* the port takes loans */
};

struct bench_pair {
	const struct kind *kind;
	struct bench_fixture fixture;
	struct replay_port port; /* the generator's port */
	struct bench_client client;
	struct load_core *core; /* the client's core */
	uint64_t now_ns;
	double cycles_a_ns; /* 0: a step takes TURN_NS. Otherwise now_ns advances by the time of the
			       appliance's turns, and stands still while the generator works */
};

/* The measurement of the appliance's turns. */
struct turn_timing {
	void (*hook)(void);        /* called before and after each turn, or NULL */
	struct stage_clock *clock; /* NULL: without stages */
	uint64_t cycles;           /* cycles of all turns */
};

/* Returns the kind of that name. NULL: there is none, and stderr lists the names. */
const struct kind *kind_by_name(const char *name);

/* Makes a pair and stores all keys, in a shared file of that name, or in private memory if file
 * is NULL. */
void bench_pair_make(struct bench_pair *b, const struct kind *kind, uint32_t keys,
		     const char *file);

/* Makes pairs over one store and fills it together: number i is core i and stores its share. */
void bench_pairs_make(struct bench_pair *pairs, uint32_t count, const struct kind *kind,
		      uint32_t keys);

/* Gives the generator a number of requests to make, from the next step on. */
void bench_pair_command(struct bench_pair *b, uint64_t requests);
bool bench_pair_done(const struct bench_pair *b);
/* Turns each end once, or more often if there is more than one burst to carry. */
void bench_pair_step(struct bench_pair *b, struct turn_timing *turn_timing);
/* Ends the process if an answer was wrong. */
void bench_pair_check(const struct bench_pair *b);
/* Returns how many requests the appliance has answered; a half-answered one counts half. */
double bench_pair_served(const struct bench_pair *b);

#endif
