/*
 * bench_pair.h - the appliance's core and the load generator's in one process, turn by turn.
 *
 * Shape:  each end has a port that plays prepared frames; a step is a turn of each. The generator
 *         is the client of every kind of request: a closed loop that checks every byte. TCP speaks
 *         timestamps, as kernel clients do.
 * Units:  cycles of the time stamp counter.
 * Thread: one.
 * Errors: a wrong answer, or one that does not come, ends the process.
 */
#ifndef CLOCKOO_BENCH_PAIR_H
#define CLOCKOO_BENCH_PAIR_H

#include "bench_fixture.h"
#include "bench_client.h"

struct kind {
	const char *name;
	enum load_transport transport;
	uint32_t depth; /* of a connection; over UDP of all */
	uint32_t multiget;
	double sets, zipf; /* zipf 0: uniform */
};

struct bench_pair {
	const struct kind *kind;
	struct bench_fixture fixture;
	struct replay_port port; /* the generator's */
	struct bench_client client;
	struct load_core *core; /* the client's */
	uint64_t now_ns;
	double cycles_a_ns; /* 0: a step takes TURN_NS. Else now_ns moves by what the appliance's
			     * turns take, and stands while the generator works */
};

/* How turns of the appliance are looked at. */
struct turn_timing {
	void (*hook)(void);        /* called before each of them and after, or NULL */
	struct stage_clock *clock; /* NULL: not by stage */
	uint64_t cycles;           /* of all of them */
};

/* NULL: no kind is called so, and stderr has the names. */
const struct kind *kind_by_name(const char *name);

/* All keys are stored, in a shared file of that name, or, NULL, in private memory. */
void bench_pair_make(struct bench_pair *b, const struct kind *kind, uint32_t keys,
		     const char *file);

/* Pairs over one store, made and filled together: number i is core i and stores its share. */
void bench_pairs_make(struct bench_pair *pairs, uint32_t count, const struct kind *kind,
		      uint32_t keys);

/* Give the generator so many requests to make, from the next step on. */
void bench_pair_command(struct bench_pair *b, uint64_t requests);
bool bench_pair_done(const struct bench_pair *b);
/* A turn of each end, more if there is more than a burst to carry. */
void bench_pair_step(struct bench_pair *b, struct turn_timing *turn_timing);
/* Was every answer right? */
void bench_pair_check(const struct bench_pair *b);
/* Requests that the appliance has answered so far; of one that is half done, half. */
double bench_pair_served(const struct bench_pair *b);

#endif
