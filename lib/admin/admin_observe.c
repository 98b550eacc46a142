/*
 * admin_observe.c - events of this core, written into its ring while a watcher wants their stream.
 * The core that reads them makes lines of them (admin_watch.c).
 */
#include "admin_internal.h"

bool
observes(const struct serve *sv, enum mc_stream stream)
{
	return (sv->admin->streams & stream) != 0;
}

static void
event_log(struct serve *sv, struct event *e, struct view text)
{
	/* Relaxed: the number only orders events for readers of the log. Each ring is in order by
	 * itself. */
	e->gid = atomic_fetch_add_explicit(&sv->shared->admin->gid, 1, memory_order_relaxed) + 1;
	e->at_us = (uint64_t)sv->clock.unix_ns / 1000;
	e->text_len = (uint16_t)(text.len < EVENT_TEXT_MAX ? text.len : EVENT_TEXT_MAX);
	if (e->text_len > 0)
		memcpy(e->text, text.data, e->text_len);
	event_put(sv->admin->ring, e);
	serve_count(sv, EVENTS_LOGGED);
}

static void
event_item(const struct serve *sv, struct event *e, const struct item *it)
{
	if (it == NULL)
		return;
	e->class = store_class_of(sv->store, it);
	e->size = item_value_len(it);
}

void
observed_lookup(struct serve *sv, const struct op *op, const struct item *it)
{
	struct event e;

	if (!observes(sv, MC_STREAM_FETCHERS))
		return;
	e = (struct event){
		.kind = EVENT_GET,
		.stream = MC_STREAM_FETCHERS,
		.status = it != NULL ? "found" : "not_found",
		.conn = session_number(sv, op->session),
	};
	event_item(sv, &e, it);
	event_log(sv, &e, op->req.key);
}

void
observed_get(struct serve *sv, const struct op *op, const struct item *it)
{
	if (sv->admin->detail) {
		prefix_count(sv, op->req.key, PREFIX_GET);
		if (it != NULL)
			prefix_count(sv, op->req.key, PREFIX_HIT);
	}
	observed_lookup(sv, op, it);
}

/* Records a lookup for watchers only: no other request pays for it. */
void
observed_write(struct serve *sv, const struct op *op, uint64_t hash)
{
	if (observes(sv, MC_STREAM_FETCHERS))
		observed_lookup(sv, op, store_peek(sv->store, op->req.key, hash));
}

static const char *
result_name(enum store_result r)
{
	switch (r) {
	case STORE_OK:
		return "stored";
	case STORE_NOT_STORED:
		return "not_stored";
	case STORE_EXISTS:
		return "exists";
	case STORE_NOT_FOUND:
		return "not_found";
	case STORE_TOO_LARGE:
		return "too_large";
	default:
		return "no_memory";
	}
}

/* Names of operations, as in memcached's log; not of the commands that requested them. */
static const char *const mode_names[] = {
	[STORE_SET] = "set",       [STORE_ADD] = "add",         [STORE_REPLACE] = "replace",
	[STORE_APPEND] = "append", [STORE_PREPEND] = "prepend", [STORE_CAS] = "cas",
};

void
observed_store(struct serve *sv, const struct op *op, enum store_result r, const struct item *it)
{
	struct event e;
	uint32_t expiry_s;

	/* Counters and md have no body that came from the client. */
	if (sv->admin->detail && (op->req.flags & MC_HAS_BODY) != 0)
		prefix_count(sv, op->req.key, PREFIX_SET);
	if (!observes(sv, MC_STREAM_MUTATIONS))
		return;
	expiry_s = it != NULL ? item_expiry_s(it) : serve_expiry_s(&sv->clock, op->req.exptime);
	e = (struct event){
		.kind = EVENT_STORE,
		.stream = MC_STREAM_MUTATIONS,
		.status = result_name(r),
		.command = mode_names[store_mode_of(&op->req)],
		.conn = session_number(sv, op->session),
		.ttl_s = expiry_s > sv->clock.now_s ? expiry_s - sv->clock.now_s : 0,
		.size = op->req.body_len,
	};
	event_item(sv, &e, it);
	event_log(sv, &e, op->req.key);
}

void
observed_delete(struct serve *sv, const struct op *op, const struct item *it)
{
	struct event e;

	if (sv->admin->detail)
		prefix_count(sv, op->req.key, PREFIX_DEL);
	if (!observes(sv, MC_STREAM_DELETIONS) || it == NULL)
		return;
	e = (struct event){
		.kind = EVENT_DELETED,
		.stream = MC_STREAM_DELETIONS,
		.command = op->req.verb == MC_MD ? "md" : "delete",
	};
	event_item(sv, &e, it);
	event_log(sv, &e, item_key(it));
}

static const char *
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

void
observed_conn(struct serve *sv, const struct session *ss, bool opened)
{
	struct event e = {
		.kind = EVENT_CONN,
		.stream = MC_STREAM_CONNEVENTS,
		.status = opened ? NULL : session_end_name(ss),
		.conn = session_number(sv, ss),
	};
	struct snapshot_peer peer;

	if (conn_snapshot_read(&sv->admin->snapshots[ss - sv->sessions], &peer)) {
		e.ip = peer.ip;
		e.port = peer.port;
	}
	event_log(sv, &e, (struct view){NULL, 0});
}

/* Records the command line as received; for a retrieval, the part up to the first key. */
void
observed_request(struct serve *sv, const struct op *op)
{
	const struct view raw = op->raw;
	struct event e = {
		.kind = EVENT_LINE,
		.stream = MC_STREAM_RAWCMDS,
		.conn = session_number(sv, op->session),
	};
	const uint8_t *end;

	if (!observes(sv, MC_STREAM_RAWCMDS) || raw.len == 0 || (op->req.flags & MC_BINARY))
		return;
	end = memchr(raw.data, '\n', raw.len);
	e.size = end != NULL ? (uint32_t)(end - raw.data) : raw.len;
	if (e.size > 0 && raw.data[e.size - 1] == '\r')
		e.size--;
	event_log(sv, &e, (struct view){raw.data, e.size});
}

/* Records an eviction. Called under the store's locks, so it only writes the event. */
void
observed_eviction(void *arg, const struct item *it)
{
	struct serve *sv = arg;
	const uint32_t expiry_s = item_expiry_s(it);
	struct event e = {
		.kind = EVENT_EVICTION,
		.stream = MC_STREAM_EVICTIONS,
		.status = store_is_fetched(sv->store, it) ? "yes" : "no",
		.ttl_s = expiry_s == 0 ? -1 : (int64_t)expiry_s - sv->clock.now_s,
		.idle_s = store_idle_s(sv->store, it),
	};

	event_item(sv, &e, it);
	event_log(sv, &e, item_key(it));
}
