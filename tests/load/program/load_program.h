/*
 * load_program.h - the state of clockoo-load: a port, generator cores, the coordinator's results.
 *
 * Shape:  one struct, made in main, passed by pointer.
 * Owner:  main, from load_program_start to load_program_stop.
 * Thread: built by the main thread. Afterwards core i belongs to lcore i, and report, merged and
 *         error to the coordinator until it has ended; the rest is read only.
 * Errors: struct error; main prints its one line.
 */
#ifndef CLOCKOO_LOAD_PROGRAM_H
#define CLOCKOO_LOAD_PROGRAM_H

#include "dpdk/huge_block.h"
#include "load/load_report.h"
#include "load_options.h"
#include "nic.h"

#include <sched.h>
#include <stdatomic.h>

/* Requests in flight while keys are stored: of a connection, and over UDP. */
#define FILL_DEPTH_TCP 8u
#define FILL_DEPTH_UDP 128u

struct load_worker {
	struct load_core *core;
	struct stack *stack;
	const struct tsc_clock *clock;
	const atomic_bool *stop;
	bool yield;
};

struct load_program {
	struct load_options options;
	struct config config;
	struct nic nic;
	struct workload workload;
	struct huge_block block;
	struct load_worker workers[CORES_MAX];
	uint32_t conns_of_core, depth_max; /* largest values of any run */
	cpu_set_t all_cpus;
	atomic_bool stop, interrupted;
	/* used by the coordinator only */
	struct load_result *merged;
	struct load_report *report;
	double knee_rate; /* of the last sweep */
	bool failed;
	struct error error;
};

/* Starts the program; options and config are filled. On false nothing is left running. */
bool load_program_start(struct load_program *p, struct error *err);
/* Makes every run, in order. If one fails, p->error has the reason. */
bool load_program_run(struct load_program *p, struct error *err);
void load_program_stop(struct load_program *p);

#endif
