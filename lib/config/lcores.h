/*
 * lcores.h - assigns a CPU to each worker core.
 *
 * The text form is that of EAL's --lcores: "0@0,1@1", a core's ID before the CPU it is pinned to. A
 * bare "2" is "2@2", and "2-4" is "2,3,4". Two cores that name the same CPU share it
 * (lcores_share_cpus).
 *
 * Shape:  core i of the appliance is at[i], in the order given.
 * Thread: pure functions.
 * Errors: struct error, one line.
 * Bounds: CORES_MAX cores, IDs and CPUs below LCORE_ID_END.
 */
#ifndef CLOCKOO_LCORES_H
#define CLOCKOO_LCORES_H

#include "errors.h"

#include <stddef.h>
#include <stdint.h>

#define CORES_MAX    64u
#define LCORE_ID_END 128u /* RTE_MAX_LCORE of DPDK's x86 builds; arm64's have more */

struct lcore {
	uint32_t id;
	uint32_t cpu;
};

struct lcore_set {
	uint32_t count;
	struct lcore at[CORES_MAX];
};

/* The CPUs that this process may run on, by number. */
struct cpu_list {
	uint32_t count;
	uint32_t at[LCORE_ID_END];
};

bool lcores_parse(struct lcore_set *set, const char *text, struct error *err);

struct lcore_request {
	uint32_t cores;
	bool share; /* cores may share CPUs if there are too few */
};

/* Assigns each worker core a CPU of its own, or a shared one if the request allows that. */
bool lcores_assign(struct lcore_set *set, const struct cpu_list *cpus,
		   const struct lcore_request *request, struct error *err);

/* True if each core's CPU is in cpus. */
bool lcores_exist(const struct lcore_set *set, const struct cpu_list *cpus, struct error *err);

/* True if cores share a CPU. An idle core must then yield. */
bool lcores_share_cpus(const struct lcore_set *set);

#endif
