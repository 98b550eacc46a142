/*
 * backend.c - attaches a backend to a service, which calls this room through a table of functions;
 * ends requests at their deadlines; drains.
 */
#include "backend_link.h"
#include "pending_parts.h"

#include "base/time_units.h"
#include "serve/serve_internal.h"

#define YIELD_CHECKS_MAX 256u

/* ---- a turn ---- */

/* True if the session receives a value that is arriving, or if its first pending request waits and
 * is not due. The later requests wait with that one. */
static bool
session_waits_on(const struct serve *sv, const struct session *ss)
{
	return ss->value.arrival != 0 ||
	       (ss->pending != NULL && ss->pending->state == PENDING_ASKED &&
		ss->pending->deadline_ns > sv->clock.now_ns);
}

/* True if a request that has waited for timeout_ns may wait longer. */
static bool
waits_on(const struct serve *sv, const struct pending *a)
{
	const struct pending_table *pt = sv->pending;
	const struct backend *by = &pt->backend;

	if (pt->draining)
		return false;
	return (by->is_coming != NULL && by->is_coming(by->arg, a->ticket)) ||
	       (a->session != NULL && session_waits_on(sv, a->session));
}

/* Handles a request whose deadline has passed. */
static void
deadline_passed(struct serve *sv, struct pending *a)
{
	static const struct backend_answer failed = {.failed = true};
	struct pending_table *pt = sv->pending;

	if (waits_on(sv, a)) {
		list_unlink(&a->due);
		pending_asked_push(sv, a, 1);
		return;
	}
	serve_count(sv, AWAITS_EXPIRED);
	pt->backend.forget(pt->backend.arg, a->ticket);
	pending_answered(sv, a, &failed);
}

/* Returns the first request of the list. If the list is empty, clears its bit and returns NULL. */
static struct pending *
asked_first(struct pending_table *pt, uint32_t list)
{
	if (!list_empty(&pt->asked[list]))
		return container_of(pt->asked[list].next, struct pending, due);
	pt->asked_lists &= ~(1u << list);
	return NULL;
}

static void
deadlines_check(struct serve *sv, uint64_t now_ns)
{
	struct pending_table *pt = sv->pending;
	uint32_t left = PENDING_ENDED_PER_TURN;

	for (uint32_t lists = pt->asked_lists; lists != 0; lists &= lists - 1) {
		const uint32_t list = (uint32_t)__builtin_ctz(lists);
		struct pending *a;

		while ((a = asked_first(pt, list)) != NULL && a->deadline_ns <= now_ns &&
		       left > 0) {
			deadline_passed(sv, a);
			left--;
		}
	}
}

/* Drops answers that sessions have not used for timeout_ns because their clients do not read. The
 * request of a value in pieces stays, since only by it does the session count as waiting. */
static void
unused_check(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	for (uint32_t i = 0; i < PENDING_ENDED_PER_TURN && !list_empty(&pt->ready); i++) {
		struct pending *a = container_of(pt->ready.next, struct pending, due);

		if (a->deadline_ns > sv->clock.now_ns)
			return;
		list_unlink(&a->due);
		if (a->session->body == BODY_FILLED)
			pending_ready_push(sv, a);
		else if (!a->is_kept)
			pending_drop(sv, a);
		else if (pending_is_followed(sv, a))
			pending_ready_push(sv, a);
		else
			pending_unask(sv, a);
	}
}

static void
turn(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	pt->ahead_left = AHEAD_GETS_PER_TURN;
	pt->hits_left = HITS_PER_TURN;
	pt->turn_pass = sv->pass;
	pt->backend.poll(pt->backend.arg, sv->clock.now_ns);
	deadlines_check(sv, sv->clock.now_ns);
	unused_check(sv);
	pending_queues_serve(sv);
	if (unlikely(pt->unread_busy))
		pending_unread_turn(sv);
}

/* ---- dropping answers whose memory the backend needs ---- */

/* True if the answer may be dropped. That of a value in pieces may not, since only by its request
 * does the session count as waiting. */
static bool
may_yield(const struct pending *a)
{
	return a->answer.item != NULL && a->session->body != BODY_FILLED;
}

static bool
is_first(const struct pending *a)
{
	return (a->is_kept ? a->session->kept : a->session->pending) == a;
}

static bool
session_is_unread(const struct session *ss)
{
	return ss->value.item != NULL || conn_is_refused(ss->conn);
}

/* Returns the answer's rank for dropping: 1 is first, 0 is never. Short answers come late, since
 * they free little; last come those that must not be asked for again. */
static uint32_t
yield_rank(const struct serve *sv, const struct pending *a)
{
	const bool unread = session_is_unread(a->session);

	if (!may_yield(a) || !(unread || !is_first(a)))
		return 0;
	if (a->is_kept && pending_is_followed(sv, a))
		return 4;
	if (item_value_len(a->answer.item) < ITEM_PIN_MIN_BYTES)
		return 3;
	return unread ? 1 : 2;
}

/* Drops the best-ranked answer. The list must stay in the order of deadlines, so budget_loser(),
 * which reorders a list, cannot be used. */
bool
backend_answer_yield(struct serve *sv)
{
	struct pending_table *pt = sv->pending;
	const struct list *at = pt->ready.next;
	struct pending *found = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < YIELD_CHECKS_MAX && at != &pt->ready && least > 1;
	     i++, at = at->next) {
		struct pending *a = container_of(at, struct pending, due);
		const uint32_t rank = yield_rank(sv, a);

		if (rank == 0 || rank >= least)
			continue;
		found = a;
		least = rank;
	}
	if (found == NULL)
		return false;
	serve_count(sv, AWAITS_YIELDED);
	list_unlink(&found->due);
	if (found->is_kept)
		pending_unask(sv, found);
	else
		pending_drop(sv, found);
	return true;
}

/* ---- timers and the drain ---- */

uint64_t
backend_next_timer(const struct serve *sv)
{
	const struct pending_table *pt = sv->pending;
	uint64_t next = UINT64_MAX;

	if (pt == NULL)
		return next;
	if (pt->backend.next_ns != NULL)
		next = pt->backend.next_ns(pt->backend.arg);
	if (unlikely(pt->layer.open != NULL) && pt->layer.has_work(pt->layer.arg))
		return 0;
	if (unlikely(pt->unread_busy) && sv->clock.now_ns + NS_PER_MS < next)
		next = sv->clock.now_ns + NS_PER_MS;
	for (uint32_t lists = pt->asked_lists; lists != 0; lists &= lists - 1) {
		const struct list *asked = &pt->asked[__builtin_ctz(lists)];
		const struct pending *a = container_of(asked->next, struct pending, due);

		if (!list_empty(asked) && a->deadline_ns < next)
			next = a->deadline_ns;
	}
	return next;
}

/* True if an answered request can be completed now, since no earlier value of its client is
 * unsent. */
static bool
some_complete_next(const struct pending_table *pt)
{
	for (const struct list *at = pt->answered.next; at != &pt->answered; at = at->next)
		if (container_of(at, struct pending, due)->session->value.item == NULL)
			return true;
	return false;
}

bool
backend_drain(struct serve *sv, bool hurry)
{
	struct pending_table *pt = sv->pending;
	bool none;

	if (pt == NULL)
		return true;
	none = pending_none_asked(pt) && list_empty(&pt->lanes_waiting) &&
	       list_empty(&pt->lanes[LANE_OF_NEWCOMERS].waiting) && list_empty(&pt->answered_udp) &&
	       (hurry ? !some_complete_next(pt)
		      : list_empty(&pt->answered) && list_empty(&pt->ready) &&
				list_empty(&pt->lines_ready));
	pt->draining = true;
	if (hurry)
		deadlines_check(sv, UINT64_MAX);
	return none;
}

uint32_t
backend_pending(const struct serve *sv)
{
	const struct pending_table *pt = sv->pending;

	return pt != NULL ? PENDING_MAX - pt->free_count + pt->granted : 0;
}

/* ---- the service's table ---- */

static void
pass_end(struct serve *sv)
{
	struct pending_table *pt = sv->pending;
	const bool more = sv->more && sv->pass - pt->turn_pass < PASSES_MAX;

	pending_lines_pass_end(sv);
	if (!pt->asked_in_turn || more)
		return;
	if (pt->backend.send != NULL)
		pt->backend.send(pt->backend.arg);
	pt->asked_in_turn = false;
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
	.turn = turn,
	.resume = pending_resume,
	.datagrams_parse = pending_lines_parse,
	.hits_execute = pending_hits_execute,
	.execute = pending_execute,
	.arrived = pending_arrived,
	.set_refused = set_refused,
	.bytes_move = pending_rebase,
	.session_swept = pending_sweep,
	.pass_end = pass_end,
	.forget = forget,
};

/* ---- attaching ---- */

/* Returns the trait of the verbs, besides retrievals, that a backend with this mode may answer
 * later. */
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
	return sizeof(struct pending_table) + budget_bytes() + CACHE_LINE_BYTES;
}

void
backend_attach(struct region *region, struct serve *sv, const struct backend *backend)
{
	struct pending_table *pt = region_take(region, sizeof *pt, CACHE_LINE_BYTES);

	ensure(backend->mode >= BACKEND_PROMOTES && backend->mode <= BACKEND_WRITES);
	ensure(backend->timeout_ns > 0 && backend->lanes > 0 &&
	       backend->lanes <= BACKEND_LANES_MAX &&
	       (backend->lane != NULL || backend->lanes == 1));
	memset(pt, 0, sizeof *pt);
	pt->backend = *backend;
	for (uint32_t i = 0; i < PENDING_WAIT_PARTS; i++)
		list_init(&pt->asked[i]);
	list_init(&pt->ready);
	list_init(&pt->answered);
	list_init(&pt->answered_udp);
	list_init(&pt->lanes_waiting);
	for (uint32_t i = 0; i <= LANE_OF_NEWCOMERS; i++) {
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
	pending_unread_create(pt, region, sv->cfg.core);
	sv->pending = pt;
	sv->backend_ops = &ops;
	sv->backend_mode = backend->mode;
	sv->later_traits = later_traits(backend->mode);
}

const struct backend *
backend_of(const struct serve *sv)
{
	return sv->pending != NULL ? &sv->pending->backend : NULL;
}

void
backend_copies_bypass(struct serve *sv, bool bypass)
{
	ensure(sv->backend_mode >= BACKEND_WRITES);
	sv->backend_mode = bypass ? BACKEND_BYPASSED : BACKEND_WRITES;
}

/* ---- a layer of links ---- */

static void
layered_turn(struct serve *sv)
{
	const struct link_layer *layer = &sv->pending->layer;

	layer->turn(layer->arg, sv->clock.now_ns);
	turn(sv);
	layer->send(layer->arg);
}

static void
layered_pass_end(struct serve *sv)
{
	const struct link_layer *layer = &sv->pending->layer;
	const bool asked = sv->pending->asked_in_turn;

	pass_end(sv);
	if (asked && !sv->pending->asked_in_turn)
		layer->send(layer->arg);
}

struct serve_link_user
serve_links_layer(struct serve *sv, const struct link_layer *layer,
		  const struct serve_link_user *user)
{
	const struct serve_link_user above = sv->links;

	ensure(sv->pending != NULL && sv->pending->layer.open == NULL && above.failed != NULL);
	sv->pending->layer = *layer;
	sv->pending->layered = ops;
	sv->pending->layered.turn = layered_turn;
	sv->pending->layered.pass_end = layered_pass_end;
	sv->backend_ops = &sv->pending->layered;
	sv->links = *user;
	sv->links.received = above.received;
	return above;
}
