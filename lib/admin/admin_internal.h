/*
 * admin_internal.h - the state of administration, for each core and for all, and its internal
 * interfaces.
 *
 * Private to lib/admin. The files: admin.c the table that the service calls, the commands of one
 * line; admin_stats.c admin_class_stats.c admin_conns.c admin_prefix.c admin_dump.c long replies;
 * admin_front_stats.c rows of a backend; admin_counters.c all other counters; admin_latency.c
 * residence times of requests; admin_hotkeys.c the keys requested most; admin_sources.c the sources
 * with the most connections; admin_slow.c the requests with the longest residence; admin_rows.c
 * parts of rows; admin_sums.c sums over all cores; admin_observe.c events; admin_watch.c watchers.
 *
 * Thread: struct admin: its core, except for its atomics and its ring. struct admin_shared is set
 *         at the start, except for its atomics.
 */
#ifndef CLOCKOO_ADMIN_INTERNAL_H
#define CLOCKOO_ADMIN_INTERNAL_H

#include "base/budget.h"
#include "admin.h"
#include "admin_rows.h"
#include "event_ring.h"

#include "serve/serve_admin.h"
#include "serve/serve_execute.h"
#include "serve/serve_shared.h"
#include "store/introspect.h"

#define VERBOSITY_MAX    2u  /* as in memcached */
#define SNAPSHOTS_A_STEP 64u /* connection slots visited in one step of a stream */
#define WORK_SNAPSHOT    20u /* estimated ns to visit such a slot */

/* ---- connections, for other cores ---- */

/* A connection, as its core publishes it for any core. The address must be read by
 * conn_snapshot_read; every other field is independent and relaxed. */
struct conn_snapshot {
	_Atomic uint64_t ip[2];    /* address of the peer */
	_Atomic uint64_t peer_id;  /* generation << 40 | listener << 32 | local << 16 | port; 0: no
				    * connection */
	uint32_t generation;       /* connections that this core has had so far */
	_Atomic uint32_t active_s; /* the store's second in which bytes last arrived */
	_Atomic uint32_t watching;
};

struct snapshot_peer {
	struct ip_addr ip;
	uint16_t port;
	uint16_t local;   /* number of our address */
	uint8_t listener; /* number that stats conns has for its port */
};

/* ---- counts by key prefix ---- */

enum prefix_count { PREFIX_GET, PREFIX_HIT, PREFIX_SET, PREFIX_DEL, PREFIX_COUNTS };

struct prefix {
	uint64_t hash;
	uint8_t len;
	uint8_t bytes[MC_KEY_MAX];
	struct counter counts[PREFIX_COUNTS];
};

/* Prefixes are added and never removed. So other cores may read those below count, and those to
 * which a slot refers. */
struct prefixes {
	_Atomic uint32_t count;
	/* The value of admin_shared.prefix_clears when the counts were last set to 0. While the two
	 * differ, the counts are from before a reset. */
	_Atomic uint32_t cleared;
	_Atomic uint16_t slots[2 * PREFIXES_MAX]; /* index plus 1, by hash; 0: free */
	struct prefix prefix[PREFIXES_MAX];
};

/* ---- counts by slab class ---- */

/* Values of the counters at the last `stats reset`. Counters never decrease (admin_sums.c). */
struct class_base {
	_Atomic uint64_t commands[CLASS_COUNTS];
	_Atomic uint64_t store[STORE_CLASS_COUNTER_COUNT];
};

/* ---- counts by size ---- */

/* Sizes below SIZE_EXACT_MAX are counted in steps of 32 bytes, larger ones in eighths of powers of
 * two. */
#define SIZE_EXACT_MAX (1u << 17)
#define SIZE_CELLS     (SIZE_EXACT_MAX / 32 + 8 * 15)

/* ---- one core ---- */

struct watcher {
	/* Enum mc_stream; 0: the place is free. Any core reads it, relaxed. */
	_Atomic uint32_t streams;
	/* The fields from here on belong to the core of the watching connection. */
	struct session *session;
	struct budget_place place;
	uint64_t progress_ns; /* when its peer last had everything that was sent */
	uint64_t skipped;     /* events that were skipped and not reported yet */
	uint64_t cursor[STORE_CORES_MAX];
};

struct admin {
	bool detail;              /* prefixes are counted */
	uint32_t streams;         /* enum mc_stream: the streams that some watcher wants */
	uint32_t watching;        /* a bit for each watcher in use */
	struct watcher *watchers; /* WATCHERS_MAX */
	struct budget watcher_places;
	struct session *sizes_owner; /* the session whose count is in `sizes`; NULL: it is free */
	uint64_t sizes_ns;           /* when that session last made progress */
	uint32_t *sizes;             /* SIZE_CELLS */
	struct conn_snapshot *snapshots; /* conns_max */
	struct prefixes *prefixes;
	struct event_ring *ring;
};

/* ---- all cores ---- */

struct admin_shared {
	/* Relaxed: no other memory is read through them. */
	_Atomic bool crawler_off;
	_Atomic uint32_t prefix_clears;
	_Atomic uint64_t crawls;

	/* Written by `stats reset` on any core, read by stats on any core. Relaxed: a reader that
	 * sees one old and one new base shows a reset a moment earlier or later. */
	_Atomic uint64_t serve_base[SERVE_COUNTER_COUNT];
	_Atomic uint64_t store_base[STORE_COUNTER_COUNT];
	_Atomic uint64_t stack_base[STACK_COUNTER_COUNT];
	_Atomic uint64_t pages_moved_base;
	_Atomic uint64_t turn_base[TURN_COUNTER_COUNT], turn_cell_base[TURN_CELLS];
	struct class_base bases[CLASSES_MAX];

	const struct telemetry *telemetry; /* NULL: none */
	struct {
		_Atomic uint64_t rx_frames, tx_frames;
		_Atomic uint64_t missed, no_buffer, rx_errors, tx_errors, frames_free;
		_Atomic uint64_t allowances[NIC_ALLOWANCE_COUNT];
		_Atomic uint32_t link_up;
	} nic; /* as struct admin_nic; each word is independent and relaxed */

	struct latency *latency;
	struct hotkeys *hotkeys;
	struct sources *sources;
	struct slow *slow;

	_Atomic uint32_t streams; /* streams of all watchers */
	_Atomic uint64_t gid;     /* number of the last event */
};

/* ---- commands ---- */

enum exec_status execute_stats(struct serve *sv, struct op *op);
enum exec_status execute_bin_stat(struct serve *sv, struct op *op);
enum exec_status execute_detail(struct serve *sv, struct op *op);
bool admin_dumps_off(const struct serve *sv);
enum exec_status execute_cachedump(struct serve *sv, struct op *op);
enum exec_status execute_dump(struct serve *sv, struct op *op);
enum exec_status execute_watch(struct serve *sv, struct op *op);

extern const struct stream_kind items_stream, slabs_stream, sizes_stream, conns_stream,
	front_stream, extstore_stream, net_stream, stack_stream, cores_stream, counters_stream,
	latency_stream, hotkeys_stream, sources_stream, slow_stream, stats_stream, settings_stream;

/* Writes the backend's rows of stats, which come after all others, from row first on. */
bool backend_stats_step(struct serve *sv, struct stream *st, struct out_buffer *buffer,
			uint32_t first);

/* Executes `stats detail`. on, off: sets st->rows_done. dump: begins st. False: the command is
 * refused, and answered. */
bool detail_switch(struct serve *sv, struct op *op, struct stream *st);

/* ---- connections (admin_conns.c) ---- */

void conn_listed(struct serve *sv, const struct session *ss);
void conn_unlisted(struct serve *sv, const struct session *ss);
void conn_is_active(struct serve *sv, const struct session *ss);
/* Returns the number of the session in `stats conns` and for watchers; 0: it has none. */
uint32_t session_number(const struct serve *sv, const struct session *ss);
/* Reads the peer of a connection. False: the slot has none, or has got another one meanwhile. */
bool conn_snapshot_read(const struct conn_snapshot *snapshot, struct snapshot_peer *peer);

/* ---- events (admin_observe.c) ---- */

enum event_kind { EVENT_GET, EVENT_STORE, EVENT_EVICTION, EVENT_DELETED, EVENT_CONN, EVENT_LINE };

bool observes(const struct serve *sv, enum mc_stream stream);
void observed_request(struct serve *sv, const struct op *op);
void observed_get(struct serve *sv, const struct op *op, const struct item *it);
/* Records a lookup. memcached looks the key up for nearly every command, and shows watchers
 * that. */
void observed_lookup(struct serve *sv, const struct op *op, const struct item *it);
void observed_write(struct serve *sv, const struct op *op, uint64_t hash);
void observed_store(struct serve *sv, const struct op *op, enum store_result r,
		    const struct item *it);
void observed_delete(struct serve *sv, const struct op *op, const struct item *it);
void observed_conn(struct serve *sv, const struct session *ss, bool opened);
/* Records an eviction; a store_evicted_fn, whose arg is the service. */
void observed_eviction(void *arg, const struct item *it);
void prefix_count(struct serve *sv, struct view key, enum prefix_count which);
/* Sets this core's counts to 0, if there was a reset since the last call. */
void prefixes_clear(struct serve *sv);

/* ---- watchers (admin_watch.c) ---- */

void watchers_turn(struct serve *sv);
void watcher_remove(struct serve *sv, struct session *ss);
/* Makes this core notice that a watcher was added or removed on some core. */
void streams_refresh(struct serve *sv);
uint32_t watchers_count(const struct serve_shared *sh);

/* ---- latency (admin_latency.c) ---- */

size_t latency_bytes(void);
void latency_create(struct region *region, struct serve_shared *shared);

/* ---- sources (admin_sources.c) ---- */

size_t sources_bytes(void);
void sources_create(struct region *region, struct serve_shared *shared);

/* ---- slow requests (admin_slow.c) ---- */

size_t slow_bytes(void);
void slow_create(struct region *region, struct serve_shared *shared);

/* ---- hot keys (admin_hotkeys.c) ---- */

size_t hotkeys_bytes(void);
void hotkeys_create(struct region *region, struct serve_shared *shared);
static inline bool
names_keys(const struct stream_kind *kind)
{
	return kind == &hotkeys_stream || kind == &slow_stream;
}
/* Writes the next row of the keys requested most, numbered by st->sub. False: there are no more, or
 * -X hides them. */
bool top_key_step(struct serve *sv, struct stream *st, struct out_buffer *buffer);
/* True if a command that lists keys is refused; then it is answered. */
bool hotkeys_refused(struct serve *sv, struct op *op);

/* ---- sums over all cores (admin_sums.c) ---- */

/* Lengths of busy turns in us; 0: there were none. */
struct turn_figures {
	uint64_t p50, p99, p9999, longest;
};

uint64_t shared_serve_sum(const struct serve_shared *sh, enum serve_counter which);
uint64_t shared_store_sum(const struct serve_shared *sh, enum store_counter which);
uint64_t shared_stack_sum(const struct serve_shared *sh, uint32_t which);
uint64_t shared_turn_sum(const struct serve_shared *sh, enum turn_counter which);
void shared_turn_figures(const struct serve_shared *sh, struct turn_figures *figures);
uint64_t shared_class_sum(const struct serve_shared *sh, uint32_t class, enum class_count which);
void shared_usage(const struct serve_shared *sh, struct stack_usage *sum);
uint64_t shared_pages_moved(const struct serve_shared *sh, const struct store_usage *usage);
void shared_reset(struct serve_shared *sh);

#endif
