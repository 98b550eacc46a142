/*
 * admin.c - the table that the service calls; creation, turn, commands of one line. Commands about
 * mechanisms that do not exist here (LRU segments, slab automove, extstore) are checked as
 * memcached checks them, and change nothing.
 */
#include "admin_internal.h"

#include "proto/mc_error.h"

/* ---- turn ---- */

static void
admin_turn(struct serve *sv)
{
	struct admin *a = sv->admin;
	const struct serve_shared *sh = sv->shared;

	prefixes_clear(sv);
	if (unlikely(atomic_load_explicit(&sh->admin->streams, memory_order_relaxed) != a->streams))
		streams_refresh(sv);
	a->detail = atomic_load_explicit(&sh->detail, memory_order_relaxed);
	sv->observed = a->detail || a->streams != 0;
	if (unlikely(a->watching != 0))
		watchers_turn(sv);
}

static void
conn_opened(struct serve *sv, const struct session *ss)
{
	conn_listed(sv, ss);
	if (unlikely(observes(sv, MC_STREAM_CONNEVENTS)))
		observed_conn(sv, ss, true);
}

static void
conn_closed(struct serve *sv, struct session *ss)
{
	if (ss->sched == SCHED_WATCHER)
		watcher_remove(sv, ss);
	if (sv->admin->sizes_owner == ss)
		sv->admin->sizes_owner = NULL;
	store_walk_end(sv->store, &ss->stream.cursor);
	if (unlikely(observes(sv, MC_STREAM_CONNEVENTS)))
		observed_conn(sv, ss, false);
	conn_unlisted(sv, ss);
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

static enum exec_status
execute_accepted(struct serve *sv, struct op *op)
{
	return done(sv, op);
}

static enum exec_status
execute_verbosity(struct serve *sv, struct op *op)
{
	const int64_t level = op->req.admin.number[0];

	atomic_store_explicit(&sv->shared->verbosity,
			      level > VERBOSITY_MAX ? VERBOSITY_MAX : (uint32_t)level,
			      memory_order_relaxed);
	return done(sv, op);
}

/* Ends the connection without a reply, as memcached's shutdown does. The program polls the word
 * that this sets. */
static enum exec_status
execute_shutdown(struct serve *sv, struct op *op)
{
	const bool graceful = op->req.admin.option == MC_OPTION_GRACEFUL;

	if (!sv->shared->policy.shutdown)
		return refused(sv, op, MC_ERR_SHUTDOWN_OFF);
	if (op->req.error != MC_ERR_NONE)
		return refused(sv, op, (enum mc_error)op->req.error);
	atomic_store_explicit(&sv->shared->stop, graceful ? SERVE_STOP_GRACEFULLY : SERVE_STOP,
			      memory_order_relaxed);
	if (op->session == NULL) /* the request came in a datagram */
		return EXEC_DONE;
	op->session->end = SESSION_END_SHUTDOWN;
	session_close(sv, op->session);
	return EXEC_DONE;
}

static bool
certs_refused_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	(void)sv, (void)st, (void)buffer;
	return false;
}

static const struct stream_kind certs_refused_stream = {certs_refused_step, MC_FIXED_LINE_MAX,
							MC_CERTS_REFUSED};

/* Writes nothing until the files have been read. The end of the stream is the answer. */
static bool
certs_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct serve_shared *sh = sv->shared;
	/* Acquire: pairs with the release in serve_certs_read_mt. */
	const uint32_t done = atomic_load_explicit(&sh->certs_done, memory_order_acquire);

	(void)buffer;
	if ((int32_t)(done - st->at) < 0) {
		st->later = true;
		return true;
	}
	if (atomic_load_explicit(&sh->certs_refused, memory_order_relaxed))
		st->kind = &certs_refused_stream;
	return false;
}

static const struct stream_kind certs_stream = {certs_step, MC_FIXED_LINE_MAX, MC_OK_LINE};

/* Asks the program to read the files again, which a turn cannot do, and waits for the result. */
static enum exec_status
execute_refresh_certs(struct serve *sv, struct op *op)
{
	struct stream st = {.kind = &certs_stream};

	if (!sv->shared->info.tls)
		return refused(sv, op, MC_ERR_NO_TLS);
	st.at = 1 + atomic_fetch_add_explicit(&sv->shared->certs_asked, 1, memory_order_relaxed);
	return op->session == NULL || op_noreply(op) ? done(sv, op) : stream_start(sv, op, &st);
}

#define MEMLIMIT_MIN_MB 8
#define MEMLIMIT_MAX_MB 1000000000

static enum exec_status
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

static enum exec_status
execute_crawler_switch(struct serve *sv, struct op *op)
{
	const bool off = op->req.verb == MC_CRAWLER_DISABLE;
	const bool was = atomic_exchange_explicit(&sv->shared->admin->crawler_off, off,
						  memory_order_relaxed);

	if (was == off)
		return refused(sv, op, off ? MC_ERR_CRAWLER_STOP : MC_ERR_CRAWLER_START);
	return done(sv, op);
}

/* Accepts the command without an effect, since expired items are always being collected, in
 * slices. */
static enum exec_status
execute_crawl(struct serve *sv, struct op *op)
{
	struct admin_shared *all = sv->shared->admin;

	if (atomic_load_explicit(&all->crawler_off, memory_order_relaxed))
		return refused(sv, op, MC_ERR_CRAWLER_OFF);
	if (op->req.error != MC_ERR_NONE)
		return refused(sv, op, (enum mc_error)op->req.error);
	atomic_fetch_add_explicit(&all->crawls, 1, memory_order_relaxed);
	return done(sv, op);
}

/* Moves a page to a class. The rebalancer may move it back, since it gives pages to the class that
 * evicts soonest. */
static enum exec_status
execute_reassign(struct serve *sv, struct op *op)
{
	static const enum mc_error errors[] = {
		[STORE_NOT_YET] = MC_ERR_REASSIGN_BUSY, [STORE_NO_MEMORY] = MC_ERR_REASSIGN_SPARE};
	enum store_result moved;
	const int64_t from = op->req.admin.number[0], to = op->req.admin.number[1];
	const uint32_t classes = store_class_count_mt(sv->shared->store);

	if (from == to)
		return refused(sv, op, MC_ERR_REASSIGN_SAME);
	if (from < -1 || from == 0 || from > classes || to < 1 || to > classes)
		return refused(sv, op, MC_ERR_REASSIGN_CLASS);
	moved = store_page_move_mt(sv->shared->store, from < 0 ? STORE_ANY_CLASS : (uint32_t)from,
				   (uint32_t)to);
	return moved == STORE_OK ? done(sv, op) : refused(sv, op, errors[moved]);
}

/* ---- the table ---- */

static enum exec_status (*const commands[MC_VERB_COUNT])(struct serve *sv, struct op *op) = {
	[MC_VERBOSITY] = execute_verbosity,
	[MC_STATS... MC_STATS_RESET] = execute_stats,
	[MC_STATS_DETAIL] = execute_detail,
	[MC_STATS_CACHEDUMP] = execute_cachedump,
	[MC_SHUTDOWN] = execute_shutdown,
	[MC_CACHE_MEMLIMIT] = execute_memlimit,
	[MC_WATCH] = execute_watch,
	[MC_CRAWLER_ENABLE... MC_CRAWLER_DISABLE] = execute_crawler_switch,
	[MC_CRAWLER_SLEEP... MC_CRAWLER_TOCRAWL] = execute_accepted,
	[MC_CRAWLER_CRAWL] = execute_crawl,
	[MC_METADUMP... MC_MGDUMP] = execute_dump,
	[MC_SLABS_REASSIGN] = execute_reassign,
	[MC_SLABS_AUTOMOVE... MC_EXT_DROP_UNREAD] = execute_accepted,
	[MC_REFRESH_CERTS] = execute_refresh_certs,
	[MC_BIN_STAT] = execute_bin_stat,
};

static enum exec_status
admin_execute(struct serve *sv, struct op *op)
{
	return commands[op->req.verb](sv, op);
}

static const struct serve_admin_ops admin_ops = {
	.execute = admin_execute,
	.turn = admin_turn,
	.conn_opened = conn_opened,
	.conn_active = conn_is_active,
	.conn_closed = conn_closed,
	.request = observed_request,
	.got = observed_get,
	.looked_up = observed_lookup,
	.writes = observed_write,
	.stored = observed_store,
	.deleted = observed_delete,
};

size_t
admin_shared_bytes(void)
{
	return sizeof(struct admin_shared) + latency_bytes() + hotkeys_bytes() + sources_bytes() +
	       slow_bytes() + 5 * CACHE_LINE_BYTES;
}

void
admin_shared_create(struct region *region, struct serve_shared *shared)
{
	shared->admin = region_take(region, sizeof *shared->admin, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < NIC_ALLOWANCE_COUNT; i++)
		shared->admin->nic.allowances[i] = NIC_ALLOWANCE_UNKNOWN;
	latency_create(region, shared);
	hotkeys_create(region, shared);
	sources_create(region, shared);
	slow_create(region, shared);
}

size_t
admin_bytes(const struct serve_config *cfg)
{
	return sizeof(struct admin) + cfg->conns_max * sizeof(struct conn_snapshot) +
	       sizeof(struct prefixes) + sizeof(struct event_ring) + SIZE_CELLS * sizeof(uint32_t) +
	       WATCHERS_MAX * sizeof(struct watcher) + budget_bytes() + 6 * CACHE_LINE_BYTES;
}

void
admin_create(struct region *region, struct serve *sv)
{
	const size_t line = CACHE_LINE_BYTES;
	struct admin *a = region_take(region, sizeof *a, line);

	a->snapshots = region_take(region, sv->cfg.conns_max * sizeof(struct conn_snapshot), line);
	a->prefixes = region_take(region, sizeof(struct prefixes), line);
	a->ring = region_take(region, sizeof(struct event_ring), line);
	a->sizes = region_take(region, SIZE_CELLS * sizeof(uint32_t), line);
	a->watchers = region_take(region, WATCHERS_MAX * sizeof(struct watcher), line);
	budget_create(&a->watcher_places, region, WATCHERS_MAX, 0, sv->cfg.core);
	budget_count_always(&a->watcher_places);
	sv->admin = a;
	sv->admin_ops = &admin_ops;
}
