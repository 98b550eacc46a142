/*
 * pending_table.c - the table of pending requests: asking, answers, deadlines.
 */
#include "pending_parts.h"

#include "base/prefetch.h"

#define YIELD_LOOKS_MAX 256u

uint32_t
serve_awaits_open(const struct serve *sv)
{
	const struct awaits *aw = sv->awaits;

	return aw != NULL ? AWAITS_MAX - aw->free_count + aw->granted : 0;
}

/* ---- asking ---- */

static void
asked_begin(struct serve *sv, struct await *a, struct serve_ask *ask)
{
	struct awaits *aw = sv->awaits;

	a->state = AWAIT_ASKED;
	a->times++;
	a->deadline_ns = sv->clock.now_ns + aw->supplier.timeout_ns;
	list_push_back(&aw->asked, &a->due);
	aw->asked_in_turn = true;
	sv->read_bufs_in_use = true;
	ask->ticket = a->ticket;
	ask->lane = a->lane;
}

/* Begins a pending request that is not asked for yet. Returns NULL if there is no place. */
static struct await *
await_begin(struct serve *sv, struct session *ss, struct view key, uint64_t hash)
{
	struct awaits *aw = sv->awaits;
	struct await_lane *lane = await_lane_of(aw, key, hash);
	struct await *a = await_place_take(aw, ss, lane);

	if (a == NULL)
		return NULL;
	a->session = ss;
	a->line = NULL;
	a->is_kept = a->passed_on = false;
	a->next = NULL;
	a->bytes = 0;
	a->times = 0;
	a->hash = hash;
	a->lane = (uint16_t)(lane - aw->lanes);
	return a;
}

struct await *
await_ask(struct serve *sv, struct session *ss, struct awaited_line *line, const struct mc_req *req,
	  struct view key, uint64_t hash)
{
	const struct serve_supplier *by = &sv->awaits->supplier;
	struct serve_ask ask = {.hash = hash,
				.key = key,
				.req = req,
				.bring = sv->backend_mode == BACKEND_PROMOTES && !await_reads(req)};
	struct await *a = await_begin(sv, ss, key, hash);

	if (a == NULL)
		return NULL;
	a->line = line;
	asked_begin(sv, a, &ask);
	if (unlikely(await_is_write(sv, req)))
		by->write(by->arg, &ask, NULL);
	else
		by->ask(by->arg, &ask);
	return a;
}

void
await_ask_again(struct serve *sv, struct await *a, const struct mc_req *req, struct view key)
{
	const struct serve_supplier *by = &sv->awaits->supplier;
	struct await_lane *lane = await_lane_of(sv->awaits, key, a->hash);
	struct serve_ask ask = {a->ticket, a->hash, key, req, a->lane, !await_reads(req)};

	ensure(a->state != AWAIT_ASKED && a->answer.item == NULL);
	list_unlink(&a->due);
	a->ticket += 1ull << AWAIT_SLOT_BITS;
	a->lane = (uint16_t)(lane - sv->awaits->lanes); /* the key may have moved */
	lane->open++;
	asked_begin(sv, a, &ask);
	by->ask(by->arg, &ask);
}

/* Begins a kept request behind the session's others, of which there are AWAIT_KEPT_MAX at
 * most. */
static struct await *
kept_begin(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash)
{
	struct await *a = await_begin(sv, ss, kept->req.key, hash), **link;

	ensure(a != NULL);
	a->kept = kept;
	a->is_kept = true;
	kept->await = a;
	sv->awaits->kept_count++;
	if (ss == NULL)
		return a;
	for (link = &ss->kept; *link != NULL; link = &(*link)->next)
		;
	*link = a;
	return a;
}

void
await_ask_write(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
		const struct fill *value)
{
	struct awaits *aw = sv->awaits;
	struct serve_ask ask = {.hash = hash, .key = kept->req.key, .req = &kept->req};
	struct await *a = kept_begin(sv, ss, kept, hash);

	if (value != NULL)
		await_values_add(aw, &aw->lanes[a->lane], value->value_len);
	asked_begin(sv, a, &ask);
	aw->supplier.write(aw->supplier.arg, &ask, value);
}

/* Makes a kept retrieval one that is not asked for and has no answer. */
static void
unasked_begin(struct awaits *aw, struct await *a)
{
	a->state = AWAIT_UNASKED;
	a->answer.item = NULL;
	list_push_back(&aw->answered, &a->due);
}

void
await_keep(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
	   bool asks)
{
	struct awaits *aw = sv->awaits;
	struct serve_ask ask = {.hash = hash, .key = kept->req.key, .req = &kept->req};
	struct await *a = kept_begin(sv, ss, kept, hash);

	if (asks) {
		asked_begin(sv, a, &ask);
		aw->supplier.ask(aw->supplier.arg, &ask);
		return;
	}
	aw->lanes[a->lane].open--;
	unasked_begin(aw, a);
}

static void
asked_end(struct awaits *aw, struct await *a)
{
	list_unlink(&a->due);
	aw->lanes[a->lane].open--;
}

void
await_free(struct serve *sv, struct await *a)
{
	struct awaits *aw = sv->awaits;

	if (a->state == AWAIT_ASKED) {
		asked_end(aw, a);
		aw->supplier.forget(aw->supplier.arg, a->ticket);
	} else {
		list_unlink(&a->due);
		if (a->answer.item != NULL)
			aw->supplier.release(aw->supplier.arg, a->ticket, a->answer.item);
	}
	if (a->is_kept) {
		stack_chunk_put(sv->stack, (uint8_t *)a->kept);
		aw->kept_count--;
	}
	if (a->session != NULL)
		a->session->await_count--;
	else
		aw->udp_count--;
	a->state = AWAIT_FREE;
	a->ticket += 1ull << AWAIT_SLOT_BITS;
	a->next = aw->free;
	aw->free = a;
	aw->free_count++;
}

/* ---- answers ---- */

static void
ready_push(struct serve *sv, struct await *a)
{
	a->deadline_ns = sv->clock.now_ns + sv->awaits->supplier.timeout_ns;
	list_push_back(&sv->awaits->ready, &a->due);
}

static void
make_ready(struct serve *sv, struct await *a, const struct serve_answer *answer)
{
	struct awaits *aw = sv->awaits;

	asked_end(aw, a);
	a->state = AWAIT_READY;
	a->answer = *answer;
	if (a->is_kept) {
		if (a->kept->reads)
			ready_push(sv, a);
		else
			list_push_back(a->session != NULL ? &aw->answered : &aw->answered_udp,
				       &a->due);
		if (a->session != NULL)
			conn_requeue(sv->stack, a->session->conn);
	} else if (a->line == NULL) {
		ready_push(sv, a);
		if (a->session->awaits == a)
			conn_requeue(sv->stack, a->session->conn);
	} else if (a->offset == a->line->begin && a->line->open > 0 && --a->line->open == 0) {
		list_push_back(&aw->lines_ready, &a->line->link);
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
serve_answer_prefetch(const struct serve *sv, uint64_t ticket)
{
	const uint32_t slot = serve_ticket_slot(ticket);

	if (slot >= AWAITS_MAX)
		return;
	prefetch_next(&sv->awaits->table[slot]);
	prefetch_next(&sv->awaits->table[slot].answer);
}

bool
serve_answer(struct serve *sv, uint64_t ticket, const struct serve_answer *answer)
{
	const uint32_t slot = serve_ticket_slot(ticket);
	struct await *a;

	if (slot >= AWAITS_MAX)
		return false;
	a = &sv->awaits->table[slot];
	if (a->ticket != ticket || a->state != AWAIT_ASKED)
		return false;
	make_ready(sv, a, answer);
	return true;
}

enum serve_copy
await_copy(const struct serve *sv, const struct mc_req *req, const struct item *item)
{
	const struct serve_supplier *by = &sv->awaits->supplier;

	if (item == NULL || await_passes_copies(sv, req))
		return SERVE_COPY_NONE;
	return by->copy != NULL ? by->copy(by->arg, req, item) : SERVE_COPY_HERE;
}

uint64_t
await_copy_cas(const struct serve *sv, const struct item *item)
{
	const struct serve_supplier *by = &sv->awaits->supplier;

	return by->copy_cas != NULL ? by->copy_cas(by->arg, item) : item_cas(item);
}

static void
missed_prefetch(const struct serve *sv)
{
	const struct serve_supplier *by = &sv->awaits->supplier;
	uint64_t hashes[OPS_MAX];
	uint32_t count = 0;

	sv->awaits->prefetched_pass = sv->pass;
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
await_may_have(const struct serve *sv, struct view key, uint64_t hash)
{
	const struct serve_supplier *by = &sv->awaits->supplier;

	if (by->may_have == NULL)
		return true;
	if (unlikely(sv->awaits->prefetched_pass != sv->pass))
		missed_prefetch(sv);
	return by->may_have(by->arg, key, hash);
}

/* A pass of one operation has nothing to prefetch together. */
void
await_sets(const struct serve *sv, const struct op *op)
{
	if (sv->op_count > 1 && store_probe_missed(&op->probe) &&
	    sv->awaits->prefetched_pass != sv->pass)
		missed_prefetch(sv);
}

void
await_copies_used(struct serve *sv, const struct op *first, uint32_t n)
{
	const struct serve_supplier *by = &sv->awaits->supplier;

	if (by->next_sample == NULL)
		return;
	for (uint32_t i = by->next_sample(by->arg, n); i < n;
	     i += 1 + by->next_sample(by->arg, n - i - 1))
		by->sample(by->arg, &first[i].req.key, first[i].hash);
}

void
await_copy_used(struct serve *sv, const struct view *key, uint64_t hash)
{
	const struct serve_supplier *by = &sv->awaits->supplier;

	if (by->next_sample != NULL && by->next_sample(by->arg, 1) == 0)
		by->sample(by->arg, key, hash);
}

static void
deadlines_check(struct serve *sv, uint64_t now_ns)
{
	static const struct serve_answer failed = {.failed = true};
	struct awaits *aw = sv->awaits;

	for (uint32_t i = 0; i < AWAITS_ENDED_PER_TURN && !list_empty(&aw->asked); i++) {
		struct await *a = container_of(aw->asked.next, struct await, due);

		if (a->deadline_ns > now_ns)
			return;
		if (await_lane_is_coming(aw, a->lane)) {
			list_unlink(&a->due);
			a->deadline_ns = now_ns + aw->supplier.timeout_ns;
			list_push_back(&aw->asked, &a->due);
			continue;
		}
		serve_count(sv, AWAITS_EXPIRED);
		aw->supplier.forget(aw->supplier.arg, a->ticket);
		make_ready(sv, a, &failed);
	}
}

/* Drops the unused answer of a kept retrieval, which is asked for again at its turn. */
static void
await_unask(struct serve *sv, struct await *a)
{
	struct awaits *aw = sv->awaits;

	if (a->answer.item != NULL)
		aw->supplier.release(aw->supplier.arg, a->ticket, a->answer.item);
	unasked_begin(aw, a);
}

/* Drops answers that sessions have not used for timeout_ns because their clients do not read.
 * The request for a value in pieces stays: it alone shows that the session waits. */
static void
unused_check(struct serve *sv)
{
	struct awaits *aw = sv->awaits;

	for (uint32_t i = 0; i < AWAITS_ENDED_PER_TURN && !list_empty(&aw->ready); i++) {
		struct await *a = container_of(aw->ready.next, struct await, due);

		if (a->deadline_ns > sv->clock.now_ns)
			return;
		list_unlink(&a->due);
		if (a->session->body == BODY_FILLED)
			ready_push(sv, a);
		else if (a->is_kept)
			await_unask(sv, a);
		else
			await_drop(sv, a);
	}
}

/* True if the answer may be dropped. That for a value in pieces may not: it alone shows that
 * the session waits. Nor may a kept one. */
static bool
may_yield(const struct await *a)
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
yield_rank(const struct await *a)
{
	const bool unread = session_is_unread(a->session), behind = a->session->awaits != a;

	if (!may_yield(a) || !(unread || behind))
		return 0;
	if (item_value_len(a->answer.item) < ITEM_PIN_MIN_BYTES)
		return 3;
	return unread ? 1 : 2;
}

bool
serve_answer_yield(struct serve *sv)
{
	struct awaits *aw = sv->awaits;
	const struct list *at = aw->ready.next;
	struct await *found = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < YIELD_LOOKS_MAX && at != &aw->ready && least > 1;
	     i++, at = at->next) {
		struct await *a = container_of(at, struct await, due);
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
	await_drop(sv, found);
	return true;
}

void
awaits_turn(struct serve *sv)
{
	struct awaits *aw = sv->awaits;

	aw->ahead_left = AHEAD_GETS_PER_TURN;
	aw->hits_left = HITS_PER_TURN;
	aw->turn_pass = sv->pass;
	aw->supplier.poll(aw->supplier.arg, sv->clock.now_ns);
	deadlines_check(sv, sv->clock.now_ns);
	unused_check(sv);
	await_queues_look(sv);
}

uint64_t
serve_next_timer(const struct serve *sv)
{
	const struct awaits *aw = sv->awaits;
	uint64_t next = UINT64_MAX, due;

	if (aw == NULL)
		return next;
	if (aw->supplier.next_ns != NULL)
		next = aw->supplier.next_ns(aw->supplier.arg);
	if (list_empty(&aw->asked))
		return next;
	due = container_of(aw->asked.next, struct await, due)->deadline_ns;
	return due < next ? due : next;
}

/* True if some answered request can be completed: no value that its client has yet to read is
 * in front of it. */
static bool
some_are_told_next(const struct awaits *aw)
{
	for (const struct list *at = aw->answered.next; at != &aw->answered; at = at->next)
		if (container_of(at, struct await, due)->session->value.item == NULL)
			return true;
	return false;
}

bool
serve_awaits_drain(struct serve *sv, bool hurry)
{
	struct awaits *aw = sv->awaits;
	bool none;

	if (aw == NULL)
		return true;
	none = list_empty(&aw->asked) && list_empty(&aw->lanes_waiting) &&
	       list_empty(&aw->answered_udp) &&
	       (hurry ? !some_are_told_next(aw)
		      : list_empty(&aw->answered) && list_empty(&aw->ready) &&
				list_empty(&aw->lines_ready));
	aw->draining = true;
	if (hurry)
		deadlines_check(sv, UINT64_MAX);
	return none;
}
