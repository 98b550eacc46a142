#include "asking.h"

#include "gaps.h"
#include "../support/store_calls.h"

#define YIELD_OF 6u /* one write in this many */

static enum store_result
ask_store(struct store_core *sc, struct call *c, struct view key, const struct item **it)
{
	static const enum store_mode modes[CALL_KINDS] = {
		[CALL_SET] = STORE_SET,         [CALL_ADD] = STORE_ADD,
		[CALL_REPLACE] = STORE_REPLACE, [CALL_CAS] = STORE_CAS,
		[CALL_APPEND] = STORE_APPEND,   [CALL_PREPEND] = STORE_PREPEND,
		[CALL_EXTEND] = STORE_APPEND,   [CALL_LATE] = STORE_CAS,
	};
	const struct store_conditions conditions = {.mode = modes[c->kind],
						    .cas = c->number,
						    .stale_if_older = c->kind == CALL_LATE,
						    .vivify = c->kind == CALL_EXTEND};
	const struct item *made;
	struct fill f;
	enum store_result r =
		store_begin(sc, &f, key, store_hash(sc, key), c->len, c->flags, c->expiry_s);

	if (r != STORE_OK)
		return STORE_NO_MEMORY;
	store_fill(sc, &f, c->bytes, c->len);
	gaps_yield(YIELD_OF);
	if (c->kind == CALL_EXTEND || c->kind == CALL_LATE)
		return store_finish_with(sc, &f, &conditions, it);
	if (c->len % 2 == 0)
		return store_finish_with(sc, &f, &conditions, &made);
	return store_finish(sc, &f, conditions.mode, conditions.cas);
}

static enum store_result
ask_removal(struct store_core *sc, struct call *c, struct view key, const struct item **it)
{
	const struct store_removal how = {.compare = c->number != 0 || c->kind == CALL_DELETE_CAS,
					  .cas = c->number,
					  .mark_stale = c->kind == CALL_STALE,
					  .drop_value = c->kind == CALL_EMPTY,
					  .new_expiry = c->kind == CALL_EMPTY,
					  .expiry_s = c->expiry_s};
	const enum store_result r = store_delete_with(sc, key, store_hash(sc, key), &how, it);

	c->got_made = *it != NULL;
	return r;
}

static enum store_result
ask_win(struct store_core *sc, struct call *c, struct view key, const struct item **it)
{
	*it = store_peek(sc, key, store_hash(sc, key));
	if (*it == NULL)
		return STORE_NOT_FOUND;
	gaps_yield(YIELD_OF);
	c->got_won = store_win(sc, *it);
	return STORE_OK;
}

static enum store_result
ask_count(struct store_core *sc, struct call *c, struct view key)
{
	const struct store_arith_args sum = {.delta = c->number,
					     .vivify = true,
					     .initial = c->initial,
					     .initial_expiry_s = c->expiry_s};
	struct store_arith_result total;
	const enum store_result r = store_arith_with(sc, key, store_hash(sc, key), &sum, &total);

	c->got_number = total.value;
	c->got_made = total.created;
	return r == STORE_NOT_YET ? STORE_NO_MEMORY : r;
}

enum store_result
call_ask(struct store_core *sc, struct call *c, struct view key, const struct item **it)
{
	const uint64_t hash = store_hash(sc, key);

	*it = NULL;
	switch (c->kind) {
	case CALL_GET:
		*it = store_get(sc, key, hash);
		return *it != NULL ? STORE_OK : STORE_NOT_FOUND;
	case CALL_TOUCH:
		return store_touch(sc, key, hash, c->expiry_s, it);
	case CALL_INCR:
	case CALL_DECR:
		return store_count(sc, key, hash, c->number, c->kind == CALL_DECR, &c->got_number);
	case CALL_COUNT:
		return ask_count(sc, c, key);
	case CALL_DELETE:
		return store_delete(sc, key, hash);
	case CALL_DELETE_CAS:
	case CALL_STALE:
	case CALL_EMPTY:
		return ask_removal(sc, c, key, it);
	case CALL_WIN:
		return ask_win(sc, c, key, it);
	case CALL_FLUSH:
		return store_flush(sc, c->expiry_s);
	default:
		return ask_store(sc, c, key, it);
	}
}
