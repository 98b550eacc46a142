/*
 * rmw.c - new versions made from old ones: append, prepend, incr, decr, another expiry, stale.
 *
 * Read the old version, write the new one aside, replace the old if it is still the same. After
 * some tries lost to other writers, write it under the bucket lock, where nobody can be faster.
 */
#include "store_internal.h"
#include "number.h"

#define RMW_OPTIMISTIC_MAX 4u
#define RMW_TRIES_MAX      64u /* under lock a try is lost only if the shape changed meanwhile */

static bool
calculate(const struct rmw *rm, const struct item *old, uint64_t *number)
{
	const struct view v = {item_tail(old), item_value_len(old)};

	if ((item_form(old) & ITEM_IS_CHUNKED) != 0 || !number_parse(v, number))
		return false;
	if (rm->op == RMW_INCR)
		*number += rm->delta;
	else
		*number = *number < rm->delta ? 0 : *number - rm->delta;
	return true;
}

/* May there be a new version, and how long is its value? */
static enum store_result
new_len(const struct store_core *sc, const struct rmw *rm, const struct item *old, uint32_t *len)
{
	uint8_t text[NUMBER_DIGITS_MAX];
	uint64_t number;

	*len = item_value_len(old);
	/* In memcached's order: an empty value is looked at before the cas, others after it. */
	if ((rm->op == RMW_INCR || rm->op == RMW_DECR) && *len == 0)
		return STORE_NOT_A_NUMBER;
	if (rm->conditions.compare && item_cas(old) != rm->conditions.cas)
		return STORE_EXISTS;
	switch (rm->op) {
	case RMW_APPEND:
	case RMW_PREPEND:
		*len += item_value_len(rm->more);
		return *len > store_value_max(sc->store) ? STORE_TOO_LARGE : STORE_OK;
	case RMW_INCR:
	case RMW_DECR:
		if (!calculate(rm, old, &number))
			return STORE_NOT_A_NUMBER;
		/* A shorter number is written in place and padded, so nothing ever shrinks. */
		if (number_print(text, number) > *len)
			*len = number_print(text, number);
		return STORE_OK;
	case RMW_COPY:
		return STORE_OK;
	case RMW_EMPTY:
		*len = 0;
		return STORE_OK;
	}
	return STORE_OK;
}

static uint32_t
new_form(const struct rmw *rm, const struct item *old, uint32_t len)
{
	uint32_t form = item_form(old) & (ITEM_HAS_FLAGS | ITEM_HAS_EXPIRY | ITEM_HAS_LONG);

	if (rm->op == RMW_EMPTY)
		form = 0;
	if (rm->new_expiry && rm->expiry_s != 0)
		form |= ITEM_HAS_EXPIRY;
	if (len >= ITEM_PIN_MIN_BYTES)
		form |= ITEM_HAS_LONG | ITEM_HAS_EXPIRY;
	return form;
}

static void
write_number(const struct store *st, struct rmw *rm, const struct item *old, struct item *it)
{
	uint8_t text[NUMBER_DIGITS_MAX];

	ensure(calculate(rm, old, &rm->value));

	const struct view digits = {text, number_print(text, rm->value)};

	memset(item_tail(it), ' ', item_value_len(it));
	item_write(st, it, 0, digits);
}

static void
write_version(const struct store *st, struct rmw *rm, const struct item *old, struct item *it)
{
	if (item_form(it) & ITEM_HAS_FLAGS) {
		const uint32_t flags = item_flags(old);

		memcpy(it->body, &flags, sizeof flags);
	}
	item_set_expiry(it, rm->new_expiry ? rm->expiry_s : item_expiry_s(old));
	rm->renews = item_value_len(it) == item_value_len(old) && rm->more == NULL;
	switch (rm->op) {
	case RMW_APPEND:
		item_write_value(st, it, 0, old);
		item_write_value(st, it, item_value_len(old), rm->more);
		break;
	case RMW_PREPEND:
		item_write_value(st, it, 0, rm->more);
		item_write_value(st, it, item_value_len(rm->more), old);
		break;
	case RMW_INCR:
	case RMW_DECR:
		write_number(st, rm, old, it);
		break;
	case RMW_COPY:
		item_write_value(st, it, 0, old);
		break;
	case RMW_EMPTY:
		break;
	}
}

bool
rmw_build(struct store_core *sc, struct rmw *rm, const struct item *old, struct item *it)
{
	uint32_t len;

	if (new_len(sc, rm, old, &len) != STORE_OK)
		return false;

	const uint32_t form = new_form(rm, old, len) | (item_form(it) & ITEM_HAS_LONG);

	if (!item_reshape(sc->store, it, form_cut(form, rm->key.len, len), len))
		return false;
	write_version(sc->store, rm, old, it);
	return true;
}

static const struct item *
find_alive(struct store_core *sc, const struct rmw *rm)
{
	/* Before the look, as in get.c. */
	const uint32_t generation = store_generation(sc->store);
	struct place p = index_place(&sc->store->ix, rm->hash);
	uint32_t tries;
	const uint32_t ref = index_find(&sc->store->ix, rm->key, &p, &tries);
	const struct item *it = item_at(sc->store, ref);

	if (ref == 0)
		return NULL;
	if (unlikely(item_flushed(it, generation) || item_expired(it, sc->now_s))) {
		account_missed(sc, it, generation);
		return NULL;
	}
	return it;
}

/* One try. CHANGED: again. */
static enum link_verdict
try_once(struct store_core *sc, struct rmw *rm, bool locked, struct link *l)
{
	const struct item *old = find_alive(sc, rm);
	uint32_t len;

	l->result = STORE_NOT_FOUND;
	if (old == NULL)
		return LINK_REFUSED;
	l->result = new_len(sc, rm, old, &len);
	if (l->result != STORE_OK)
		return LINK_REFUSED;

	const uint32_t form = form_cut(new_form(rm, old, len), rm->key.len, len);

	l->item = item_new(sc, rm->key, len, form);
	if (l->item == NULL) {
		l->result = memory_is_coming(sc, item_first_bytes(form, rm->key.len, len))
				    ? STORE_NOT_YET
				    : STORE_NO_MEMORY;
		return LINK_REFUSED;
	}
	l->expect = locked ? 0 : item_ref(sc->store, old);
	if (!locked)
		write_version(sc->store, rm, old, l->item);

	protocol_gap();

	const enum link_verdict v = link_item(sc, l);

	rm->made = v == LINK_DONE ? l->item : NULL;
	if (v != LINK_DONE)
		item_free(sc, l->item);
	return v;
}

enum store_result
rmw_run(struct store_core *sc, struct rmw *rm)
{
	struct link l = {.hash = rm->hash,
			 .conditions = rm->conditions,
			 .rmw = rm,
			 .status = rm->status,
			 .inherit = rm->inherit};

	for (uint32_t tries = 0; tries < RMW_TRIES_MAX; tries++) {
		const enum link_verdict v = try_once(sc, rm, tries >= RMW_OPTIMISTIC_MAX, &l);

		if (v == LINK_DONE) {
			count(sc, STORE_ITEMS_RENEWED, rm->renews);
			return STORE_OK;
		}
		if (v == LINK_REFUSED)
			return l.result;
	}
	return STORE_NO_MEMORY;
}
