/*
 * serve_admin.c - administration: creation and turn of what a core keeps for it, and the commands
 * that are answered with one line.
 *
 * Words for mechanisms this product has none of (LRU segments, a crawler thread, slab automove) are
 * judged as memcached judges them and change nothing (README.md).
 */
#include "serve_record.h"
#include "serve_stream.h"

#define IDLE_SLOTS_A_TURN 64u
#define NS_PER_S          1000000000ull

/* ---- creation ---- */

static uint32_t
per_core_share(uint32_t budget, uint32_t cores)
{
	const uint32_t share = budget / cores;

	return share > 0 || budget == 0 ? share : 1;
}

static void
rate_limits_create(struct serve *sv)
{
	const struct serve_policy *p = &sv->shared->admin.policy;
	struct udp_rate_limit *g = sv->admin.rate_limit;

	/* A source's datagrams may come to every core, by its ports. */
	g->bytes_per_s = per_core_share(p->udp_bytes_per_s, sv->shared->cores);
	for (uint32_t i = 0; i < p->network_count; i++)
		udp_rate_limit_exempt(g, &p->networks[i].ip, p->networks[i].prefix_len);
	sv->admin.error_limit->bytes_per_s = per_core_share(UDP_ERRORS_A_SECOND, sv->shared->cores);
}

size_t
admin_bytes(const struct serve_config *cfg)
{
	return (size_t)cfg->conns_max * sizeof(struct conn_snapshot) + sizeof(struct prefixes) +
	       sizeof(struct event_ring) + 2 * sizeof(struct udp_rate_limit) +
	       CLASSES_MAX * CLASS_COUNTS * sizeof(struct counter) + SIZE_CELLS * sizeof(uint32_t) +
	       7 * CACHE_LINE_BYTES;
}

void
admin_create(struct serve *sv, struct region *region)
{
	struct admin *a = &sv->admin;
	const size_t line = CACHE_LINE_BYTES;

	a->snapshots = region_take(region, sv->cfg.conns_max * sizeof(struct conn_snapshot), line);
	a->prefixes = region_take(region, sizeof(struct prefixes), line);
	a->ring = region_take(region, sizeof(struct event_ring), line);
	a->rate_limit = region_take(region, sizeof(struct udp_rate_limit), line);
	a->error_limit = region_take(region, sizeof(struct udp_rate_limit), line);
	a->classes = region_take(region, CLASSES_MAX * sizeof *a->classes, line);
	store_class_map(sv->shared->store, &a->map);
	a->sizes = region_take(region, SIZE_CELLS * sizeof(uint32_t), line);
}

/* ---- connections ---- */

void
admin_conn_opened(struct serve *sv, struct session *ss)
{
	struct conn_snapshot *snapshot = &sv->admin.snapshots[ss - sv->sessions];
	struct snapshot_peer peer = {.local = conn_local(ss->conn)};

	conn_peer(ss->conn, &peer.ip, &peer.port);
	session_active(sv, ss);
	atomic_store_explicit(&snapshot->watching, 0, memory_order_relaxed);
	conn_snapshot_write(snapshot, &peer);
	if (unlikely(observes(sv, MC_STREAM_CONNEVENTS)))
		observed_conn(sv, ss, true);
}

void
admin_conn_closed(struct serve *sv, struct session *ss)
{
	if (unlikely(observes(sv, MC_STREAM_CONNEVENTS)))
		observed_conn(sv, ss, false);
	if (ss->aside == ASIDE_LOG)
		watcher_remove(sv, ss);
	if (sv->admin.sizes_owner == ss)
		sv->admin.sizes_owner = NULL;
	auth_token_free(sv, ss);
	conn_snapshot_write(&sv->admin.snapshots[ss - sv->sessions], NULL);
}

void
session_active(struct serve *sv, struct session *ss)
{
	ss->active_s = sv->clock.now_s;
	atomic_store_explicit(&sv->admin.snapshots[ss - sv->sessions].active_s, ss->active_s,
			      memory_order_relaxed);
}

const char *
session_end_name(const struct session *ss)
{
	switch ((enum session_end)ss->end) {
	case SESSION_END_IDLE:
		return "idle_timeout";
	case SESSION_END_SHUTDOWN:
		return "shutdown";
	case SESSION_END_ERROR:
		return "error";
	default:
		return "normal";
	}
}

/* As many slots as the time since the last look is worth: each about once a second, however many
 * there are and however often the core turns. */
static uint32_t
idle_due(struct serve *sv)
{
	const uint64_t slot_ns = NS_PER_S / sv->cfg.conns_max + 1;
	const uint64_t due = (sv->clock.now_ns - sv->admin.idle_ns) / slot_ns;

	if (due < IDLE_SLOTS_A_TURN) {
		sv->admin.idle_ns += due * slot_ns;
		return (uint32_t)due;
	}
	sv->admin.idle_ns = sv->clock.now_ns;
	return IDLE_SLOTS_A_TURN;
}

static void
idle_check(struct serve *sv, uint32_t timeout_s)
{
	const uint32_t due = idle_due(sv);

	for (uint32_t i = 0; i < due; i++) {
		struct session *ss = &sv->sessions[sv->admin.idle_slot];

		sv->admin.idle_slot = (sv->admin.idle_slot + 1) % sv->cfg.conns_max;
		if (ss->conn == NULL || ss->closing || ss->aside != ASIDE_NONE ||
		    ss->value.item != NULL || ss->stream.kind != STREAM_NONE ||
		    sv->clock.now_s - ss->active_s < timeout_s)
			continue;
		if (ss->active_s == 0) { /* it came before the first turn told the time */
			session_active(sv, ss);
			continue;
		}
		ss->end = SESSION_END_IDLE;
		serve_count(sv, CONN_IDLE_KICKS);
		session_close(sv, ss);
	}
}

/* ---- turn ---- */

static void
prefixes_check_reset(struct serve *sv)
{
	const uint32_t clears =
		atomic_load_explicit(&sv->shared->admin.prefix_clears, memory_order_relaxed);

	if (sv->admin.prefixes->cleared == clears)
		return;
	sv->admin.prefixes->cleared = clears;
	prefixes_clear(sv->admin.prefixes);
}

void
admin_turn(struct serve *sv)
{
	struct admin *a = &sv->admin;
	const struct admin_shared *all = &sv->shared->admin;

	if (unlikely(!a->started)) {
		a->started = true;
		a->auth = all->policy.auth;
		a->rate_limited = all->policy.udp_rate_limit;
		a->protocol = all->policy.protocol;
		rate_limits_create(sv);
	}
	users_refresh(sv);
	prefixes_check_reset(sv);
	if (unlikely(atomic_load_explicit(&all->streams, memory_order_relaxed) != a->streams))
		streams_refresh(sv);
	a->detail = atomic_load_explicit(&all->detail, memory_order_relaxed);
	a->observed = a->detail || a->streams != 0;
	if (unlikely(a->watchers != 0))
		watchers_turn(sv);
	if (unlikely(all->policy.idle_timeout_s != 0))
		idle_check(sv, all->policy.idle_timeout_s);
}

/* ---- UDP ---- */

#define DATAGRAM_HEAD_V4_BYTES 28u /* IP and UDP; ours comes on top */
#define DATAGRAM_HEAD_V6_BYTES 48u

bool
udp_reply_allowed(struct serve *sv, const struct udp_peer *to, uint32_t asked, uint32_t answer)
{
	const uint32_t below =
		ip_addr_is_v4(&to->ip) ? DATAGRAM_HEAD_V4_BYTES : DATAGRAM_HEAD_V6_BYTES;
	const uint32_t head = below + MC_UDP_FRAME_BYTES;
	const uint64_t hash = store_hash(sv->store, udp_rate_limit_source(&to->ip));

	if (udp_rate_limit_allows(sv->admin.rate_limit, &to->ip, hash, sv->clock.now_s,
				  asked + head, answer + (uint64_t)mc_udp_datagrams(answer) * head))
		return true;
	serve_count(sv, UDP_DROP_RATE_LIMIT);
	return false;
}

bool
udp_error_allowed(struct serve *sv, const struct udp_peer *to)
{
	const uint64_t hash = store_hash(sv->store, udp_rate_limit_source(&to->ip));

	if (udp_rate_limit_allows(sv->admin.error_limit, &to->ip, hash, sv->clock.now_s, 0, 1))
		return true;
	serve_count(sv, UDP_DROP_ERROR_LIMIT);
	return false;
}

/* ---- commands of one line ---- */

static enum exec_status
done(struct serve *sv, struct op *op)
{
	reply_line(sv, op, mc_reply_line[MC_OK_LINE]);
	return EXEC_DONE;
}

static enum exec_status
refused(struct serve *sv, struct op *op, enum mc_error error)
{
	reply_error(sv, op, error);
	return EXEC_DONE;
}

enum exec_status
execute_accepted(struct serve *sv, struct op *op)
{
	return done(sv, op);
}

enum exec_status
execute_verbosity(struct serve *sv, struct op *op)
{
	const int64_t level = op->req.admin.number[0];

	atomic_store_explicit(&sv->shared->admin.verbosity,
			      level > VERBOSITY_MAX ? VERBOSITY_MAX : (uint32_t)level,
			      memory_order_relaxed);
	return done(sv, op);
}

/* The connection ends unanswered, as memcached's does; the program sees the word. */
enum exec_status
execute_shutdown(struct serve *sv, struct op *op)
{
	struct admin_shared *all = &sv->shared->admin;
	const bool graceful = op->req.admin.option == MC_OPTION_GRACEFUL;

	if (!all->policy.shutdown)
		return refused(sv, op, MC_ERR_SHUTDOWN_OFF);
	if (op->req.error != MC_ERR_NONE)
		return refused(sv, op, (enum mc_error)op->req.error);
	atomic_store_explicit(&all->stop, graceful ? SERVE_STOP_GRACEFULLY : SERVE_STOP,
			      memory_order_relaxed);
	op->session->end = SESSION_END_SHUTDOWN;
	session_close(sv, op->session);
	return EXEC_DONE;
}

#define MEMLIMIT_MIN_MB 8
#define MEMLIMIT_MAX_MB 1000000000

enum exec_status
execute_memlimit(struct serve *sv, struct op *op)
{
	const int64_t mb = op->req.admin.number[0];

	if (mb < MEMLIMIT_MIN_MB)
		return refused(sv, op, MC_ERR_MEMLIMIT_SMALL);
	if (mb > MEMLIMIT_MAX_MB)
		return refused(sv, op, MC_ERR_MEMLIMIT_BYTES);
	if (!store_limit_mt(sv->shared->store, (size_t)mb << 20))
		return refused(sv, op, MC_ERR_MEMLIMIT);
	return done(sv, op);
}

enum exec_status
execute_crawler_switch(struct serve *sv, struct op *op)
{
	const bool off = op->req.verb == MC_CRAWLER_DISABLE;
	const bool was =
		atomic_exchange_explicit(&sv->shared->admin.crawler_off, off, memory_order_relaxed);

	if (was == off)
		return refused(sv, op, off ? MC_ERR_CRAWLER_STOP : MC_ERR_CRAWLER_START);
	return done(sv, op);
}

/* What has expired is collected all the time, in slices; there is nothing to start. */
enum exec_status
execute_crawl(struct serve *sv, struct op *op)
{
	struct admin_shared *all = &sv->shared->admin;

	if (atomic_load_explicit(&all->crawler_off, memory_order_relaxed))
		return refused(sv, op, MC_ERR_CRAWLER_OFF);
	if (op->req.error != MC_ERR_NONE)
		return refused(sv, op, (enum mc_error)op->req.error);
	atomic_fetch_add_explicit(&all->crawls, 1, memory_order_relaxed);
	return done(sv, op);
}

/* Pages move by themselves, to where values are forgotten soonest; what is moved by hand they may
 * move back. */
enum exec_status
execute_reassign(struct serve *sv, struct op *op)
{
	const int64_t from = op->req.admin.number[0], to = op->req.admin.number[1];
	const uint32_t classes = store_class_count_mt(sv->shared->store);

	if (from == to)
		return refused(sv, op, MC_ERR_REASSIGN_SAME);
	if (from < -1 || from == 0 || from > classes || to < 1 || to > classes)
		return refused(sv, op, MC_ERR_REASSIGN_CLASS);
	if (!store_page_move_mt(sv->shared->store, from < 0 ? STORE_ANY_CLASS : (uint32_t)from,
				(uint32_t)to))
		return refused(sv, op, MC_ERR_REASSIGN_SPARE);
	return done(sv, op);
}
