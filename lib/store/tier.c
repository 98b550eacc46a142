/*
 * tier.c - attaches a second tier; publishes or deletes copies that were read from it.
 */
#include "link.h"
#include "load_marks.h"
#include "tier.h"

void
store_tier_attach(struct store *st, const struct store_tier *tier)
{
	ensure(!st->never_evict);
	for (uint32_t i = 0; i < st->core_count; i++) {
		st->cores[i].tier = tier;
		store_core_marks(&st->cores[i], st->cores[i].marks);
	}
}

void
store_spare(struct store_core *sc, uint64_t hash)
{
	sc->spared = hash;
}

uint32_t
store_core_number(const struct store_core *sc)
{
	return sc->id;
}

enum store_result
store_promote(struct store_core *sc, struct fill *f, const struct store_promotion *promotion,
	      const struct item **made)
{
	struct link link = {
		.item = f->item,
		.hash = f->hash,
		.conditions = {.mode = STORE_ADD, .set_cas = true, .new_cas = promotion->cas},
		.claim = &promotion->claim,
		.status = promotion->status};
	enum link_verdict v;

	ensure(f->item != NULL && f->filled == f->value_len);
	v = link_item(sc, &link);
	f->item = link.item; /* link_item may have replaced the item */
	*made = NULL;
	if (v != LINK_DONE) {
		store_abandon(sc, f);
		return link.result;
	}
	*made = link.item;
	f->item = NULL;
	return STORE_OK;
}

enum store_result
store_shadow(struct store_core *sc, struct view key, uint64_t hash, const struct store_claim *claim)
{
	enum store_result result = STORE_EXISTS;
	struct key_lock lock;

	index_lock_key(&sc->store->ix, key, hash, LOCK_KEY, &lock);
	if (lock.spot.bucket == NULL) {
		result = tier_shadow(sc, hash, store_generation(sc->store), claim)
				 ? STORE_OK
				 : STORE_NOT_FOUND;
		if (result == STORE_OK && claim != NULL)
			claim->end(claim->arg, sc);
	}
	index_unlock_key(&sc->store->ix, &lock);
	return result;
}
