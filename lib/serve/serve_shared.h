/*
 * serve_shared.h - what the services of all cores have in common.
 *
 * Private to lib/serve and lib/admin.
 *
 * Owner:  the caller of serve_shared_create; it outlives the services.
 * Thread: set at create, but for its atomics.
 */
#ifndef CLOCKOO_SERVE_SHARED_H
#define CLOCKOO_SERVE_SHARED_H

#include "serve_policy.h"

#include "proto/mc_req.h"

/* Tries of one core against all others that open or close a connection at the same moment. */
#define ADMIT_TRIES_MAX 1024u

/* ---- counts by slab class ---- */

enum class_count {
	CLASS_GET_HITS,
	CLASS_CMD_SET,
	CLASS_DELETE_HITS,
	CLASS_INCR_HITS,
	CLASS_DECR_HITS,
	CLASS_CAS_HITS,
	CLASS_CAS_BADVAL,
	CLASS_TOUCH_HITS,
	CLASS_COUNTS,
};

#define CLASSES_MAX (MC_CLASS_MAX + 1)

/* Of the fill quota (serve_begun.h). */
enum fill_quota_part {
	FILL_QUOTA_SLOW,
	FILL_QUOTA_PROVEN,
	FILL_QUOTA_SHORT, /* and proven */
	FILL_QUOTA_PARTS, /* with a queue each; what follows has none */
	FILL_QUOTA_DEMOTED = FILL_QUOTA_PARTS,
	FILL_QUOTA_ACCOUNTS,
};

/* ---- all cores ---- */

struct serve_shared {
	struct store *store;
	uint32_t cores;
	const char *version;
	struct serve_info info;
	/* One slot a core, set at create, before any core turns. */
	const struct serve *serves[STORE_CORES_MAX];
	struct slow_log *slow[STORE_CORES_MAX]; /* of the same */
	struct serve_policy policy;

	/* Table users_version % 2 is the one to use; the other may be written once every core has
	 * seen that (serve_policy.c). */
	struct serve_users users[2];
	uint32_t user_ids; /* given out so far */
	/* Who is let in; written while no core looks, as the other table of users. */
	const struct access_list *access;
	_Atomic uint32_t users_version;
	_Atomic uint32_t users_version_seen[STORE_CORES_MAX];

	/* Words between program and commands: relaxed, nothing is read through them. */
	_Atomic uint32_t stop;        /* enum serve_stop */
	_Atomic uint32_t certs_asked; /* how often refresh_certs was asked for */
	_Atomic uint32_t verbosity;
	_Atomic uint64_t user_us, system_us, resident_bytes;
	_Atomic uint64_t loaded_items, loaded_lost, loaded_us; /* struct serve_load */
	_Atomic uint32_t load_state;
	_Atomic bool detail;

	struct admin_shared *admin; /* lib/admin's */
	/* Connections that are not one too many, of all cores; changed when one comes or goes.
	 * Relaxed: it guards nothing but itself. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t admitted;
	/* When pinned values last filled some core's retire list, any core's clients pinning them;
	 * ns. Relaxed: a hint. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t pins_pressure_ns;
	/* Of all cores (serve_begun.c): sessions that wait for a part of the fill quota. */
	_Atomic uint32_t quota_waiting;
	/* Bytes of the fill quota in use, by enum fill_quota_part; tickets given out so far. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t quota_used[FILL_QUOTA_ACCOUNTS];
	_Atomic uint64_t quota_tickets;
};

/* One more connection, unless info.conns_max are there already (0: any number). */
bool shared_conn_admit(struct serve_shared *sh);
void shared_conn_release(struct serve_shared *sh);

#endif
