/*
 * serve_admin.h - administration: what a core and all cores keep for it, and the internal
 * interfaces.
 *
 * Private to lib/serve. serve_policy.c what is allowed, and words for the program; serve_admin.c
 * the commands of one line; serve_auth.c who may ask; serve_stream.c replies of any length;
 * serve_stats.c serve_class_stats.c serve_conns.c serve_prefix.c serve_dump.c what they say;
 * serve_observe.c events; serve_watch.c watchers; udp_rate_limit.c event_ring.c their tools.
 *
 * Thread: struct admin is its core's, but for its atomics and its ring; struct admin_shared is
 *         set at start, but for its atomics.
 */
#ifndef CLOCKOO_SERVE_ADMIN_H
#define CLOCKOO_SERVE_ADMIN_H

#include "event_ring.h"
#include "serve_policy.h"
#include "udp_rate_limit.h"

#include "proto/mc_binary.h"
#include "proto/mc_req.h"
#include "store/introspect.h"

#define WATCHERS_MAX     20u  /* memcached's */
#define PREFIXES_MAX     256u /* memcached's */
#define VERBOSITY_MAX    2u   /* memcached's */
#define SNAPSHOTS_A_STEP 64u  /* slots of connections looked at in one step of a stream */
#define WORK_CARD        20u  /* ns, about: of one such look */

/* To one source over UDP, to what is no request, by all cores: as many as somebody who types needs,
 * and a client's author to see that he is wrong. */
#define UDP_ERRORS_A_SECOND 100u

struct op;
struct serve;
struct session;

/* ---- replies of any length (serve_stream.c) ---- */

enum stream_kind {
	STREAM_NONE,
	STREAM_STATS,
	STREAM_SETTINGS,
	STREAM_ITEMS,
	STREAM_SLABS,
	STREAM_SIZES,
	STREAM_CONNS,
	STREAM_PREFIXES,
	STREAM_CACHEDUMP,
	STREAM_METADUMP,
	STREAM_MGDUMP,
	STREAM_KINDS,
};

/* Where a reply stands that is written as room comes. */
struct stream {
	uint8_t kind;   /* enum stream_kind */
	bool binary;    /* rows are packets of the binary protocol */
	bool rows_done; /* all rows are written, the end is not */
	bool totals;    /* slabs: all classes are written */
	bool later;     /* a step: there is nothing to be done before the next turn */
	struct mc_bin_echo echo;
	uint32_t row;     /* the next one; of classes and connections: of the one at `at` */
	uint32_t at, sub; /* class; core and slot */
	uint32_t left;    /* items that may still be listed */
	uint32_t work;    /* a step: of this one, beyond what it writes (serve_work.h) */
	struct store_cursor cursor;
	uint64_t classes[(MC_CLASS_MAX + 1) / 64]; /* bits */
};

/* ---- one connection, as other cores may see it ---- */

/* Written by its core, read by any. who, with its address, is read by conn_snapshot_read; each
 * other word says something by itself, so those are relaxed. */
struct conn_snapshot {
	_Atomic uint64_t ip[2];    /* the peer's */
	_Atomic uint64_t peer_id;  /* generation << 32 | local << 16 | port; 0: no connection */
	uint32_t generation;       /* of its core's: how many connections it has had */
	_Atomic uint32_t active_s; /* store's second of its last bytes */
	_Atomic uint32_t watching;
};

struct snapshot_peer {
	struct ip_addr ip;
	uint16_t port;
	uint8_t local; /* enum local */
};

void conn_snapshot_write(struct conn_snapshot *snapshot,
			 const struct snapshot_peer *peer); /* NULL: no connection */
/* False: there is no connection, or another one came just now. */
bool conn_snapshot_read(const struct conn_snapshot *snapshot, struct snapshot_peer *peer);

/* ---- counts by key prefix ---- */

enum prefix_count { PREFIX_GET, PREFIX_HIT, PREFIX_SET, PREFIX_DEL, PREFIX_COUNTS };

struct prefix {
	uint64_t hash;
	uint8_t len;
	uint8_t bytes[MC_KEY_MAX];
	struct counter counts[PREFIX_COUNTS];
};

/* Prefixes are added and never taken away, so that other cores may read those below count, and
 * those that a slot names. */
struct prefixes {
	_Atomic uint32_t count;
	uint32_t cleared; /* admin_shared.prefix_clears when the counts were last set to 0 */
	_Atomic uint16_t slots[2 * PREFIXES_MAX]; /* index plus 1, by hash; 0: free */
	struct prefix prefix[PREFIXES_MAX];
};

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

/* What `stats reset` found: counters never go back (serve_shared.c). */
struct class_base {
	_Atomic uint64_t commands[CLASS_COUNTS];
	_Atomic uint64_t store[STORE_CLASS_COUNTER_COUNT];
};

/* ---- counts by size ---- */

/* Sizes below SIZE_EXACT_MAX in steps of 32 bytes, above it in eighths of powers of two. */
#define SIZE_EXACT_MAX (1u << 17)
#define SIZE_CELLS     (SIZE_EXACT_MAX / 32 + 8 * 15)

/* ---- one core ---- */

struct admin {
	/* Looked at by every request: some watcher wants to know, or prefixes are counted. */
	bool observed;
	bool started; /* the policy was looked at */
	bool auth;    /* the policy's; so are the next two */
	bool rate_limited;
	uint8_t protocol;
	bool detail;
	uint32_t streams;                /* enum mc_stream: what some watcher wants */
	uint32_t users_version;          /* which table of users this core looks in */
	uint32_t watchers;               /* on this core: a bit each */
	uint32_t asked;                  /* bytes of the requests of the message being composed */
	uint32_t idle_slot;              /* where the look for idle connections stands */
	uint64_t idle_ns;                /* up to when it has been paid for */
	struct session *sizes_owner;     /* whose count `sizes` is; NULL: nobody's */
	uint32_t *sizes;                 /* SIZE_CELLS */
	struct conn_snapshot *snapshots; /* conns_max */
	struct prefixes *prefixes;
	struct event_ring *ring;
	struct udp_rate_limit *rate_limit;
	struct udp_rate_limit
		*error_limit; /* the same sketch: it counts errors where that counts bytes */
	struct store_class_map map;
	struct counter (*classes)[CLASS_COUNTS]; /* CLASSES_MAX */
};

/* ---- all cores ---- */

struct watcher {
	_Atomic uint32_t streams; /* enum mc_stream; 0: free */
	/* The rest belongs to the core whose connection watches. */
	struct session *session;
	uint64_t skipped; /* not yet told */
	uint64_t cursor[STORE_CORES_MAX];
};

struct admin_shared {
	struct serve_policy policy;

	/* Table users_version % 2 is the one to use; the other may be written once every core has
	 * seen that (serve_policy.c). */
	struct serve_users users[2];
	_Atomic uint32_t users_version;
	_Atomic uint32_t users_version_seen[STORE_CORES_MAX];

	/* Settings and words of their own: relaxed, nothing is read through them. */
	_Atomic uint32_t stop; /* enum serve_stop */
	_Atomic uint32_t verbosity;
	_Atomic uint64_t user_us, system_us;
	_Atomic bool crawler_off, detail;
	_Atomic uint32_t prefix_clears;
	_Atomic uint64_t crawls;
	struct class_base bases[CLASSES_MAX];

	_Atomic uint32_t streams; /* of all watchers */
	_Atomic uint64_t gid;     /* of the last event */
	struct watcher watchers[WATCHERS_MAX];
};

/* ---- creation, turn, connections (serve_admin.c) ---- */

size_t admin_bytes(const struct serve_config *cfg);
void admin_create(struct serve *sv, struct region *region);
/* Once a turn: what others changed; what watchers wait for; who has been idle too long. */
void admin_turn(struct serve *sv);
void admin_conn_opened(struct serve *sv, struct session *ss);
void admin_conn_closed(struct serve *sv, struct session *ss);
/* Something came on it, for the first time in this second. */
void session_active(struct serve *sv, struct session *ss);
/* Why it is closed, in watchers' words. */
const char *session_end_name(const struct session *ss);
/* As `stats conns` and watchers number it; 0: none. */
uint32_t session_number(const struct serve *sv, const struct session *ss);

/* ---- who may ask (serve_auth.c) ---- */

/* The request of a connection that has not named a user: it becomes an error, or OP_AUTH. line_len
 * is of its line. False: not worth an answer, close the connection. */
bool auth_check(struct session *ss, struct mc_req *req, uint32_t line_len);
/* Part of a token that comes in pieces; returns the bytes taken. */
uint32_t auth_token_append(struct session *ss, struct view src);
void auth_token_free(struct serve *sv, struct session *ss);

/* Once a turn: the table that counts now. */
void users_refresh(struct serve *sv);

/* ---- how much may be sent to whom over UDP (udp_rate_limit.h) ---- */

/* If the policy asks for it. asked and answer are bytes behind the frame header, of a request and
 * of all its datagrams. */
bool udp_reply_allowed(struct serve *sv, const struct udp_peer *to, uint32_t asked,
		       uint32_t answer);
/* May what is no request be answered with an error? Always asked: who takes our error for something
 * to answer, and answers with what we take for none, would go on for ever. */
bool udp_error_allowed(struct serve *sv, const struct udp_peer *to);

/* ---- watchers (serve_watch.c) ---- */

void watchers_turn(struct serve *sv);
void watcher_remove(struct serve *sv, struct session *ss);
/* What is wanted has changed on some core. */
void streams_refresh(struct serve *sv);

/* ---- items as dumps show them (serve_dump.c) ---- */

void item_info(const struct serve *sv, const struct item *it, struct mc_item_info *f);

/* ---- sums over all cores (serve_shared.c) ---- */

uint64_t shared_class_sum(const struct serve_shared *sh, uint32_t class, enum class_count which);
uint32_t watchers_count(const struct serve_shared *sh);

#endif
