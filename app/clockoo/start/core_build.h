/*
 * core_build.h - builds a core: its stack, its struct serve with TLS and a backend, and its
 * counters.
 *
 * Owner:  the caller; the memory is of the region.
 * Thread: main, before any core turns.
 */
#ifndef CLOCKOO_CORE_BUILD_H
#define CLOCKOO_CORE_BUILD_H

#include "access/tls_servers.h"
#include "fleet/fleet.h"
#include "nic.h"
#include "process/process.h"
#include "sizes.h"
#include "tap/kernel_thread.h"
#include "tier/second_tier.h"
#include "worker.h"

struct neigh_table;

/* The parts that all cores share. */
struct core_parts {
	const struct config *config;
	struct process *process;
	const struct sizes *sizes;
	const struct access_list *access;
	const struct local_addrs *addrs;
	struct nic *nic;
	struct neigh_table *neigh;
	struct store *store;
	struct serve_shared *shared;
	struct tls_cores *tls;                 /* NULL without -Z */
	struct tls_servers *tls_servers;       /* NULL without front.tls_ca */
	struct kernel_servers *kernel_servers; /* NULL without servers that the kernel reaches */
	struct fleet *fleet;                   /* NULL: not a front */
	struct second_tier *flash;
	const struct kernel_thread *kernel;
	struct telemetry *telemetry;
	int64_t unix_ns; /* the wall clock at process->start_ns */
};

void core_build(const struct core_parts *p, uint32_t i, struct region *region, struct core *core,
		struct worker *worker);

#endif
