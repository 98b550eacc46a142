/*
 * top_keys.c - Space-Saving under a lock for which no counting thread waits.
 */
#include "top_keys.h"

#include "base/check.h"
#include "proto/mc_meta.h"
#include "proto/mc_reply.h"

#include <string.h>

#define ESCAPED_MAX 3u /* bytes of text for each byte of a key */
#define THOUSAND    1000u

static void
age(struct top_keys *top)
{
	top->samples /= 2;
	for (uint32_t i = 0; i < top->count; i++) {
		top->key[i].count /= 2;
		top->key[i].error /= 2;
	}
}

static uint32_t
place_of(const struct top_keys *top, uint64_t hash)
{
	uint32_t i = 0;

	while (i < top->count && top->hash[i] != hash)
		i++;
	return i;
}

/* Returns a free place, or the one with the least count. */
static uint32_t
place_taken(struct top_keys *top)
{
	uint32_t least = 0;

	if (top->count < TOP_KEYS) {
		top->key[top->count].count = 0;
		return top->count++;
	}
	for (uint32_t i = 1; i < TOP_KEYS; i++)
		if (top->key[i].count < top->key[least].count)
			least = i;
	return least;
}

static void
enter(struct top_keys *top, struct view key, uint64_t hash)
{
	const uint32_t at = place_taken(top);
	struct top_key *to = &top->key[at];

	top->hash[at] = hash;
	to->error = to->count++;
	to->len = (uint8_t)key.len;
	memcpy(to->bytes, key.data, key.len);
}

void
top_keys_count_mt(struct top_keys *top, struct view key, uint64_t hash)
{
	uint32_t at;

	if (key.len > MC_KEY_MAX || !spin_try(&top->lock))
		return;
	at = place_of(top, hash);
	if (at < top->count)
		top->key[at].count++;
	else
		enter(top, key, hash);
	if (++top->samples == TOP_KEYS_AGE)
		age(top);
	spin_unlock(&top->lock);
}

void
top_keys_reset_mt(struct top_keys *top)
{
	spin_lock(&top->lock);
	top->samples = top->count = 0;
	spin_unlock(&top->lock);
}

static uint32_t
sure_of(const struct top_key *key)
{
	return key->count - key->error;
}

/* Inserts a key after those with higher counts. */
static void
list_add(struct top_list *list, const struct top_key *key)
{
	uint32_t at = list->count;

	while (at > 0 && sure_of(&list->key[at - 1]) < sure_of(key))
		at--;
	if (at == TOP_KEYS_SHOWN)
		return;
	list->count += list->count < TOP_KEYS_SHOWN;
	memmove(&list->key[at + 1], &list->key[at], (list->count - 1 - at) * sizeof *key);
	list->key[at] = *key;
}

void
top_keys_list_mt(struct top_keys *top, struct top_list *list)
{
	list->count = 0;
	spin_lock(&top->lock);
	list->samples = top->samples;
	for (uint32_t i = 0; i < top->count; i++)
		if (sure_of(&top->key[i]) > 0)
			list_add(list, &top->key[i]);
	spin_unlock(&top->lock);
}

static uint8_t *
put_part(uint8_t *at, uint32_t part, uint32_t of)
{
	const uint32_t n = (uint32_t)((uint64_t)part * THOUSAND / of);

	at = mc_put_u64(at, n / THOUSAND);
	*at++ = '.';
	for (uint32_t unit = THOUSAND / 10; unit > 0; unit /= 10)
		*at++ = (uint8_t)('0' + n / unit % 10);
	*at++ = ' ';
	return at;
}

const char *
top_list_text(struct top_list *list, uint32_t n)
{
	static const char cut[] = "...";
	const struct top_key *key = &list->key[n];
	uint8_t *at = (uint8_t *)list->text, *end = at + TOP_KEY_TEXT;
	uint32_t i = 0;

	ensure(n < list->count);
	at = put_part(at, sure_of(key), list->samples);
	while (i < key->len && end - at >= (ptrdiff_t)(ESCAPED_MAX + sizeof cut - 1))
		at = mc_put_uri(at, (struct view){key->bytes + i++, 1});
	if (i < key->len) {
		memcpy(at, cut, sizeof cut - 1);
		at += sizeof cut - 1;
	}
	*at = '\0';
	return list->text;
}
