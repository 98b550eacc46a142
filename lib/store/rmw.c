/*
 * rmw.c - read-modify-write: append, prepend, incr, decr, a new expiry, stale marks.
 *
 * The old version is read, and the new one is written to memory of its own. The new version is
 * published if the old one is still the key's; otherwise the next try begins. After
 * RMW_OPTIMISTIC_MAX tries the new version is written under the bucket lock.
 */
#include "account.h"
#include "item_access.h"
#include "link.h"
#include "memory.h"
#include "new_version.h"

#define RMW_OPTIMISTIC_MAX 4u
/* Tries in all. One under the lock fails only if the object is too small. */
#define RMW_TRIES_MAX 64u

static const struct item *
find_alive(struct store_core *sc, const struct rmw *rm)
{
	/* Read before the lookup, as in get.c. */
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

/* True if memory can hold the old version, the new one and the added value at once. If so, no hand
 * evicts the old version while memory is being freed. */
static bool
memory_holds_both(struct store_core *sc, const struct rmw *rm, const struct item *old, uint32_t len)
{
	struct store *st = sc->store;
	const uint32_t added = rm->more != NULL ? item_chunks(rm->more) : 0;

	if (item_chunk_count(len) + item_chunks(old) + added > memory_chunks_max(sc))
		return false;
	atomic_store_explicit(&st->extended_epoch, epoch_now(&st->epoch), memory_order_relaxed);
	atomic_store_explicit(&st->extended_hash, rm->hash, memory_order_relaxed);
	slab_extend(&st->slab, item_ref(st, old));
	slab_note_extended(&st->slab, item_ref(st, old));
	for (uint32_t i = 0; i < item_chunks(old); i++)
		slab_note_extended(&st->slab, item_chunk_ref(old, i));
	return true;
}

/* Makes one try. LINK_CHANGED: it must be repeated. */
static enum link_verdict
try_once(struct store_core *sc, struct rmw *rm, bool locked, struct link *link)
{
	const struct item *old = find_alive(sc, rm);
	uint32_t len;

	link->result = STORE_NOT_FOUND;
	if (old == NULL)
		return LINK_REFUSED;
	link->result = new_version_len(sc, rm, old, &len);
	if (link->result != STORE_OK)
		return LINK_REFUSED;

	const uint32_t form = form_cut(new_version_form(rm, old, len), rm->key.len, len);

	if (unlikely((form & ITEM_IS_CHUNKED) != 0) && !memory_holds_both(sc, rm, old, len)) {
		link->result = STORE_NO_MEMORY;
		return LINK_REFUSED;
	}
	/* An append stores more data, so it must not take the objects that are left to new
	 * versions. */
	sc->makes_version = rm->more == NULL;
	link->item = item_new(sc, rm->key, len, form);
	sc->makes_version = false;
	if (link->item == NULL) {
		link->result = memory_is_coming(sc, item_first_bytes(form, rm->key.len, len))
				       ? STORE_NOT_YET
				       : STORE_NO_MEMORY;
		return LINK_REFUSED;
	}
	link->expect = locked ? 0 : item_ref(sc->store, old);
	if (!locked)
		new_version_write(sc->store, rm, old, link->item);

	protocol_gap();

	const enum link_verdict v = link_item(sc, link);

	rm->made = v == LINK_DONE ? link->item : NULL;
	if (v != LINK_DONE)
		item_free(sc, link->item);
	return v;
}

enum store_result
rmw_run(struct store_core *sc, struct rmw *rm)
{
	struct link link = {.hash = rm->hash,
			    .conditions = rm->conditions,
			    .rmw = rm,
			    .status = rm->status,
			    .inherit = rm->inherit};

	for (uint32_t tries = 0; tries < RMW_TRIES_MAX; tries++) {
		const enum link_verdict v = try_once(sc, rm, tries >= RMW_OPTIMISTIC_MAX, &link);

		if (v == LINK_DONE) {
			count(sc, STORE_ITEMS_RENEWED, rm->renews);
			return STORE_OK;
		}
		if (v == LINK_REFUSED &&
		    (likely(sc->tier == NULL) || link.result != STORE_NOT_FOUND ||
		     tier_shadow_missed(sc, rm->key, rm->hash)))
			return link.result;
	}
	return STORE_NO_MEMORY;
}
