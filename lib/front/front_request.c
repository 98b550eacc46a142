/*
 * front_request.c - a request's life, from the service's call to the end of its answer.
 */
#include "front_handover.h"

#include "base/copy.h"

static uint32_t
slot_of(uint64_t ticket)
{
	return backend_ticket_slot(ticket);
}

/* Clears the first fields, and the others if the request's last use had set them. */
static void
request_clear(struct front_request *request, bool uses_more)
{
	if (unlikely(request->used_more)) {
		memset((uint8_t *)request + offsetof(struct front_request, writes), 0,
		       sizeof *request - offsetof(struct front_request, writes));
		list_init(&request->coalesced.followers);
	}
	memset(request, 0, offsetof(struct front_request, bytes));
	list_init(&request->link);
	request->used_more = uses_more;
}

/* Sets the fields that plain gets without copies do not need. */
static NOT_FLAT void
request_use(struct front_request *request, const struct backend_ask *ask)
{
	request->coalesced.key = (struct copy_key){front_request_key(request), ask->hash};
	request->behind = ask->behind;
}

/* Takes a free request for a lane. NULL: the lane has as many as are still free, or more. So a
 * stalled lane leaves half of them to others. */
struct front_request *
front_request_take(struct front *f, struct front_lane *lane, const struct backend_ask *ask)
{
	struct front_request *request;

	if (lane->request_count >= f->requests_left)
		return NULL;
	request = f->requests_free[--f->requests_left];
	lane->request_count++;
	front_server_add(lane->counts, FRONT_SERVER_TAKEN);
	request_clear(request, ask->req->verb != MC_GET || copies_enabled(&f->copies));
	request->ticket = ask->ticket;
	request->hash = ask->hash;
	request->lane = lane;
	request->asked_lane = ask->lane;
	request->open = true;
	request->parity = f->generation & 1;
	f->open[request->parity]++;
	request->wanted = true;
	request->len = (uint8_t)ask->key.len;
	if (ask->req->verb != MC_GET)
		request->query = front_query_of(ask->req);
	if (request->used_more)
		request_use(request, ask);
	bytes_copy(request->bytes, ask->key.data, ask->key.len);
	f->by_slot[slot_of(ask->ticket)] = request;
	return request;
}

/* Closes a request: no more is sent to a server for it. */
static void
request_close(struct front *f, struct front_request *request)
{
	f->open[request->parity] -= request->open;
	request->open = false;
}

static void
fill_end(struct front *f, struct front_request *request)
{
	const uint32_t len = request->fill.value_len;

	if (request->writes)
		backend_value_end(f->serve, request->asked_lane, len);
	else if (request->fill.item != NULL)
		f->answer_bytes -= len;
	store_abandon(f->store, &request->fill);
}

void
front_request_value_end(struct front *f, struct front_request *request)
{
	fill_end(f, request);
	request->fill = (struct fill){0};
	request->writes = false;
}

void
front_part_end(struct front *f, struct front_request *whole)
{
	if (--whole->parts > 0)
		return;
	if (whole->wanted)
		front_ticket_complete(f, whole->ticket, whole->missed);
	front_request_free(f, whole);
}

void
front_request_unuse(struct front *f, struct front_request *owner)
{
	if (--owner->users == 0)
		front_request_free(f, owner);
}

static void
part_freed(struct front *f, const struct front_request *part)
{
	if (part->adds)
		front_handover_added(f, part);
	else if (part->whole->reads)
		front_handover_fetched(f, part->whole);
	else
		front_part_end(f, part->whole);
}

/* Ends what the fields beyond the first line hold. */
static NOT_FLAT void
more_end(struct front *f, struct front_request *request)
{
	ensure(list_empty(&request->coalesced.followers));
	fill_end(f, request);
	front_request_lead_end(f, request);
	if (front_request_caches(request))
		front_cache_end(f, request);
	if (request->whole != NULL)
		part_freed(f, request);
}

void
front_request_free(struct front *f, struct front_request *request)
{
	struct front_request **of_slot = &f->by_slot[slot_of(request->ticket)];
	struct front_request *owner = request->used_more ? request->owner : NULL;

	/* A follower that uses this request later has no value of its own. */
	memset(request->item, 0, sizeof request->item);
	request_close(f, request);
	if (request->used_more)
		more_end(f, request);
	if (*of_slot == request)
		*of_slot = NULL;
	request->lane->request_count--;
	front_server_add(request->lane->counts, FRONT_SERVER_FREED);
	if (!list_empty(&request->link))
		list_unlink(&request->link);
	f->requests_free[f->requests_left++] = request;
	if (owner != NULL)
		front_request_unuse(f, owner);
}

void
front_request_release(struct front *f, struct front_request *request)
{
	struct front_request **of_slot = &f->by_slot[slot_of(request->ticket)];

	if (*of_slot == request)
		*of_slot = NULL;
	if (!request->used_more || request->owner != NULL)
		front_request_free(f, request);
	else
		front_request_unuse(f, request);
}

static NOT_FLAT void
more_queued(struct front *f, struct front_request *request)
{
	front_request_lead(f, request);
	if (request->reads)
		front_cache_lease(f, request);
}

void
front_request_queue(struct front *f, struct front_request *request)
{
	front_lane_queue(request->lane, request);
	if (request->used_more)
		more_queued(f, request);
}

void
front_write_queue(struct front *f, struct front_request *request)
{
	if (unlikely(f->state->special) && front_handover_waits(f, request))
		return;
	if (front_cache_write(f, request))
		front_request_queue(f, request);
	else
		front_request_fail(f, request);
}

static void
request_failed(struct front *f, const struct front_request *request)
{
	front_request_failed(f, request->lane);
	if (request->ticket != FRONT_TICKET_NONE || request->query.verb != MC_BIN_DELETE)
		return;
	front_count(f, FRONT_DROPS_FAILED);
	front_report_outdated_mt(request->lane->report);
}

static void
part_answered(struct front *f, struct front_request *part, const struct backend_answer *answer)
{
	if (part->whole->reads)
		front_handover_answered(f, part, answer);
	else if (answer->failed || answer->error != 0)
		part->whole->missed = true;
}

/* Handles the answer as far as the fields beyond the first line require. */
static NOT_FLAT void
more_answered(struct front *f, struct front_request *request, const struct backend_answer *answer)
{
	request->outcome_known = !answer->failed;
	if (request->reads && !answer->failed && answer->error == MC_ERR_NONE &&
	    answer->item == NULL)
		front_cache_miss(f, request);
	if (request->is_writer && request->outcome_known && answer->error == MC_ERR_NONE &&
	    answer->result == STORE_OK)
		front_cache_stored(f, request);
	if (front_request_caches(request))
		front_cache_end(f, request); /* before the next write of the key begins */
	front_followers_answer(f, request, answer);
	if (request->whole != NULL)
		part_answered(f, request, answer);
}

void
front_request_answer(struct front *f, struct front_request *request,
		     const struct backend_answer *answer)
{
	list_unlink(&request->link);
	request_close(f, request);
	f->answers++;
	request->users = 1;
	if (request->used_more)
		more_answered(f, request, answer);
	if (answer->failed || answer->error == MC_ERR_REFUSED)
		request_failed(f, request);
	else
		front_count(f, answer->item != NULL ? FRONT_HITS : FRONT_MISSES);
	if (!request->wanted || !backend_answer(f->serve, request->ticket, answer) ||
	    answer->item == NULL)
		front_request_release(f, request);
}

void
front_ticket_complete(struct front *f, uint64_t ticket, bool failed)
{
	/* If the ring is full, the result is lost, and the ticket ends by its deadline. */
	if (f->completed_tail - f->completed_head < FRONT_REQUESTS)
		f->completed[f->completed_tail++ % FRONT_REQUESTS] =
			(struct front_completed){.ticket = ticket, .failed = failed};
}

void
front_request_fail(struct front *f, struct front_request *request)
{
	front_followers_fail(f, request);
	request_failed(f, request);
	if (request->whole != NULL && !request->whole->reads && !request->adds) {
		front_report_owe_mt(request->lane->report);
		request->whole->missed = true;
	} else if (request->wanted) {
		front_ticket_complete(f, request->ticket, true);
	}
	front_request_free(f, request);
}

void
front_complete(struct front *f)
{
	while (f->completed_head != f->completed_tail && front_may_answer(f)) {
		const struct front_completed *completed =
			&f->completed[f->completed_head++ % FRONT_REQUESTS];
		const struct backend_answer answer = {.failed = completed->failed,
						      .result = STORE_OK};

		backend_answer(f->serve, completed->ticket, &answer);
		f->answers++;
	}
}
