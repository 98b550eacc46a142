/*
 * new_version.c - makes the new version of an item for append, prepend, incr, decr, a new expiry
 * and stale marks.
 */
#include "new_version.h"
#include "item_access.h"
#include "number.h"

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

enum store_result
new_version_len(const struct store_core *sc, const struct rmw *rm, const struct item *old,
		uint32_t *len)
{
	uint8_t text[NUMBER_DIGITS_MAX];
	uint64_t number;

	*len = item_value_len(old);
	/* As in memcached, an empty value is refused before the cas is compared, and any other bad
	 * value after it. */
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
		/* A shorter number is padded to the old length, so a value never shrinks. */
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

uint32_t
new_version_form(const struct rmw *rm, const struct item *old, uint32_t len)
{
	uint32_t form = item_form(old) & (ITEM_HAS_FLAGS | ITEM_HAS_EXPIRY | ITEM_HAS_LONG);

	if (rm->op == RMW_EMPTY)
		form = (form & ITEM_HAS_EXPIRY) | (rm->client_flags != 0 ? ITEM_HAS_FLAGS : 0);
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

void
new_version_write(const struct store *st, struct rmw *rm, const struct item *old, struct item *it)
{
	if (item_form(it) & ITEM_HAS_FLAGS) {
		const uint32_t flags = rm->op == RMW_EMPTY ? rm->client_flags : item_flags(old);

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
new_version_rewrite(struct store_core *sc, struct rmw *rm, const struct item *old, struct item *it)
{
	uint32_t len;

	if (new_version_len(sc, rm, old, &len) != STORE_OK)
		return false;

	const uint32_t form = new_version_form(rm, old, len) | (item_form(it) & ITEM_HAS_LONG);

	if (!item_reshape(sc->store, it, form_cut(form, rm->key.len, len), len))
		return false;
	new_version_write(sc->store, rm, old, it);
	return true;
}
