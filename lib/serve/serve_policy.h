/*
 * serve_policy.h - what the operator permits, and the settings that program and cores share.
 *
 * Shape:  the policy is set before any core runs; its atomic fields may change afterwards. The
 *         messages between program and cores are atomics in serve_shared.
 * Owner:  all arguments are copied, except for an access list (serve_access_replace_mt).
 * Thread: serve_shared_set_policy at start. *_mt: any one thread at a time, while cores run.
 * Errors: serve_users_replace_mt returns false while some core has not yet seen the last table.
 * Bounds: SERVE_USERS_MAX users, SERVE_NETWORKS_MAX networks.
 */
#ifndef CLOCKOO_SERVE_POLICY_H
#define CLOCKOO_SERVE_POLICY_H

#include "serve.h"

#include <stdatomic.h>

#define SERVE_USERS_MAX    8u
#define SERVE_USER_BYTES   254u /* a name and its password together */
#define SERVE_NETWORKS_MAX 16u

/* Most error replies in a second to datagrams that are no requests: for each source, and for all
 * cores together. They are enough for a user who types, and for an author of a client. */
#define UDP_ERRORS_PER_SECOND 100u

struct serve_network {
	struct ip_addr ip;
	uint32_t prefix_len; /* bits of the 128 of an ip_addr.h address */
};

/* The operator's permissions. All zeros: as memcached without options. */
struct serve_policy {
	uint8_t protocol;      /* -B: enum mc_protocol; 0: the first byte of a stream decides */
	atomic_bool no_flush;  /* -F: flush_all is refused */
	atomic_bool no_dumps;  /* -X: no listing of keys and prefixes */
	atomic_bool no_watch;  /* -W */
	atomic_bool shutdown;  /* -A: clients may stop the program */
	atomic_bool udp_admin; /* datagrams may carry commands that change more than one key */
	bool auth;             /* -Y: connections must authenticate */
	bool detail;           /* -D: count by key prefix from the start */
	bool track_sizes;      /* -o track_sizes: `stats sizes` counts items */
	char prefix_delimiter; /* 0: ':' */
	_Atomic uint32_t idle_timeout_s;

	/* For a UDP source outside the networks, whose address may be forged: replies have at most
	 * udp_bytes_per_s bytes more in a second than it has sent, over all cores. */
	bool udp_rate_limit;
	uint32_t udp_bytes_per_s;
	uint32_t network_count;
	struct serve_network networks[SERVE_NETWORKS_MAX];
};

void serve_shared_set_policy(struct serve_shared *shared, const struct serve_policy *policy);

/* Changes the atomic fields while cores run. All other fields keep their values. */
void serve_policy_update_mt(struct serve_shared *shared, const struct serve_policy *policy);

/* Sets the access list with which the stacks of all cores start (net_config.access). */
struct access_list;
void serve_shared_set_access(struct serve_shared *shared, const struct access_list *list);
/* Sets the table of addresses with which the cores' stacks were created. */
struct local_addrs;
void serve_shared_set_addrs(struct serve_shared *shared, const struct local_addrs *addrs);

/* A user: the name, followed by the password. */
struct serve_user {
	/* Set by serve_users_replace_mt, and never 0. It stays the same as long as name and
	 * password do. */
	uint32_t id;
	uint8_t name_len, password_len;
	uint8_t role; /* enum mc_role */
	uint8_t bytes[SERVE_USER_BYTES];
};

struct serve_users {
	uint32_t count;
	struct serve_user user[SERVE_USERS_MAX];
};

/* Replaces the users; each core uses the new table from its next turn on. An open connection gets
 * the role that the new table has for its name and password. If it has none, the connection must
 * authenticate again, and a watcher is closed. False: some core still uses the table before the
 * last one; try again. */
bool serve_users_replace_mt(struct serve_shared *shared, const struct serve_users *users);

/* Replaces the access list (net/access_list.h; NULL: all sources). From its next turn on each core
 * uses it, and resets connections of other sources. False: try again, as above. The list must stay
 * valid until a later replacement has settled. */
bool serve_access_replace_mt(struct serve_shared *shared, const struct access_list *list);
/*
 * The treatment of connections during a drain, before the stop.
 *
 * RESET, SILENT: new ones get a reset, or no answer. Open ones continue.
 * CLOSE: new ones are served. Each is closed after its next answer, unless more input has arrived
 * by then, or once it has been idle for DRAIN_IDLE_S. A client whose connection ends after an
 * answer opens another one. That reaches another host, once routers no longer send to this one.
 * CLOSE_LAST: as CLOSE, but new ones get no answer.
 * CLOSE_IDLE: as CLOSE_LAST, and connections without a request under way are closed at once.
 */
enum serve_drain {
	SERVE_DRAIN_NONE,
	SERVE_DRAIN_RESET,
	SERVE_DRAIN_SILENT,
	SERVE_DRAIN_CLOSE,
	SERVE_DRAIN_CLOSE_LAST,
	SERVE_DRAIN_CLOSE_IDLE,
};

#define DRAIN_IDLE_S 2u

/* Makes the cores drain from their next turn on. False: try again, as above. */
bool serve_drain_mt(struct serve_shared *shared, enum serve_drain how);
/* Replaces the table of our addresses from each core's next turn on (net/local_addrs.h). A core
 * then resets the connections to addresses that are no longer ours. False: some core still uses an
 * earlier table; try again. serve_settled_mt() returns true when all cores have changed. */
bool serve_addrs_replace_mt(struct serve_shared *shared, const struct local_addrs *addrs);
/* True if all cores use the last replacements, and none an earlier one. */
bool serve_settled_mt(const struct serve_shared *shared);

enum serve_stop { SERVE_RUN, SERVE_STOP, SERVE_STOP_GRACEFULLY };

/* Returns the kind of stop that a client's `shutdown` asked for. */
enum serve_stop serve_stop_requested_mt(const struct serve_shared *shared);
/* Returns how many times clients have requested that the certificates be read again. */
uint32_t serve_certs_asked_mt(const struct serve_shared *shared);
/* True if some of these requests have no answer yet. */
bool serve_certs_wanted_mt(const struct serve_shared *shared);
/* Answers the first `asked` of these requests: the files were read. taken: the cores use them.
 * now_ns: the cores' clock. */
void serve_certs_read_mt(struct serve_shared *shared, uint32_t asked, bool taken, uint64_t now_ns);

/* Sets the processor time of the process, for `stats`. */
void serve_rusage_set_mt(struct serve_shared *shared, uint64_t user_us, uint64_t system_us);

/* Sets the memory that the kernel counts for the process, for `stats`. */
void serve_resident_set_mt(struct serve_shared *shared, uint64_t bytes);

/* Sets how far the load of the --memory-save file is, for `stats`. */
enum serve_load_state { SERVE_LOAD_NONE, SERVE_LOADING, SERVE_LOADED };
struct serve_load {
	uint32_t state; /* enum serve_load_state */
	/* `lost` is valid after the load. */
	uint64_t items, lost;
	uint64_t us;
};
void serve_load_set_mt(struct serve_shared *shared, const struct serve_load *load);

#endif
