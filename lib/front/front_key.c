/*
 * front_key.c - keys that are asked, from the ask to the end of the answer.
 */
#include "front_core.h"

static uint32_t
slot_of(uint64_t ticket)
{
	return serve_ticket_slot(ticket);
}

/* A lane has as many as are free, so that one that stalls leaves half. */
struct front_key *
front_key_take(struct front *f, struct front_lane *lane, const struct serve_ask *ask)
{
	struct front_key *key;

	if (lane->key_count >= f->keys_left)
		return NULL;
	key = container_of(list_pop_front(&f->keys_free), struct front_key, link);
	f->keys_left--;
	lane->key_count++;
	key->ticket = ask->ticket;
	key->hash = ask->hash;
	key->lane = lane;
	key->wanted = true;
	key->sent = false;
	key->len = (uint8_t)ask->key.len;
	key->query = front_query_of(ask->req);
	key->fill = (struct fill){0};
	memcpy(key->bytes, ask->key.data, ask->key.len);
	f->by_slot[slot_of(ask->ticket)] = key;
	return key;
}

void
front_key_free(struct front *f, struct front_key *key)
{
	struct front_key **of_slot = &f->by_slot[slot_of(key->ticket)];

	if (key->fill.item != NULL) {
		f->answer_bytes -= key->fill.value_len;
		store_abandon(f->store, &key->fill);
	}
	if (*of_slot == key)
		*of_slot = NULL;
	key->lane->key_count--;
	f->keys_left++;
	list_unlink(&key->link);
	list_push_front(&f->keys_free, &key->link);
}

void
front_key_answer(struct front *f, struct front_key *key, const struct serve_answer *answer)
{
	list_unlink(&key->link);
	f->answers++;
	if (answer->failed)
		front_count(f, FRONT_FAILED);
	else
		front_count(f, answer->item != NULL ? FRONT_HITS : FRONT_MISSES);
	if (!key->wanted || !serve_answer(f->serve, key->ticket, answer) || answer->item == NULL)
		front_key_free(f, key);
}

void
front_ticket_fail(struct front *f, uint64_t ticket)
{
	/* Beyond, its deadline says so. */
	if (f->failed_tail - f->failed_head < FRONT_KEYS)
		f->failed[f->failed_tail++ % FRONT_KEYS] = ticket;
}

void
front_key_fail(struct front *f, struct front_key *key)
{
	front_count(f, FRONT_FAILED);
	if (key->wanted)
		front_ticket_fail(f, key->ticket);
	front_key_free(f, key);
}

void
front_fails_tell(struct front *f)
{
	static const struct serve_answer failed = {.failed = true};

	while (f->failed_head != f->failed_tail && front_may_answer(f)) {
		serve_answer(f->serve, f->failed[f->failed_head++ % FRONT_KEYS], &failed);
		f->answers++;
	}
}
