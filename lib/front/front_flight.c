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

static struct front_key **
bucket_of(struct front *f, uint64_t hash)
{
	return &f->flights[hash % FRONT_FLIGHT_BUCKETS];
}

static struct front_key *
flight_of(struct front *f, struct copy_key wanted, enum flight kind)
{
	struct front_key *key = *bucket_of(f, wanted.hash);

	while (key != NULL && (key->hash != wanted.hash || key->flies != kind ||
			       !view_equal(front_key_view(key), wanted.name)))
		key = key->flight_next;
	return key;
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
kind_of(const struct front *f, const struct front_key *key)
{
	if (key->reads)
		return kind_of_read(f, key->query.verb);
	return key->fill.value_len <= FRONT_COMBINED_MAX && front_query_is_plain_set(&key->query)
		       ? FLIGHT_SET
		       : FLIGHT_NONE;
}

void
front_flight_begin(struct front *f, struct front_key *key)
{
	struct front_key **bucket = bucket_of(f, key->hash);

	key->flies = kind_of(f, key);
	if (key->flies == FLIGHT_NONE)
		return;
	key->flight_next = *bucket;
	*bucket = key;
}

void
front_flight_sent(struct front *f, struct front_key *key)
{
	if (key->flies == FLIGHT_NONE)
		return;
	key->sent_ns = f->now_ns;
	if (key->reads)
		key->seen = version_load_mt(f->copies.shared.versions, key->hash);
}

/* True if a sent flight is recent enough to be joined: its answer may be as old as the flight,
 * and other clients may have written since. */
static bool
is_young(const struct front *f, const struct front_key *flight)
{
	return !front_is_shared(f) || f->now_ns - flight->sent_ns <= f->cfg.copy_ns / JOIN_PART;
}

static bool
may_join(struct front *f, const struct front_key *flight)
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
	struct front_key *flight = kind != FLIGHT_NONE ? flight_of(f, wanted, kind) : NULL;
	struct front_key *key;

	if (flight == NULL || flight->lane != l)
		return false;
	key = front_key_take(f, l, ask);
	if (key == NULL)
		return false;
	front_count(f, FRONT_JOINED);
	front_server_add(l->counts, FRONT_SERVER_JOINED);
	front_keep_asked(f, key);
	if (may_join(f, flight)) {
		list_push_back(&flight->joined, &key->link);
	} else if (flight->held != NULL) {
		list_push_back(&flight->held->joined, &key->link);
	} else {
		flight->held = key;
		key->held_by = flight;
	}
	return true;
}

/* Replaces the value of the pending set by the latest one. */
static void
replace(struct front *f, struct front_key *held, struct front_key *key)
{
	const struct fill older = held->fill;

	held->query = key->query;
	held->fill = key->fill;
	key->fill = older;
	front_key_value_end(f, key);
	list_push_back(&held->joined, &key->link);
	front_count(f, FRONT_COMBINED);
}

bool
front_flight_wait(struct front *f, struct front_key *key)
{
	struct front_key *flight = kind_of(f, key) == FLIGHT_SET
					   ? flight_of(f, front_key_wanted(key), FLIGHT_SET)
					   : NULL;

	if (flight == NULL || flight->lane != key->lane)
		return false;
	if (flight->held != NULL) {
		replace(f, flight->held, key);
		return true;
	}
	flight->held = key;
	key->held_by = flight;
	return true;
}

/* Detaches a pending set that has no client left, or is now due. */
static void
held_end(struct front_key *key)
{
	if (key->held_by != NULL)
		key->held_by->held = NULL;
	key->held_by = NULL;
}

static void
leave(struct front *f, struct front_key *key)
{
	struct front_key **at = bucket_of(f, key->hash);

	while (*at != key)
		at = &(*at)->flight_next;
	*at = key->flight_next;
	key->flies = FLIGHT_NONE;
}

void
front_flight_end(struct front *f, struct front_key *key)
{
	struct front_key *held = key->held;

	held_end(key);
	if (!key->flies)
		return;
	leave(f, key);
	if (held == NULL)
		return;
	held_end(held);
	if (held->reads)
		front_key_queue(f, held);
	else
		front_write_queue(f, held);
}

void
front_flight_land(struct front *f, struct front_key *key, const struct backend_answer *answer)
{
	front_flight_end(f, key);
	key->failed = answer->failed;
	key->error = answer->error;
	key->result = answer->result;
	key->cas = answer->cas;
	while (!list_empty(&key->joined)) {
		struct front_key *other = container_of(key->joined.next, struct front_key, link);

		list_unlink(&other->link);
		other->owner = key;
		key->users++;
		list_push_back(&f->landed, &other->link);
	}
}

void
front_flight_fail(struct front *f, struct front_key *key)
{
	front_flight_end(f, key);
	while (!list_empty(&key->joined))
		front_key_fail(f, container_of(key->joined.next, struct front_key, link));
}

void
front_flight_complete(struct front *f)
{
	while (!list_empty(&f->landed) && front_may_answer(f)) {
		struct front_key *key = container_of(f->landed.next, struct front_key, link);
		const struct front_key *owner = key->owner;
		const struct backend_answer answer = {.failed = owner->failed,
						      .error = owner->error,
						      .result = owner->result,
						      .cas = owner->cas,
						      .item = owner->answer};

		list_unlink(&key->link);
		f->answers++;
		if (!backend_answer(f->serve, key->ticket, &answer) || answer.item == NULL)
			front_key_release(f, key);
	}
}

void
front_flights_close(struct front *f, struct copy_key wanted)
{
	for (struct front_key *key = *bucket_of(f, wanted.hash); key != NULL;
	     key = key->flight_next)
		key->closed |= key->hash == wanted.hash && key->reads;
}
