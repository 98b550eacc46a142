/*
 * serve_work.c - who may do how much in a turn, and who waits.
 */
#include "serve_internal.h"

/* The first look in a turn makes its budget, so that turns in which nobody asks pay nothing. */
static struct work *
work_now(struct serve *sv)
{
	struct work *w = &sv->work;

	if (w->turn != sv->turn) {
		w->turn = sv->turn;
		w->left = WORK_A_TURN;
		w->left_udp = WORK_A_TURN_UDP;
	}
	return w;
}

void
work_create(struct serve *sv)
{
	list_init(&sv->work.line);
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
	return work_goes_on(sv, ss) && (ss == NULL || is_first(sv, ss) || sv->work.ticket == NULL);
}

void
work_use(struct serve *sv, struct session *ss, uint32_t ns)
{
	struct work *w = work_now(sv);
	int32_t *left = ss != NULL ? &w->left : &w->left_udp;

	counter_add(&sv->counters[WORK_NS], ns);
	*left = (*left > 0 && ns < (uint32_t)INT32_MAX) ? *left - (int32_t)ns : -1;
	if (ss != NULL && ss->line_used < WORK_A_TURN)
		ss->line_used += ns;
}

/* Ready in the stack, behind all that are. */
static void
ticket_give(struct serve *sv)
{
	struct work *w = &sv->work;
	struct list *first;

	if (w->ticket != NULL || (first = list_pop_front(&w->line)) == NULL)
		return;
	w->ticket = container_of(first, struct session, line);
	w->ticket->aside = ASIDE_TICKET;
	conn_requeue(sv->stack, w->ticket->conn);
}

/* The next one has not been visited since, or this would be its turn. */
static void
ticket_take_back(struct serve *sv)
{
	struct work *w = &sv->work;

	if (w->ticket == NULL)
		return;
	w->ticket->aside = ASIDE_LINE;
	list_push_front(&w->line, &w->ticket->line);
	w->ticket = NULL;
}

static void
line_up(struct serve *sv, struct session *ss)
{
	ensure(ss->aside == ASIDE_NONE);
	serve_count(sv, WORK_WAITS);
	ss->aside = ASIDE_LINE;
	ss->line_pass = sv->pass;
}

void
work_wait_behind(struct serve *sv, struct session *ss)
{
	line_up(sv, ss);
	ss->line_used = 0;
	list_push_back(&sv->work.line, &ss->line);
	ticket_give(sv);
}

void
work_wait(struct serve *sv, struct session *ss)
{
	if (!is_first(sv, ss) || ss->line_used >= WORK_A_TURN) {
		work_wait_behind(sv, ss);
		return;
	}
	line_up(sv, ss);
	ticket_take_back(sv);
	list_push_front(&sv->work.line, &ss->line);
	ticket_give(sv);
}

/* Twice in a pass nobody is visited: its operations are of one visit. */
bool
work_visit(struct serve *sv, struct session *ss)
{
	struct work *w = &sv->work;

	if (ss->aside == ASIDE_LINE)
		return false;
	if (!work_goes_on(sv, ss) || ss->line_pass == sv->pass) {
		sv->more |= work_goes_on(sv, ss);
		session_requeue(sv, ss);
		return false;
	}
	ss->aside = ASIDE_NONE;
	w->granted = ss;
	w->granted_pass = sv->pass;
	w->ticket = NULL;
	ticket_give(sv);
	return true;
}

void
work_forget(struct serve *sv, struct session *ss)
{
	struct work *w = &sv->work;

	if (ss->aside == ASIDE_LINE)
		list_unlink(&ss->line);
	if (w->granted == ss)
		w->granted = NULL;
	if (w->ticket != ss)
		return;
	w->ticket = NULL;
	ticket_give(sv);
}

/* ---- copies of large values ---- */

static bool
makes_copy(const struct mc_req *req)
{
	if (req->verb == MC_MS)
		return req->meta.mode == MC_MODE_APPEND || req->meta.mode == MC_MODE_PREPEND;
	if (req->verb == MC_MD)
		return (req->meta.flags & (MC_FLAG_INVALIDATE | MC_FLAG_DROP)) ==
		       MC_FLAG_INVALIDATE;
	return true;
}

bool
copy_may(struct serve *sv, struct session *ss, const struct mc_req *req, struct view key,
	 uint64_t hash)
{
	const struct item *it;

	if (!makes_copy(req) || (it = store_peek(sv->store, key, hash)) == NULL ||
	    item_value_len(it) < COPY_FEW_BYTES)
		return true;
	if (work_may(sv, ss)) {
		work_use(sv, ss, item_value_len(it) / COPY_BYTES_A_NS);
		return true;
	}
	if (ss != NULL)
		work_wait(sv, ss);
	return false;
}
