/*
 * account.c - counts what enters and leaves the index, in total and by class.
 *
 * An item counts for the class of its first object. Its chunks are not counted separately.
 */
#include "account.h"
#include "item_access.h"

/* An item's class, bytes of its objects, and bytes requested. */
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
	return head + len + item_chunk_count(len) * sizeof(struct item_chunk);
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

/* Returns the counters of the item's class. */
static inline struct counter *
count_out(struct store_core *sc, const struct weight *w)
{
	struct counter *c = sc->class_counters[w->class];

	count(sc, STORE_BYTES_UNLINKED, w->memory);
	counter_add(&c[CLASS_UNLINKED], 1);
	counter_add(&c[CLASS_BYTES_UNLINKED], w->bytes);
	return c;
}

void
account_in(struct store_core *sc, const struct item *it, uint32_t generation)
{
	account_generation(sc, generation);
	count(sc, STORE_ITEMS_LINKED, 1);
	count_in(sc, it);
}

void
account_in_simple(struct store_core *sc, uint32_t ref, const struct item *it, uint32_t generation)
{
	const struct slab *sl = &sc->store->slab;
	const uint32_t class = slab_class_of_ref(sl, ref);
	struct counter *c = sc->class_counters[class];

	account_generation(sc, generation);
	count(sc, STORE_ITEMS_LINKED, 1);
	count(sc, STORE_BYTES_LINKED, sl->classes[class].size);
	counter_add(&c[CLASS_LINKED], 1);
	counter_add(&c[CLASS_BYTES_LINKED], item_simple_bytes(it));
}

void
account_departures(struct store_core *sc, struct departures *d)
{
	struct counter *c = sc->class_counters[d->class];

	if (d->items == 0)
		return;
	count(sc, STORE_ITEMS_UNLINKED, d->items);
	count(sc, STORE_BYTES_UNLINKED,
	      (uint64_t)d->items * sc->store->slab.classes[d->class].size);
	count(sc, STORE_EVICTED, d->items);
	count(sc, STORE_EVICTED_UNFETCHED, d->unfetched);
	count(sc, STORE_EVICTED_ACTIVE, d->active);
	counter_add(&c[CLASS_UNLINKED], d->items);
	counter_add(&c[CLASS_BYTES_UNLINKED], d->bytes);
	counter_add(&c[CLASS_EVICTED], d->items);
	counter_add(&c[CLASS_EVICTED_UNFETCHED], d->unfetched);
	counter_add(&c[CLASS_EVICTED_ACTIVE], d->active);
	d->items = d->unfetched = d->active = 0;
	d->bytes = 0;
}

/* Counts an item that enters and one that leaves. The classes may be the same. */
static inline void
exchange(struct store_core *sc, uint32_t in, uint64_t in_bytes, uint32_t out, uint64_t out_bytes)
{
	const struct slab *sl = &sc->store->slab;

	count(sc, STORE_ITEMS_LINKED, 1);
	count(sc, STORE_ITEMS_UNLINKED, 1);
	count(sc, STORE_BYTES_LINKED, sl->classes[in].size);
	count(sc, STORE_BYTES_UNLINKED, sl->classes[out].size);
	counter_add(&sc->class_counters[in][CLASS_LINKED], 1);
	counter_add(&sc->class_counters[out][CLASS_UNLINKED], 1);
	counter_add(&sc->class_counters[in][CLASS_BYTES_LINKED], in_bytes);
	counter_add(&sc->class_counters[out][CLASS_BYTES_UNLINKED], out_bytes);
}

void
account_exchange(struct store_core *sc, uint32_t class, const struct item *it, uint32_t old_class,
		 const struct item *old)
{
	const uint64_t bytes = item_simple_bytes(it), old_bytes = item_simple_bytes(old);

	/* Mostly both classes are the same. In this branch the compiler knows that, and looks the
	 * class up once. */
	if (likely(class == old_class))
		exchange(sc, class, bytes, class, old_bytes);
	else
		exchange(sc, class, bytes, old_class, old_bytes);
}

void
account_replaced(struct store_core *sc, const struct item *it)
{
	const struct weight w = weigh(sc->store, it);

	count(sc, STORE_ITEMS_UNLINKED, 1);
	count_out(sc, &w);
}

void
account_moved(struct store_core *sc, const struct item *from, const struct item *to)
{
	const struct weight w = weigh(sc->store, from);

	/* The items of a class without pages go to the next larger class. */
	account_generation(sc, store_generation(sc->store));
	count_in(sc, to);
	count_out(sc, &w);
}

static void
account_evicted(struct store_core *sc, const struct item *it, struct counter *c)
{
	const bool fetched = (item_head(it) & ITEM_FETCHED) != 0;
	const bool active = slab_is_referenced(&sc->store->slab, item_ref(sc->store, it));

	count(sc, STORE_EVICTED, 1);
	count(sc, STORE_EVICTED_UNFETCHED, !fetched);
	count(sc, STORE_EVICTED_ACTIVE, active);
	counter_add(&c[CLASS_EVICTED], 1);
	counter_add(&c[CLASS_EVICTED_TIMED], item_expiry_s(it) != 0);
	counter_add(&c[CLASS_EVICTED_UNFETCHED], !fetched);
	counter_add(&c[CLASS_EVICTED_ACTIVE], active);
	if (sc->evicted != NULL)
		sc->evicted(sc->evicted_arg, it);
}

static void
account_flushed_out(struct store_core *sc, const struct weight *w, struct counter *c)
{
	count(sc, STORE_FLUSHED, 1);
	count(sc, STORE_BYTES_FLUSHED, w->memory);
	counter_add(&c[CLASS_FLUSHED], 1);
	counter_add(&c[CLASS_BYTES_FLUSHED], w->bytes);
}

/* Counts a dead item as memcached does: apart from others if it was reclaimed for memory, or found
 * by the sweep. One that a client deleted or replaced counts as neither. */
static void
account_dead(struct store_core *sc, const struct item *it, enum unlink_reason why, bool flushed,
	     struct counter *c)
{
	const bool swept = why == UNLINK_SWEPT, taken = !flushed && why == UNLINK_EVICTED;
	const bool fetched = (item_head(it) & ITEM_FETCHED) != 0;
	const bool unfetched = !flushed && !fetched && why != UNLINK_REQUESTED;

	count(sc, STORE_EXPIRED, !flushed);
	count(sc, STORE_EXPIRED_UNFETCHED, unfetched);
	count(sc, STORE_EXPIRED_RECLAIMED, taken);
	count(sc, STORE_DEAD_SWEPT, swept);
	counter_add(&c[CLASS_EXPIRED], taken);
	counter_add(&c[CLASS_SWEPT], swept);
	counter_add(&c[CLASS_EXPIRED_UNFETCHED], unfetched);
}

void
account_out(struct store_core *sc, const struct item *it, enum unlink_reason why)
{
	const uint32_t generation = store_generation(sc->store);
	const bool flushed = item_flushed(it, generation);
	const struct weight w = weigh(sc->store, it);

	account_generation(sc, generation);

	struct counter *c = count_out(sc, &w);

	count(sc, STORE_ITEMS_UNLINKED, 1);
	if (flushed)
		account_flushed_out(sc, &w, c);
	if (flushed || item_expired(it, sc->now_s))
		account_dead(sc, it, why, flushed, c);
	else if (why == UNLINK_EVICTED)
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

/* ---- flushed items ---- */

/* Counters of one core, of items or of bytes, in total or of one class. */
struct counter_set {
	const struct counter *in, *out, *flushed, *base;
};

static uint64_t
counter_set_base(const struct counter_set *b)
{
	return counter_read(b->in) - counter_read(b->out) + counter_read(b->flushed);
}

/* Returns one core's share of the flushed items that are still in the index; a negative share
 * wraps. noted: the core has noted its base in the present generation. If it has not, all items
 * that it counts are of earlier generations. */
static uint64_t
counter_set_left(const struct counter_set *b, bool noted)
{
	return (noted ? counter_read(b->base) : counter_set_base(b)) - counter_read(b->flushed);
}

#define COUNTER_SET(counters, IN, OUT, FLUSHED, noted)                                             \
	((struct counter_set){&(counters)[IN], &(counters)[OUT], &(counters)[FLUSHED], noted})

static struct counter_set
items_of(const struct store_core *sc)
{
	return COUNTER_SET(sc->counters, STORE_ITEMS_LINKED, STORE_ITEMS_UNLINKED, STORE_FLUSHED,
			   &sc->flush_base.items);
}

static struct counter_set
bytes_of(const struct store_core *sc)
{
	return COUNTER_SET(sc->counters, STORE_BYTES_LINKED, STORE_BYTES_UNLINKED,
			   STORE_BYTES_FLUSHED, &sc->flush_base.bytes);
}

static struct counter_set
class_items_of(const struct store_core *sc, uint32_t class)
{
	return COUNTER_SET(sc->class_counters[class], CLASS_LINKED, CLASS_UNLINKED, CLASS_FLUSHED,
			   &sc->class_flush_base[class].items);
}

static struct counter_set
class_bytes_of(const struct store_core *sc, uint32_t class)
{
	return COUNTER_SET(sc->class_counters[class], CLASS_BYTES_LINKED, CLASS_BYTES_UNLINKED,
			   CLASS_BYTES_FLUSHED, &sc->class_flush_base[class].bytes);
}

static void
base_note(struct flush_base *base, struct counter_set items, struct counter_set bytes)
{
	atomic_store_explicit(&base->items.value, counter_set_base(&items), memory_order_relaxed);
	atomic_store_explicit(&base->bytes.value, counter_set_base(&bytes), memory_order_relaxed);
}

void
account_generation_began(struct store_core *sc, uint32_t generation)
{
	base_note(&sc->flush_base, items_of(sc), bytes_of(sc));
	for (uint32_t i = 0; i < sc->store->slab.class_count; i++)
		base_note(&sc->class_flush_base[i], class_items_of(sc, i), class_bytes_of(sc, i));
	/* Release: pairs with the acquire in core_has_noted. */
	atomic_store_explicit(&sc->counted_generation, generation, memory_order_release);
}

static bool
core_has_noted(const struct store_core *sc)
{
	/* Acquire: pairs with the release in account_generation_began. */
	return atomic_load_explicit(&sc->counted_generation, memory_order_acquire) ==
	       store_generation(sc->store);
}

static bool
nothing_is_flushed(const struct store *st)
{
	/* Acquire: pairs with the release in sweep_end. */
	return atomic_load_explicit(&st->oldest_generation, memory_order_acquire) ==
	       store_generation(st);
}

/* Replaces negative numbers by 0. Other cores count while the sum is taken, so it can be
 * negative. */
static struct tally
not_negative(struct tally t)
{
	return (struct tally){(int64_t)t.items > 0 ? t.items : 0,
			      (int64_t)t.bytes > 0 ? t.bytes : 0};
}

struct tally
account_flushed(const struct store *st)
{
	struct tally left = {0};

	if (nothing_is_flushed(st))
		return left;
	for (uint32_t i = 0; i < st->core_count; i++) {
		const struct store_core *sc = &st->cores[i];
		const struct counter_set items = items_of(sc), bytes = bytes_of(sc);
		const bool noted = core_has_noted(sc);

		left.items += counter_set_left(&items, noted);
		left.bytes += counter_set_left(&bytes, noted);
	}
	return not_negative(left);
}

struct tally
account_flushed_of(const struct store *st, uint32_t class)
{
	struct tally left = {0};

	if (nothing_is_flushed(st))
		return left;
	for (uint32_t i = 0; i < st->core_count; i++) {
		const struct store_core *sc = &st->cores[i];
		const struct counter_set items = class_items_of(sc, class);
		const struct counter_set bytes = class_bytes_of(sc, class);
		const bool noted = core_has_noted(sc);

		left.items += counter_set_left(&items, noted);
		left.bytes += counter_set_left(&bytes, noted);
	}
	return not_negative(left);
}

/* ---- sums over all cores ---- */

uint64_t
store_sum(const struct store *st, enum store_counter what)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < st->core_count; i++)
		sum += counter_read(&st->cores[i].counters[what]);
	return sum;
}

uint64_t
store_balance(const struct store *st, enum store_counter in, enum store_counter out)
{
	const uint64_t gone = store_sum(st, out);
	const uint64_t come = store_sum(st, in);

	return come > gone ? come - gone : 0;
}
