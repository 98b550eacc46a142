/*
 * front_flight.c - one get of a key in progress, and one set: later requests of the key join it,
 * or wait for the next one.
 *
 * A flight is the first request of a key. It may be joined before it is sent. Afterwards it may
 * be joined as long as the key had no writer, miss or flush when it was sent, and none since. A
 * request that may not join becomes the next flight, or joins that; the next flight is sent when
 * the first has its answer.
 *
 * Sets that arrive while one is in progress are combined into one, with the last value: the
 * earlier ones take effect just before it, as none was answered yet.
 */
#include "front_keep.h"

/* In shared mode a flight may be joined up to this part of a copy's life. */
#define JOIN_PART 4u
/* Kinds of requests that may share an answer. */
enum flight {
	FLIGHT_NONE,
	FLIGHT_GET,
	FLIGHT_GETS, /* the answer has a cas */
	FLIGHT_SET,
};

static struct front_request **
bucket_of(struct front *f, uint64_t hash)
{
	return &f->flights[hash % FRONT_FLIGHT_BUCKETS];
}

static struct front_request *
flight_of(struct front *f, struct copy_key wanted, enum flight kind)
{
	struct front_request *request = *bucket_of(f, wanted.hash);

	while (request != NULL && (request->hash != wanted.hash || request->flies != kind ||
				   !view_equal(front_request_key(request), wanted.name)))
		request = request->flight_next;
	return request;
}

static enum flight
kind_of_read(const struct front *f, uint8_t verb)
{
	if (!copies_enabled(&f->copies))
		return FLIGHT_NONE;
	if (verb == MC_GET)
		return FLIGHT_GET;
	return verb == MC_GETS || verb == MC_BIN_GET ? FLIGHT_GETS : FLIGHT_NONE;
}

static enum flight
kind_of(const struct front *f, const struct front_request *request)
{
	if (request->reads)
		return kind_of_read(f, request->query.verb);
	return request->fill.value_len <= FRONT_COMBINED_MAX &&
			       front_query_is_plain_set(&request->query)
		       ? FLIGHT_SET
		       : FLIGHT_NONE;
}

void
front_flight_begin(struct front *f, struct front_request *request)
{
	struct front_request **bucket = bucket_of(f, request->hash);

	request->flies = kind_of(f, request);
	if (request->flies == FLIGHT_NONE)
		return;
	request->flight_next = *bucket;
	*bucket = request;
}

void
front_flight_sent(struct front *f, struct front_request *request)
{
	if (request->flies == FLIGHT_NONE)
		return;
	request->sent_ns = f->now_ns;
	if (request->reads)
		request->seen = version_load_mt(f->copies.shared.versions, request->hash);
}

/* True if a sent flight is recent enough to be joined: its answer may be as old as the flight,
 * and other clients may have written since. */
static bool
is_young(const struct front *f, const struct front_request *flight)
{
	return !front_is_shared(f) || f->now_ns - flight->sent_ns <= f->cfg.copy_ns / JOIN_PART;
}

static bool
may_join(struct front *f, const struct front_request *flight)
{
	if (!flight->sent)
		return !flight->closed;
	return is_young(f, flight) &&
	       version_is_current_mt(f->copies.shared.versions, flight->hash, &flight->seen);
}

NOT_FLAT bool
front_flight_join(struct front *f, struct front_lane *l, const struct backend_ask *ask)
{
	const struct copy_key wanted = {.name = ask->key, .hash = ask->hash};
	const enum flight kind = kind_of_read(f, ask->req->verb);
	struct front_request *flight = kind != FLIGHT_NONE ? flight_of(f, wanted, kind) : NULL;
	struct front_request *request;

	if (flight == NULL || flight->lane != l)
		return false;
	request = front_request_take(f, l, ask);
	if (request == NULL)
		return false;
	front_count(f, FRONT_JOINED);
	front_server_add(l->counts, FRONT_SERVER_JOINED);
	front_keep_asked(f, request);
	if (may_join(f, flight)) {
		list_push_back(&flight->joined, &request->link);
	} else if (flight->held != NULL) {
		list_push_back(&flight->held->joined, &request->link);
	} else {
		flight->held = request;
		request->held_by = flight;
	}
	return true;
}

/* Replaces the value of the pending set by the latest one. */
static void
replace(struct front *f, struct front_request *held, struct front_request *request)
{
	const struct fill older = held->fill;

	held->query = request->query;
	held->fill = request->fill;
	request->fill = older;
	front_request_value_end(f, request);
	list_push_back(&held->joined, &request->link);
	front_count(f, FRONT_COMBINED);
}

bool
front_flight_wait(struct front *f, struct front_request *request)
{
	struct front_request *flight =
		kind_of(f, request) == FLIGHT_SET
			? flight_of(f, front_request_copy_key(request), FLIGHT_SET)
			: NULL;

	if (flight == NULL || flight->lane != request->lane)
		return false;
	if (flight->held != NULL) {
		replace(f, flight->held, request);
		return true;
	}
	flight->held = request;
	request->held_by = flight;
	return true;
}

/* Detaches a pending set that has no client left, or is now due. */
static void
held_end(struct front_request *request)
{
	if (request->held_by != NULL)
		request->held_by->held = NULL;
	request->held_by = NULL;
}

static void
leave(struct front *f, struct front_request *request)
{
	struct front_request **at = bucket_of(f, request->hash);

	while (*at != request)
		at = &(*at)->flight_next;
	*at = request->flight_next;
	request->flies = FLIGHT_NONE;
}

void
front_flight_end(struct front *f, struct front_request *request)
{
	struct front_request *held = request->held;

	held_end(request);
	if (!request->flies)
		return;
	leave(f, request);
	if (held == NULL)
		return;
	held_end(held);
	if (held->reads)
		front_request_queue(f, held);
	else
		front_write_queue(f, held);
}

void
front_flight_land(struct front *f, struct front_request *request,
		  const struct backend_answer *answer)
{
	front_flight_end(f, request);
	request->failed = answer->failed;
	request->error = answer->error;
	request->result = answer->result;
	request->cas = answer->cas;
	while (!list_empty(&request->joined)) {
		struct front_request *other =
			container_of(request->joined.next, struct front_request, link);

		list_unlink(&other->link);
		other->owner = request;
		request->users++;
		list_push_back(&f->landed, &other->link);
	}
}

void
front_flight_fail(struct front *f, struct front_request *request)
{
	front_flight_end(f, request);
	while (!list_empty(&request->joined))
		front_request_fail(f,
				   container_of(request->joined.next, struct front_request, link));
}

void
front_flight_complete(struct front *f)
{
	while (!list_empty(&f->landed) && front_may_answer(f)) {
		struct front_request *request =
			container_of(f->landed.next, struct front_request, link);
		const struct front_request *owner = request->owner;
		const struct backend_answer answer = {.failed = owner->failed,
						      .error = owner->error,
						      .result = owner->result,
						      .cas = owner->cas,
						      .item = owner->answer};

		list_unlink(&request->link);
		f->answers++;
		if (!backend_answer(f->serve, request->ticket, &answer) || answer.item == NULL)
			front_request_release(f, request);
	}
}

void
front_flights_close(struct front *f, struct copy_key wanted)
{
	for (struct front_request *request = *bucket_of(f, wanted.hash); request != NULL;
	     request = request->flight_next)
		request->closed |= request->hash == wanted.hash && request->reads;
}
