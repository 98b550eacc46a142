/*
 * pending_arrivals.c - values of a backend that sessions send while they arrive.
 */
#include "pending_parts.h"

static struct arrival *
arrival_of(const struct serve *sv, uint32_t number)
{
	ensure(number > 0 && number <= BACKEND_LANES_MAX);
	return &sv->pending->arrivals[number - 1];
}

bool
backend_is_next(const struct serve *sv, uint64_t ticket)
{
	const uint32_t slot = backend_ticket_slot(ticket);
	const struct pending *a;

	if (slot >= PENDING_MAX || sv->pending->draining)
		return false;
	a = &sv->pending->table[slot];
	return a->ticket == ticket && a->state == PENDING_ASKED && a->session != NULL &&
	       a->session->pending == a && a->session->value.item == NULL;
}

void
backend_arrival_begin(struct serve *sv, uint32_t number, uint64_t ticket)
{
	struct arrival *v = arrival_of(sv, number);

	ensure(!v->open);
	*v = (struct arrival){.ticket = ticket, .open = true};
}

void
backend_arrival_goes_on(struct serve *sv, uint32_t number, uint32_t bytes)
{
	struct arrival *v = arrival_of(sv, number);

	v->bytes = bytes;
	if (v->reader != NULL)
		conn_requeue(sv->stack, v->reader->conn);
}

/* Restarts the timeout of the session's next pending request, which the value before it has partly
 * used. */
static void
next_waits_anew(struct serve *sv, const struct session *ss)
{
	if (ss->pending == NULL || ss->pending->state != PENDING_ASKED)
		return;
	list_unlink(&ss->pending->due);
	pending_asked_push(sv, ss->pending, PENDING_WAIT_PARTS);
}

void
backend_arrival_end(struct serve *sv, uint32_t number)
{
	struct arrival *v = arrival_of(sv, number);

	if (v->reader != NULL) {
		v->reader->value.arrival = 0;
		conn_requeue(sv->stack, v->reader->conn);
		next_waits_anew(sv, v->reader);
	}
	*v = (struct arrival){0};
}

/* Makes an answer fail that its session has not begun to send. */
static void
answer_fail(struct serve *sv, uint64_t ticket)
{
	struct pending_table *pt = sv->pending;
	struct pending *a = &pt->table[backend_ticket_slot(ticket)];

	if (a->ticket != ticket || a->state != PENDING_READY || a->answer.item == NULL)
		return;
	pt->backend.release(pt->backend.arg, ticket, a->answer.item);
	a->answer = (struct backend_answer){.failed = true};
}

void
backend_arrival_lost(struct serve *sv, uint32_t number)
{
	struct arrival *v = arrival_of(sv, number);
	struct session *ss = v->reader;
	const uint64_t ticket = v->ticket;

	*v = (struct arrival){0};
	if (ss == NULL) {
		answer_fail(sv, ticket);
		return;
	}
	ss->value.arrival = 0;
	ss->end = SESSION_END_ERROR;
	conn_abort(sv->stack, ss->conn);
}

void
pending_arrival_read(struct serve *sv, struct session *ss, uint32_t number, uint64_t ticket)
{
	struct arrival *v = arrival_of(sv, number);

	if (!v->open || v->ticket != ticket)
		return;
	v->reader = ss;
	ss->value.arrival = (uint16_t)number;
}

void
pending_arrival_leave(struct serve *sv, struct session *ss)
{
	if (likely(ss->value.arrival == 0))
		return;
	arrival_of(sv, ss->value.arrival)->reader = NULL;
	ss->value.arrival = 0;
}

uint32_t
pending_arrived(const struct serve *sv, const struct session *ss)
{
	return arrival_of(sv, ss->value.arrival)->bytes;
}
