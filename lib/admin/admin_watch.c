/*
 * admin_watch.c - watch: the core of a watcher's connection reads the rings of all cores, oldest
 * event first, at most WATCH_EVENTS_A_TURN in a turn, and writes lines as they fit. A watcher that
 * is too slow gets a line with the number of events that it missed; no core waits. A core has
 * WATCHERS_MAX places (BUDGET.md).
 */
#include "admin_internal.h"

#define WATCH_EVENTS_A_TURN 128u
#define EVENT_LINE_MAX      (3u * EVENT_TEXT_MAX + 320u)
#define WATCH_STALLED_NS    1000000000u
static_assert(WATCHERS_MAX < 32, "a bit each");

/* Streams that have events. */
#define STREAMS_KNOWN                                                                              \
	(MC_STREAM_FETCHERS | MC_STREAM_MUTATIONS | MC_STREAM_EVICTIONS | MC_STREAM_CONNEVENTS |   \
	 MC_STREAM_DELETIONS | MC_STREAM_RAWCMDS)

/* Marks a place as used, since a watcher of streams without events has none of the bits above. */
#define STREAM_SLOT_USED (1u << 31)

/* ---- lines ---- */

static void
put_text(struct out_buffer *buffer, const char *text)
{
	out_put_view(buffer, (struct view){(const uint8_t *)text, (uint32_t)strlen(text)});
}

static void
put_field(struct out_buffer *buffer, const char *name, int64_t value)
{
	put_text(buffer, name);
	out_put_signed(buffer, value);
}

/* Fields of the lines about items. Their order is fixed; each kind of line has some of them. */
enum item_field { FIELD_COMMAND = 1, FIELD_TTL = 2, FIELD_IDLE = 4, FIELD_CONN = 8 };

static const struct item_line {
	const char *type, *status; /* status NULL: the line has none */
	uint32_t fields;
} item_lines[] = {
	[EVENT_GET] = {"type=item_get key=", " status=", FIELD_CONN},
	[EVENT_STORE] = {"type=item_store key=", " status=",
			 FIELD_COMMAND | FIELD_TTL | FIELD_CONN},
	[EVENT_EVICTION] = {"type=eviction key=", " fetch=", FIELD_TTL | FIELD_IDLE},
	[EVENT_DELETED] = {"type=deleted key=", NULL, FIELD_COMMAND},
};

static void
put_item(struct out_buffer *buffer, const struct event *e)
{
	const struct item_line *line = &item_lines[e->kind];

	put_text(buffer, line->type);
	buffer->at = mc_put_uri(buffer->at, (struct view){e->text, e->text_len});
	if (line->status != NULL) {
		put_text(buffer, line->status);
		put_text(buffer, e->status);
	}
	if (line->fields & FIELD_COMMAND) {
		put_text(buffer, " cmd=");
		put_text(buffer, e->command);
	}
	if (line->fields & FIELD_TTL)
		put_field(buffer, " ttl=", e->ttl_s);
	if (line->fields & FIELD_IDLE)
		put_field(buffer, " la=", e->idle_s);
	put_field(buffer, " clsid=", e->class);
	if (line->fields & FIELD_CONN)
		put_field(buffer, " cfd=", e->conn);
	put_field(buffer, " size=", e->size);
}

static void
put_conn(struct out_buffer *buffer, const struct event *e)
{
	put_text(buffer, e->status == NULL ? "type=conn_new rip=" : "type=conn_close rip=");
	out_put_ip(buffer, &e->ip);
	put_field(buffer, " rport=", e->port);
	put_text(buffer, " transport=tcp");
	if (e->status != NULL) {
		put_text(buffer, " reason=");
		put_text(buffer, e->status);
	}
	put_field(buffer, " cfd=", e->conn);
}

/* Puts a client's line. Bytes that would break this line are escaped as in a URI. */
static void
put_line(struct out_buffer *buffer, const struct event *e)
{
	put_field(buffer, "<", e->conn);
	if (e->text_len > 0)
		*buffer->at++ = ' ';
	for (uint32_t i = 0; i < e->text_len; i++) {
		if (e->text[i] >= ' ' && e->text[i] < 0x7f)
			*buffer->at++ = e->text[i];
		else
			buffer->at = mc_put_uri(buffer->at, (struct view){e->text + i, 1});
	}
}

static void
put_event(struct out_buffer *buffer, const struct event *e)
{
	put_text(buffer, "ts=");
	out_put_seconds(buffer, e->at_us);
	put_field(buffer, " gid=", (int64_t)e->gid);
	*buffer->at++ = ' ';
	if (e->kind == EVENT_CONN)
		put_conn(buffer, e);
	else if (e->kind == EVENT_LINE)
		put_line(buffer, e);
	else
		put_item(buffer, e);
	*buffer->at++ = '\n';
}

/* ---- watchers ---- */

static uint32_t
streams_of(const struct watcher *w)
{
	return atomic_load_explicit(&w->streams, memory_order_relaxed);
}

uint32_t
watchers_count(const struct serve_shared *sh)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		for (uint32_t k = 0; sh->serves[i] != NULL && k < WATCHERS_MAX; k++)
			n += streams_of(&sh->serves[i]->admin->watchers[k]) != 0;
	return n;
}

/* Sums the streams of all watchers. If two watchers come and go at the same time, there may be too
 * many streams until the next change, which only costs events without a reader. Too few cannot
 * stay, since each watcher adds its own in every turn (watchers_turn). */
static void
streams_sum(struct serve_shared *sh)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		for (uint32_t k = 0; sh->serves[i] != NULL && k < WATCHERS_MAX; k++)
			all |= streams_of(&sh->serves[i]->admin->watchers[k]);
	atomic_store_explicit(&sh->admin->streams, all & STREAMS_KNOWN, memory_order_relaxed);
}

/* Returns the watcher that yields its place to one of another source; NULL: none does. Of those
 * whose source has more than its part, it is the one without progress for longest; if there are
 * none, one that has read nothing for WATCH_STALLED_NS. A connection that was read in this turn
 * stays, since its operations may not be complete. */
static struct watcher *
watcher_loser(const struct serve *sv, const struct budget_place *to)
{
	const struct admin *a = sv->admin;
	struct watcher *loser = NULL;
	bool over = false;

	for (uint32_t i = 0; i < WATCHERS_MAX; i++) {
		struct watcher *w = &a->watchers[i];
		const bool is_over = w->place.source != to->source &&
				     budget_source_is_over(&a->watcher_places, &w->place);

		if (w->session->turn == sv->turn || over > is_over ||
		    (!is_over && sv->clock.now_ns - w->progress_ns < WATCH_STALLED_NS))
			continue;
		if (loser == NULL || is_over > over || w->progress_ns < loser->progress_ns)
			loser = w;
		over = is_over;
	}
	return loser;
}

/* True if a place is free, or another watcher has yielded its place to this one, which has
 * joined. */
static bool
watcher_place_free(struct serve *sv, const struct budget_place *to)
{
	struct watcher *loser;

	if (sv->admin->watcher_places.left > 0)
		return true;
	loser = watcher_loser(sv, to);
	if (loser == NULL)
		return false;
	serve_count(sv, ADMIN_YIELDED);
	loser->session->end = SESSION_END_ERROR;
	conn_abort(sv->stack, loser->session->conn);
	return true;
}

static void
watcher_begin(struct serve *sv, struct watcher *w, struct session *ss, uint32_t streams)
{
	const struct serve_shared *sh = sv->shared;

	w->session = ss;
	w->skipped = 0;
	w->progress_ns = sv->clock.now_ns;
	for (uint32_t k = 0; k < sh->cores; k++)
		w->cursor[k] = sh->serves[k] != NULL ? event_head(sh->serves[k]->admin->ring) : 0;
	atomic_store_explicit(&w->streams, streams | STREAM_SLOT_USED, memory_order_relaxed);
}

static bool
watcher_add(struct serve *sv, struct session *ss, uint32_t streams)
{
	struct admin *a = sv->admin;
	struct budget_place place = {0};
	struct ip_addr ip;
	uint16_t port;
	uint32_t i;

	conn_peer(ss->conn, &ip, &port);
	budget_join(&a->watcher_places, &place, &ip);
	if (!watcher_place_free(sv, &place)) {
		budget_leave(&a->watcher_places, &place);
		return false;
	}
	budget_take(&a->watcher_places, 1);
	i = (uint32_t)__builtin_ctz(~a->watching);
	a->watching |= 1u << i;
	a->watchers[i].place = place;
	watcher_begin(sv, &a->watchers[i], ss, streams);
	streams_sum(sv->shared);
	return true;
}

void
watcher_remove(struct serve *sv, struct session *ss)
{
	struct admin *a = sv->admin;

	for (uint32_t i = 0; i < WATCHERS_MAX; i++) {
		struct watcher *w = &a->watchers[i];

		if ((a->watching >> i & 1) == 0 || w->session != ss)
			continue;
		a->watching &= ~(1u << i);
		w->session = NULL;
		budget_leave(&a->watcher_places, &w->place);
		budget_give(&a->watcher_places, 1);
		atomic_store_explicit(&w->streams, 0, memory_order_relaxed);
		streams_sum(sv->shared);
	}
}

/* Finds the core whose next event is the oldest. False: none has an event. */
static bool
oldest_ring(const struct serve_shared *sh, struct watcher *w, uint32_t *core)
{
	uint64_t oldest = UINT64_MAX;

	for (uint32_t i = 0; i < sh->cores; i++) {
		uint64_t gid;

		if (sh->serves[i] == NULL ||
		    !event_gid(sh->serves[i]->admin->ring, &w->cursor[i], &w->skipped, &gid) ||
		    gid >= oldest)
			continue;
		oldest = gid;
		*core = i;
	}
	return oldest != UINT64_MAX;
}

static void
watcher_write(struct serve *sv, struct watcher *w, struct out_buffer *buffer, uint32_t *left)
{
	const uint32_t wanted = atomic_load_explicit(&w->streams, memory_order_relaxed);
	uint32_t core;

	while (*left > 0 && out_room(buffer) >= EVENT_LINE_MAX &&
	       oldest_ring(sv->shared, w, &core)) {
		struct event e;

		--*left;
		if (w->skipped > 0) {
			put_field(buffer, "skipped=", (int64_t)w->skipped);
			*buffer->at++ = '\n';
			counter_add(&sv->counters[EVENTS_SKIPPED], w->skipped);
			w->skipped = 0;
		}
		if (!event_read(sv->shared->serves[core]->admin->ring, &w->cursor[core],
				&w->skipped, &e) ||
		    (e.stream & wanted) == 0)
			continue;
		put_event(buffer, &e);
		serve_count(sv, EVENTS_SENT);
	}
}

static void
watcher_turn(struct serve *sv, struct watcher *w)
{
	struct conn *c = w->session->conn;
	uint32_t left = WATCH_EVENTS_A_TURN, core;

	while (left > 0 && oldest_ring(sv->shared, w, &core) && conn_writable(sv->stack, c, 1)) {
		uint8_t *begin = conn_reserve(sv->stack, c, CONN_RESERVE_MAX);
		struct out_buffer buffer = {begin, begin + CONN_RESERVE_MAX};

		ensure(begin != NULL);
		watcher_write(sv, w, &buffer, &left);
		conn_commit(sv->stack, c, (uint32_t)(buffer.at - begin));
	}
	if (left == 0 || !oldest_ring(sv->shared, w, &core))
		w->progress_ns = sv->clock.now_ns;
}

void
watchers_turn(struct serve *sv)
{
	struct admin_shared *all = sv->shared->admin;

	for (uint32_t i = 0; i < WATCHERS_MAX; i++) {
		struct watcher *w = &sv->admin->watchers[i];
		uint32_t wanted;

		if ((sv->admin->watching >> i & 1) == 0)
			continue;
		wanted = streams_of(w) & STREAMS_KNOWN;
		if ((atomic_load_explicit(&all->streams, memory_order_relaxed) & wanted) != wanted)
			atomic_fetch_or_explicit(&all->streams, wanted, memory_order_relaxed);
		watcher_turn(sv, w);
	}
}

/* Makes this core notice that a watcher was added or removed on some core. */
void
streams_refresh(struct serve *sv)
{
	const uint32_t streams =
		atomic_load_explicit(&sv->shared->admin->streams, memory_order_relaxed);
	const bool had = observes(sv, MC_STREAM_EVICTIONS);

	sv->admin->streams = streams;
	if (observes(sv, MC_STREAM_EVICTIONS) != had)
		store_watch_evictions(sv->store, had ? NULL : observed_eviction, sv);
}

enum exec_status
execute_watch(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	uint32_t streams = op->req.admin.streams;

	if (sv->shared->policy.no_watch) {
		reply_error(sv, op, MC_ERR_WATCH_OFF);
	} else if (op->req.error != MC_ERR_NONE) {
		reply_error(sv, op, (enum mc_error)op->req.error);
	} else if (!watcher_add(sv, ss, streams != 0 ? streams : MC_STREAM_FETCHERS)) {
		reply_error(sv, op, MC_ERR_WATCH_MANY);
	} else {
		ss->sched = SCHED_WATCHER;
		atomic_store_explicit(&sv->admin->snapshots[ss - sv->sessions].watching, 1,
				      memory_order_relaxed);
		streams_refresh(sv); /* so that later requests on this core are visible */
		sv->observed = true;
		reply_line(sv, op, mc_reply_line[MC_OK_LINE]);
	}
	return EXEC_DONE;
}
