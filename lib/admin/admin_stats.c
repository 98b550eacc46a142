/*
 * admin_stats.c - stats and stats settings, summed over all cores. All names of memcached are
 * there; those of mechanisms that do not exist here count nothing (STATS.md). A new row goes before
 * lru_bumps_dropped, after which only a second tier's rows follow. The reply to stats must stay
 * shorter than STATS_BYTES_MAX.
 */
#include "admin_internal.h"
#include "base/time_units.h"
#include "stat_names.h"

/* The values from which rows are made, read once for each buffer. */
struct stats_view {
	const struct serve *sv;
	const struct serve_shared *sh;
	struct store_usage store;
	struct stack_usage stack;
	struct turn_figures turns; /* read when the first of their rows in a step is made */
	bool turns_read;
};

static void
stats_view_read(struct stats_view *v, const struct serve *sv, struct stream *st)
{
	st->work += WORK_CORE * sv->shared->cores;
	v->turns_read = false;
	v->sv = sv;
	v->sh = sv->shared;
	store_usage_mt(sv->shared->store, &v->store);
	shared_usage(sv->shared, &v->stack);
}

static const struct turn_figures *
turns_of(struct stats_view *v, struct stream *st)
{
	if (v->turns_read)
		return &v->turns;
	st->work += WORK_CORE * v->sh->cores;
	shared_turn_figures(v->sh, &v->turns);
	v->turns_read = true;
	return &v->turns;
}

static uint32_t
power_of(uint64_t n)
{
	return n == 0 ? 0 : 63u - (uint32_t)__builtin_clzll(n);
}

/* Returns all memory that was set aside, and the program's own. memory_resident should be as
 * much. */
static uint64_t
memory_sum(const struct stats_view *v)
{
	const struct serve_memory *m = &v->sh->info.memory;

	return v->store.memory_bytes + m->frames + m->connections + m->tables + m->rings +
	       m->program;
}

static void
row_seconds(struct out_buffer *buffer, const struct stream *st, const char *name,
	    const _Atomic uint64_t *us)
{
	uint8_t text[MC_U64_DIGITS_MAX + 8];
	struct out_buffer value = {text, text + sizeof text};

	out_put_seconds(&value, atomic_load_explicit(us, memory_order_relaxed));
	row_text(buffer, st, name, (struct view){text, (uint32_t)(value.at - text)});
}

#define SERVE(which) shared_serve_sum(v.sh, which)
#define STORE(which) shared_store_sum(v.sh, which)
#define STACK(which) shared_stack_sum(v.sh, which)
#define TURNS(which) shared_turn_sum(v.sh, which)
#define WORD(word)   atomic_load_explicit(&v.sh->word, memory_order_relaxed)

/* Returns the uptime. The store's clock may be older than the process, since it continues that of
 * the previous one. */
static uint64_t
up_s(const struct serve *sv)
{
	return sv->clock.now_s - STORE_CLOCK_START - sv->shared->info.earlier_s;
}

static const char *
restart_kind(const struct serve_shared *sh)
{
	static const char *const loads[] = {[SERVE_LOADING] = "loading", [SERVE_LOADED] = "loaded"};
	const uint32_t state = atomic_load_explicit(&sh->load_state, memory_order_relaxed);

	if (state != SERVE_LOAD_NONE)
		return loads[state];
	return sh->info.restart.kind != NULL ? sh->info.restart.kind : "private";
}

/* Returns the seconds since the certificates in use were read from their files. */
static uint64_t
certs_age_s(const struct serve *sv)
{
	const uint64_t read_ns =
		atomic_load_explicit(&sv->shared->certs_read_ns, memory_order_relaxed);

	/* The control thread's clock may be ahead of this core's by a turn. */
	return sv->clock.now_ns > read_ns ? (sv->clock.now_ns - read_ns) / NS_PER_S : 0;
}

/* Shows 0 on a front. Its items are copies: when one expires, a server is asked, so that is no
 * miss. */
#define OWN(number) (sv->rows.mode >= BACKEND_WRITES ? 0 : (number))

/* The rows of stats, in memcached's order, since some people read them by eye: X(kind, name,
 * value). UNSUPPORTED and NONE: tools expect the name, but the mechanism does not exist here. TLS:
 * a number that is shown with -Z. */
#define STATS_ROWS(X)                                                                              \
	X(NUMBER, "pid", v.sh->info.pid)                                                           \
	X(NUMBER, "uptime", up_s(sv))                                                              \
	X(NUMBER, "time", (uint64_t)sv->clock.unix_s)                                              \
	X(TEXT, "version", v.sh->version)                                                          \
	X(NONE, "libevent", "none")                                                                \
	X(NUMBER, "pointer_size", 8 * sizeof(void *))                                              \
	X(SECONDS, "rusage_user", &v.sh->user_us)                                                  \
	X(SECONDS, "rusage_system", &v.sh->system_us)                                              \
	X(NUMBER, "max_connections", v.sh->info.conns_max)                                         \
	X(NUMBER, "curr_connections", v.stack.conns_open)                                          \
	X(NUMBER, "total_connections", SERVE(CONN_OPENED))                                         \
	X(NUMBER, "rejected_connections", SERVE(CONN_REJECTED) + STACK(TCP_REFUSED_CONNS_MAX))     \
	X(NUMBER, "connection_structures", v.stack.conns_max)                                      \
	X(NUMBER, "response_obj_oom", SERVE(CONN_SLOW_REQUEST))                                    \
	X(NUMBER, "response_obj_count", v.stack.chunks_used)                                       \
	X(NUMBER, "response_obj_bytes", (uint64_t)v.stack.chunks_used *CHUNK_BYTES)                \
	X(NUMBER, "read_buf_count", v.stack.rx_frames_held)                                        \
	X(NUMBER, "read_buf_bytes", (uint64_t)v.stack.rx_frames_held *CHUNK_BYTES)                 \
	X(UNSUPPORTED, "read_buf_bytes_free", 0)                                                   \
	X(NUMBER, "read_buf_oom", STACK(TCP_DROP_RX_FRAMES_MAX))                                   \
	X(UNSUPPORTED, "reserved_fds", 0)                                                          \
	X(NUMBER, "cmd_get", SERVE(CMD_GET))                                                       \
	X(NUMBER, "cmd_set", SERVE(CMD_SET))                                                       \
	X(NUMBER, "cmd_flush", SERVE(CMD_FLUSH))                                                   \
	X(NUMBER, "cmd_touch", SERVE(CMD_TOUCH))                                                   \
	X(NUMBER, "cmd_meta", SERVE(CMD_META))                                                     \
	X(NUMBER, "get_hits", SERVE(GET_HITS))                                                     \
	X(NUMBER, "get_misses", SERVE(GET_MISSES))                                                 \
	X(NUMBER, "get_expired", OWN(STORE(STORE_GOT_EXPIRED)))                                    \
	X(NUMBER, "get_flushed", OWN(STORE(STORE_GOT_FLUSHED)))                                    \
	X(NUMBER, "delete_misses", SERVE(DELETE_MISSES))                                           \
	X(NUMBER, "delete_hits", SERVE(DELETE_HITS))                                               \
	X(NUMBER, "incr_misses", SERVE(INCR_MISSES))                                               \
	X(NUMBER, "incr_hits", SERVE(INCR_HITS))                                                   \
	X(NUMBER, "decr_misses", SERVE(DECR_MISSES))                                               \
	X(NUMBER, "decr_hits", SERVE(DECR_HITS))                                                   \
	X(NUMBER, "cas_misses", SERVE(CAS_MISSES))                                                 \
	X(NUMBER, "cas_hits", SERVE(CAS_HITS))                                                     \
	X(NUMBER, "cas_badval", SERVE(CAS_BADVAL))                                                 \
	X(NUMBER, "touch_hits", SERVE(TOUCH_HITS))                                                 \
	X(NUMBER, "touch_misses", SERVE(TOUCH_MISSES))                                             \
	X(NUMBER, "store_too_large", SERVE(STORE_TOO_LARGE_COUNT))                                 \
	X(NUMBER, "store_no_memory", SERVE(STORE_NO_MEMORY_COUNT))                                 \
	X(NUMBER, "auth_cmds", SERVE(AUTH_CMDS))                                                   \
	X(NUMBER, "auth_errors", SERVE(AUTH_ERRORS))                                               \
	X(NUMBER, "idle_kicks", SERVE(CONN_IDLE_KICKS))                                            \
	X(NUMBER, "bytes_read", STACK(RX_BYTES))                                                   \
	X(NUMBER, "bytes_written", STACK(TX_BYTES))                                                \
	X(NUMBER, "limit_maxbytes", v.store.limit_bytes)                                           \
	X(NUMBER, "accepting_conns", v.stack.conns_open < v.sh->info.conns_max)                    \
	X(UNSUPPORTED, "listen_disabled_num", 0)                                                   \
	X(UNSUPPORTED, "time_in_listen_disabled_us", 0)                                            \
	X(NUMBER, "threads", v.sh->cores)                                                          \
	X(NUMBER, "conn_yields", SERVE(CONN_YIELDS))                                               \
	X(NUMBER, "hash_power_level", power_of(v.store.index_slots))                               \
	X(NUMBER, "hash_bytes", v.store.index_bytes)                                               \
	X(NUMBER, "hash_is_expanding", v.store.index_resizing)                                     \
	X(NUMBER, "slab_reassign_rescues", STORE(STORE_RESCUED))                                   \
	X(UNSUPPORTED, "slab_reassign_chunk_rescues", 0)                                           \
	X(UNSUPPORTED, "slab_reassign_inline_reclaim", 0)                                          \
	X(UNSUPPORTED, "slab_reassign_busy_items", 0)                                              \
	X(UNSUPPORTED, "slab_reassign_busy_deletes", 0)                                            \
	X(UNSUPPORTED, "slab_reassign_busy_nomem", 0)                                              \
	X(NONE, "slab_reassign_last_busy_status", "none")                                          \
	X(NUMBER, "slab_reassign_running", v.store.pages_moving != 0)                              \
	X(NUMBER, "slabs_moved", shared_pages_moved(v.sh, &v.store))                               \
	X(UNSUPPORTED, "lru_crawler_running", 0)                                                   \
	X(NUMBER, "lru_crawler_starts", WORD(admin->crawls))                                       \
	X(UNSUPPORTED, "lru_maintainer_juggles", 0)                                                \
	X(UNSUPPORTED, "malloc_fails", 0)                                                          \
	X(UNSUPPORTED, "log_worker_dropped", 0)                                                    \
	X(NUMBER, "log_worker_written", SERVE(EVENTS_LOGGED))                                      \
	X(NUMBER, "log_watcher_skipped", SERVE(EVENTS_SKIPPED))                                    \
	X(NUMBER, "log_watcher_sent", SERVE(EVENTS_SENT))                                          \
	X(NUMBER, "log_watchers", watchers_count(v.sh))                                            \
	X(UNSUPPORTED, "unexpected_napi_ids", 0)                                                   \
	X(UNSUPPORTED, "round_robin_fallback", 0)                                                  \
	X(TLS, "time_since_server_cert_refresh", certs_age_s(sv))                                  \
	X(NUMBER, "bytes", v.store.item_bytes)                                                     \
	X(NUMBER, "curr_items", v.store.items)                                                     \
	X(NUMBER, "total_items", STORE(STORE_ITEMS_LINKED) - STORE(STORE_ITEMS_RENEWED))           \
	X(NUMBER, "slab_global_page_pool", v.store.pages_total - v.store.pages_used)               \
	X(NUMBER, "expired_unfetched", STORE(STORE_EXPIRED_UNFETCHED))                             \
	X(NUMBER, "evicted_unfetched", STORE(STORE_EVICTED_UNFETCHED))                             \
	X(NUMBER, "evicted_active", STORE(STORE_EVICTED_ACTIVE))                                   \
	X(NUMBER, "evictions", STORE(STORE_EVICTED))                                               \
	X(NUMBER, "reclaimed", STORE(STORE_EXPIRED_RECLAIMED))                                     \
	X(NUMBER, "crawler_reclaimed", STORE(STORE_DEAD_SWEPT))                                    \
	X(UNSUPPORTED, "crawler_items_checked", 0)                                                 \
	X(UNSUPPORTED, "lrutail_reflocked", 0)                                                     \
	X(UNSUPPORTED, "moves_to_cold", 0)                                                         \
	X(UNSUPPORTED, "moves_to_warm", 0)                                                         \
	X(UNSUPPORTED, "moves_within_lru", 0)                                                      \
	X(UNSUPPORTED, "direct_reclaims", 0)                                                       \
	X(NUMBER, "memory_items", v.store.memory_bytes - v.store.index_bytes)                      \
	X(NUMBER, "memory_index", v.store.index_bytes)                                             \
	X(NUMBER, "memory_frames", v.sh->info.memory.frames)                                       \
	X(NUMBER, "memory_connections", v.sh->info.memory.connections)                             \
	X(NUMBER, "memory_tables", v.sh->info.memory.tables)                                       \
	X(NUMBER, "memory_rings", v.sh->info.memory.rings)                                         \
	X(NUMBER, "memory_program", v.sh->info.memory.program)                                     \
	X(NUMBER, "memory_sum", memory_sum(&v))                                                    \
	X(TEXT, "restart", restart_kind(v.sh))                                                     \
	X(NUMBER, "restart_kept", v.sh->info.restart.kept + WORD(loaded_items))                    \
	X(NUMBER, "restart_lost", v.sh->info.restart.lost + WORD(loaded_lost))                     \
	X(NUMBER, "restart_us", v.sh->info.restart.us + WORD(loaded_us))                           \
	X(NUMBER, "memory_resident", WORD(resident_bytes))                                         \
	X(NUMBER, "turn_p50_us", turns_of(&v, st)->p50)                                            \
	X(NUMBER, "turn_p99_us", turns_of(&v, st)->p99)                                            \
	X(NUMBER, "turn_p9999_us", turns_of(&v, st)->p9999)                                        \
	X(NUMBER, "turn_max_us", turns_of(&v, st)->longest)                                        \
	X(NUMBER, "turns_over_50us", TURNS(TURNS_OVER_50US))                                       \
	X(NUMBER, "turns_over_100us", TURNS(TURNS_OVER_100US))                                     \
	X(NUMBER, "turns_over_100us_host", TURNS(TURNS_OVER_100US_HOST))                           \
	X(UNSUPPORTED, "lru_bumps_dropped", 0)

#define YES_NO(condition) ((condition) ? "yes" : "no")
#define OR_NULL(text)     ((text) != NULL ? (text) : "NULL")
#define PROTOCOL_NAME(p)                                                                           \
	((p) == MC_PROTOCOL_TEXT     ? "ascii"                                                     \
	 : (p) == MC_PROTOCOL_BINARY ? "binary"                                                    \
				     : "auto-negotiate")

static const char *const tls_versions[] = {"tlsv1.0", "tlsv1.1", "tlsv1.2", "tlsv1.3"};

/* The longest TLS record (RFC 8446 section 5.1), which is also memcached's default. */
#define SSL_WBUF_BYTES 16384u

#define SETTINGS_ROWS(X)                                                                           \
	X(NUMBER, "maxbytes", v.store.limit_bytes)                                                 \
	X(NUMBER, "maxconns", v.sh->info.conns_max)                                                \
	X(NUMBER, "tcpport", v.sh->info.tcp_port)                                                  \
	X(NUMBER, "udpport", v.sh->info.udp_port)                                                  \
	X(TEXT, "inter", OR_NULL(v.sh->info.inter))                                                \
	X(NUMBER, "verbosity", WORD(verbosity))                                                    \
	X(TEXT, "evictions", v.sh->info.no_evict ? "off" : "on")                                   \
	X(TEXT, "domain_socket", "NULL")                                                           \
	X(TEXT, "shutdown_command", YES_NO(policy->shutdown))                                      \
	X(NUMBER, "num_threads", v.sh->cores)                                                      \
	X(NUMBER, "num_threads_per_udp", v.sh->info.udp_port != 0 ? v.sh->cores : 0)               \
	X(TEXT, "steering", OR_NULL(v.sh->info.steering))                                          \
	X(NUMBER, "steering_rules", v.sh->info.steer_rules)                                        \
	X(NUMBER, "steering_rules_refused", v.sh->info.steer_refused)                              \
	X(LETTER, "stat_key_prefix", policy->prefix_delimiter)                                     \
	X(TEXT, "detail_enabled", YES_NO(WORD(detail)))                                            \
	X(NUMBER, "reqs_per_event", v.sh->info.requests_max)                                       \
	X(TEXT, "cas_enabled", YES_NO(!v.sh->info.no_cas))                                         \
	X(NUMBER, "tcp_backlog", v.sh->info.backlog)                                               \
	X(TEXT, "binding_protocol", PROTOCOL_NAME(policy->protocol))                               \
	X(TEXT, "auth_enabled_sasl", YES_NO(policy->auth))                                         \
	X(TEXT, "auth_enabled_ascii",                                                              \
	  v.sh->info.auth_file != NULL ? v.sh->info.auth_file : YES_NO(policy->auth))              \
	X(NUMBER, "item_size_max", v.sh->info.value_max)                                           \
	X(TEXT, "maxconns_fast", "yes")                                                            \
	X(TEXT, "slab_reassign", "yes")                                                            \
	X(NUMBER, "slab_automove", 1)                                                              \
	X(TEXT, "lru_crawler", YES_NO(!WORD(admin->crawler_off)))                                  \
	X(TEXT, "flush_enabled", YES_NO(!policy->no_flush))                                        \
	X(TEXT, "dump_enabled", YES_NO(!admin_dumps_off(sv)))                                      \
	X(TEXT, "watch_enabled", YES_NO(!policy->no_watch))                                        \
	X(TEXT, "hash_algorithm", "xxh3")                                                          \
	X(TEXT, "lru_segmented", "no")                                                             \
	X(TEXT, "temp_lru", "no")                                                                  \
	X(NUMBER, "idle_timeout", policy->idle_timeout_s)                                          \
	X(TEXT, "track_sizes", YES_NO(policy->track_sizes))                                        \
	X(TEXT, "inline_ascii_response", "no")                                                     \
	X(TEXT, "ssl_enabled", YES_NO(v.sh->info.tls))                                             \
	X(TEXT, "ssl_chain_cert", OR_NULL(v.sh->info.ssl.chain_cert))                              \
	X(TEXT, "ssl_key", OR_NULL(v.sh->info.ssl.key))                                            \
	X(NUMBER, "ssl_verify_mode", v.sh->info.ssl.verify_mode)                                   \
	X(NUMBER, "ssl_keyformat", v.sh->info.ssl.keyformat)                                       \
	X(TEXT, "ssl_ciphers", OR_NULL(v.sh->info.ssl.ciphers))                                    \
	X(TEXT, "ssl_ca_cert", OR_NULL(v.sh->info.ssl.ca_cert))                                    \
	X(NUMBER, "ssl_wbuf_size", SSL_WBUF_BYTES)                                                 \
	X(TEXT, "ssl_session_cache", YES_NO(v.sh->info.tls))                                       \
	X(TEXT, "ssl_kernel_tls", "no")                                                            \
	X(TEXT, "ssl_min_version", tls_versions[v.sh->info.ssl.min_version & 3])                   \
	X(TEXT, "proxy_enabled", "no")                                                             \
	X(NUMBER, "client_flags_size", sizeof(uint32_t))

/* Returns a text of the operator, cut to fit a row. */
static struct view
row_view(const char *text)
{
	const size_t len = strlen(text);

	return (struct view){(const uint8_t *)text,
			     len < ROW_VALUE_MAX ? (uint32_t)len : ROW_VALUE_MAX};
}

#define ROW_NUMBER(name, value)      row_number(buffer, st, name, value);
#define ROW_UNSUPPORTED(name, value) row_number(buffer, st, name, value);
#define ROW_NONE(name, value)        row_text(buffer, st, name, row_view(value));
#define ROW_TEXT(name, value)        row_text(buffer, st, name, row_view(value));
#define ROW_SECONDS(name, value)     row_seconds(buffer, st, name, value);
#define ROW_LETTER(name, value)                                                                    \
	row_text(buffer, st, name, (struct view){(const uint8_t *)&(value), 1});
#define ROW_TLS(name, value) row_number(buffer, st, name, value);

/* True for a row that this appliance has. */
#define HAS_NUMBER      true
#define HAS_UNSUPPORTED true
#define HAS_NONE        true
#define HAS_TEXT        true
#define HAS_SECONDS     true
#define HAS_LETTER      true
#define HAS_TLS         v.sh->info.tls

#define ROW(kind, name, value)                                                                     \
	if (HAS_##kind && row_due(buffer, &st->row, &n)) {                                         \
		ROW_##kind(name, value)                                                            \
	}

static bool
stats_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	struct stats_view v;
	uint32_t n = 0;

	stats_view_read(&v, sv, st);
	STATS_ROWS(ROW)
	return st->row < n || backend_stats_step(sv, st, buffer, n);
}

static bool
settings_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct serve_policy *policy = &sv->shared->policy;
	struct stats_view v;
	uint32_t n = 0;

	stats_view_read(&v, sv, st);
	SETTINGS_ROWS(ROW)
	return st->row < n;
}

const struct stat_name stats_names[] = {STATS_ROWS(STAT_NAME)};
const uint32_t stats_name_count = sizeof stats_names / sizeof stats_names[0];
const struct stat_name settings_names[] = {SETTINGS_ROWS(STAT_NAME)};
const uint32_t settings_name_count = sizeof settings_names / sizeof settings_names[0];

/* ---- the command ---- */

const struct stream_kind stats_stream = {stats_step, ROW_MAX, MC_END};
const struct stream_kind settings_stream = {settings_step, ROW_MAX, MC_END};

/* Sets the counters to zero in one step that writes no row. */
static bool
reset_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	(void)buffer;
	st->work += WORK_RESET * sv->shared->cores;
	shared_reset(sv->shared);
	/* Requests of this turn that come after the reset are counted. */
	prefixes_clear(sv);
	if (sv->rows.reset != NULL)
		sv->rows.reset(sv->rows.arg);
	return false;
}

static const struct stream_kind reset_stream = {reset_step, ROW_MAX, MC_RESET};

static const struct stream_kind *
stream_of(uint8_t verb)
{
	switch (verb) {
	case MC_STATS:
		return &stats_stream;
	case MC_STATS_SETTINGS:
		return &settings_stream;
	case MC_STATS_ITEMS:
		return &items_stream;
	case MC_STATS_SLABS:
		return &slabs_stream;
	case MC_STATS_SIZES:
		return &sizes_stream;
	case MC_STATS_FRONT:
		return &front_stream;
	case MC_STATS_EXTSTORE:
		return &extstore_stream;
	case MC_STATS_NET:
		return &net_stream;
	case MC_STATS_STACK:
		return &stack_stream;
	case MC_STATS_CORES:
		return &cores_stream;
	case MC_STATS_COUNTERS:
		return &counters_stream;
	case MC_STATS_LATENCY:
		return &latency_stream;
	case MC_STATS_HOTKEYS:
		return &hotkeys_stream;
	case MC_STATS_SOURCES:
		return &sources_stream;
	case MC_STATS_SLOW:
		return &slow_stream;
	case MC_STATS_RESET:
		return &reset_stream;
	default:
		return &conns_stream;
	}
}

/* Begins a reply of many rows. Over UDP, counts by size and the lists of a fleet are refused, since
 * they are too much work for one datagram. */
static enum exec_status
stats_start(struct serve *sv, struct op *op, const struct stream *st)
{
	const bool many_items = st->kind == &sizes_stream && sv->shared->policy.track_sizes;

	if (names_keys(st->kind) && hotkeys_refused(sv, op))
		return EXEC_DONE;
	if (op->session != NULL ||
	    !(many_items || st->kind == &front_stream || st->kind == &sources_stream))
		return stream_start(sv, op, st);
	reply_error(sv, op, MC_ERR_UDP);
	return EXEC_DONE;
}

enum exec_status
execute_stats(struct serve *sv, struct op *op)
{
	const struct stream st = {.kind = stream_of(op->req.verb)};

	return stats_start(sv, op, &st);
}

/* Answers in the binary protocol: a packet for each row, and an empty one at the end. If the answer
 * in text is a line of its own instead of rows, only the empty packet is sent. */
enum exec_status
execute_bin_stat(struct serve *sv, struct op *op)
{
	const uint8_t verb = op->req.admin.stats;
	struct stream st = {.binary = true, .echo = mc_bin_echo(&op->req), .kind = &stats_stream};

	if (verb == MC_BAD || verb == MC_STATS_CONNS) {
		reply_status(sv, op, MC_STATUS_NOT_FOUND);
		return EXEC_DONE;
	}
	if (verb == MC_STATS_DETAIL) {
		if (!detail_switch(sv, op, &st))
			return EXEC_DONE;
	} else {
		st.kind = stream_of(verb);
	}
	return stats_start(sv, op, &st);
}
