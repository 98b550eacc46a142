/*
 * load_marks.c - a table of bits, by hash, for keys that must no longer be loaded.
 */
#include "load_marks.h"

/* Bytes of the store's memory for each mark, a bit. */
#define BYTES_PER_MARK 16u
/* Bounds of the number of marks, as powers of two. */
#define MARKS_SHIFT_MIN 16u
#define MARKS_SHIFT_MAX 26u

static uint32_t
marks_shift(const struct store_config *cfg)
{
	uint32_t shift = MARKS_SHIFT_MIN;

	while (shift < MARKS_SHIFT_MAX && cfg->memory_bytes / BYTES_PER_MARK > (size_t)1 << shift)
		shift++;
	return shift;
}

size_t
load_marks_bytes(const struct store_config *cfg)
{
	return cfg->loads ? ((size_t)1 << marks_shift(cfg)) / 8 : 0;
}

void
load_marks_bind(struct store *st, struct region *region, const struct store_config *cfg)
{
	if (!cfg->loads)
		return;
	st->marks.words = region_take(region, load_marks_bytes(cfg), CACHE_LINE_BYTES);
	st->marks.shift = 64 - marks_shift(cfg);
}

static inline _Atomic uint64_t *
mark_of(const struct store *st, uint64_t hash, uint64_t *bit)
{
	/* The number depends on all bits of the hash, so keys of one bucket have different
	 * marks. */
	const uint64_t n = hash * 0x9e3779b97f4a7c15u >> st->marks.shift;

	*bit = 1ull << n % 64;
	return &st->marks.words[n / 64];
}

/* Release: pairs with the acquire in load_is_marked. The caller clears the slot afterwards, so a
 * loader that sees it cleared sees the mark. */
void
load_mark(struct store_core *sc, uint64_t hash)
{
	uint64_t bit;
	_Atomic uint64_t *word = mark_of(sc->store, hash, &bit);

	if (atomic_load_explicit(&sc->store->marks.used, memory_order_relaxed))
		atomic_fetch_or_explicit(word, bit, memory_order_acq_rel);
	else
		store_core_marks(sc, false);
}

void
load_mark_item(struct store_core *sc, const struct item *it)
{
	load_mark(sc, index_hash(&sc->store->ix, item_key(it)));
}

bool
load_is_marked(const struct store *st, uint64_t hash)
{
	uint64_t bit;

	/* Acquire: pairs with load_mark. */
	return (atomic_load_explicit(mark_of(st, hash, &bit), memory_order_acquire) & bit) != 0;
}

void
load_mark_prefetch(const struct store *st, uint64_t hash)
{
	uint64_t bit;

	prefetch((const void *)mark_of(st, hash, &bit));
}
