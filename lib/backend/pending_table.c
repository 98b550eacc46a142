/*
 * pending_table.c - the table of pending requests: asking, answers, deadlines.
 */
#include "pending_parts.h"

#include "base/prefetch.h"

#define YIELD_LOOKS_MAX 256u

uint32_t
backend_pending(const struct serve *sv)
{
	const struct pending_table *pt = sv->pending;

	return pt != NULL ? PENDING_MAX - pt->free_count + pt->granted : 0;
}

/* ---- asking ---- */

static void
asked_begin(struct serve *sv, struct pending *a, struct backend_ask *ask)
{
	struct pending_table *pt = sv->pending;

	a->state = PENDING_ASKED;
	a->times++;
	a->deadline_ns = sv->clock.now_ns + pt->backend.timeout_ns;
	list_push_back(&pt->asked, &a->due);
	pt->asked_in_turn = true;
	sv->read_bufs_in_use = true;
	ask->ticket = a->ticket;
	ask->lane = a->lane;
}

/* Begins a pending request that is not asked for yet. Returns NULL if there is no place. */
static struct pending *
pending_begin(struct serve *sv, struct session *ss, struct view key, uint64_t hash)
{
	struct pending_table *pt = sv->pending;
	struct pending_lane *lane = pending_lane_of(pt, key, hash);
	struct pending *a = pending_place_take(pt, ss, lane);

	if (a == NULL)
		return NULL;
	a->session = ss;
	a->line = NULL;
	a->is_kept = a->passed_on = false;
	a->next = NULL;
	a->bytes = 0;
	a->times = 0;
	a->hash = hash;
	a->lane = (uint16_t)(lane - pt->lanes);
	return a;
}

struct pending *
pending_ask(struct serve *sv, struct session *ss, struct pending_line *line,
	    const struct mc_req *req, struct view key, uint64_t hash)
{
	const struct backend *by = &sv->pending->backend;
	struct backend_ask ask = {.hash = hash,
				  .key = key,
				  .req = req,
				  .promote = sv->backend_mode == BACKEND_PROMOTES &&
					     !pending_reads(req)};
	struct pending *a = pending_begin(sv, ss, key, hash);

	if (a == NULL)
		return NULL;
	a->line = line;
	asked_begin(sv, a, &ask);
	if (unlikely(pending_is_write(sv, req)))
		by->write(by->arg, &ask, NULL);
	else
		by->ask(by->arg, &ask);
	return a;
}

void
pending_ask_again(struct serve *sv, struct pending *a, const struct mc_req *req, struct view key)
{
	const struct backend *by = &sv->pending->backend;
	struct pending_lane *lane = pending_lane_of(sv->pending, key, a->hash);
	struct backend_ask ask = {a->ticket, a->hash, key, req, a->lane, !pending_reads(req)};

	ensure(a->state != PENDING_ASKED && a->answer.item == NULL);
	list_unlink(&a->due);
	a->ticket += 1ull << PENDING_SLOT_BITS;
	a->lane = (uint16_t)(lane - sv->pending->lanes); /* the key may have moved */
	lane->open++;
	asked_begin(sv, a, &ask);
	by->ask(by->arg, &ask);
}

/* Begins a kept request behind the session's others, of which there are PENDING_KEPT_MAX at
 * most. */
static struct pending *
kept_begin(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash)
{
	struct pending *a = pending_begin(sv, ss, kept->req.key, hash), **link;

	ensure(a != NULL);
	a->kept = kept;
	a->is_kept = true;
	kept->pending = a;
	sv->pending->kept_count++;
	if (ss == NULL)
		return a;
	for (link = &ss->kept; *link != NULL; link = &(*link)->next)
		;
	*link = a;
	return a;
}

void
pending_ask_write(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
		  const struct fill *value)
{
	struct pending_table *pt = sv->pending;
	struct backend_ask ask = {.hash = hash, .key = kept->req.key, .req = &kept->req};
	struct pending *a = kept_begin(sv, ss, kept, hash);

	if (value != NULL)
		pending_values_add(pt, &pt->lanes[a->lane], value->value_len);
	asked_begin(sv, a, &ask);
	pt->backend.write(pt->backend.arg, &ask, value);
}

/* Makes a kept retrieval one that is not asked for and has no answer. */
static void
unasked_begin(struct pending_table *pt, struct pending *a)
{
	a->state = PENDING_UNASKED;
	a->answer.item = NULL;
	list_push_back(&pt->answered, &a->due);
}

void
pending_keep(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
	     bool asks)
{
	struct pending_table *pt = sv->pending;
	struct backend_ask ask = {.hash = hash, .key = kept->req.key, .req = &kept->req};
	struct pending *a = kept_begin(sv, ss, kept, hash);

	if (asks) {
		asked_begin(sv, a, &ask);
		pt->backend.ask(pt->backend.arg, &ask);
		return;
	}
	pt->lanes[a->lane].open--;
	unasked_begin(pt, a);
}

static void
asked_end(struct pending_table *pt, struct pending *a)
{
	list_unlink(&a->due);
	pt->lanes[a->lane].open--;
}

void
pending_free(struct serve *sv, struct pending *a)
{
	struct pending_table *pt = sv->pending;

	if (a->state == PENDING_ASKED) {
		asked_end(pt, a);
		pt->backend.forget(pt->backend.arg, a->ticket);
	} else {
		list_unlink(&a->due);
		if (a->answer.item != NULL)
			pt->backend.release(pt->backend.arg, a->ticket, a->answer.item);
	}
	if (a->is_kept) {
		stack_chunk_put(sv->stack, (uint8_t *)a->kept);
		pt->kept_count--;
	}
	if (a->session != NULL)
		a->session->pending_count--;
	else
		pt->udp_count--;
	a->state = PENDING_FREE;
	a->ticket += 1ull << PENDING_SLOT_BITS;
	a->next = pt->free;
	pt->free = a;
	pt->free_count++;
}

/* ---- answers ---- */

static void
ready_push(struct serve *sv, struct pending *a)
{
	a->deadline_ns = sv->clock.now_ns + sv->pending->backend.timeout_ns;
	list_push_back(&sv->pending->ready, &a->due);
}

static void
make_ready(struct serve *sv, struct pending *a, const struct backend_answer *answer)
{
	struct pending_table *pt = sv->pending;

	asked_end(pt, a);
	a->state = PENDING_READY;
	a->answer = *answer;
	if (a->is_kept) {
		if (a->kept->reads)
			ready_push(sv, a);
		else
			list_push_back(a->session != NULL ? &pt->answered : &pt->answered_udp,
				       &a->due);
		if (a->session != NULL)
			conn_requeue(sv->stack, a->session->conn);
	} else if (a->line == NULL) {
		ready_push(sv, a);
		if (a->session->pending == a)
			conn_requeue(sv->stack, a->session->conn);
	} else if (a->offset == a->line->begin && a->line->open > 0 && --a->line->open == 0) {
		list_push_back(&pt->lines_ready, &a->line->link);
	}
}

uint32_t
serve_now_s(const struct serve *sv)
{
	return sv->clock.now_s;
}

int64_t
serve_unix_s(const struct serve *sv)
{
	return sv->clock.unix_s;
}

void
backend_answer_prefetch(const struct serve *sv, uint64_t ticket)
{
	const uint32_t slot = backend_ticket_slot(ticket);

	if (slot >= PENDING_MAX)
		return;
	prefetch_next(&sv->pending->table[slot]);
	prefetch_next(&sv->pending->table[slot].answer);
}

bool
backend_answer(struct serve *sv, uint64_t ticket, const struct backend_answer *answer)
{
	const uint32_t slot = backend_ticket_slot(ticket);
	struct pending *a;

	if (slot >= PENDING_MAX)
		return false;
	a = &sv->pending->table[slot];
	if (a->ticket != ticket || a->state != PENDING_ASKED)
		return false;
	make_ready(sv, a, answer);
	return true;
}

enum backend_copy
pending_copy(const struct serve *sv, const struct mc_req *req, const struct item *item)
{
	const struct backend *by = &sv->pending->backend;

	if (item == NULL || pending_passes_copies(sv, req))
		return BACKEND_COPY_NONE;
	return by->copy != NULL ? by->copy(by->arg, req, item) : BACKEND_COPY_HERE;
}

uint64_t
pending_copy_cas(const struct serve *sv, const struct item *item)
{
	const struct backend *by = &sv->pending->backend;

	return by->copy_cas != NULL ? by->copy_cas(by->arg, item) : item_cas(item);
}

static void
missed_prefetch(const struct serve *sv)
{
	const struct backend *by = &sv->pending->backend;
	uint64_t hashes[OPS_MAX];
	uint32_t count = 0;

	sv->pending->prefetched_pass = sv->pass;
	if (by->prefetch == NULL)
		return;
	for (uint32_t i = 0; i < sv->op_count; i++) {
		const struct op *op = &sv->ops[i];

		if (op_is(op, VERB_LOOKUP) && store_probe_missed(&op->probe))
			hashes[count++] = op->hash;
	}
	by->prefetch(by->arg, hashes, count);
}

bool
pending_may_have(const struct serve *sv, struct view key, uint64_t hash)
{
	const struct backend *by = &sv->pending->backend;

	if (by->may_have == NULL)
		return true;
	if (unlikely(sv->pending->prefetched_pass != sv->pass))
		missed_prefetch(sv);
	return by->may_have(by->arg, key, hash);
}

/* A pass of one operation has nothing to prefetch together. */
void
pending_sets(const struct serve *sv, const struct op *op)
{
	if (sv->op_count > 1 && store_probe_missed(&op->probe) &&
	    sv->pending->prefetched_pass != sv->pass)
		missed_prefetch(sv);
}

void
pending_copies_used(struct serve *sv, const struct op *first, uint32_t n)
{
	const struct backend *by = &sv->pending->backend;

	if (by->next_sample == NULL)
		return;
	for (uint32_t i = by->next_sample(by->arg, n); i < n;
	     i += 1 + by->next_sample(by->arg, n - i - 1))
		by->sample(by->arg, &first[i].req.key, first[i].hash);
}

void
pending_copy_used(struct serve *sv, const struct view *key, uint64_t hash)
{
	const struct backend *by = &sv->pending->backend;

	if (by->next_sample != NULL && by->next_sample(by->arg, 1) == 0)
		by->sample(by->arg, key, hash);
}

static void
deadlines_check(struct serve *sv, uint64_t now_ns)
{
	static const struct backend_answer failed = {.failed = true};
	struct pending_table *pt = sv->pending;

	for (uint32_t i = 0; i < PENDING_ENDED_PER_TURN && !list_empty(&pt->asked); i++) {
		struct pending *a = container_of(pt->asked.next, struct pending, due);

		if (a->deadline_ns > now_ns)
			return;
		if (pending_lane_is_coming(pt, a->lane)) {
			list_unlink(&a->due);
			a->deadline_ns = now_ns + pt->backend.timeout_ns;
			list_push_back(&pt->asked, &a->due);
			continue;
		}
		serve_count(sv, AWAITS_EXPIRED);
		pt->backend.forget(pt->backend.arg, a->ticket);
		make_ready(sv, a, &failed);
	}
}

/* Drops the unused answer of a kept retrieval, which is asked for again at its turn. */
static void
pending_unask(struct serve *sv, struct pending *a)
{
	struct pending_table *pt = sv->pending;

	if (a->answer.item != NULL)
		pt->backend.release(pt->backend.arg, a->ticket, a->answer.item);
	unasked_begin(pt, a);
}

/* Drops answers that sessions have not used for timeout_ns because their clients do not read.
 * The request for a value in pieces stays: it alone shows that the session waits. */
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
			ready_push(sv, a);
		else if (a->is_kept)
			pending_unask(sv, a);
		else
			pending_drop(sv, a);
	}
}

/* True if the answer may be dropped. That for a value in pieces may not: it alone shows that
 * the session waits. Nor may a kept one. */
static bool
may_yield(const struct pending *a)
{
	return a->answer.item != NULL && !a->is_kept && a->session->body != BODY_FILLED;
}

static bool
session_is_unread(const struct session *ss)
{
	return ss->value.item != NULL || conn_is_refused(ss->conn);
}

/* Returns the rank of an answer to be dropped, 1 first; 0: it stays. Short answers are last:
 * they are many and free little. */
static uint32_t
yield_rank(const struct pending *a)
{
	const bool unread = session_is_unread(a->session), behind = a->session->pending != a;

	if (!may_yield(a) || !(unread || behind))
		return 0;
	if (item_value_len(a->answer.item) < ITEM_PIN_MIN_BYTES)
		return 3;
	return unread ? 1 : 2;
}

bool
backend_answer_yield(struct serve *sv)
{
	struct pending_table *pt = sv->pending;
	const struct list *at = pt->ready.next;
	struct pending *found = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < YIELD_LOOKS_MAX && at != &pt->ready && least > 1;
	     i++, at = at->next) {
		struct pending *a = container_of(at, struct pending, due);
		const uint32_t rank = yield_rank(a);

		if (rank == 0 || rank >= least)
			continue;
		found = a;
		least = rank;
	}
	if (found == NULL)
		return false;
	serve_count(sv, AWAITS_YIELDED);
	list_unlink(&found->due);
	pending_drop(sv, found);
	return true;
}

void
pending_turn(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	pt->ahead_left = AHEAD_GETS_PER_TURN;
	pt->hits_left = HITS_PER_TURN;
	pt->turn_pass = sv->pass;
	pt->backend.poll(pt->backend.arg, sv->clock.now_ns);
	deadlines_check(sv, sv->clock.now_ns);
	unused_check(sv);
	pending_queues_look(sv);
}

uint64_t
backend_next_timer(const struct serve *sv)
{
	const struct pending_table *pt = sv->pending;
	uint64_t next = UINT64_MAX, due;

	if (pt == NULL)
		return next;
	if (pt->backend.next_ns != NULL)
		next = pt->backend.next_ns(pt->backend.arg);
	if (list_empty(&pt->asked))
		return next;
	due = container_of(pt->asked.next, struct pending, due)->deadline_ns;
	return due < next ? due : next;
}

/* True if some answered request can be completed: no value that its client has yet to read is
 * in front of it. */
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
	none = list_empty(&pt->asked) && list_empty(&pt->lanes_waiting) &&
	       list_empty(&pt->answered_udp) &&
	       (hurry ? !some_complete_next(pt)
		      : list_empty(&pt->answered) && list_empty(&pt->ready) &&
				list_empty(&pt->lines_ready));
	pt->draining = true;
	if (hurry)
		deadlines_check(sv, UINT64_MAX);
	return none;
}
