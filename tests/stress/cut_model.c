/*
 * cut_model.c - versions of keys, and whether a store's answer is one of them.
 */
#include "cut_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 64u
#define NAME_MIN   9u

struct view
model_name(uint32_t key)
{
	static char names[MODEL_KEYS][NAME_BYTES];
	const uint32_t len = NAME_MIN + key * 7 % 48;

	ensure(key < MODEL_KEYS);
	if (names[key][0] == 0) {
		memset(names[key], '-', NAME_BYTES);
		snprintf(names[key], NAME_BYTES, "key-%04u", key);
		names[key][NAME_MIN - 1] = '-';
	}
	return (struct view){(const uint8_t *)names[key], len};
}

uint32_t
model_number(struct view name)
{
	uint32_t n = 0;

	if (name.len < NAME_MIN)
		return MODEL_KEYS;
	for (uint32_t i = 4; i < 8; i++)
		n = n * 10 + (uint32_t)(name.data[i] - '0');
	return n < MODEL_KEYS ? n : MODEL_KEYS;
}

void
version_set(struct version *v, const uint8_t *bytes, uint32_t len)
{
	uint8_t *copy = malloc(len + 1);

	ensure(copy != NULL);
	memcpy(copy, bytes, len);
	free(v->bytes);
	v->bytes = copy;
	v->len = len;
}

void
version_copy(struct version *to, const struct version *from)
{
	uint8_t *const bytes = to->bytes;

	*to = *from;
	to->bytes = bytes;
	version_set(to, from->bytes != NULL ? from->bytes : (const uint8_t *)"", from->len);
}

void
model_expect(struct model *m, uint32_t key, const struct version *next)
{
	version_copy(&m->keys[key].next, next);
	m->keys[key].pending = true;
}

void
model_acknowledge(struct model *m, uint32_t key, bool done)
{
	struct model_key *k = &m->keys[key];

	if (done)
		version_copy(&k->now, &k->next);
	k->pending = false;
}

static bool
is_version(const struct version *v, const struct store_core *sc, const struct item *it)
{
	if (!v->there || item_value_len(it) != v->len || item_flags(it) != v->flags ||
	    item_expiry_s(it) != v->expiry_s)
		return false;
	for (uint32_t at = 0; at < v->len;) {
		const struct view run = store_value_at(sc, it, at);

		if (memcmp(run.data, v->bytes + at, run.len) != 0)
			return false;
		at += run.len;
	}
	return true;
}

static bool
is_dead(const struct version *v, uint32_t now_s)
{
	return !v->there || (v->expiry_s != 0 && v->expiry_s <= now_s);
}

bool
model_allows_now(const struct model *m, uint32_t key, const struct store_core *sc,
		 const struct item *it, uint32_t now_s)
{
	const struct model_key *k = &m->keys[key];

	return it == NULL ? is_dead(&k->now, now_s) : is_version(&k->now, sc, it);
}

bool
model_allows(const struct model *m, uint32_t key, const struct store_core *sc,
	     const struct item *it, uint32_t now_s)
{
	const struct model_key *k = &m->keys[key];

	if (it == NULL)
		return m->flushing != 0 || k->evicted || is_dead(&k->now, now_s) ||
		       (k->pending && is_dead(&k->next, now_s));
	return (is_version(&k->now, sc, it) && !is_dead(&k->now, now_s)) ||
	       (k->pending && is_version(&k->next, sc, it) && !is_dead(&k->next, now_s));
}
