/*
 * serve_policy.h - what the operator allows, and settings shared by program and cores.
 *
 * Shape:  the policy is set before any core turns; those of its fields that are atomic may change
 *         afterwards. The words are atomics in serve_shared.
 * Owner:  everything is copied in; nothing handed over need outlive its call.
 * Thread: serve_shared_set_policy at start. *_mt: any one thread at a time, while cores turn.
 * Errors: serve_users_replace_mt says false while some core has not yet seen the last table.
 * Bounds: SERVE_USERS_MAX users, SERVE_NETWORKS_MAX networks.
 */
#ifndef CLOCKOO_SERVE_POLICY_H
#define CLOCKOO_SERVE_POLICY_H

#include "serve.h"

#include <stdatomic.h>

#define SERVE_USERS_MAX    8u
#define SERVE_USER_BYTES   254u /* of a name and its password together */
#define SERVE_NETWORKS_MAX 16u

/* To one source over UDP, to what is no request, by all cores: enough for a user who types, and for
 * a client's author to see the mistake. */
#define UDP_ERRORS_PER_SECOND 100u

struct serve_network {
	struct ip_addr ip;
	uint32_t prefix_len; /* of 128 bits, as in ip_addr.h */
};

/* All zero is memcached without options. */
struct serve_policy {
	uint8_t protocol;      /* -B: enum mc_protocol; 0 lets the first byte of a stream tell */
	atomic_bool no_flush;  /* -F: flush_all is refused */
	atomic_bool no_dumps;  /* -X: keys are not listed, nor prefixes */
	atomic_bool no_watch;  /* -W */
	atomic_bool shutdown;  /* -A: a client may stop the program */
	atomic_bool udp_admin; /* what changes more than one key may come in a datagram */
	bool auth;             /* -Y: connections without a user are answered with refusals only */
	bool detail;           /* -D: count by key prefix from the start */
	bool track_sizes;      /* -o track_sizes: `stats sizes` counts items */
	char prefix_delimiter; /* 0 is ':' */
	_Atomic uint32_t idle_timeout_s;

	/* A UDP source can be forged. One outside the networks gets at most so many bytes a second
	 * more than it sent, all cores together. */
	bool udp_rate_limit;
	uint32_t udp_bytes_per_s;
	uint32_t network_count;
	struct serve_network networks[SERVE_NETWORKS_MAX];
};

void serve_shared_set_policy(struct serve_shared *shared, const struct serve_policy *policy);

/* Its atomic fields, while cores turn; the others stay as they are. */
void serve_policy_update_mt(struct serve_shared *shared, const struct serve_policy *policy);

/* The same list as the stacks of all cores begin with (net_config.access). */
struct access_list;
void serve_shared_set_access(struct serve_shared *shared, const struct access_list *list);

/* A name and its password, without anything between. */
struct serve_user {
	uint32_t id; /* set by serve_users_replace_mt: a name and its password keep it, never 0 */
	uint8_t name_len, password_len;
	uint8_t role; /* enum mc_role */
	uint8_t bytes[SERVE_USER_BYTES];
};

struct serve_users {
	uint32_t count;
	struct serve_user user[SERVE_USERS_MAX];
};

/* From each core's next turn on, these are the users. An open connection then has the role that its
 * name and password have now, or none: it is to name a user again, and a watcher is closed. False:
 * try again when all have turned. */
bool serve_users_replace_mt(struct serve_shared *shared, const struct serve_users *users);

/* From each core's next turn on only these sources are let in (net/access_list.h; NULL: all), and
 * connections of others are reset. False, as above. The list stays in use until the next call, or
 * NULL in its place, is settled. */
bool serve_access_replace_mt(struct serve_shared *shared, const struct access_list *list);
/* Do all cores use what was replaced last, and nothing of before? */
bool serve_settled_mt(const struct serve_shared *shared);

enum serve_stop { SERVE_RUN, SERVE_STOP, SERVE_STOP_GRACEFULLY };

/* What a client's `shutdown` asked for. */
enum serve_stop serve_stop_requested_mt(const struct serve_shared *shared);
/* How often clients have asked for the certificates to be read again. */
uint32_t serve_certs_asked_mt(const struct serve_shared *shared);

/* Processor time of the process so far, for `stats`; the program reads its clock. */
void serve_rusage_set_mt(struct serve_shared *shared, uint64_t user_us, uint64_t system_us);

/* Memory that the kernel counts for the process, for `stats`. */
void serve_resident_set_mt(struct serve_shared *shared, uint64_t bytes);

/* What the load of --memory-save has come to, for `stats`. */
enum serve_load_state { SERVE_LOAD_NONE, SERVE_LOADING, SERVE_LOADED };
struct serve_load {
	uint32_t state;       /* enum serve_load_state */
	uint64_t items, lost; /* loaded; lost: once it has ended */
	uint64_t us;
};
void serve_load_set_mt(struct serve_shared *shared, const struct serve_load *load);

/* What `verbosity` was last set to. */
uint32_t serve_verbosity_mt(const struct serve_shared *shared);

#endif
