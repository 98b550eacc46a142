/*
 * account.c - what comes into the index and what leaves it, in all and by class.
 *
 * By the class of the item's first object: chunks are part of their item.
 */
#include "inside.h"

/* What an item counts for. */
struct weight {
	uint32_t class;
	uint64_t memory, bytes;
};

static inline struct weight
weigh(const struct store *st, const struct item *it)
{
	const uint32_t class = slab_class_of_ref(&st->slab, item_ref(st, it));

	if (unlikely((item_form(it) & ITEM_IS_CHUNKED) != 0))
		return (struct weight){class, item_memory(st, it), item_bytes(it)};
	return (struct weight){
		class, st->slab.classes[class].size,
		item_head_bytes(item_form(it), item_key_len(it), item_value_len(it))};
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

/* Of an item without optional fields. */
static inline uint32_t
plain_bytes(const struct item *it)
{
	const uint32_t head = item_head(it);

	return (uint32_t)sizeof(struct item) + (head & 0xff) + (head >> 8 & ITEM_LEN_MAX);
}

static inline void
count_in(struct store_core *sc, const struct item *it)
{
	const struct weight w = weigh(sc->store, it);
	struct counter *c = sc->class_counters[w.class];

	count(sc, STORE_BYTES_LINKED, w.memory);
	counter_add(&c[CLASS_LINKED], 1);
	counter_add(&c[CLASS_BYTES_LINKED], w.bytes);
}

/* The counters of its class. */
static inline struct counter *
count_out(struct store_core *sc, const struct item *it)
{
	const struct weight w = weigh(sc->store, it);
	struct counter *c = sc->class_counters[w.class];

	count(sc, STORE_BYTES_UNLINKED, w.memory);
	counter_add(&c[CLASS_UNLINKED], 1);
	counter_add(&c[CLASS_BYTES_UNLINKED], w.bytes);
	return c;
}

void
account_in(struct store_core *sc, const struct item *it)
{
	count(sc, STORE_ITEMS_LINKED, 1);
	count_in(sc, it);
}

void
account_exchange(struct store_core *sc, uint32_t ref, const struct item *it, uint32_t old,
		 const struct item *there)
{
	const struct slab *sl = &sc->store->slab;
	const uint32_t in = slab_class_of_ref(sl, ref), out = slab_class_of_ref(sl, old);

	count(sc, STORE_ITEMS_LINKED, 1);
	count(sc, STORE_ITEMS_UNLINKED, 1);
	count(sc, STORE_BYTES_LINKED, sl->classes[in].size);
	count(sc, STORE_BYTES_UNLINKED, sl->classes[out].size);
	counter_add(&sc->class_counters[in][CLASS_LINKED], 1);
	counter_add(&sc->class_counters[out][CLASS_UNLINKED], 1);
	counter_add(&sc->class_counters[in][CLASS_BYTES_LINKED], plain_bytes(it));
	counter_add(&sc->class_counters[out][CLASS_BYTES_UNLINKED], plain_bytes(there));
}

void
account_replaced(struct store_core *sc, const struct item *it)
{
	count(sc, STORE_ITEMS_UNLINKED, 1);
	count_out(sc, it);
}

void
account_moved(struct store_core *sc, const struct item *from, const struct item *to)
{
	count_in(sc, to);
	count_out(sc, from);
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

/* Whose memory was wanted, and what the sweep found, are told apart as memcached does; what
 * somebody deleted or replaced is neither. */
static void
account_dead(struct store_core *sc, const struct item *it, enum leaving why, struct counter *c)
{
	const bool flushed = item_flushed(it, store_generation(sc->store));
	const bool swept = why == LEAVING_SWEPT, taken = !flushed && why == LEAVING_EVICTED;
	const bool used = (item_head(it) & ITEM_USED) != 0;
	const bool unfetched = !flushed && !used && why != LEAVING_TOLD;

	count(sc, flushed ? STORE_FLUSHED : STORE_EXPIRED, 1);
	count(sc, STORE_EXPIRED_UNFETCHED, unfetched);
	count(sc, STORE_EXPIRED_TAKEN, taken);
	count(sc, STORE_DEAD_SWEPT, swept);
	counter_add(&c[CLASS_EXPIRED], taken);
	counter_add(&c[CLASS_SWEPT], swept);
	counter_add(&c[CLASS_EXPIRED_UNFETCHED], unfetched);
}

void
account_out(struct store_core *sc, const struct item *it, enum leaving why)
{
	struct counter *c = count_out(sc, it);

	count(sc, STORE_ITEMS_UNLINKED, 1);
	if (item_dead(sc, it))
		account_dead(sc, it, why, c);
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

void
account_missed(struct store_core *sc, const struct item *it, uint32_t generation)
{
	count(sc, item_flushed(it, generation) ? STORE_GOT_FLUSHED : STORE_GOT_EXPIRED, 1);
}
