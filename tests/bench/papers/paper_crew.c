/*
 * paper_crew.c - threads that begin together.
 */
#include "paper_crew.h"

#include "bench_load.h"

#include "base/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define SPINS_MAX 65536u

struct crew {
	uint32_t threads;
	crew_work *work;
	void *arg;
	_Atomic uint32_t ready;
};

struct member {
	struct crew *crew;
	uint32_t number;
	uint64_t from_ns, until_ns, cpu_ns;
};

uint32_t
crew_cpus(void)
{
	cpu_set_t set;

	ensure(sched_getaffinity(0, sizeof set, &set) == 0);
	return (uint32_t)CPU_COUNT(&set);
}

/* Moves the thread to the n-th CPU in all. */
static void
stay_on(uint32_t n, const cpu_set_t *all)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	n %= (uint32_t)CPU_COUNT(all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all) && n-- == 0)
			CPU_SET(cpu, &one);
	/* Best effort: the machine may change the set meanwhile. */
	sched_setaffinity(0, sizeof one, &one);
}

static void *
take_part(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	cpu_set_t all;

	ensure(sched_getaffinity(0, sizeof all, &all) == 0);
	if (c->threads > 1)
		stay_on(m->number, &all);
	atomic_fetch_add(&c->ready, 1);
	for (uint32_t i = 1; atomic_load(&c->ready) < c->threads; i++)
		if (i % SPINS_MAX == 0)
			sched_yield();
	m->cpu_ns = bench_cpu_ns();
	m->from_ns = bench_ns();
	c->work(c->arg, m->number);
	m->until_ns = bench_ns();
	m->cpu_ns = bench_cpu_ns() - m->cpu_ns;
	sched_setaffinity(0, sizeof all, &all);
	return NULL;
}

static void
run(uint32_t threads, crew_work *work, void *arg, struct member *members)
{
	struct crew crew = {.threads = threads, .work = work, .arg = arg};
	pthread_t thread[CREW_MAX];

	ensure(threads >= 1 && threads <= CREW_MAX);
	for (uint32_t i = 0; i < threads; i++)
		members[i] = (struct member){.crew = &crew, .number = i};
	for (uint32_t i = 1; i < threads; i++)
		ensure(pthread_create(&thread[i], NULL, take_part, &members[i]) == 0);
	take_part(&members[0]);
	for (uint32_t i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
}

double
crew_run(uint32_t threads, crew_work *work, void *arg)
{
	struct member members[CREW_MAX];
	uint64_t from = UINT64_MAX, until = 0;

	run(threads, work, arg, members);
	for (uint32_t i = 0; i < threads; i++) {
		from = members[i].from_ns < from ? members[i].from_ns : from;
		until = members[i].until_ns > until ? members[i].until_ns : until;
	}
	return (double)(until - from + 1) / 1e9;
}

double
crew_run_cpu(uint32_t threads, crew_work *work, void *arg)
{
	struct member members[CREW_MAX];
	uint64_t most = 0;

	run(threads, work, arg, members);
	for (uint32_t i = 0; i < threads; i++)
		most = members[i].cpu_ns > most ? members[i].cpu_ns : most;
	return (double)(most + 1) / 1e9;
}
