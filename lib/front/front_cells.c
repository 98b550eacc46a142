/*
 * front_cells.c - the words of cells, and the operations on them.
 */
#include "front_cells.h"

#include "base/check.h"

#include <stddef.h>

#define VERSION_SHIFT 32u
#define VERSION_ONE   (1ull << VERSION_SHIFT)
#define PRINT_SHIFT   16u
#define PRINT_MASK    (0xffffull << PRINT_SHIFT)
#define UNKNOWN       (1ull << 15)
#define WRITERS       (UNKNOWN - 1)
#define EPOCH_ONE     (1ull << 16)
#define FLUSHING      (EPOCH_ONE - 1)

static_assert(FRONT_WRITERS_MAX < WRITERS, "they are counted");

void
front_cells_init(struct front_cells *cells)
{
	*cells = (struct front_cells){.flushes = 0};
}

/* Returns a key's cell. The store's buckets and the sets of slots are chosen by the highest bits,
 * so keys that are neighbours there do not share a cell. */
static _Atomic uint64_t *
cell_of(struct front_cells *cells, uint64_t hash)
{
	return &cells->cell[hash % FRONT_CELLS];
}

/* Returns a key's print, which is never 0: 0 stands for several keys. */
static uint64_t
print_of(uint64_t hash)
{
	const uint64_t print = hash >> 16 & 0xffff;

	return (print != 0 ? print : 1) << PRINT_SHIFT;
}

static bool
has_writer(uint64_t word, uint64_t hash)
{
	const uint64_t print = word & PRINT_MASK;

	if ((word & UNKNOWN) != 0)
		return true;
	return (word & WRITERS) != 0 && (print == 0 || print == print_of(hash));
}

static struct front_seen
seen_of(uint64_t word, uint64_t flushes, uint64_t hash)
{
	return (struct front_seen){.flushes = flushes,
				   .version = (uint32_t)(word >> VERSION_SHIFT),
				   .clean = !has_writer(word, hash) && (flushes & FLUSHING) == 0};
}

/* ---- reads ---- */

struct front_seen
front_cell_load_mt(struct front_cells *cells, uint64_t hash)
{
	/* Acquire, the cell first: pairs with the releases of begin and step. */
	const uint64_t word = atomic_load_explicit(cell_of(cells, hash), memory_order_acquire);

	return seen_of(word, atomic_load_explicit(&cells->flushes, memory_order_seq_cst), hash);
}

struct front_seen
front_cell_look_mt(struct front_cells *cells, uint64_t hash)
{
	/* Releases the placeholder to the next write's begin, and acquires what earlier writes
	 * did. The flushes are loaded after it: a flush that is not seen here comes later, and
	 * finds the placeholder. */
	const uint64_t word =
		atomic_fetch_add_explicit(cell_of(cells, hash), 0, memory_order_seq_cst);

	return seen_of(word, atomic_load_explicit(&cells->flushes, memory_order_seq_cst), hash);
}

bool
front_cell_stands_mt(struct front_cells *cells, uint64_t hash, const struct front_seen *seen)
{
	const struct front_seen now = front_cell_load_mt(cells, hash);

	return seen->clean && now.clean && now.version == seen->version &&
	       now.flushes == seen->flushes;
}

void
front_cell_step_mt(struct front_cells *cells, uint64_t hash)
{
	atomic_fetch_add_explicit(cell_of(cells, hash), VERSION_ONE, memory_order_seq_cst);
}

void
front_cells_step_mt(struct front_cells *cells)
{
	atomic_fetch_add_explicit(&cells->flushes, EPOCH_ONE, memory_order_seq_cst);
}

/* ---- shared mode ---- */

bool
front_cells_fresh_mt(struct front_cells *cells, uint64_t now_ns, uint64_t life_ns)
{
	/* Acquire: a core that sees the new time also sees that older copies are removed. */
	return now_ns < atomic_load_explicit(&cells->fresh_ns, memory_order_acquire) + life_ns;
}

bool
front_cells_renew_mt(struct front_cells *cells)
{
	return !atomic_exchange_explicit(&cells->renewing, true, memory_order_acquire);
}

void
front_cells_renewed_mt(struct front_cells *cells, bool done, uint64_t now_ns)
{
	if (done)
		atomic_store_explicit(&cells->fresh_ns, now_ns, memory_order_release);
	atomic_store_explicit(&cells->renewing, false, memory_order_release);
}

/* ---- connections ---- */

uint32_t
front_cells_opened_mt(const struct front_cells *cells)
{
	return atomic_load_explicit(&cells->opened, memory_order_acquire);
}

bool
front_cells_open_mt(struct front_cells *cells)
{
	/* Relaxed: the exchange detects a stale value. */
	uint32_t n = atomic_load_explicit(&cells->opened, memory_order_relaxed);

	do {
		if (n == FRONT_OPENED_MAX)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&cells->opened, &n, n + 1, memory_order_seq_cst, memory_order_relaxed));
	return n + 1 < FRONT_OPENED_MAX;
}

bool
front_cells_open_anew_mt(struct front_cells *cells)
{
	uint32_t n = FRONT_OPENED_MAX;

	return atomic_compare_exchange_strong_explicit(&cells->opened, &n, 0, memory_order_seq_cst,
						       memory_order_relaxed);
}

/* ---- writes ---- */

/* Adds a writer. The first writer's print counts until a writer of another key arrives; then the
 * print is 0. */
static uint64_t
with_writer(uint64_t word, uint64_t hash)
{
	const uint64_t print = print_of(hash);

	if ((word & WRITERS) == 0)
		word = (word & ~PRINT_MASK) | print;
	else if ((word & PRINT_MASK) != print)
		word &= ~PRINT_MASK;
	return word + VERSION_ONE + 1;
}

bool
front_write_begin_mt(struct front_cells *cells, uint64_t hash, struct front_seen *own)
{
	_Atomic uint64_t *cell = cell_of(cells, hash);
	/* Relaxed: the exchange detects a stale value. */
	uint64_t word = atomic_load_explicit(cell, memory_order_relaxed);

	do {
		if ((word & WRITERS) >= FRONT_WRITERS_MAX)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		cell, &word, with_writer(word, hash), memory_order_seq_cst, memory_order_relaxed));
	*own = seen_of(word, atomic_load_explicit(&cells->flushes, memory_order_seq_cst), hash);
	own->version++;
	return true;
}

bool
front_write_is_alone_mt(struct front_cells *cells, uint64_t hash, const struct front_seen *own)
{
	const struct front_seen now = front_cell_look_mt(cells, hash);

	return own->clean && now.version == own->version && now.flushes == own->flushes;
}

void
front_write_end_mt(struct front_cells *cells, uint64_t hash)
{
	/* Release: the write's changes to copies come first; pairs with look and begin. */
	const uint64_t before =
		atomic_fetch_sub_explicit(cell_of(cells, hash), 1, memory_order_release);

	ensure((before & WRITERS) != 0);
}

void
front_write_lost_mt(struct front_cells *cells, uint64_t hash)
{
	_Atomic uint64_t *cell = cell_of(cells, hash);

	/* The bit is set before the writer leaves, so the cell has a writer at any time. */
	atomic_fetch_or_explicit(cell, UNKNOWN, memory_order_release);
	front_write_end_mt(cells, hash);
}

/* ---- flushes ---- */

void
front_flush_begin_mt(struct front_cells *cells)
{
	atomic_fetch_add_explicit(&cells->flushes, EPOCH_ONE + 1, memory_order_seq_cst);
}

void
front_flush_end_mt(struct front_cells *cells)
{
	const uint64_t before = atomic_fetch_sub_explicit(&cells->flushes, 1, memory_order_seq_cst);

	ensure((before & FLUSHING) != 0);
}
