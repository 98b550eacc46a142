/*
 * backend.c - attaches a backend to a service, which calls this room through one table of
 * functions; opens links.
 */
#include "backend_link.h"
#include "pending_parts.h"

#include "serve/serve_internal.h"

/* ---- the service's table ---- */

static bool
session_resume(struct serve *sv, struct session *ss)
{
	if (ss->newer_since_ns != 0 && ss->read_buf_at >= ss->newer_at) {
		ss->read_buf_since_ns = ss->newer_since_ns;
		ss->newer_since_ns = 0;
	}
	gets_complete(sv, ss);
	if (ss->ahead)
		gets_ask_ahead(sv, ss);
	if (pending_wait(sv, ss))
		return false;
	if (!session_keeps_open(ss))
		return true;
	sv->read_bufs_in_use = true; /* the pass ends with pending_sweep() */
	session_visit_end(sv, ss, kept_behind_parse(sv, ss));
	return false;
}

static void
set_refused(struct serve *sv, const struct op *op)
{
	pending_drop_key(sv, op->req.key, op->hash);
}

static void
forget(struct serve *sv, struct session *ss)
{
	if (ss != NULL)
		pending_forget(sv, ss);
	else
		pending_lines_drop(sv);
}

static const struct serve_backend_ops ops = {
	.turn = pending_turn,
	.resume = session_resume,
	.datagrams_parse = pending_lines_parse,
	.hits_execute = pending_hits_execute,
	.execute = pending_execute,
	.set_refused = set_refused,
	.bytes_move = pending_rebase,
	.session_swept = pending_sweep,
	.pass_end = pending_pass_end,
	.forget = forget,
};

/* ---- attaching ---- */

static enum serve_backend_mode
mode_of(const struct backend *backend)
{
	if (backend->promotes)
		return BACKEND_PROMOTES;
	return backend->write != NULL ? BACKEND_WRITES : BACKEND_READS;
}

/* Returns the trait of verbs, besides retrievals, that a backend may answer later. */
static uint8_t
later_traits(enum serve_backend_mode mode)
{
	if (mode == BACKEND_PROMOTES)
		return VERB_PROMOTES;
	return mode >= BACKEND_WRITES ? VERB_WRITES : 0;
}

size_t
backend_bytes(void)
{
	return sizeof(struct pending_table) + CACHE_LINE_BYTES;
}

void
backend_attach(struct region *region, struct serve *sv, const struct backend *backend)
{
	struct pending_table *pt = region_take(region, sizeof *pt, CACHE_LINE_BYTES);

	ensure(!backend->promotes || backend->write == NULL);
	ensure(backend->timeout_ns > 0 && backend->lanes > 0 &&
	       backend->lanes <= BACKEND_LANES_MAX &&
	       (backend->lane != NULL || backend->lanes == 1));
	memset(pt, 0, sizeof *pt);
	pt->backend = *backend;
	list_init(&pt->asked);
	list_init(&pt->ready);
	list_init(&pt->answered);
	list_init(&pt->answered_udp);
	list_init(&pt->lanes_waiting);
	for (uint32_t i = 0; i < BACKEND_LANES_MAX; i++) {
		list_init(&pt->lanes[i].waiting);
		list_init(&pt->lanes[i].link);
	}
	list_init(&pt->lines_free);
	list_init(&pt->lines_ready);
	list_init(&pt->lines_executed);
	for (uint32_t i = PENDING_MAX; i-- > 0;) {
		pt->table[i].ticket = i;
		pt->table[i].next = pt->free;
		pt->free = &pt->table[i];
	}
	pt->free_count = PENDING_MAX;
	for (uint32_t i = 0; i < PENDING_LINES_MAX; i++)
		list_push_back(&pt->lines_free, &pt->lines[i].link);
	sv->pending = pt;
	sv->backend_ops = &ops;
	sv->backend_mode = mode_of(backend);
	sv->later_traits = later_traits((enum serve_backend_mode)sv->backend_mode);
}

const struct backend *
backend_of(const struct serve *sv)
{
	return sv->pending != NULL ? &sv->pending->backend : NULL;
}

void
backend_copies_wait(struct serve *sv, bool wait)
{
	ensure(sv->backend_mode >= BACKEND_WRITES);
	sv->backend_mode = wait ? BACKEND_DECIDES : BACKEND_WRITES;
}

/* ---- links: serve.c calls their user as they come and go ---- */

void
serve_links_attach(struct serve *sv, const struct serve_link_user *user)
{
	sv->links = *user;
}

struct conn *
serve_link_open(struct serve *sv, const struct conn_target *to)
{
	struct conn *c;

	ensure(sv->links.failed != NULL);
	c = conn_connect(sv->stack, to);
	if (c != NULL)
		sv->sessions[conn_slot(c)] = (struct session){.sched = SCHED_LINK};
	return c;
}

void
serve_link_abort(struct serve *sv, struct conn *link)
{
	struct session *ss = &sv->sessions[conn_slot(link)];

	ensure(ss->sched == SCHED_LINK);
	ss->closing = true;
	conn_abort(sv->stack, link);
	*ss = (struct session){0};
}
