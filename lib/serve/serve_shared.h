/*
 * serve_shared.h - what the services of all cores have in common, and sums over their counters.
 *
 * Private to lib/serve.
 *
 * Owner:  whoever made it; it outlives the services.
 * Thread: set at create, but for its atomics; the sums are relaxed reads of counters of others.
 */
#ifndef CLOCKOO_SERVE_SHARED_H
#define CLOCKOO_SERVE_SHARED_H

#include "serve.h"
#include "serve_admin.h"

/* Tries of one core against all others that open or close a connection at the same moment. */
#define ADMIT_TRIES_MAX 1024u

struct serve_shared {
	struct store *store;
	uint32_t cores;
	const char *version;
	struct serve_info info;
	/* One slot a core, set at create, before any core turns. */
	const struct serve *serves[STORE_CORES_MAX];
	/* Written by `stats reset` on any core, read by stats on any core: relaxed, since a
	 * reader that sees one base new and the next one old shows what a reset a moment
	 * earlier or later would have shown. */
	_Atomic uint64_t serve_base[SERVE_COUNTER_COUNT];
	_Atomic uint64_t store_base[STORE_COUNTER_COUNT];
	_Atomic uint64_t stack_base[STACK_COUNTER_COUNT];
	_Atomic uint64_t pages_moved_base;
	struct admin_shared admin;
	/* Connections that are not one too many, of all cores; changed when one comes or goes.
	 * Relaxed: it guards nothing but itself. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t admitted;
	/* When pinned values last filled some core's retire list, whoever's clients pin them; ns.
	 * Relaxed: a hint. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t pins_pressure_ns;
	/* Of all cores (serve_begun.c): sessions that wait to begin a value... */
	_Atomic uint32_t begun_waiting;
	/* ... what begun values hold, in bytes, and tickets given out so far. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t begun_bytes;
	_Atomic uint64_t begun_tickets;
};

/* One more connection, unless info.conns_max are there already (0: any number). */
bool shared_conn_admit(struct serve_shared *sh);
void shared_conn_release(struct serve_shared *sh);

uint64_t shared_serve_sum(const struct serve_shared *sh, enum serve_counter which);
uint64_t shared_store_sum(const struct serve_shared *sh, enum store_counter which);
uint64_t shared_stack_sum(const struct serve_shared *sh, uint32_t which);
void shared_usage(const struct serve_shared *sh, struct stack_usage *sum);
uint64_t shared_pages_moved(const struct serve_shared *sh, const struct store_usage *usage);
void shared_reset(struct serve_shared *sh);

#endif
