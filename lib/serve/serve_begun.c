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
begun_bytes(const struct serve_shared *sh)
{
	return atomic_load_explicit(&sh->begun_bytes, memory_order_relaxed);
}

/* Whether a core's queue begins with a lower ticket. */
static bool
others_first(const struct serve *sv, uint64_t ticket)
{
	const struct serve_shared *sh = sv->shared;

	if (likely(atomic_load_explicit(&sh->begun_waiting, memory_order_relaxed) == 0))
		return false;
	for (uint32_t i = 0; i < sh->cores; i++) {
		const struct serve *other = sh->serves[i];

		if (other != NULL &&
		    atomic_load_explicit(&other->begun_first, memory_order_relaxed) < ticket)
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
is_here(const struct session *ss, uint64_t bytes)
{
	return conn_unread(ss->conn) + (ss->read_buf_len - ss->read_buf_at) >= bytes;
}

static bool
may_begin(const struct serve *sv, const struct session *ss, uint64_t bytes)
{
	return !others_first(sv, ss->ticket != 0 ? ss->ticket : NO_TICKET) &&
	       has_room(sv, begun_bytes(sv->shared), bytes);
}

bool
begun_take(struct serve *sv, struct session *ss, const struct mc_req *req)
{
	const uint64_t bytes = (uint64_t)req->body_len + req->body_end;

	/* A value that is too large is refused now. */
	if (!may_begin(sv, ss, bytes) && !is_here(ss, bytes) &&
	    !store_too_large(sv->store, req->body_len))
		return false;
	ss->begun = bytes;
	atomic_fetch_add_explicit(&sv->shared->begun_bytes, bytes, memory_order_relaxed);
	return true;
}

void
begun_give(struct serve *sv, struct session *ss)
{
	atomic_fetch_sub_explicit(&sv->shared->begun_bytes, ss->begun, memory_order_relaxed);
	ss->begun = 0;
}

/* Publishes the first of the queue. */
static void
first_tell(struct serve *sv)
{
	const struct list *first = sv->begun_queue.next;
	uint64_t ticket = NO_TICKET;

	if (first != &sv->begun_queue)
		ticket = container_of(first, struct session, begun_place)->ticket;
	atomic_store_explicit(&sv->begun_first, ticket, memory_order_relaxed);
}

void
begun_create(struct serve *sv)
{
	list_init(&sv->begun_queue);
	first_tell(sv);
}

void
begun_wait(struct serve *sv, struct session *ss)
{
	struct serve_shared *sh = sv->shared;

	if (ss->ticket != 0)
		return;
	ss->ticket = 1 + atomic_fetch_add_explicit(&sh->begun_tickets, 1, memory_order_relaxed);
	list_push_back(&sv->begun_queue, &ss->begun_place);
	atomic_fetch_add_explicit(&sh->begun_waiting, 1, memory_order_relaxed);
	first_tell(sv);
	serve_count(sv, BEGUN_WAITS);
}

static void
first_wake(struct serve *sv)
{
	if (!list_empty(&sv->begun_queue))
		conn_requeue(sv->stack,
			     container_of(sv->begun_queue.next, struct session, begun_place)->conn);
}

void
begun_leave(struct serve *sv, struct session *ss)
{
	if (ss->ticket == 0)
		return;
	list_unlink(&ss->begun_place);
	ss->begun_asleep = false;
	ss->ticket = 0;
	atomic_fetch_sub_explicit(&sv->shared->begun_waiting, 1, memory_order_relaxed);
	first_tell(sv);
	first_wake(sv);
}

/* Back to its place by its ticket. Bounded: one of each connection. */
static void
queue_insert(struct serve *sv, struct session *ss)
{
	struct list *at = sv->begun_queue.next;

	while (at != &sv->begun_queue &&
	       container_of(at, struct session, begun_place)->ticket < ss->ticket)
		at = at->next;
	list_push_back(at, &ss->begun_place);
}

bool
begun_sleeps(struct serve *sv, struct session *ss)
{
	const bool asleep = conn_awaits_retransmission(ss->conn) && !is_here(ss, ss->body_left);

	if (ss->ticket == 0 || asleep == ss->begun_asleep)
		return asleep;
	ss->begun_asleep = asleep;
	if (asleep)
		list_unlink(&ss->begun_place);
	else
		queue_insert(sv, ss);
	first_tell(sv); /* the next turn wakes it */
	return asleep;
}

enum begun_turn
begun_look(const struct serve *sv, const struct session *ss)
{
	if (ss->ticket == 0 || is_here(ss, ss->body_left) || may_begin(sv, ss, ss->body_left))
		return BEGUN_GO;
	return sv->begun_queue.next == &ss->begun_place ? BEGUN_NEXT : BEGUN_LATER;
}

void
begun_press(struct serve *sv)
{
	if (likely(atomic_load_explicit(&sv->shared->begun_waiting, memory_order_relaxed) == 0))
		return;
	fills_memory_pressure(sv);
	stack_requests_wait(sv->stack);
	first_wake(sv);
}
