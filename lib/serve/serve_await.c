/*
 * serve_await.c - the table of asks: places and their shares, the queue for places, answers,
 * deadlines.
 */
#include "await_table.h"

#define QUEUE_LOOK_MAX 16u /* sessions whose wait may end in a turn */

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

	ensure(supplier->timeout_ns > 0 && supplier->lanes > 0 &&
	       supplier->lanes <= AWAIT_LANES_MAX &&
	       (supplier->lane != NULL || supplier->lanes == 1));
	memset(aw, 0, sizeof *aw);
	aw->supplier = *supplier;
	list_init(&aw->asked);
	list_init(&aw->waiting);
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
	sv->supplied = true;
}

uint32_t
serve_awaits_open(const struct serve *sv)
{
	const struct awaits *aw = sv->awaits;

	return aw != NULL ? AWAITS_MAX - aw->free_count + aw->granted : 0;
}

/* ---- the queue for places ---- */

void
await_queue(struct serve *sv, struct session *ss)
{
	if (ss->await_since_ns == 0)
		ss->await_since_ns = sv->clock.now_ns;
	if (ss->await_granted) { /* its lane has its share: the next place that is freed is
				    another's */
		ss->await_granted = false;
		sv->awaits->granted--;
	}
	ss->await_queued = true;
	list_push_back(&sv->awaits->waiting, &ss->quota_link);
}

/* A free place for the first one, kept until its request is executed: woken without it, it would
 * lose it to whom is parsed before. */
static void
place_grant(struct serve *sv)
{
	struct awaits *aw = sv->awaits;
	struct session *ss;

	if (aw->free_count == aw->granted || list_empty(&aw->waiting))
		return;
	ss = container_of(list_pop_front(&aw->waiting), struct session, quota_link);
	ss->await_queued = false;
	ss->await_granted = true;
	aw->granted++;
	conn_requeue(sv->stack, ss->conn);
}

void
await_unqueue(struct serve *sv, struct session *ss)
{
	if (ss->await_queued)
		list_unlink(&ss->quota_link);
	ss->await_queued = false;
	if (!ss->await_granted)
		return;
	ss->await_granted = false;
	sv->awaits->granted--;
	place_grant(sv);
}

/* Who has waited for a place as long as for an answer has failed. */
static void
queue_check(struct serve *sv)
{
	struct awaits *aw = sv->awaits;

	for (uint32_t i = 0; i < QUEUE_LOOK_MAX && !list_empty(&aw->waiting); i++) {
		struct session *ss = container_of(aw->waiting.next, struct session, quota_link);

		if (!aw->draining &&
		    sv->clock.now_ns - ss->await_since_ns < aw->supplier.timeout_ns)
			return;
		list_unlink(&ss->quota_link);
		ss->await_queued = false;
		ss->await_refused = true;
		conn_requeue(sv->stack, ss->conn);
	}
}

/* ---- places ---- */

/* A lane has as many as are free, so that one that stalls leaves half; the first await of a session
 * comes before others' further ones. */
static bool
has_place(const struct awaits *aw, const struct session *ss, uint32_t lane)
{
	const uint32_t left =
		aw->free_count - aw->granted + (ss != NULL && ss->await_granted ? 1 : 0);
	uint32_t share;

	if (left == 0 || aw->lane_open[lane] >= left)
		return false;
	if (ss != NULL && ss->await_count == 0)
		return true;
	if (left <= AWAITS_FIRST_ONLY)
		return false;
	if (ss == NULL)
		return aw->udp_count < AWAITS_UDP_MAX;
	share = (left - AWAITS_FIRST_ONLY) / AWAITS_SESSION_PART;
	return ss->await_count < (share < AWAITS_SESSION_MAX ? share : AWAITS_SESSION_MAX);
}

static struct await *
place_take(struct awaits *aw, struct session *ss)
{
	struct await *a = aw->free;

	aw->free = a->next;
	aw->free_count--;
	if (ss == NULL) {
		aw->udp_count++;
		return a;
	}
	ss->await_count++;
	ss->await_since_ns = 0;
	if (ss->await_granted) {
		ss->await_granted = false;
		aw->granted--;
	}
	return a;
}

struct await *
await_ask(struct serve *sv, struct session *ss, struct awaited_line *line, const struct mc_req *req,
	  struct view key, uint64_t hash)
{
	struct awaits *aw = sv->awaits;
	struct serve_supplier *by = &aw->supplier;
	const uint32_t lane = by->lane != NULL ? by->lane(by->arg, key, hash) : 0;
	struct serve_ask ask = {.hash = hash, .key = key, .req = req, .lane = lane};
	struct await *a;

	ensure(lane < by->lanes);
	if (!has_place(aw, ss, lane))
		return NULL;
	a = place_take(aw, ss);
	a->state = AWAIT_ASKED;
	a->session = ss;
	a->line = line;
	a->hash = hash;
	a->lane = (uint16_t)lane;
	a->deadline_ns = sv->clock.now_ns + by->timeout_ns;
	aw->lane_open[lane]++;
	list_push_back(&aw->asked, &a->asked);
	aw->asked_in_pass = true;
	sv->read_bufs_in_use = true;
	ask.ticket = a->ticket;
	by->ask(by->arg, &ask);
	return a;
}

static void
asked_end(struct awaits *aw, struct await *a)
{
	list_unlink(&a->asked);
	aw->lane_open[a->lane]--;
}

void
await_free(struct serve *sv, struct await *a)
{
	struct awaits *aw = sv->awaits;

	if (a->state == AWAIT_ASKED) {
		asked_end(aw, a);
		aw->supplier.forget(aw->supplier.arg, a->ticket);
	} else if (a->answer.item != NULL) {
		aw->supplier.release(aw->supplier.arg, a->ticket, a->answer.item);
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
	place_grant(sv);
}

/* ---- answers ---- */

static void
make_ready(struct serve *sv, struct await *a, const struct serve_answer *answer)
{
	struct awaits *aw = sv->awaits;

	asked_end(aw, a);
	a->state = AWAIT_READY;
	a->answer = *answer;
	if (a->line == NULL) {
		if (a->session->awaits == a)
			conn_requeue(sv->stack, a->session->conn);
	} else if (--a->line->open == 0) {
		list_push_back(&aw->lines_ready, &a->line->link);
	}
}

bool
serve_answer(struct serve *sv, uint64_t ticket, const struct serve_answer *answer)
{
	const uint32_t slot = (uint32_t)(ticket & ((1u << AWAIT_SLOT_BITS) - 1));
	struct await *a;

	if (slot >= AWAITS_MAX)
		return false;
	a = &sv->awaits->table[slot];
	if (a->ticket != ticket || a->state != AWAIT_ASKED)
		return false;
	make_ready(sv, a, answer);
	return true;
}

static void
deadlines_check(struct serve *sv, uint64_t now_ns)
{
	static const struct serve_answer failed = {.failed = true};
	struct awaits *aw = sv->awaits;

	for (uint32_t i = 0; i < AWAITS_ENDED_PER_TURN && !list_empty(&aw->asked); i++) {
		struct await *a = container_of(aw->asked.next, struct await, asked);

		if (a->deadline_ns > now_ns)
			return;
		serve_count(sv, AWAITS_EXPIRED);
		aw->supplier.forget(aw->supplier.arg, a->ticket);
		make_ready(sv, a, &failed);
	}
}

void
awaits_turn(struct serve *sv)
{
	struct awaits *aw = sv->awaits;

	aw->supplier.poll(aw->supplier.arg, sv->clock.now_ns);
	deadlines_check(sv, sv->clock.now_ns);
	queue_check(sv);
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
	if (!list_empty(&aw->asked)) {
		due = container_of(aw->asked.next, struct await, asked)->deadline_ns;
		next = due < next ? due : next;
	}
	if (!list_empty(&aw->waiting)) {
		due = container_of(aw->waiting.next, struct session, quota_link)->await_since_ns +
		      aw->supplier.timeout_ns;
		next = due < next ? due : next;
	}
	return next;
}

bool
serve_awaits_drain(struct serve *sv, bool hurry)
{
	struct awaits *aw = sv->awaits;

	if (aw == NULL)
		return true;
	aw->draining = true;
	if (hurry)
		deadlines_check(sv, UINT64_MAX);
	return aw->free_count == AWAITS_MAX && list_empty(&aw->waiting);
}
