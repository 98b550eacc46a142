/*
 * serve_work.c - the work budget of a turn, and the queue of connections that wait for it.
 */
#include "serve_internal.h"

#define WORK_SHARES     (1u << 30)
#define QUEUE_LOOKS_MAX 256u

/* Returns the state of work, with the budget of this turn. The first request for work in a turn
 * sets the budget, so turns without one pay nothing. */
static struct work *
work_now(struct serve *sv)
{
	struct work *w = &sv->work;

	if (w->turn != sv->turn) {
		w->turn = sv->turn;
		w->left = WORK_PER_TURN;
		w->left_udp = WORK_PER_TURN_UDP;
	}
	return w;
}

void
work_create(struct serve *sv, struct region *region)
{
	struct work *w = &sv->work;

	list_init(&w->queue);
	budget_create(&w->shares, region, WORK_SHARES, 0, sv->cfg.core);
	budget_count_always(&w->shares);
}

/* True if the connection has had at most its share: its clock is not ahead of the common clock. */
static bool
is_below_share(const struct work *w, const struct session *ss)
{
	return ss->work.clock <= w->clock;
}

bool
work_may_continue(struct serve *sv, const struct session *ss)
{
	const struct work *w = work_now(sv);

	if (ss == NULL)
		return w->left_udp > 0;
	return w->left > (is_below_share(w, ss) ? 0 : WORK_RESERVE);
}

static void
share_join(struct serve *sv, struct session *ss)
{
	struct ip_addr ip;
	uint16_t port;

	conn_peer(ss->conn, &ip, &port);
	budget_join(&sv->work.shares, &ss->work.place, &ip);
}

/* Advances the connection's clock by the work that it was given while others waited. A clock behind
 * the common one stays at most burst_ns behind. */
static void
share_use(struct serve *sv, struct session *ss, uint32_t ns, uint32_t burst_ns)
{
	struct work *w = &sv->work;
	const bool joined = budget_has_joined(&w->shares, &ss->work.place);
	uint64_t rate, burst;

	share_join(sv, ss);
	rate = WORK_SHARES / budget_share(&w->shares, &ss->work.place);
	burst = burst_ns * rate;
	if (ss->work.clock + burst < w->clock)
		ss->work.clock = w->clock - burst;
	ss->work.clock += ns * rate;
	if (!joined)
		budget_leave(&w->shares, &ss->work.place);
}

static bool
is_granted(const struct serve *sv, const struct session *ss)
{
	return sv->work.granted == ss && sv->work.granted_pass == sv->pass;
}

bool
work_may_begin(struct serve *sv, const struct session *ss)
{
	return work_may_continue(sv, ss) &&
	       (ss == NULL || is_granted(sv, ss) || sv->work.next == NULL ||
		is_below_share(&sv->work, ss));
}

static void
work_take(struct serve *sv, struct session *ss, uint32_t ns, uint32_t burst_ns)
{
	struct work *w = work_now(sv);
	int32_t *left = ss != NULL ? &w->left : &w->left_udp;

	counter_add(&sv->counters[WORK_NS], ns);
	*left = (*left > 0 && ns < (uint32_t)INT32_MAX) ? *left - (int32_t)ns : -1;
	if (unlikely(ss != NULL && w->shares.holders != 0))
		share_use(sv, ss, ns, burst_ns);
}

void
work_use(struct serve *sv, struct session *ss, uint32_t ns)
{
	work_take(sv, ss, ns, 0);
}

static struct session *
session_at(struct list *at)
{
	return container_of(at, struct session, work.link);
}

/* Inserts the session by its clock. The search begins at the end of the queue that is nearer: the
 * front if the session's clock is behind the common clock, which is near that of the first session.
 * It compares with at most QUEUE_LOOKS_MAX sessions, so the order may be inexact. */
static void
work_insert(struct work *w, struct session *ss)
{
	struct list *at = w->queue.next;

	if (ss->work.clock <= w->clock) {
		for (uint32_t i = 0; i < QUEUE_LOOKS_MAX && at != &w->queue &&
				     session_at(at)->work.clock <= ss->work.clock;
		     i++)
			at = at->next;
	} else {
		at = &w->queue;
		for (uint32_t i = 0; i < QUEUE_LOOKS_MAX && at->prev != &w->queue &&
				     session_at(at->prev)->work.clock > ss->work.clock;
		     i++)
			at = at->prev;
	}
	list_push_back(at, &ss->work.link);
}

/* Makes the first session of the queue `next`, and ready in the stack, after all that are ready. */
static void
next_wake(struct serve *sv)
{
	struct work *w = &sv->work;
	struct list *first;

	if (w->next != NULL || (first = list_pop_front(&w->queue)) == NULL)
		return;
	w->next = session_at(first);
	if (w->clock < w->next->work.clock)
		w->clock = w->next->work.clock;
	w->next->sched = SCHED_NEXT;
	conn_requeue(sv->stack, w->next->conn);
}

/* Puts `next` back into the queue if it was not visited, so that another session may be first. */
static void
next_requeue(struct serve *sv)
{
	struct work *w = &sv->work;

	if (w->next == NULL)
		return;
	w->next->sched = SCHED_QUEUED;
	work_insert(w, w->next);
	w->next = NULL;
}

void
work_wait(struct serve *sv, struct session *ss)
{
	struct work *w = &sv->work;

	ensure(ss->sched == SCHED_READY);
	serve_count(sv, WORK_WAITS);
	ss->sched = SCHED_QUEUED;
	ss->work.pass = sv->pass;
	if (ss->work.clock < w->clock)
		ss->work.clock = w->clock;
	share_join(sv, ss);
	next_requeue(sv);
	work_insert(w, ss);
	next_wake(sv);
}

void
work_wait_behind(struct serve *sv, struct session *ss)
{
	struct list *queue = &sv->work.queue;

	if (!list_empty(queue) && ss->work.clock < session_at(queue->prev)->work.clock)
		ss->work.clock = session_at(queue->prev)->work.clock;
	work_wait(sv, ss);
}

/* A connection is visited only once in a pass, so that its operations there are of one visit. */
bool
work_visit(struct serve *sv, struct session *ss)
{
	struct work *w = &sv->work;

	if (ss->sched == SCHED_QUEUED)
		return false;
	if (!work_may_continue(sv, ss) || ss->work.pass == sv->pass) {
		sv->more |= work_may_continue(sv, ss);
		/* Since its last visit in this pass the session may have left the queue and joined
		 * it again. */
		if (ss->work.again_pass != sv->pass)
			session_requeue(sv, ss);
		ss->work.again_pass = sv->pass;
		return false;
	}
	ss->sched = SCHED_READY;
	budget_leave(&w->shares, &ss->work.place);
	w->granted = ss;
	w->granted_pass = sv->pass;
	w->next = NULL;
	next_wake(sv);
	return true;
}

void
work_forget(struct serve *sv, struct session *ss)
{
	struct work *w = &sv->work;

	budget_leave(&w->shares, &ss->work.place);
	if (ss->sched == SCHED_QUEUED)
		list_unlink(&ss->work.link);
	if (w->granted == ss)
		w->granted = NULL;
	if (w->next != ss)
		return;
	w->next = NULL;
	next_wake(sv);
}

bool
work_admit(struct serve *sv, struct session *ss, uint32_t ns)
{
	const bool may = work_may_begin(sv, ss);

	if (may)
		work_take(sv, ss, ns, WORK_BURST);
	else if (ss != NULL)
		work_wait(sv, ss);
	return may;
}

/* ---- copies of large values ---- */

bool
copies_value(const struct mc_req *req)
{
	if (req->verb == MC_MS)
		return req->meta.mode == MC_MODE_APPEND || req->meta.mode == MC_MODE_PREPEND;
	if (req->verb == MC_MD)
		return (req->meta.flags & (MC_FLAG_INVALIDATE | MC_FLAG_DROP)) ==
		       MC_FLAG_INVALIDATE;
	return true;
}

bool
copy_admit(struct serve *sv, struct session *ss, const struct mc_req *req, struct view key,
	   uint64_t hash)
{
	const struct item *it;

	if (!copies_value(req) || (it = store_peek(sv->store, key, hash)) == NULL ||
	    item_value_len(it) < COPY_FEW_BYTES)
		return true;
	return work_admit(sv, ss, item_value_len(it) / COPY_BYTES_PER_NS);
}
