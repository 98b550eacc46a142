/*
 * front_key.c - requests of keys, from the call to the end of the answer.
 */
#include "front_keep.h"

#include "base/copy.h"

static uint32_t
slot_of(uint64_t ticket)
{
	return backend_ticket_slot(ticket);
}

/* Clears the first fields, and the others if they were used. */
static void
key_clear(struct front_key *key, bool uses_more)
{
	if (unlikely(key->used_more)) {
		memset((uint8_t *)key + offsetof(struct front_key, writes), 0,
		       sizeof *key - offsetof(struct front_key, writes));
		list_init(&key->joined);
	}
	memset(key, 0, offsetof(struct front_key, bytes));
	list_init(&key->link);
	key->used_more = uses_more;
}

/* Takes a free request for a lane. A lane may have at most as many as are still free, so that a
 * stalled one leaves half. */
struct front_key *
front_key_take(struct front *f, struct front_lane *lane, const struct backend_ask *ask)
{
	struct front_key *key;

	if (lane->key_count >= f->keys_left)
		return NULL;
	key = f->keys_free[--f->keys_left];
	lane->key_count++;
	front_server_add(lane->counts, FRONT_SERVER_TAKEN);
	key_clear(key, ask->req->verb != MC_GET || copies_enabled(&f->copies));
	key->ticket = ask->ticket;
	key->hash = ask->hash;
	key->lane = lane;
	key->asked_lane = ask->lane;
	key->open = true;
	key->parity = f->generation & 1;
	f->open[key->parity]++;
	key->wanted = true;
	key->len = (uint8_t)ask->key.len;
	if (ask->req->verb != MC_GET)
		key->query = front_query_of(ask->req);
	bytes_copy(key->bytes, ask->key.data, ask->key.len);
	f->by_slot[slot_of(ask->ticket)] = key;
	return key;
}

/* Closes a request: no server is asked for it any more. */
static void
key_close(struct front *f, struct front_key *key)
{
	f->open[key->parity] -= key->open;
	key->open = false;
}

static void
fill_end(struct front *f, struct front_key *key)
{
	const uint32_t len = key->fill.value_len;

	if (key->writes)
		backend_value_end(f->serve, key->asked_lane, len);
	else if (key->fill.item != NULL)
		f->answer_bytes -= len;
	store_abandon(f->store, &key->fill);
}

void
front_key_value_end(struct front *f, struct front_key *key)
{
	fill_end(f, key);
	key->fill = (struct fill){0};
	key->writes = false;
}

/* Ends a part of a flush; the last part ends the flush. */
void
front_part_end(struct front *f, struct front_key *whole)
{
	if (--whole->parts > 0)
		return;
	if (whole->wanted)
		front_ticket_complete(f, whole->ticket, whole->missed);
	front_key_free(f, whole);
}

/* Ends one use of the owner's answer. */
static void
unuse(struct front *f, struct front_key *owner)
{
	if (--owner->users == 0)
		front_key_free(f, owner);
}

/* Ends what only requests other than plain gets have. */
static NOT_FLAT void
more_end(struct front *f, struct front_key *key)
{
	ensure(list_empty(&key->joined));
	fill_end(f, key);
	front_flight_end(f, key);
	if (front_key_keeps(key))
		front_keep_end(f, key);
	if (key->whole != NULL)
		front_part_end(f, key->whole);
}

void
front_key_free(struct front *f, struct front_key *key)
{
	struct front_key **of_slot = &f->by_slot[slot_of(key->ticket)];
	struct front_key *owner = key->used_more ? key->owner : NULL;

	memset(key->item, 0, sizeof key->item); /* a joiner that uses it has no value */
	key_close(f, key);
	if (key->used_more)
		more_end(f, key);
	if (*of_slot == key)
		*of_slot = NULL;
	key->lane->key_count--;
	front_server_add(key->lane->counts, FRONT_SERVER_FREED);
	if (!list_empty(&key->link))
		list_unlink(&key->link);
	f->keys_free[f->keys_left++] = key;
	if (owner != NULL)
		unuse(f, owner);
}

void
front_key_release(struct front *f, struct front_key *key)
{
	struct front_key **of_slot = &f->by_slot[slot_of(key->ticket)];

	if (*of_slot == key)
		*of_slot = NULL;
	if (!key->used_more || key->owner != NULL)
		front_key_free(f, key);
	else
		unuse(f, key);
}

static NOT_FLAT void
more_queued(struct front *f, struct front_key *key)
{
	front_flight_begin(f, key);
	if (key->reads)
		front_keep_place(f, key);
}

void
front_key_queue(struct front *f, struct front_key *key)
{
	struct front_lane *l = key->lane;

	list_push_back(&l->queue, &key->link);
	if (l->state == LANE_UP && list_empty(&l->send_link))
		list_push_back(&f->unsent, &l->send_link);
	if (key->used_more)
		more_queued(f, key);
}

void
front_write_queue(struct front *f, struct front_key *key)
{
	if (front_keep_writes(f, key))
		front_key_queue(f, key);
	else
		front_key_fail(f, key);
}

static void
key_failed(struct front *f, const struct front_key *key)
{
	front_key_failed(f, key->lane);
	if (key->ticket == FRONT_TICKET_NONE)
		front_count(f, FRONT_DROPS_FAILED);
}

/* Ends, on the answer, what only requests other than plain gets have. */
static NOT_FLAT void
more_answered(struct front *f, struct front_key *key, const struct backend_answer *answer)
{
	key->outcome_known = !answer->failed;
	if (key->reads && !answer->failed && answer->error == MC_ERR_NONE && answer->item == NULL)
		front_keep_missed(f, key);
	if (key->is_writer && key->outcome_known && answer->error == MC_ERR_NONE &&
	    answer->result == STORE_OK)
		front_keep_stored(f, key);
	if (front_key_keeps(key))
		front_keep_end(f, key); /* before the next write begins */
	front_flight_land(f, key, answer);
	if (key->whole != NULL && (answer->failed || answer->error != 0))
		key->whole->missed = true;
}

void
front_key_answer(struct front *f, struct front_key *key, const struct backend_answer *answer)
{
	list_unlink(&key->link);
	key_close(f, key);
	f->answers++;
	key->users = 1;
	if (key->used_more)
		more_answered(f, key, answer);
	if (answer->failed || answer->error == MC_ERR_REFUSED)
		key_failed(f, key);
	else
		front_count(f, answer->item != NULL ? FRONT_HITS : FRONT_MISSES);
	if (!key->wanted || !backend_answer(f->serve, key->ticket, answer) || answer->item == NULL)
		front_key_release(f, key);
}

void
front_ticket_complete(struct front *f, uint64_t ticket, bool failed)
{
	/* If the ring is full, the deadline of the ticket reports it. */
	if (f->completed_tail - f->completed_head < FRONT_KEYS)
		f->completed[f->completed_tail++ % FRONT_KEYS] =
			(struct front_completed){.ticket = ticket, .failed = failed};
}

void
front_key_fail(struct front *f, struct front_key *key)
{
	front_flight_fail(f, key);
	key_failed(f, key);
	if (key->whole != NULL) {
		front_report_owe_mt(key->lane->report);
		key->whole->missed = true;
	} else if (key->wanted) {
		front_ticket_complete(f, key->ticket, true);
	}
	front_key_free(f, key);
}

void
front_complete(struct front *f)
{
	while (f->completed_head != f->completed_tail && front_may_answer(f)) {
		const struct front_completed *completed =
			&f->completed[f->completed_head++ % FRONT_KEYS];
		const struct backend_answer answer = {.failed = completed->failed,
						      .result = STORE_OK};

		backend_answer(f->serve, completed->ticket, &answer);
		f->answers++;
	}
}
