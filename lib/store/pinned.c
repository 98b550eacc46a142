/*
 * pinned.c - a list of retired items that replies still send.
 *
 * A client that does not read its reply occupies the memory of the value, and no more:
 * - objects of pinned items do not count as memory that becomes free (slab_pinned.c), so the hands
 *   continue to evict;
 * - their bytes are counted for store_pins_memory_pressure;
 * - a turn visits a few items at the front of the list, and frees them or moves them to the end.
 *
 * Only memory limits the number of pinned items, so the list is linked through the items. The link
 * replaces the cas, which is no longer read, since a pin keeps only the value (store.h).
 */
#include "pinned.h"
#include "item_access.h"

/* Items visited in a turn, besides two for each item added in it; and while pins hold
 * 1/STORE_PINS_PART of the memory. */
#define PINNED_VISITS      8u
#define PINNED_VISITS_MANY 64u
#define PINNED_LONG_S      2u /* seconds that an evacuation waits for pins */
#define PINNED_BATCH       64u
/* While pins hold 1/PINNED_MOST_PART of the memory, nothing is evicted or evacuated for large
 * values. */
#define PINNED_MOST_PART 4u

/* The list's link, stored in place of the item's cas. */
struct pinned_note {
	uint32_t next;
	/* When the item was added, or its pages were last released from evacuation. */
	uint32_t since_s;
};
static_assert(sizeof(struct pinned_note) == sizeof(uint64_t), "takes the place of a cas");

static uint8_t *
note_at(const struct item *it)
{
	return item_long_at(it) + offsetof(struct item_long, cas);
}

static struct pinned_note
note_read(const struct item *it)
{
	struct pinned_note note;

	memcpy(&note, note_at(it), sizeof note);
	return note;
}

static void
note_write(struct item *it, uint32_t next, uint32_t since_s)
{
	const struct pinned_note note = {next, since_s};

	memcpy(note_at(it), &note, sizeof note);
}

/* Lists objects of an item: its chunks from number `at` on, then the item itself. Returns how many,
 * at most PINNED_BATCH. */
static uint32_t
list_objects(const struct store *st, const struct item *it, uint32_t at, uint32_t *refs)
{
	const uint32_t chunks = item_chunks(it);
	uint32_t n = 0;

	for (; n < PINNED_BATCH && at + n <= chunks; n++)
		refs[n] = at + n < chunks ? item_chunk_ref(it, at + n) : item_ref(st, it);
	return n;
}

static void
account(struct store *st, const struct item *it, bool more)
{
	const uint64_t memory = item_memory(st, it);
	uint32_t refs[PINNED_BATCH];
	uint32_t n;

	for (uint32_t at = 0; (n = list_objects(st, it, at, refs)) != 0; at += n)
		slab_count_pinned(&st->slab, refs, n, more);
	/* Relaxed: this is a sum, through which nothing is read. */
	atomic_fetch_add_explicit(&st->pinned_bytes, more ? memory : -memory, memory_order_relaxed);
}

static void
append(struct store_core *sc, struct item *it, uint32_t ref, uint32_t since_s)
{
	struct pinned *list = &sc->pinned;

	note_write(it, 0, since_s);
	if (list->first == 0) {
		list->first = ref;
	} else {
		struct item *last = item_at(sc->store, list->last);

		note_write(last, ref, note_read(last).since_s);
	}
	list->last = ref;
	list->count++;
}

void
pinned_put(struct store_core *sc, struct item *it, uint32_t ref)
{
	account(sc->store, it, true);
	append(sc, it, ref, sc->now_s);
	sc->pinned.added++;
}

/* Ends the evacuation of the item's pages, if they are being evacuated, so that other pages are
 * chosen. */
static void
keep_pages(struct store_core *sc, const struct item *it)
{
	struct slab *sl = &sc->store->slab;
	uint32_t refs[PINNED_BATCH];
	uint32_t n;

	if (likely(atomic_load_explicit(&sl->evacuating_count, memory_order_relaxed) == 0))
		return;
	for (uint32_t at = 0; (n = list_objects(sc->store, it, at, refs)) != 0; at += n)
		for (uint32_t i = 0; i < n; i++)
			if (slab_evacuating(sl, refs[i])) {
				slab_pins_block(sl);
				slab_evacuate_undo(sl, refs[i]);
			}
}

static void
visit(struct store_core *sc)
{
	struct pinned *list = &sc->pinned;
	const uint32_t ref = list->first;
	struct item *it = item_at(sc->store, ref);
	const struct pinned_note note = note_read(it);
	uint32_t since_s = note.since_s;

	list->first = note.next;
	list->count--;
	if (!item_pinned(it)) {
		account(sc->store, it, false);
		item_free(sc, it);
		return;
	}
	if (unlikely(sc->now_s - since_s >= PINNED_LONG_S)) {
		keep_pages(sc, it);
		since_s = sc->now_s;
	}
	append(sc, it, ref, since_s);
}

static uint64_t
pinned_bytes(const struct store *st)
{
	/* Relaxed: this is a sum, through which nothing is read. */
	return atomic_load_explicit(&st->pinned_bytes, memory_order_relaxed);
}

static uint64_t
limit_bytes(const struct store *st)
{
	return atomic_load_explicit(&st->limit_bytes, memory_order_relaxed);
}

static bool
pinned_are_some(const struct store *st)
{
	return pinned_bytes(st) > limit_bytes(st) / STORE_PINS_PART;
}

void
pinned_turn(struct store_core *sc)
{
	struct pinned *list = &sc->pinned;
	uint32_t visits = PINNED_VISITS + 2 * list->added;

	/* An item that is no longer pinned may be in the list behind many that clients do not
	 * read. */
	if (list->count > visits && pinned_are_some(sc->store))
		visits = visits > PINNED_VISITS_MANY ? visits : PINNED_VISITS_MANY;
	if (visits > list->count)
		visits = list->count;
	list->added = 0;
	for (uint32_t i = 0; i < visits; i++)
		visit(sc);
}

bool
pinned_are_many(const struct store *st)
{
	return pinned_bytes(st) > limit_bytes(st) / PINNED_MOST_PART;
}

uint32_t
store_pins_memory_pressure(const struct store_core *sc)
{
	const struct store *st = sc->store;
	const uint64_t bytes = pinned_bytes(st);
	const uint32_t blocked_s = atomic_load_explicit(&st->slab.blocked_s, memory_order_relaxed);

	if (likely(bytes == 0))
		return 0;
	if (pinned_are_some(st))
		return (uint32_t)(limit_bytes(st) / bytes) + 1;
	/* The clocks of cores may differ by a second. */
	return blocked_s != 0 && sc->now_s < blocked_s + PINNED_LONG_S ? STORE_PINS_PART : 0;
}
