/*
 * store_save.c - reads the live items of a store, page by page. No thread may change the store any
 * longer.
 */
#include "image.h"
#include "store_saved.h"
#include "slab/slab_pages.h"
#include "store/floors.h"
#include "store/item_access.h"
#include "store/unlink.h"

static_assert(STORE_SAVED_FLOORS == FLOORS, "a floor for each");
static_assert((uint32_t)OBJECT_USED <= STORE_SAVED_STATE &&
		      ITEM_STATUS_MASK >> ITEM_STATUS_SHIFT == 0xf,
	      "a file's bits hold state and status");

enum scan_pass { PASS_PROVEN, PASS_NEW, PASSES };

/* Lists the objects of a word of states that belong to this pass. */
static void
list_word(const struct store *st, struct store_scan *scan)
{
	const struct slab *sl = &st->slab;
	const struct slab_class *c = &sl->classes[sl->pages[scan->page].class];
	const uint64_t word = atomic_load_explicit(
		&sl->states[((size_t)scan->page << sl->stride_shift) + scan->word],
		memory_order_relaxed);
	uint64_t left = scan->pass == PASS_NEW ? states_new(word) : word >> 1 & STATES_LOW;
	const uint32_t first = scan->word * OBJECTS_PER_WORD;
	const uint32_t granules = c->size >> st->arena.shift;

	scan->at = scan->count = 0;
	for (; left != 0; left &= left - 1) {
		const uint32_t n = first + (uint32_t)__builtin_ctzll(left) / STATE_BITS;
		const uint32_t ref = (scan->page << sl->page_shift) + n * granules;

		scan->refs[scan->count++] = ref;
		prefetch(item_at(st, ref));
	}
}

/* Advances to the next word of states. False: the pass has no more. */
static bool
next_word(const struct store *st, struct store_scan *scan)
{
	const struct slab *sl = &st->slab;

	for (; scan->page < st->arena.page_count; scan->page++, scan->word = 0) {
		const struct page *p = &sl->pages[scan->page];

		if (!slab_page_has_class(sl, p) || scan->word * OBJECTS_PER_WORD >= p->objects)
			continue;
		list_word(st, scan);
		scan->word++;
		return true;
	}
	return false;
}

void
store_floors_note(const struct store *st, uint64_t floors[FLOORS], const struct item *it)
{
	const uint16_t tag = hash_tag(index_hash(&st->ix, item_key(it)));
	const uint64_t now = atomic_load_explicit(store_floor(st, tag), memory_order_relaxed);
	uint64_t *floor = &floors[tag % FLOORS];
	const uint64_t cas = item_cas(it);

	if (floor_follows(now, cas) && cas > *floor)
		*floor = cas;
}

const struct item *
store_scan_next(const struct store *st, struct store_scan *scan, uint32_t now_s)
{
	const uint32_t generation = store_generation(st);

	while (scan->pass < PASSES) {
		if (scan->at == scan->count && !next_word(st, scan)) {
			scan->pass++;
			scan->page = scan->word = 0;
			continue;
		}
		while (scan->at < scan->count) {
			const struct item *it = item_at(st, scan->refs[scan->at++]);

			if (item_key_len(it) == 0)
				continue; /* a chunk */
			store_floors_note(st, scan->floors, it);
			if (!item_flushed(it, generation) && !item_expired(it, now_s))
				return it;
		}
	}
	return NULL;
}

uint32_t
store_saved_bits_of(const struct store *st, const struct item *it)
{
	return (uint32_t)slab_state(&st->slab, item_ref(st, it)) |
	       item_status_bits(it) >> ITEM_STATUS_SHIFT << STORE_SAVED_STATUS_SHIFT;
}

void
store_saved_floors(const struct store *st, const struct store_scan *scan, uint64_t floors[FLOORS])
{
	for (uint32_t i = 0; i < FLOORS; i++) {
		floors[i] = atomic_load_explicit(&st->floors[i], memory_order_relaxed);
		if (floors[i] < scan->floors[i])
			floors[i] = scan->floors[i];
	}
}

uint64_t
store_seed(const struct store *st)
{
	return st->seed;
}

uint32_t
store_flush_due_s(const struct store *st)
{
	const uint64_t due = atomic_load_explicit(&st->due_flush, memory_order_relaxed);

	/* A due flush is void if it was requested in another generation. */
	return due != 0 && due >> 32 == store_generation(st) ? (uint32_t)due : 0;
}
