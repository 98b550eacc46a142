/*
 * lcores.h - which worker core runs on which CPU.
 *
 * Text form, as EAL's --lcores knows it: "0@0,1@1", core ID before the CPU it is pinned to. A
 * bare "2" is "2@2", and "2-4" is "2,3,4". Two cores may name one CPU; then they must share it (see
 * lcores_share_cpus).
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
#define LCORE_ID_END 128u /* RTE_MAX_LCORE of DPDK's x86 builds */

struct lcore {
	uint32_t id;
	uint32_t cpu;
};

struct lcore_set {
	uint32_t count;
	struct lcore at[CORES_MAX];
};

/* The CPUs this process may run on, by number. */
struct cpu_list {
	uint32_t count;
	uint32_t at[LCORE_ID_END];
};

bool lcores_parse(struct lcore_set *set, const char *text, struct error *err);

struct lcore_request {
	uint32_t cores;
	bool share; /* CPUs, where there are fewer of them */
};

/* One CPU of its own for each worker core; or one with others, if that is meant. */
bool lcores_assign(struct lcore_set *set, const struct cpu_list *cpus,
		   const struct lcore_request *request, struct error *err);

/* Does every core's CPU exist? */
bool lcores_exist(const struct lcore_set *set, const struct cpu_list *cpus, struct error *err);

/* Do two cores share a CPU? Then an idle one must let the other run. */
bool lcores_share_cpus(const struct lcore_set *set);

#endif
