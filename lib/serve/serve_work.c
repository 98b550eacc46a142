/*
 * serve_work.c - the work budget of a turn, and the queue of connections that wait for a share.
 */
#include "serve_internal.h"

/* The first request in a turn sets its budget, so that other turns pay nothing. */
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
work_create(struct serve *sv)
{
	list_init(&sv->work.queue);
}

bool
work_goes_on(struct serve *sv, const struct session *ss)
{
	const struct work *w = work_now(sv);

	return (ss != NULL ? w->left : w->left_udp) > 0;
}

static bool
is_first(const struct serve *sv, const struct session *ss)
{
	return sv->work.granted == ss && sv->work.granted_pass == sv->pass;
}

bool
work_may(struct serve *sv, const struct session *ss)
{
	return work_goes_on(sv, ss) && (ss == NULL || is_first(sv, ss) || sv->work.next == NULL);
}

void
work_use(struct serve *sv, struct session *ss, uint32_t ns)
{
	struct work *w = work_now(sv);
	int32_t *left = ss != NULL ? &w->left : &w->left_udp;

	counter_add(&sv->counters[WORK_NS], ns);
	*left = (*left > 0 && ns < (uint32_t)INT32_MAX) ? *left - (int32_t)ns : -1;
	if (ss != NULL && ss->work_used < WORK_PER_TURN)
		ss->work_used += ns;
}

/* Takes the first of the queue out as `next`, and makes it ready in the stack, behind all that are.
 */
static void
next_wake(struct serve *sv)
{
	struct work *w = &sv->work;
	struct list *first;

	if (w->next != NULL || (first = list_pop_front(&w->queue)) == NULL)
		return;
	w->next = container_of(first, struct session, work_link);
	w->next->sched = SCHED_NEXT;
	conn_requeue(sv->stack, w->next->conn);
}

/* `next` was not visited yet, so it goes back to the front of the queue. */
static void
next_requeue(struct serve *sv)
{
	struct work *w = &sv->work;

	if (w->next == NULL)
		return;
	w->next->sched = SCHED_QUEUED;
	list_push_front(&w->queue, &w->next->work_link);
	w->next = NULL;
}

static void
enqueue(struct serve *sv, struct session *ss)
{
	ensure(ss->sched == SCHED_READY);
	serve_count(sv, WORK_WAITS);
	ss->sched = SCHED_QUEUED;
	ss->work_pass = sv->pass;
}

void
work_wait_behind(struct serve *sv, struct session *ss)
{
	enqueue(sv, ss);
	ss->work_used = 0;
	list_push_back(&sv->work.queue, &ss->work_link);
	next_wake(sv);
}

void
work_wait(struct serve *sv, struct session *ss)
{
	if (!is_first(sv, ss) || ss->work_used >= WORK_PER_TURN) {
		work_wait_behind(sv, ss);
		return;
	}
	enqueue(sv, ss);
	next_requeue(sv);
	list_push_front(&sv->work.queue, &ss->work_link);
	next_wake(sv);
}

/* A connection is visited once a pass: its operations are of one visit. */
bool
work_visit(struct serve *sv, struct session *ss)
{
	struct work *w = &sv->work;

	if (ss->sched == SCHED_QUEUED)
		return false;
	if (!work_goes_on(sv, ss) || ss->work_pass == sv->pass) {
		sv->more |= work_goes_on(sv, ss);
		session_requeue(sv, ss);
		return false;
	}
	ss->sched = SCHED_READY;
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

	if (ss->sched == SCHED_QUEUED)
		list_unlink(&ss->work_link);
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
	const bool may = work_may(sv, ss);

	if (may)
		work_use(sv, ss, ns);
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
