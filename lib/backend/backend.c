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
	gets_tell(sv, ss);
	if (ss->ahead)
		gets_ask_ahead(sv, ss);
	if (awaits_wait(sv, ss))
		return false;
	if (!session_keeps_open(ss))
		return true;
	sv->read_bufs_in_use = true; /* the pass ends with awaits_sweep() */
	session_visit_end(sv, ss, kept_behind_parse(sv, ss));
	return false;
}

static void
set_refused(struct serve *sv, const struct op *op)
{
	await_drop_key(sv, op->req.key, op->hash);
}

static void
forget(struct serve *sv, struct session *ss)
{
	if (ss != NULL)
		awaits_forget(sv, ss);
	else
		awaited_lines_drop(sv);
}

static const struct serve_backend_ops ops = {
	.turn = awaits_turn,
	.resume = session_resume,
	.datagrams_parse = awaited_lines_parse,
	.hits_execute = await_hits_execute,
	.execute = await_execute,
	.set_refused = set_refused,
	.bytes_move = awaits_rebase,
	.session_swept = awaits_sweep,
	.pass_end = awaits_pass_end,
	.forget = forget,
};

/* ---- attaching ---- */

static enum serve_backend_mode
mode_of(const struct serve_supplier *supplier)
{
	if (supplier->brings)
		return BACKEND_PROMOTES;
	return supplier->write != NULL ? BACKEND_WRITES : BACKEND_READS;
}

/* Returns the trait of verbs, besides retrievals, that a backend may answer later. */
static uint8_t
later_traits(enum serve_backend_mode mode)
{
	if (mode == BACKEND_PROMOTES)
		return VERB_BRINGS;
	return mode >= BACKEND_WRITES ? VERB_WRITES : 0;
}

size_t
serve_awaits_bytes(void)
{
	return sizeof(struct awaits) + CACHE_LINE_BYTES;
}

void
serve_supplier_attach(struct region *region, struct serve *sv,
		      const struct serve_supplier *supplier)
{
	struct awaits *aw = region_take(region, sizeof *aw, CACHE_LINE_BYTES);

	ensure(!supplier->brings || supplier->write == NULL);
	ensure(supplier->timeout_ns > 0 && supplier->lanes > 0 &&
	       supplier->lanes <= AWAIT_LANES_MAX &&
	       (supplier->lane != NULL || supplier->lanes == 1));
	memset(aw, 0, sizeof *aw);
	aw->supplier = *supplier;
	list_init(&aw->asked);
	list_init(&aw->ready);
	list_init(&aw->answered);
	list_init(&aw->answered_udp);
	list_init(&aw->lanes_waiting);
	for (uint32_t i = 0; i < AWAIT_LANES_MAX; i++) {
		list_init(&aw->lanes[i].waiting);
		list_init(&aw->lanes[i].link);
	}
	list_init(&aw->lines_free);
	list_init(&aw->lines_ready);
	list_init(&aw->lines_executed);
	for (uint32_t i = AWAITS_MAX; i-- > 0;) {
		aw->table[i].ticket = i;
		aw->table[i].next = aw->free;
		aw->free = &aw->table[i];
	}
	aw->free_count = AWAITS_MAX;
	for (uint32_t i = 0; i < AWAITED_LINES_MAX; i++)
		list_push_back(&aw->lines_free, &aw->lines[i].link);
	sv->awaits = aw;
	sv->backend_ops = &ops;
	sv->backend_mode = mode_of(supplier);
	sv->later_traits = later_traits((enum serve_backend_mode)sv->backend_mode);
}

const struct serve_supplier *
serve_supplier_of(const struct serve *sv)
{
	return sv->awaits != NULL ? &sv->awaits->supplier : NULL;
}

void
serve_copies_wait(struct serve *sv, bool wait)
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
