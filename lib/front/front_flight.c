/*
 * front_flight.c - one get of a key on its way: who asks meanwhile joins it, or waits for the next.
 *
 * A flight is the key that was asked for first. It may be joined before it is sent; after that as
 * long as nobody has written its key, told a miss of it, or flushed, and nobody did when it was
 * sent. Who may not is the next flight, or joins that: it is sent when the first is back.
 */
#include "front_keep.h"

static struct front_key **
bucket_of(struct front *f, uint64_t hash)
{
	return &f->flights[hash % FRONT_FLIGHT_BUCKETS];
}

static struct front_key *
flight_of(struct front *f, const struct serve_ask *ask)
{
	struct front_key *key = *bucket_of(f, ask->hash);

	while (key != NULL &&
	       (key->hash != ask->hash || !view_equal(front_key_view(key), ask->key)))
		key = key->flight_next;
	return key;
}

void
front_flight_begin(struct front *f, struct front_key *key)
{
	struct front_key **bucket = bucket_of(f, key->hash);

	if (!front_copies_kept(&f->copies) || key->query.verb != MC_GET)
		return;
	key->flies = true;
	key->flight_next = *bucket;
	*bucket = key;
}

void
front_flight_sent(struct front *f, struct front_key *key)
{
	key->seen = front_cell_load_mt(f->copies.shared.cells, key->hash);
}

static bool
may_join(struct front *f, const struct front_key *flight)
{
	return !flight->sent ||
	       front_cell_stands_mt(f->copies.shared.cells, flight->hash, &flight->seen);
}

bool
front_flight_join(struct front *f, struct front_lane *l, const struct serve_ask *ask)
{
	struct front_key *flight = ask->req->verb == MC_GET && front_copies_kept(&f->copies)
					   ? flight_of(f, ask)
					   : NULL;
	struct front_key *key;

	if (flight == NULL || flight->lane != l)
		return false;
	key = front_key_take(f, l, ask);
	if (key == NULL)
		return false;
	front_count(f, FRONT_JOINED);
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

/* The one that waits has nobody left, or its time has come. */
static void
held_end(struct front_key *key)
{
	if (key->held_by != NULL)
		key->held_by->held = NULL;
	key->held_by = NULL;
}

void
front_flight_end(struct front *f, struct front_key *key)
{
	struct front_key **at = bucket_of(f, key->hash), *held = key->held;

	held_end(key);
	if (!key->flies)
		return;
	while (*at != key)
		at = &(*at)->flight_next;
	*at = key->flight_next;
	key->flies = false;
	if (held == NULL)
		return;
	held_end(held);
	front_key_queue(f, held);
}

void
front_flight_land(struct front *f, struct front_key *key, const struct serve_answer *answer)
{
	front_flight_end(f, key);
	key->failed = answer->failed;
	key->error = answer->error;
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
front_flight_tell(struct front *f)
{
	while (!list_empty(&f->landed) && front_may_answer(f)) {
		struct front_key *key = container_of(f->landed.next, struct front_key, link);
		const struct front_key *owner = key->owner;
		const struct serve_answer answer = {
			.failed = owner->failed, .error = owner->error, .item = owner->fill.item};

		list_unlink(&key->link);
		f->answers++;
		if (!serve_answer(f->serve, key->ticket, &answer) || answer.item == NULL)
			front_key_release(f, key);
	}
}
