/*
 * serve_begun.c - the share of memory of incomplete values: reserved, released, and three queues
 * over all cores of the values that wait for it. Tickets are numbers from one counter; each core
 * publishes the lowest of each queue, and only the first of a queue checks each turn whether it is
 * next. While one waits, begun values that fall behind lose their proof, and one may give way.
 */
#include "serve_begun.h"

#include "store/introspect.h"

#define NO_TICKET UINT64_MAX

/* Proven: so much of the body, or half of it, is here so soon. Less than an initial window (RFC
 * 6928), and more than 43 KB/s, which fills_check() lets pass, brings in that time. */
#define PROVEN_BYTES 8192u
#define PROVEN_NS    100000000u
#define SLOW_PART    4u /* of the quota: slow values do not take it */

/* So much of a body that is here makes its value one for the extra part, of so much of the quota.
 * A quarter of 64 KB comes within one narrow window, one of a megabyte does not. */
#define EXTRA_HERE_PART 4u
#define EXTRA_PART      8u

/* Who gets less than 250 KB/s on average is behind; the first two round trips of 50 ms, or one of
 * 100 ms, are free. */
#define BEHIND_FREE_NS     PROVEN_NS
#define BEHIND_NS_PER_BYTE 4000u
#define LOOKS_PER_TURN     16u      /* at begun values of this core */
#define GIVE_WAY_PART      2u       /* of the quota: slow values hold more, and some give way */
#define GIVE_WAY_NS        2000000u /* between two of a core */

static uint64_t
quota_used(const struct serve *sv, uint32_t part)
{
	return atomic_load_explicit(&sv->shared->quota_used[part], memory_order_relaxed);
}

/* Whether a queue for this part begins with a lower ticket, on any core. */
static bool
queued_before(const struct serve *sv, uint32_t part, uint64_t ticket)
{
	const struct serve_shared *sh = sv->shared;

	if (likely(atomic_load_explicit(&sh->quota_waiting, memory_order_relaxed) == 0))
		return false;
	for (uint32_t i = 0; i < sh->cores; i++) {
		const struct serve *other = sh->serves[i];

		if (other != NULL &&
		    atomic_load_explicit(&other->quota_first[part], memory_order_relaxed) < ticket)
			return true;
	}
	return false;
}

/* Slow values leave a quarter to proven ones; these leave a half, while a slow one waits. The only
 * value of its part needs no more than the quota has left, and the only one of all not even that.
 */
static bool
has_room(const struct serve *sv, uint32_t part, uint64_t bytes)
{
	const bool slow_wait = queued_before(sv, FILL_QUOTA_SLOW, NO_TICKET);
	const uint64_t most = store_begun_max(sv->store), proven_left = slow_wait ? most / 2 : 0,
		       left = part == FILL_QUOTA_SLOW ? most / SLOW_PART : proven_left,
		       own = quota_used(sv, part),
		       all = quota_used(sv, FILL_QUOTA_SLOW) + quota_used(sv, FILL_QUOTA_PROVEN);

	return all == 0 || (all + bytes <= most && (own == 0 || own + bytes <= most - left));
}

static bool
has_extra_room(const struct serve *sv, uint64_t bytes)
{
	return quota_used(sv, FILL_QUOTA_EXTRA) + bytes <= store_begun_max(sv->store) / EXTRA_PART;
}

static uint64_t
received(const struct session *ss)
{
	return conn_unread(ss->conn) + (ss->read_buf_len - ss->read_buf_at);
}

static bool
body_is_received(const struct session *ss, uint64_t bytes)
{
	return received(ss) >= bytes;
}

static bool
is_proven(const struct session *ss, uint64_t bytes)
{
	return received(ss) >= (bytes / 2 < PROVEN_BYTES ? bytes / 2 : PROVEN_BYTES);
}

static bool
is_behind(const struct serve *sv, const struct session *ss, uint64_t bytes)
{
	const uint64_t ns = sv->clock.now_ns - ss->quota_ns;

	return ns > BEHIND_FREE_NS && bytes < (ns - BEHIND_FREE_NS) / BEHIND_NS_PER_BYTE;
}

static bool
is_for_extra(const struct session *ss, uint64_t bytes)
{
	return received(ss) >= bytes / EXTRA_HERE_PART && is_proven(ss, bytes);
}

/* What a value may begin on; FILL_QUOTA_PARTS: nothing. Slow values wait behind all that came
 * before, proven ones behind proven ones only. */
static uint32_t
account_of(const struct serve *sv, const struct session *ss, uint64_t bytes)
{
	const uint64_t ticket = ss->ticket != 0 ? ss->ticket : NO_TICKET;
	const bool slow = ss->quota_part == FILL_QUOTA_SLOW;

	if (slow && queued_before(sv, FILL_QUOTA_SLOW, ticket))
		return FILL_QUOTA_PARTS;
	if (ss->quota_part == FILL_QUOTA_EXTRA && queued_before(sv, FILL_QUOTA_EXTRA, ticket))
		return FILL_QUOTA_PARTS;
	if (!queued_before(sv, FILL_QUOTA_PROVEN, ticket) &&
	    has_room(sv, slow ? FILL_QUOTA_SLOW : FILL_QUOTA_PROVEN, bytes))
		return slow ? FILL_QUOTA_SLOW : FILL_QUOTA_PROVEN;
	return ss->quota_part == FILL_QUOTA_EXTRA && has_extra_room(sv, bytes) ? FILL_QUOTA_EXTRA
									       : FILL_QUOTA_PARTS;
}

/* Of one whose line has just been read. */
static uint32_t
first_part(const struct session *ss, uint64_t bytes)
{
	if (!is_proven(ss, bytes))
		return FILL_QUOTA_SLOW;
	return is_for_extra(ss, bytes) ? FILL_QUOTA_EXTRA : FILL_QUOTA_PROVEN;
}

static void
charge(struct serve *sv, struct session *ss, uint32_t account)
{
	ss->quota_account = (uint8_t)account;
	atomic_fetch_add_explicit(&sv->shared->quota_used[account], ss->quota_bytes,
				  memory_order_relaxed);
}

static void
discharge(struct serve *sv, const struct session *ss)
{
	atomic_fetch_sub_explicit(&sv->shared->quota_used[ss->quota_account], ss->quota_bytes,
				  memory_order_relaxed);
}

bool
fill_quota_take(struct serve *sv, struct session *ss, const struct mc_req *req)
{
	const uint64_t bytes = (uint64_t)req->body_len + req->body_end;
	uint32_t account;

	if (ss->ticket == 0)
		ss->quota_part = (uint8_t)first_part(ss, bytes);
	account = account_of(sv, ss, bytes);
	if (account == FILL_QUOTA_PARTS) {
		/* A value that is too large is refused now. */
		if (!body_is_received(ss, bytes) && !store_too_large(sv->store, req->body_len))
			return false;
		account = ss->quota_part;
	}
	ss->quota_bytes = bytes;
	charge(sv, ss, account);
	return true;
}

void
fill_quota_return(struct serve *sv, struct session *ss)
{
	discharge(sv, ss);
	ss->quota_bytes = 0;
}

void
fill_quota_begun(struct serve *sv, struct session *ss)
{
	ss->quota_ns = sv->clock.now_ns;
	ss->quota_here = (uint32_t)received(ss);
	list_push_back(&sv->quota_begun, &ss->quota_link);
}

void
fill_quota_ended(struct serve *sv, struct session *ss)
{
	list_unlink(&ss->quota_link);
	fill_quota_return(sv, ss);
}

static struct list *
queue_of(struct serve *sv, const struct session *ss)
{
	return &sv->quota_queue[ss->quota_part];
}

/* Publishes the ticket of the first of this core's queue for a part. */
static void
publish_first(struct serve *sv, uint32_t part)
{
	const struct list *queue = &sv->quota_queue[part];
	uint64_t ticket = NO_TICKET;

	if (queue->next != queue)
		ticket = container_of(queue->next, struct session, quota_link)->ticket;
	atomic_store_explicit(&sv->quota_first[part], ticket, memory_order_relaxed);
}

void
fill_quota_create(struct serve *sv)
{
	for (uint32_t part = 0; part < FILL_QUOTA_PARTS; part++) {
		list_init(&sv->quota_queue[part]);
		publish_first(sv, part);
	}
	list_init(&sv->quota_begun);
}

static void
queue_append(struct serve *sv, struct session *ss)
{
	ss->ticket =
		1 + atomic_fetch_add_explicit(&sv->shared->quota_tickets, 1, memory_order_relaxed);
	list_push_back(queue_of(sv, ss), &ss->quota_link);
	publish_first(sv, ss->quota_part);
}

void
fill_quota_enqueue(struct serve *sv, struct session *ss)
{
	if (ss->ticket != 0)
		return;
	ss->quota_ns = sv->clock.now_ns;
	queue_append(sv, ss);
	atomic_fetch_add_explicit(&sv->shared->quota_waiting, 1, memory_order_relaxed);
	serve_count(sv, BEGUN_WAITS);
}

static void
first_wake(struct serve *sv, uint32_t part)
{
	const struct list *queue = &sv->quota_queue[part];

	if (queue->next != queue)
		conn_requeue(sv->stack,
			     container_of(queue->next, struct session, quota_link)->conn);
}

void
fill_quota_dequeue(struct serve *sv, struct session *ss)
{
	if (ss->ticket == 0)
		return;
	list_unlink(&ss->quota_link);
	ss->quota_asleep = false;
	ss->ticket = 0;
	atomic_fetch_sub_explicit(&sv->shared->quota_waiting, 1, memory_order_relaxed);
	publish_first(sv, ss->quota_part);
	first_wake(sv, ss->quota_part);
}

/* Back to its place by its ticket. Bounded: each connection is in the queue at most once. */
static void
queue_insert(struct serve *sv, struct session *ss)
{
	struct list *queue = queue_of(sv, ss), *at = queue->next;

	while (at != queue && container_of(at, struct session, quota_link)->ticket < ss->ticket)
		at = at->next;
	list_push_back(at, &ss->quota_link);
}

bool
fill_quota_sleeps(struct serve *sv, struct session *ss)
{
	const bool asleep =
		conn_awaits_retransmission(ss->conn) && !body_is_received(ss, ss->body_left);

	if (ss->ticket == 0 || asleep == ss->quota_asleep)
		return asleep;
	ss->quota_asleep = asleep;
	if (asleep)
		list_unlink(&ss->quota_link);
	else
		queue_insert(sv, ss);
	publish_first(sv, ss->quota_part); /* the next turn wakes it */
	return asleep;
}

/* To the end of another queue. The next turn wakes the first of the one it leaves: a connection
 * that is woken while connections are parsed is visited twice. */
static void
queue_change(struct serve *sv, struct session *ss, uint32_t part)
{
	list_unlink(&ss->quota_link);
	publish_first(sv, ss->quota_part);
	ss->quota_part = (uint8_t)part;
	queue_append(sv, ss);
}

enum fill_quota_state
fill_quota_state(struct serve *sv, struct session *ss)
{
	const uint64_t bytes = ss->body_left;

	if (ss->ticket == 0 || body_is_received(ss, bytes))
		return FILL_QUOTA_GO;
	if (ss->quota_part == FILL_QUOTA_SLOW && is_proven(ss, bytes) &&
	    sv->clock.now_ns - ss->quota_ns < PROVEN_NS)
		queue_change(sv, ss, FILL_QUOTA_PROVEN);
	if (ss->quota_part == FILL_QUOTA_PROVEN && is_for_extra(ss, bytes) &&
	    !is_behind(sv, ss, received(ss)))
		queue_change(sv, ss, FILL_QUOTA_EXTRA);
	if (account_of(sv, ss, bytes) != FILL_QUOTA_PARTS)
		return FILL_QUOTA_GO;
	return queue_of(sv, ss)->next == &ss->quota_link ? FILL_QUOTA_NEXT : FILL_QUOTA_LATER;
}

/* ---- begun values that are too slow, while others wait ---- */

/* Bytes since the value was begun: what was here then proves nothing of what comes. */
static uint64_t
gained(const struct session *ss)
{
	return ss->fill.filled > ss->quota_here ? ss->fill.filled - ss->quota_here : 0;
}

static bool
is_slower(const struct serve *sv, const struct session *a, const struct session *b)
{
	const uint64_t a_us = (sv->clock.now_ns - a->quota_ns) / 1000,
		       b_us = (sv->clock.now_ns - b->quota_ns) / 1000;

	return gained(a) * b_us < gained(b) * a_us;
}

/* Takes the proof from those that are behind; returns the slowest of those looked at that lost it.
 */
static struct session *
begun_look(struct serve *sv)
{
	struct list *const all = &sv->quota_begun, *const last = all->prev;
	struct session *slowest = NULL;

	for (uint32_t i = 0; i < LOOKS_PER_TURN && all->next != all; i++) {
		struct list *const at = list_pop_front(all);
		struct session *const ss = container_of(at, struct session, quota_link);

		list_push_back(all, at);
		if (ss->quota_part != FILL_QUOTA_SLOW && is_behind(sv, ss, gained(ss))) {
			discharge(sv, ss);
			charge(sv, ss, FILL_QUOTA_SLOW);
			if (slowest == NULL || is_slower(sv, ss, slowest))
				slowest = ss;
		}
		if (at == last)
			break;
	}
	return slowest;
}

/* Its set is refused, and the rest of its body skipped. A connection that takes no reply, or has
 * not taken it since it was chosen the last time, is reset: it would keep the memory. */
static void
give_way(struct serve *sv, struct session *ss)
{
	sv->quota_gave_way_ns = sv->clock.now_ns;
	if (!ss->gives_way && conn_writable(sv->stack, ss->conn, 1)) {
		ss->gives_way = true;
		conn_requeue(sv->stack, ss->conn);
		return;
	}
	serve_count(sv, CONN_SLOW_BODY);
	ss->end = SESSION_END_ERROR;
	conn_abort(sv->stack, ss->conn);
}

static bool
slow_hold_too_much(const struct serve *sv)
{
	return quota_used(sv, FILL_QUOTA_SLOW) > store_begun_max(sv->store) / GIVE_WAY_PART;
}

static void
begun_check(struct serve *sv)
{
	struct session *slowest = begun_look(sv);

	if (slowest != NULL && slow_hold_too_much(sv) &&
	    sv->clock.now_ns - sv->quota_gave_way_ns >= GIVE_WAY_NS &&
	    (queued_before(sv, FILL_QUOTA_PROVEN, NO_TICKET) ||
	     queued_before(sv, FILL_QUOTA_EXTRA, NO_TICKET)))
		give_way(sv, slowest);
}

void
fill_quota_pressure(struct serve *sv)
{
	if (likely(atomic_load_explicit(&sv->shared->quota_waiting, memory_order_relaxed) == 0))
		return;
	fills_memory_pressure(sv);
	stack_requests_wait(sv->stack);
	begun_check(sv);
	for (uint32_t part = 0; part < FILL_QUOTA_PARTS; part++)
		first_wake(sv, part);
}
