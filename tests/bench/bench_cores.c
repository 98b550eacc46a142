/*
 * bench_cores.c - what a request costs a core that has the store to itself, and one of two that
 * share it: cycles of core_turn. With --keys 1 both ask for, and sometimes set, the same key.
 *
 * Two threads, each a core of the appliance and its client (bench_pair.h), on CPUs of their own.
 * One of them alone and both together take turns, so that who else uses the machine meets both
 * alike; blocks of turns are counted, and their median taken, as bench_request does.
 *
 *   bench_cores CASE [--keys N] [--rounds N] [--requests N] [--zipf HUNDREDTHS] [--json FILE]
 */
#include "bench_pair.h"

#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CORES       2u
#define ROUNDS_MAX  99u
#define BLOCK_STEPS 16u
#define BLOCKS_MAX  65536u
#define STEPS_LIMIT (1u << 28)

struct side {
	struct bench_pair pair;
	uint32_t cpu, requests;
	_Atomic uint32_t *ready; /* of how many threads */
	uint32_t threads;
	double blocks[BLOCKS_MAX];
	uint32_t count;
	double cycles; /* a request */
};

struct options {
	const struct kind *kind;
	uint32_t keys, rounds, requests, zipf;
	const char *json;
};

static void
take_block(struct side *s)
{
	const double from = bench_pair_served(&s->pair);
	struct look look = {0};
	double served;

	for (uint32_t i = 0; i < BLOCK_STEPS; i++)
		bench_pair_step(&s->pair, &look);
	served = bench_pair_served(&s->pair) - from;
	if (served != 0 && s->count < BLOCKS_MAX)
		s->blocks[s->count++] = (double)look.cycles / served;
}

static void *
ask(void *arg)
{
	struct side *s = arg;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(s->cpu, &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus); /* where there are too few, they take turns */
	bench_pair_order(&s->pair, s->requests);
	s->count = 0;
	atomic_fetch_add(s->ready, 1);
	while (atomic_load(s->ready) < s->threads)
		sched_yield();
	for (uint32_t i = 0; i < STEPS_LIMIT && !bench_pair_done(&s->pair); i += BLOCK_STEPS)
		take_block(s);
	store_offline(s->pair.bed.sc);
	bench_sort(s->blocks, s->count);
	s->cycles = s->blocks[s->count / 2];
	return NULL;
}

/* Cycles a request, of so many cores at work. */
static double
run(struct side *sides, uint32_t threads)
{
	_Atomic uint32_t ready = 0;
	pthread_t id[CORES];
	double sum = 0;

	for (uint32_t i = 0; i < threads; i++) {
		sides[i].ready = &ready;
		sides[i].threads = threads;
		if (pthread_create(&id[i], NULL, ask, &sides[i]) != 0)
			exit(1);
	}
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(id[i], NULL);
		bench_pair_check(&sides[i].pair);
		sum += sides[i].cycles;
	}
	return sum / threads;
}

static struct options
options_of(int argc, char **argv)
{
	static const struct option names[] = {
		{"keys", required_argument, NULL, 'k'}, {"rounds", required_argument, NULL, 'r'},
		{"zipf", required_argument, NULL, 'z'}, {"requests", required_argument, NULL, 'n'},
		{"json", required_argument, NULL, 'j'}, {0},
	};
	struct options opt = {.keys = 1000000, .rounds = 7, .requests = 1000000};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'k')
			opt.keys = bench_option("bench_cores", optarg, 1, 100000000);
		else if (c == 'r')
			opt.rounds = bench_option("bench_cores", optarg, 1, ROUNDS_MAX);
		else if (c == 'n')
			opt.requests = bench_option("bench_cores", optarg, 100, 1000000000);
		else if (c == 'z')
			opt.zipf = bench_option("bench_cores", optarg, 0, 300);
		else if (c == 'j')
			opt.json = optarg;
		else
			exit(1);
	}
	opt.kind = kind_named(optind < argc ? argv[optind] : "");
	if (opt.kind == NULL)
		exit(1);
	return opt;
}

static void
keep(const struct options *opt, double one, double two, double gain)
{
	FILE *out = opt->json != NULL ? fopen(opt->json, "w") : NULL;

	if (opt->json == NULL)
		return;
	if (out == NULL ||
	    fprintf(out,
		    "{\"case\": \"%s\", \"keys\": %u, \"cycles_one\": %.1f, \"cycles_two\": %.1f, "
		    "\"gain\": %.3f}\n",
		    opt->kind->name, opt->keys, one, two, gain) < 0 ||
	    fclose(out) != 0) {
		fputs("bench_cores: --json: cannot write there\n", stderr);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	static struct side sides[CORES];
	const struct options opt = options_of(argc, argv);
	double one[ROUNDS_MAX], two[ROUNDS_MAX], gain[ROUNDS_MAX];
	struct bench_shared shared;

	bench_share(&shared, opt.keys, CORES);
	for (uint32_t i = 0; i < CORES; i++) {
		sides[i].cpu = i;
		sides[i].requests = opt.requests;
		sides[i].pair.zipf = opt.zipf / 100.0;
		bench_pair_join(&sides[i].pair, opt.kind, opt.keys, &shared, i);
	}
	for (uint32_t i = 0; i < opt.rounds; i++) {
		one[i] = run(sides, 1);
		two[i] = run(sides, CORES);
		gain[i] = CORES * one[i] / two[i];
	}
	bench_sort(one, opt.rounds);
	bench_sort(two, opt.rounds);
	bench_sort(gain, opt.rounds);

	const uint32_t m = opt.rounds / 2;

	printf("%s, %u keys: cycles a request %.1f alone, %.1f with another core beside; two cores "
	       "do "
	       "%.2f times as much (%.2f..%.2f)\n",
	       opt.kind->name, opt.keys, one[m], two[m], gain[m], gain[0], gain[opt.rounds - 1]);
	keep(&opt, one[m], two[m], gain[m]);
	return 0;
}
