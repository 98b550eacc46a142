/*
 * admin_internal.h - administration: what a core and all cores keep for it, and the internal
 * interfaces.
 *
 * Private to lib/admin. One file a concern: admin.c the table that the service calls, the commands
 * of one line; admin_stats.c admin_class_stats.c admin_conns.c admin_prefix.c admin_dump.c long
 * replies; admin_front_stats.c rows of a supplier; admin_counters.c all else that is counted;
 * admin_latency.c how long requests were here; admin_hotkeys.c which keys are asked for most;
 * admin_sources.c who has most connections; admin_slow.c which requests were here longest;
 * admin_rows.c parts of rows; admin_sums.c sums over all cores; admin_observe.c events;
 * admin_watch.c watchers.
 *
 * Thread: struct admin is its core's, but for its atomics and its ring; struct admin_shared is
 *         set at start, but for its atomics.
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

#define VERBOSITY_MAX    2u  /* memcached's */
#define SNAPSHOTS_A_STEP 64u /* slots of connections looked at in one step of a stream */
#define WORK_SNAPSHOT    20u /* ns, about: of one such slot */

/* ---- one connection, as other cores may see it ---- */

/* Written by its core, read by any. The address is read by conn_snapshot_read; every other field
 * stands for itself and is relaxed. */
struct conn_snapshot {
	_Atomic uint64_t ip[2];    /* the peer's */
	_Atomic uint64_t peer_id;  /* generation << 32 | listener << 24 | local << 16 | port; 0: no
				    * connection */
	uint32_t generation;       /* of its core's: how many connections it has had */
	_Atomic uint32_t active_s; /* store's second of its last bytes */
	_Atomic uint32_t watching;
};

struct snapshot_peer {
	struct ip_addr ip;
	uint16_t port;
	uint8_t local;    /* enum local */
	uint8_t listener; /* number of the port that it came to, in stats conns */
};

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
	/* admin_shared.prefix_clears when the counts were last set to 0. Until it is the number
	 * there, the counts are those from before a reset. */
	_Atomic uint32_t cleared;
	_Atomic uint16_t slots[2 * PREFIXES_MAX]; /* index plus 1, by hash; 0: free */
	struct prefix prefix[PREFIXES_MAX];
};

/* ---- counts by slab class ---- */

/* What `stats reset` found. Counters never decrease (admin_sums.c). */
struct class_base {
	_Atomic uint64_t commands[CLASS_COUNTS];
	_Atomic uint64_t store[STORE_CLASS_COUNTER_COUNT];
};

/* ---- counts by size ---- */

/* Sizes below SIZE_EXACT_MAX in steps of 32 bytes, above it in eighths of powers of two. */
#define SIZE_EXACT_MAX (1u << 17)
#define SIZE_CELLS     (SIZE_EXACT_MAX / 32 + 8 * 15)

/* ---- one core ---- */

struct watcher {
	_Atomic uint32_t streams; /* enum mc_stream; 0: free. Any core reads it: relaxed */
	/* The rest belongs to the core whose connection watches. */
	struct session *session;
	struct budget_place place;
	uint64_t progress_ns; /* when its peer last had read all that it may be sent */
	uint64_t skipped;     /* not yet told */
	uint64_t cursor[STORE_CORES_MAX];
};

struct admin {
	bool detail;              /* prefixes are counted */
	uint32_t streams;         /* enum mc_stream: what some watcher wants */
	uint32_t watching;        /* the watchers that are used: a bit each */
	struct watcher *watchers; /* WATCHERS_MAX */
	struct budget watcher_places;
	struct session *sizes_owner;     /* whose count `sizes` is; NULL: none's */
	uint64_t sizes_ns;               /* when it last went on */
	uint32_t *sizes;                 /* SIZE_CELLS */
	struct conn_snapshot *snapshots; /* conns_max */
	struct prefixes *prefixes;
	struct event_ring *ring;
};

/* ---- all cores ---- */

struct admin_shared {
	/* Relaxed: nothing is read through them. */
	_Atomic bool crawler_off;
	_Atomic uint32_t prefix_clears;
	_Atomic uint64_t crawls;

	/* Written by `stats reset` on any core, read by stats on any core: relaxed, since a
	 * reader that sees one base new and the next one old shows what a reset a moment
	 * earlier or later would have shown. */
	_Atomic uint64_t serve_base[SERVE_COUNTER_COUNT];
	_Atomic uint64_t store_base[STORE_COUNTER_COUNT];
	_Atomic uint64_t stack_base[STACK_COUNTER_COUNT];
	_Atomic uint64_t pages_moved_base;
	_Atomic uint64_t turn_base[TURN_COUNTER_COUNT], turn_cell_base[TURN_CELLS];
	struct class_base bases[CLASSES_MAX];

	const struct telemetry *telemetry; /* NULL: none */
	struct {
		_Atomic uint64_t missed, no_buffer, rx_errors, tx_errors, frames_free;
		_Atomic uint32_t link_up;
	} nic; /* struct admin_nic: relaxed, each word for itself */

	struct latency *latency;
	struct hotkeys *hotkeys;
	struct sources *sources;
	struct slow *slow;

	_Atomic uint32_t streams; /* of all watchers */
	_Atomic uint64_t gid;     /* of the last event */
};

/* ---- commands ---- */

enum exec_status execute_stats(struct serve *sv, struct op *op);
enum exec_status execute_stats_reset(struct serve *sv, struct op *op);
enum exec_status execute_bin_stat(struct serve *sv, struct op *op);
enum exec_status execute_detail(struct serve *sv, struct op *op);
bool admin_dumps_off(const struct serve *sv);
enum exec_status execute_cachedump(struct serve *sv, struct op *op);
enum exec_status execute_dump(struct serve *sv, struct op *op);
enum exec_status execute_watch(struct serve *sv, struct op *op);

extern const struct stream_kind items_stream, slabs_stream, sizes_stream, conns_stream,
	front_stream, extstore_stream, net_stream, stack_stream, cores_stream, counters_stream,
	latency_stream, hotkeys_stream, sources_stream, slow_stream, stats_stream, settings_stream;

/* The supplier's rows of stats, which is at row first behind all others. */
bool supplier_stats_step(struct serve *sv, struct stream *st, struct out_buffer *buffer,
			 uint32_t first);

/* stats detail on or off: done, st->rows_done; dump: begin st. False: refused, and answered. */
bool detail_switch(struct serve *sv, struct op *op, struct stream *st);

/* ---- connections (admin_conns.c) ---- */

void conn_listed(struct serve *sv, const struct session *ss);
void conn_unlisted(struct serve *sv, const struct session *ss);
void conn_is_active(struct serve *sv, const struct session *ss);
/* As `stats conns` and watchers number it; 0: none. */
uint32_t session_number(const struct serve *sv, const struct session *ss);
/* False: there is no connection, or another one came just now. */
bool conn_snapshot_read(const struct conn_snapshot *snapshot, struct snapshot_peer *peer);

/* ---- events (admin_observe.c) ---- */

enum event_kind { EVENT_GET, EVENT_STORE, EVENT_EVICTION, EVENT_DELETED, EVENT_CONN, EVENT_LINE };

bool observes(const struct serve *sv, enum mc_stream stream);
void observed_request(struct serve *sv, const struct op *op);
void observed_get(struct serve *sv, const struct op *op, const struct item *it);
/* memcached looks the key up for nearly every command, and its watchers see that. */
void observed_lookup(struct serve *sv, const struct op *op, const struct item *it);
void observed_write(struct serve *sv, const struct op *op, uint64_t hash);
void observed_store(struct serve *sv, const struct op *op, enum store_result r,
		    const struct item *it);
void observed_delete(struct serve *sv, const struct op *op, const struct item *it);
void observed_conn(struct serve *sv, const struct session *ss, bool opened);
/* store_evicted_fn; arg is the service. */
void observed_eviction(void *arg, const struct item *it);
void prefix_count(struct serve *sv, struct view key, enum prefix_count which);
/* Sets this core's counts to 0 if there was a reset since it did so last. */
void prefixes_clear(struct serve *sv);

/* ---- watchers (admin_watch.c) ---- */

void watchers_turn(struct serve *sv);
void watcher_remove(struct serve *sv, struct session *ss);
/* A watcher was added or removed on some core. */
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
/* Of what names keys. Answered, if so. */
bool hotkeys_refused(struct serve *sv, struct op *op);

/* ---- sums over all cores (admin_sums.c) ---- */

/* How long busy turns took, us; 0 where there was none. */
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
