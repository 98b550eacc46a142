/*
 * serve_begun.c - the share of memory of incomplete values: reserved, released, and a queue over
 * all cores of the values that wait for it. Tickets are numbers from one counter; each core
 * publishes the lowest of its queue, and only the first of a queue checks each turn whether it is
 * next.
 */
#include "serve_begun.h"

#include "store/introspect.h"

#define NO_TICKET UINT64_MAX

static uint64_t
quota_used(const struct serve_shared *sh)
{
	return atomic_load_explicit(&sh->quota_used, memory_order_relaxed);
}

/* Whether some core's queue begins with a lower ticket. */
static bool
earlier_waits(const struct serve *sv, uint64_t ticket)
{
	const struct serve_shared *sh = sv->shared;

	if (likely(atomic_load_explicit(&sh->quota_waiting, memory_order_relaxed) == 0))
		return false;
	for (uint32_t i = 0; i < sh->cores; i++) {
		const struct serve *other = sh->serves[i];

		if (other != NULL &&
		    atomic_load_explicit(&other->quota_first, memory_order_relaxed) < ticket)
			return true;
	}
	return false;
}

/* A single value may always be begun. */
static bool
has_room(const struct serve *sv, uint64_t in_use, uint64_t bytes)
{
	return in_use == 0 || in_use + bytes <= store_begun_max(sv->store);
}

static bool
body_is_received(const struct session *ss, uint64_t bytes)
{
	return conn_unread(ss->conn) + (ss->read_buf_len - ss->read_buf_at) >= bytes;
}

static bool
may_begin(const struct serve *sv, const struct session *ss, uint64_t bytes)
{
	return !earlier_waits(sv, ss->ticket != 0 ? ss->ticket : NO_TICKET) &&
	       has_room(sv, quota_used(sv->shared), bytes);
}

bool
fill_quota_take(struct serve *sv, struct session *ss, const struct mc_req *req)
{
	const uint64_t bytes = (uint64_t)req->body_len + req->body_end;

	/* A value that is too large is refused now. */
	if (!may_begin(sv, ss, bytes) && !body_is_received(ss, bytes) &&
	    !store_too_large(sv->store, req->body_len))
		return false;
	ss->quota_bytes = bytes;
	atomic_fetch_add_explicit(&sv->shared->quota_used, bytes, memory_order_relaxed);
	return true;
}

void
fill_quota_release(struct serve *sv, struct session *ss)
{
	atomic_fetch_sub_explicit(&sv->shared->quota_used, ss->quota_bytes, memory_order_relaxed);
	ss->quota_bytes = 0;
}

/* Publishes the ticket of the first of this core's queue. */
static void
publish_first(struct serve *sv)
{
	const struct list *first = sv->quota_queue.next;
	uint64_t ticket = NO_TICKET;

	if (first != &sv->quota_queue)
		ticket = container_of(first, struct session, quota_link)->ticket;
	atomic_store_explicit(&sv->quota_first, ticket, memory_order_relaxed);
}

void
fill_quota_create(struct serve *sv)
{
	list_init(&sv->quota_queue);
	publish_first(sv);
}

void
fill_quota_enqueue(struct serve *sv, struct session *ss)
{
	struct serve_shared *sh = sv->shared;

	if (ss->ticket != 0)
		return;
	ss->ticket = 1 + atomic_fetch_add_explicit(&sh->quota_tickets, 1, memory_order_relaxed);
	list_push_back(&sv->quota_queue, &ss->quota_link);
	atomic_fetch_add_explicit(&sh->quota_waiting, 1, memory_order_relaxed);
	publish_first(sv);
	serve_count(sv, BEGUN_WAITS);
}

static void
first_wake(struct serve *sv)
{
	if (!list_empty(&sv->quota_queue))
		conn_requeue(sv->stack,
			     container_of(sv->quota_queue.next, struct session, quota_link)->conn);
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
	publish_first(sv);
	first_wake(sv);
}

/* Back to its place by its ticket. Bounded: each connection is in the queue at most once. */
static void
queue_insert(struct serve *sv, struct session *ss)
{
	struct list *at = sv->quota_queue.next;

	while (at != &sv->quota_queue &&
	       container_of(at, struct session, quota_link)->ticket < ss->ticket)
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
	publish_first(sv); /* the next turn wakes it */
	return asleep;
}

enum fill_quota_state
fill_quota_state(const struct serve *sv, const struct session *ss)
{
	if (ss->ticket == 0 || body_is_received(ss, ss->body_left) ||
	    may_begin(sv, ss, ss->body_left))
		return FILL_QUOTA_GO;
	return sv->quota_queue.next == &ss->quota_link ? FILL_QUOTA_NEXT : FILL_QUOTA_LATER;
}

void
fill_quota_pressure(struct serve *sv)
{
	if (likely(atomic_load_explicit(&sv->shared->quota_waiting, memory_order_relaxed) == 0))
		return;
	fills_memory_pressure(sv);
	stack_requests_wait(sv->stack);
	first_wake(sv);
}
