/*
 * serve_shared.h - state shared by the services of all cores.
 *
 * Private to lib/serve and lib/admin.
 *
 * Owner:  the caller of serve_shared_create; it outlives the services.
 * Thread: set by serve_shared_create, except for the atomics.
 */
#ifndef CLOCKOO_SERVE_SHARED_H
#define CLOCKOO_SERVE_SHARED_H

#include "serve_policy.h"

#include "proto/mc_req.h"

/* Most tries of a core if others open or close connections at the same moment. */
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

/* The accounts to which the fill quota charges values (serve_begun.h). */
enum fill_quota_part {
	FILL_QUOTA_SLOW,
	FILL_QUOTA_PROVEN,
	FILL_QUOTA_SHORT, /* short, and proven */
	/* The number of queues: one for each account above, none for those below. */
	FILL_QUOTA_PARTS,
	FILL_QUOTA_DEMOTED = FILL_QUOTA_PARTS,
	FILL_QUOTA_ACCOUNTS,
};

/* ---- all cores ---- */

struct serve_shared {
	struct store *store;
	uint32_t cores;
	const char *version;
	struct serve_info info;
	/* The services of all cores, set at create, before any core runs. */
	const struct serve *serves[STORE_CORES_MAX];
	struct slow_log *slow[STORE_CORES_MAX]; /* the slow logs of `serves` */
	struct serve_policy policy;

	/* The table of users in use is users[users_version % 2]. The other one may be written as
	 * soon as every core uses that version (serve_policy.c). */
	struct serve_users users[2];
	uint32_t user_ids; /* number of IDs given out so far */
	/* The sources that are admitted. Written while no core reads it, as for users. */
	const struct access_list *access;
	uint32_t drain;                  /* enum serve_drain */
	const struct local_addrs *addrs; /* NULL: each stack keeps its own */
	_Atomic uint32_t users_version;
	_Atomic uint32_t users_version_seen[STORE_CORES_MAX];

	/* Messages between the program and the service. Relaxed: they publish no other data. */
	_Atomic uint32_t stop;        /* enum serve_stop */
	_Atomic uint32_t certs_asked; /* refresh_certs requests so far */
	/* Requests of these that the last read of the files has answered. */
	_Atomic uint32_t certs_done;
	_Atomic bool certs_refused; /* the last read of the files has failed */
	/* When the files in use were read, in ns of the cores' clock. */
	_Atomic uint64_t certs_read_ns;
	_Atomic uint32_t verbosity;
	_Atomic uint64_t user_us, system_us, resident_bytes;
	_Atomic uint64_t loaded_items, loaded_lost, loaded_us; /* struct serve_load */
	_Atomic uint32_t load_state;
	_Atomic bool detail;

	struct admin_shared *admin; /* owned by lib/admin */
	/* Connections of all cores that count for -c. Relaxed: nothing else is read through the
	 * count. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t admitted;
	/* When the retire list of some core was last full of pinned values, in ns. The pins may be
	 * of clients of any core. Relaxed: it is a hint. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t pins_pressure_ns;
	/* Sessions of all cores that wait for the fill quota (serve_begun.c). */
	_Atomic uint32_t quota_waiting;
	/* Bytes of the fill quota in use, by account (enum fill_quota_part). */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t quota_used[FILL_QUOTA_ACCOUNTS];
};

/* Counts one more connection. False: info.conns_max connections, if that is not 0, are counted
 * already. */
bool shared_conn_admit(struct serve_shared *sh);
void shared_conn_release(struct serve_shared *sh);

#endif
