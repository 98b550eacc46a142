/*
 * account.c - what comes into the index and what leaves it, in all and by class.
 *
 * By the class of the item's first object: chunks are part of their item.
 */
#include "inside.h"

static struct counter *
class_counters(struct store_core *sc, const struct item *it)
{
	const struct store *st = sc->store;

	return sc->class_counters[slab_class_of_ref(&st->slab, item_ref(st, it))];
}

uint64_t
item_bytes(const struct item *it)
{
	const uint32_t len = item_value_len(it);
	const uint64_t head = item_head_bytes(item_form(it), item_key_len(it), len);

	if ((item_form(it) & ITEM_IS_CHUNKED) == 0)
		return head;
	return head + len + item_chunk_count(len) * sizeof(struct chunk);
}

void
account_in(struct store_core *sc, const struct item *it)
{
	struct counter *c = class_counters(sc, it);

	count(sc, STORE_ITEMS_LINKED, 1);
	count(sc, STORE_BYTES_LINKED, item_memory(sc->store, it));
	counter_add(&c[CLASS_LINKED], 1);
	counter_add(&c[CLASS_BYTES_LINKED], item_bytes(it));
}

void
account_moved(struct store_core *sc, const struct item *from, const struct item *to)
{
	struct counter *old = class_counters(sc, from), *new = class_counters(sc, to);

	count(sc, STORE_BYTES_LINKED, item_memory(sc->store, to));
	count(sc, STORE_BYTES_UNLINKED, item_memory(sc->store, from));
	counter_add(&new[CLASS_LINKED], 1);
	counter_add(&new[CLASS_BYTES_LINKED], item_bytes(to));
	counter_add(&old[CLASS_UNLINKED], 1);
	counter_add(&old[CLASS_BYTES_UNLINKED], item_bytes(from));
}

static void
account_evicted(struct store_core *sc, const struct item *it, struct counter *c)
{
	const bool used = (item_head(it) & ITEM_USED) != 0;
	const bool active = slab_marked(&sc->store->slab, item_ref(sc->store, it));

	count(sc, STORE_EVICTED, 1);
	count(sc, STORE_EVICTED_UNFETCHED, !used);
	count(sc, STORE_EVICTED_ACTIVE, active);
	counter_add(&c[CLASS_EVICTED], 1);
	counter_add(&c[CLASS_EVICTED_TIMED], item_expiry_s(it) != 0);
	counter_add(&c[CLASS_EVICTED_UNFETCHED], !used);
	counter_add(&c[CLASS_EVICTED_ACTIVE], active);
	if (sc->evicted != NULL)
		sc->evicted(sc->evicted_arg, it);
}

static void
account_dead(struct store_core *sc, const struct item *it, bool flushed, struct counter *c)
{
	const bool used = (item_head(it) & ITEM_USED) != 0;

	count(sc, flushed ? STORE_FLUSHED : STORE_EXPIRED, 1);
	count(sc, STORE_EXPIRED_UNFETCHED, !flushed && !used);
	counter_add(&c[CLASS_EXPIRED], 1);
	counter_add(&c[CLASS_EXPIRED_UNFETCHED], !used);
}

void
account_out(struct store_core *sc, const struct item *it, enum leaving why)
{
	const bool flushed = item_flushed(it, store_generation(sc->store));
	struct counter *c = class_counters(sc, it);

	count(sc, STORE_ITEMS_UNLINKED, 1);
	count(sc, STORE_BYTES_UNLINKED, item_memory(sc->store, it));
	counter_add(&c[CLASS_UNLINKED], 1);
	counter_add(&c[CLASS_BYTES_UNLINKED], item_bytes(it));
	if (flushed || item_expired(it, sc->now_s))
		account_dead(sc, it, flushed, c);
	else if (why == LEAVING_EVICTED)
		account_evicted(sc, it, c);
}

void
account_refused(struct store_core *sc, uint32_t bytes)
{
	const uint32_t class = slab_class_for(&sc->store->slab, bytes);

	count(sc, STORE_OUT_OF_MEMORY, 1);
	counter_add(&sc->class_counters[class][CLASS_OUT_OF_MEMORY], 1);
}
