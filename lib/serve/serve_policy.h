/*
 * serve_policy.h - what the operator permits, and the settings that the program and the cores
 * share.
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

/* Limit of error replies, each second, to datagrams that are no requests: for each source, and for
 * all cores together. It is enough for a user who types, and for the author of a client. */
#define UDP_ERRORS_PER_SECOND 100u

struct serve_network {
	struct ip_addr ip;
	uint32_t prefix_len; /* of 128 bits, as in ip_addr.h */
};

/* Permissions of the operator. All zeros: as memcached without options. */
struct serve_policy {
	uint8_t protocol;      /* -B: enum mc_protocol; 0: a stream's first byte decides */
	atomic_bool no_flush;  /* -F: flush_all is refused */
	atomic_bool no_dumps;  /* -X: keys and prefixes are not listed */
	atomic_bool no_watch;  /* -W */
	atomic_bool shutdown;  /* -A: a client may stop the program */
	atomic_bool udp_admin; /* datagrams may carry commands that change more than one key */
	bool auth;             /* -Y: connections must authenticate */
	bool detail;           /* -D: count by key prefix from the start */
	bool track_sizes;      /* -o track_sizes: `stats sizes` counts items */
	char prefix_delimiter; /* 0: ':' */
	_Atomic uint32_t idle_timeout_s;

	/* A UDP source outside the networks gets, in replies, at most udp_bytes_per_s bytes a
	 * second more than it has sent, over all cores: a source address can be forged. */
	bool udp_rate_limit;
	uint32_t udp_bytes_per_s;
	uint32_t network_count;
	struct serve_network networks[SERVE_NETWORKS_MAX];
};

void serve_shared_set_policy(struct serve_shared *shared, const struct serve_policy *policy);

/* Changes the atomic fields while cores run. The others keep their values. */
void serve_policy_update_mt(struct serve_shared *shared, const struct serve_policy *policy);

/* Sets the access list with which the stacks of all cores start (net_config.access). */
struct access_list;
void serve_shared_set_access(struct serve_shared *shared, const struct access_list *list);
/* Sets the table of addresses that the cores' stacks were created with. */
struct local_addrs;
void serve_shared_set_addrs(struct serve_shared *shared, const struct local_addrs *addrs);

/* A user: the name, and directly behind it the password. */
struct serve_user {
	/* Set by serve_users_replace_mt, and never 0. If name and password do not change, neither
	 * does the ID. */
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
 * the role that its name and password have in the new table. If they are not in it, the connection
 * must authenticate again; a watcher is closed. False: some core has not changed to the last table
 * yet; try again. */
bool serve_users_replace_mt(struct serve_shared *shared, const struct serve_users *users);

/* Replaces the access list (net/access_list.h; NULL: all sources); each core uses it from its next
 * turn on, and resets connections of other sources. False: try again, as above. The list is in use
 * until a later replacement has settled. */
bool serve_access_replace_mt(struct serve_shared *shared, const struct access_list *list);
/*
 * The treatment of connections during a drain, before the stop.
 *
 * RESET, SILENT: new ones get a reset, or no answer. Open ones go on.
 * CLOSE: new ones are served. Each is closed behind its next answer, unless more input has arrived,
 * or once it has been idle for DRAIN_IDLE_S. A client that sees the end of its connection behind an
 * answer opens another one, which reaches another host once routers have left this one.
 * CLOSE_LAST: as CLOSE, but new ones get no answer.
 * CLOSE_IDLE: as CLOSE_LAST, and each that has no request under way is closed at once.
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

/* Makes the cores begin a drain at their next turn. False: try again, as above. */
bool serve_drain_mt(struct serve_shared *shared, enum serve_drain how);
/*
 * Replaces the table of our addresses, from each core's next turn on (net/local_addrs.h). A core
 * has changed to it once it has reset the connections to addresses that leave. False: some core
 * still uses an earlier table; try again. serve_settled_mt() returns true when all have changed.
 */
bool serve_addrs_replace_mt(struct serve_shared *shared, const struct local_addrs *addrs);
/* True if all cores use the last replacement, and none of them an older one. */
bool serve_settled_mt(const struct serve_shared *shared);

enum serve_stop { SERVE_RUN, SERVE_STOP, SERVE_STOP_GRACEFULLY };

/* Returns the kind of stop that a client's `shutdown` asked for. */
enum serve_stop serve_stop_requested_mt(const struct serve_shared *shared);
/* Returns how often clients have asked to read the certificates again. */
uint32_t serve_certs_asked_mt(const struct serve_shared *shared);
/* True if clients that asked for it have no answer yet. */
bool serve_certs_wanted_mt(const struct serve_shared *shared);
/* Answers the first `asked` of these requests: the files were read, and the cores use them if
 * `taken`. now_ns: of the cores' clock. */
void serve_certs_read_mt(struct serve_shared *shared, uint32_t asked, bool taken, uint64_t now_ns);

/* Sets the processor time of the process, for `stats`. */
void serve_rusage_set_mt(struct serve_shared *shared, uint64_t user_us, uint64_t system_us);

/* Sets the memory that the kernel counts for the process, for `stats`. */
void serve_resident_set_mt(struct serve_shared *shared, uint64_t bytes);

/* Progress of loading the file of --memory-save, for `stats`. */
enum serve_load_state { SERVE_LOAD_NONE, SERVE_LOADING, SERVE_LOADED };
struct serve_load {
	uint32_t state; /* enum serve_load_state */
	/* `lost` is valid once the load has ended. */
	uint64_t items, lost;
	uint64_t us;
};
void serve_load_set_mt(struct serve_shared *shared, const struct serve_load *load);

#endif
