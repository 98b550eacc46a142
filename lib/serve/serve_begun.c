/*
 * serve_begun.c - the fill quota: its reservation and release, and the three queues, over all
 * cores, of values that wait. A ticket is the time at which a value began to wait, to which its
 * length is added for short and slow values (SHORT_BYTE_NS). The lowest ticket of all cores is
 * first. Each core publishes the lowest ticket in each of its queues. Only the first value of a
 * queue checks in each turn whether it may begin.
 */
#include "serve_begun.h"

#include "store/introspect.h"

#define NO_TICKET UINT64_MAX

/* A value is proven if PROVEN_BYTES of its body, or half of the body, arrive within PROVEN_NS.
 * PROVEN_BYTES are fewer than an initial window (RFC 6928), and more than arrives in that time at
 * 43 KB/s, a rate that fills_check() still accepts. */
#define PROVEN_BYTES 8192u
#define PROVEN_NS    100000000u
#define PROVEN_PART  4u /* slow values leave 1/PROVEN_PART of the quota free */

/* Short values may take memory of 1/BESIDE_PART of the quota in addition to it; demoted values may
 * take as much again. */
#define BESIDE_PART 2u
/* A value is short if it is at most 1/SHORT_PART of the quota. So, however large the other values
 * are, half as many short ones fit beside the quota. */
#define SHORT_PART  32u
#define SHORT_LEAST 65536u

/* A value begins beside the quota only if SHORT_LEFT_PART times its length stays free there, for
 * shorter ones. Not if it is the only one. */
#define SHORT_LEFT_PART 4u
/* Each byte of a short or slow value counts as having come this much later. So the values of a
 * crowd, each as large as a short one may be, do not delay the smaller ones of others. */
#define SHORT_BYTE_NS 100000u

/* When a queue of proven values has not been empty for SHORT_OPENS_NS, short values may begin
 * beside the quota for SHORT_OPEN_NS. The time does not start again when the queue's first value
 * changes, so peers that leave and return do not affect it. */
#define SHORT_OPENS_NS 20000000u
#define SHORT_OPEN_NS  10000000000u

static uint64_t
quota_used(const struct serve *sv, uint32_t part)
{
	return atomic_load_explicit(&sv->shared->quota_used[part], memory_order_relaxed);
}

/* True if the queue of this part has a lower ticket on any core. */
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

/* True if the quota has room for the value. Slow values leave 1/PROVEN_PART to proven ones, and
 * proven ones leave half while a slow one waits. The only value of its part may take all that is
 * left, and the only value of all even more. */
static bool
has_room(const struct serve *sv, uint32_t part, uint64_t bytes)
{
	const bool slow_wait = queued_before(sv, FILL_QUOTA_SLOW, NO_TICKET);
	const uint64_t most = store_begun_max(sv->store), proven_left = slow_wait ? most / 2 : 0,
		       left = part == FILL_QUOTA_SLOW ? most / PROVEN_PART : proven_left,
		       own = quota_used(sv, part),
		       all = quota_used(sv, FILL_QUOTA_SLOW) + quota_used(sv, FILL_QUOTA_PROVEN);

	return all == 0 || (all + bytes <= most && (own == 0 || own + bytes <= most - left));
}

/* True if there is room for the value beside the quota. */
static bool
fits_beside(const struct serve *sv, uint32_t account, uint64_t bytes)
{
	return quota_used(sv, account) + bytes <= store_begun_max(sv->store) / BESIDE_PART;
}

static bool
fits_short(const struct serve *sv, uint64_t bytes)
{
	const bool alone = quota_used(sv, FILL_QUOTA_SHORT) == 0;

	return sv->clock.now_ns < sv->quota_short_until_ns &&
	       fits_beside(sv, FILL_QUOTA_SHORT, (alone ? 1 : 1 + SHORT_LEFT_PART) * bytes);
}

uint64_t
fill_received(const struct session *ss)
{
	return conn_unread(ss->conn) + (ss->read_buf_len - ss->read_buf_at);
}

static bool
body_is_received(const struct session *ss, uint64_t bytes)
{
	return fill_received(ss) >= bytes;
}

static bool
is_proven(const struct session *ss, uint64_t bytes)
{
	return fill_received(ss) >= (bytes / 2 < PROVEN_BYTES ? bytes / 2 : PROVEN_BYTES);
}

/* Returns the largest length of a short value. */
static uint64_t
short_max(const struct serve *sv)
{
	const uint64_t part = store_begun_max(sv->store) / SHORT_PART;

	return part > SHORT_LEAST ? part : SHORT_LEAST;
}

static uint8_t
proven_part(const struct serve *sv, uint64_t bytes)
{
	return bytes <= short_max(sv) ? FILL_QUOTA_SHORT : FILL_QUOTA_PROVEN;
}

/* Returns the account on which the value may begin; FILL_QUOTA_ACCOUNTS: it must wait. A value
 * waits for the earlier ones of its queue, a slow value for all earlier ones. */
static uint8_t
account_of(const struct serve *sv, const struct session *ss, uint64_t bytes)
{
	const uint64_t ticket = ss->quota.ticket != 0 ? ss->quota.ticket : NO_TICKET;
	const uint8_t part = ss->quota.part,
		      quota = part == FILL_QUOTA_SLOW ? FILL_QUOTA_SLOW : FILL_QUOTA_PROVEN;

	if (queued_before(sv, part, ticket) ||
	    (part == FILL_QUOTA_SLOW && queued_before(sv, FILL_QUOTA_SHORT, ticket)))
		return FILL_QUOTA_ACCOUNTS;
	if (!queued_before(sv, FILL_QUOTA_PROVEN, ticket) && has_room(sv, quota, bytes))
		return quota;
	return part == FILL_QUOTA_SHORT && fits_short(sv, bytes) ? FILL_QUOTA_SHORT
								 : FILL_QUOTA_ACCOUNTS;
}

static void
charge(struct serve *sv, struct session *ss, uint8_t account)
{
	ss->quota.account = account;
	atomic_fetch_add_explicit(&sv->shared->quota_used[account], ss->quota.bytes,
				  memory_order_relaxed);
}

static void
discharge(struct serve *sv, const struct session *ss)
{
	atomic_fetch_sub_explicit(&sv->shared->quota_used[ss->quota.account], ss->quota.bytes,
				  memory_order_relaxed);
}

bool
fill_quota_take(struct serve *sv, struct session *ss, const struct mc_req *req)
{
	const uint64_t bytes = (uint64_t)req->body_len + req->body_end;
	uint8_t account;

	if (ss->quota.ticket == 0)
		ss->quota.part = is_proven(ss, bytes) ? proven_part(sv, bytes) : FILL_QUOTA_SLOW;
	account = account_of(sv, ss, bytes);
	/* A value that is too large need not wait, since it is refused now. */
	if (account == FILL_QUOTA_ACCOUNTS && !body_is_received(ss, bytes) &&
	    !store_too_large(sv->store, req->body_len))
		return false;
	ss->quota.bytes = bytes;
	charge(sv, ss, account == FILL_QUOTA_ACCOUNTS ? ss->quota.part : account);
	return true;
}

void
fill_quota_return(struct serve *sv, struct session *ss)
{
	discharge(sv, ss);
	ss->quota.bytes = 0;
}

bool
fill_quota_demote(struct serve *sv, struct session *ss)
{
	if (!fits_beside(sv, FILL_QUOTA_DEMOTED, ss->quota.bytes))
		return false;
	discharge(sv, ss);
	charge(sv, ss, FILL_QUOTA_DEMOTED);
	return true;
}

bool
fill_quota_is_wanted(const struct serve *sv)
{
	return queued_before(sv, FILL_QUOTA_PROVEN, NO_TICKET) ||
	       queued_before(sv, FILL_QUOTA_SHORT, NO_TICKET);
}

static struct list *
queue_of(struct serve *sv, const struct session *ss)
{
	return &sv->quota_queue[ss->quota.part];
}

/* Publishes the lowest ticket of this core's queue for a part. */
static void
publish_first(struct serve *sv, uint32_t part)
{
	const struct list *queue = &sv->quota_queue[part];
	const uint64_t before = atomic_load_explicit(&sv->quota_first[part], memory_order_relaxed);
	uint64_t ticket = NO_TICKET;

	if (queue->next != queue)
		ticket = container_of(queue->next, struct session, quota_link)->quota.ticket;
	if (ticket == before)
		return;
	if (before == NO_TICKET)
		sv->quota_since_ns[part] = sv->clock.now_ns;
	atomic_store_explicit(&sv->quota_first[part], ticket, memory_order_relaxed);
}

void
fill_quota_create(struct serve *sv)
{
	for (uint32_t part = 0; part < FILL_QUOTA_PARTS; part++) {
		list_init(&sv->quota_queue[part]);
		publish_first(sv, part);
	}
	list_init(&sv->fills);
}

/* Puts the session into its queue, after those with lower or equal tickets. The loop is bounded,
 * since the queue has each connection at most once. */
static void
quota_insert(struct serve *sv, struct session *ss)
{
	struct list *queue = queue_of(sv, ss), *at = queue->prev;

	while (at != queue &&
	       container_of(at, struct session, quota_link)->quota.ticket > ss->quota.ticket)
		at = at->prev;
	list_push_back(at->next, &ss->quota_link);
}

static void
quota_append(struct serve *sv, struct session *ss, uint64_t bytes)
{
	const uint64_t counted = bytes < short_max(sv) ? bytes : short_max(sv);

	ss->quota.ticket = sv->clock.now_ns + 1 +
			   (ss->quota.part == FILL_QUOTA_PROVEN ? 0 : counted * SHORT_BYTE_NS);
	quota_insert(sv, ss);
	publish_first(sv, ss->quota.part);
}

void
fill_quota_enqueue(struct serve *sv, struct session *ss, uint64_t bytes)
{
	if (ss->quota.ticket != 0)
		return;
	ss->quota.since_ns = sv->clock.now_ns;
	quota_append(sv, ss, bytes);
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
	if (ss->quota.ticket == 0)
		return;
	list_unlink(&ss->quota_link);
	ss->quota.asleep = false;
	ss->quota.ticket = 0;
	atomic_fetch_sub_explicit(&sv->shared->quota_waiting, 1, memory_order_relaxed);
	publish_first(sv, ss->quota.part);
	first_wake(sv, ss->quota.part);
}

bool
fill_quota_sleeps(struct serve *sv, struct session *ss)
{
	const bool asleep =
		conn_awaits_retransmission(ss->conn) && !body_is_received(ss, ss->body_left);

	if (ss->quota.ticket == 0 || asleep == ss->quota.asleep)
		return asleep;
	ss->quota.asleep = asleep;
	if (asleep) {
		list_unlink(&ss->quota_link);
	} else {
		quota_insert(sv, ss);
		/* The value may still become proven: a retransmission takes longer than
		 * PROVEN_NS. */
		ss->quota.since_ns = sv->clock.now_ns;
	}
	publish_first(sv, ss->quota.part); /* the next turn wakes the value that is first now */
	return asleep;
}

enum fill_quota_state
fill_quota_state(struct serve *sv, struct session *ss)
{
	if (ss->quota.ticket == 0 || body_is_received(ss, ss->body_left))
		return FILL_QUOTA_GO;
	if (ss->quota.part == FILL_QUOTA_SLOW && is_proven(ss, ss->body_left) &&
	    sv->clock.now_ns - ss->quota.since_ns < PROVEN_NS) {
		list_unlink(&ss->quota_link);
		publish_first(sv, FILL_QUOTA_SLOW);
		ss->quota.part = proven_part(sv, ss->body_left);
		quota_append(sv, ss, ss->body_left);
	}
	if (account_of(sv, ss, ss->body_left) != FILL_QUOTA_ACCOUNTS)
		return FILL_QUOTA_GO;
	return queue_of(sv, ss)->next == &ss->quota_link ? FILL_QUOTA_NEXT : FILL_QUOTA_LATER;
}

static bool
queue_is_stuck(const struct serve *sv, uint32_t part)
{
	return !list_empty(&sv->quota_queue[part]) &&
	       sv->clock.now_ns - sv->quota_since_ns[part] >= SHORT_OPENS_NS;
}

void
fill_quota_pressure(struct serve *sv)
{
	if (likely(atomic_load_explicit(&sv->shared->quota_waiting, memory_order_relaxed) == 0))
		return;
	fills_memory_pressure(sv);
	stack_requests_wait(sv->stack);
	for (uint32_t part = FILL_QUOTA_PARTS; part > 0; part--) {
		if (part - 1 != FILL_QUOTA_SLOW && queue_is_stuck(sv, part - 1))
			sv->quota_short_until_ns = sv->clock.now_ns + SHORT_OPEN_NS;
		first_wake(sv, part - 1);
	}
}
