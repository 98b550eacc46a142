/*
 * bench_lines.c - counts the cache lines that two cores take from each other for each operation.
 *
 * The store is compiled so that each of its accesses to memory is seen (traced.h). Two cores take
 * turns in one thread, and their caches are a model (traced_cores.h): other work on the machine
 * does not change the figures.
 *
 * Prefetches and copies by libc are not seen.
 *
 *   bench_lines [--memory MB] [--operations N] [--load LOAD] [--cache KIB]
 *               [--origins N] [--most LOAD=N]...
 *
 * --origins names the N origins where most lines come from, as addresses for addr2line. --most
 * fails if a load moves more lines in 1000 operations.
 */
#include "own_store.h"
#include "traced_cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURST              32u
#define BYTES_AN_ITEM      96u /* in the store that does not evict: a third of it stays free */
#define SETTLE_ROUNDS      2u  /* times its items are stored before a full store is measured */
#define LINE_CORES         2u
#define WARM_PART          2u  /* warm-up operations, in units of the counted ones */
#define WARM_ROUNDS_MAX    16u /* while the index is resized */
#define HOUSEKEEPING_TURNS 16u /* as in core.h */
#define SETS_KIB           (LINE_SETS_MAX * LINE_WAYS / 16) /* for LINE_SETS_MAX sets */
#define ORIGINS_MAX        (1u << 14)

enum load { LOAD_NEW, LOAD_OVERWRITE, LOAD_GET, LOADS };
static const char *const load_names[] = {"new", "overwrite", "get"};

enum part {
	PART_STORE,
	PART_CLASS,
	PART_FLOORS,
	PART_PAGES,
	PART_STATES,
	PART_GHOSTS,
	PART_BUCKETS,
	PART_ITEMS,
	PART_EPOCH,
	PART_CORES,
	PART_ELSEWHERE,
	PARTS
};
static const char *const part_names[] = {"store",  "class",  "floors",   "pages",
					 "states", "ghosts", "buckets",  "items",
					 "epoch",  "cores",  "elsewhere"};

/* The code address of an access, and the line of its part that it accessed. */
struct origin {
	const void *from;
	enum part part;
	uint32_t line;
	uint64_t moved;
};

struct core {
	uint64_t random;
	uint32_t turns;
};

static struct {
	struct core cores[LINE_CORES];
	struct own_store own;
	enum load load;
	uint32_t operations, keys, sets;
	uint64_t next_key;
	uint64_t moves[PARTS][LINE_MOVES];
	struct origin origins[ORIGINS_MAX];
} b;

/* ---- accessed memory ---- */

static bool
within(uintptr_t at, const void *first, size_t bytes)
{
	return at - (uintptr_t)first < bytes;
}

static enum part
part_of_tables(const struct store *st, uintptr_t at)
{
	const struct slab *sl = &st->slab;
	const size_t pages = st->arena.page_count;

	if (within(at, st->floors, FLOORS * sizeof *st->floors))
		return PART_FLOORS;
	if (within(at, sl->pages, pages * sizeof *sl->pages))
		return PART_PAGES;
	if (within(at, (const void *)sl->states, pages * sl->stride * sizeof *sl->states))
		return PART_STATES;
	if (within(at, st->ghosts.groups, st->ghosts.count * sizeof *st->ghosts.groups))
		return PART_GHOSTS;
	if (within(at, st->epoch.cores, LINE_CORES * sizeof *st->epoch.cores))
		return PART_EPOCH;
	return within(at, st->cores, LINE_CORES * sizeof *st->cores) ? PART_CORES : PART_ELSEWHERE;
}

/* Returns the part of the store that an address belongs to. *offset is into a struct of which
 * there are several, or into the part. */
static enum part
part_of(const struct store *st, uintptr_t at, size_t *offset)
{
	const size_t arena = (size_t)st->arena.page_count << st->arena.page_shift;
	const size_t buckets = index_bucket_end(&st->ix) * sizeof(struct bucket);
	enum part part;

	*offset = 0;
	if (within(at, st->arena.base, arena))
		return at - (uintptr_t)st->arena.base < buckets ? PART_BUCKETS : PART_ITEMS;
	if (within(at, st->slab.classes, sizeof st->slab.classes)) {
		*offset = (at - (uintptr_t)st->slab.classes) % sizeof *st->slab.classes;
		return PART_CLASS;
	}
	if (within(at, st, sizeof *st)) {
		*offset = at - (uintptr_t)st;
		return PART_STORE;
	}
	part = part_of_tables(st, at);
	if (part == PART_CORES)
		*offset = (at - (uintptr_t)st->cores) % sizeof *st->cores;
	return part;
}

static void
note_origin(enum part part, size_t offset, const void *from)
{
	const uint32_t line = (uint32_t)(offset >> LINE_SHIFT);
	const uint64_t hash = bench_mix((uintptr_t)from + line * 64ull + part);

	for (uint32_t i = 0; i < ORIGINS_MAX; i++) {
		struct origin *p = &b.origins[(hash + i) % ORIGINS_MAX];

		if (p->moved != 0 && (p->from != from || p->part != part || p->line != line))
			continue;
		*p = (struct origin){from, part, line, p->moved + 1};
		return;
	}
}

void
traced_line(uint32_t core, uintptr_t line, enum line_move how, const void *from)
{
	size_t offset;
	const enum part part = part_of(b.own.store, line << LINE_SHIFT, &offset);

	b.moves[part][how]++;
	if (how == LINE_FETCHED || how == LINE_TAKEN)
		note_origin(part, offset, from);
}

/* ---- work of the cores ---- */

static void
put_burst(struct store_core *sc, const struct bench_key *keys)
{
	static const uint8_t value[BENCH_VALUE_BYTES];
	struct probe probes[BURST];
	uint64_t hashes[BURST];
	uint32_t open = 0;

	for (uint32_t i = 0; i < BURST; i++)
		hashes[i] = store_probe(sc, &probes[i], own_key(&keys[i]));
	for (uint32_t i = 0; i < BURST; i++)
		open |= (uint32_t)store_probe_primary_to_write(sc, &probes[i]) << i;
	for (; open != 0; open &= open - 1)
		store_probe_alternate(sc, &probes[__builtin_ctz(open)]);
	for (uint32_t i = 0; i < BURST; i++)
		ensure(own_put(sc, own_key(&keys[i]), hashes[i], value, sizeof value) == STORE_OK);
}

static void
get_burst(struct store_core *sc, const struct bench_key *keys)
{
	const struct item *items[BURST];

	own_get_batch(sc, keys, BURST, items);
	for (uint32_t i = 0; i < BURST; i++)
		ensure(items[i] != NULL);
}

static void
burst(struct store_core *sc, struct core *c)
{
	struct bench_key keys[BURST];

	for (uint32_t i = 0; i < BURST; i++)
		keys[i] = bench_key_of(b.load == LOAD_NEW ? b.next_key++
							  : bench_below(&c->random, b.keys));
	if (b.load == LOAD_GET)
		get_burst(sc, keys);
	else
		put_burst(sc, keys);
	store_turn(sc, STORE_CLOCK_START);
	if (++c->turns % HOUSEKEEPING_TURNS == 0)
		store_housekeeping(sc);
}

/* Runs one core until it has done its operations; the other then continues alone. */
static void
work(uint32_t me)
{
	struct store_core *sc = store_core_of(b.own.store, me);

	for (uint32_t done = 0; done < b.operations / LINE_CORES; done += BURST)
		burst(sc, &b.cores[me]);
	store_offline(sc);
}

/* ---- one load ---- */

/* Stores new keys until the store has evicted twice its content and its index has its final
 * size. */
static void
fill_up(void)
{
	struct store_core *sc = store_core_of(b.own.store, 0);
	struct store_usage usage = {.items = 1};

	while (own_counted(&b.own, STORE_EVICTED) < SETTLE_ROUNDS * usage.items ||
	       usage.index_resizing) {
		struct bench_key keys[BURST];

		for (uint32_t i = 0; i < BURST; i++)
			keys[i] = bench_key_of(b.next_key++);
		put_burst(sc, keys);
		store_turn(sc, STORE_CLOCK_START);
		store_housekeeping(sc);
		store_usage_mt(b.own.store, &usage);
	}
	store_offline(sc);
}

static void
fill_part(void)
{
	struct store_core *sc = store_core_of(b.own.store, 0);

	while (b.next_key < b.keys) {
		struct bench_key keys[BURST];

		for (uint32_t i = 0; i < BURST; i++)
			keys[i] = bench_key_of(b.next_key++);
		put_burst(sc, keys);
		store_turn(sc, STORE_CLOCK_START);
		store_housekeeping(sc);
	}
	store_offline(sc);
}

static int
by_moved(const void *x, const void *y)
{
	const struct origin *p = x, *q = y;

	return p->moved < q->moved ? 1 : p->moved > q->moved ? -1 : 0;
}

static void
print_origins(uint32_t count)
{
	extern const char __executable_start;

	qsort(b.origins, ORIGINS_MAX, sizeof *b.origins, by_moved);
	for (uint32_t i = 0; i < count && b.origins[i].moved != 0; i++)
		fprintf(stderr, "%8.4f %s+%u 0x%zx\n", (double)b.origins[i].moved / b.operations,
			part_names[b.origins[i].part], b.origins[i].line << LINE_SHIFT,
			(size_t)((const char *)b.origins[i].from - &__executable_start) - 1);
}

static uint64_t
moved_of(const uint64_t *moves)
{
	return moves[LINE_FETCHED] + moves[LINE_TAKEN];
}

/* Prints the figures. Returns the lines moved in 1000 operations. */
static uint32_t
report(void)
{
	const double n = b.operations;
	uint64_t all = 0, absent = 0;

	for (uint32_t i = 0; i < PARTS; i++) {
		all += moved_of(b.moves[i]);
		absent += b.moves[i][LINE_ABSENT];
		printf("{\"part\": \"lines\", \"load\": \"%s\", \"what\": \"%s\", \"moved\": %.4f, "
		       "\"written_by_other\": %.4f, \"read_by_other\": %.4f, \"copied\": %.4f, "
		       "\"absent\": %.4f}\n",
		       load_names[b.load], part_names[i], (double)moved_of(b.moves[i]) / n,
		       (double)b.moves[i][LINE_FETCHED] / n, (double)b.moves[i][LINE_TAKEN] / n,
		       (double)b.moves[i][LINE_COPIED] / n, (double)b.moves[i][LINE_ABSENT] / n);
	}
	printf("{\"part\": \"lines\", \"load\": \"%s\", \"what\": \"all\", \"moved\": %.4f, "
	       "\"absent\": %.4f, \"clock\": %.1f}\n",
	       load_names[b.load], (double)all / n, (double)absent / n,
	       (double)traced_cores_clocks() / n);
	return (uint32_t)(all * 1000 / b.operations);
}

static bool
index_is_resizing(void)
{
	struct store_usage usage;

	store_usage_mt(b.own.store, &usage);
	return usage.index_resizing;
}

static uint32_t
measure(enum load load, uint32_t mebibytes, uint32_t operations, uint32_t origins)
{
	uint32_t moved;

	b.load = load;
	b.next_key = 0;
	own_create(&b.own, mebibytes * BENCH_MIB, LINE_CORES);
	b.keys = (uint32_t)(mebibytes * BENCH_MIB / BYTES_AN_ITEM);
	if (load == LOAD_NEW)
		fill_up();
	else
		fill_part();
	traced_cores_begin(LINE_CORES, b.sets);
	b.operations = WARM_PART * operations;
	for (uint32_t i = 0; i < WARM_ROUNDS_MAX && (i == 0 || index_is_resizing()); i++)
		traced_cores_run(work);
	memset(b.moves, 0, sizeof b.moves);
	memset(b.origins, 0, sizeof b.origins);
	b.operations = operations;
	traced_cores_run(work);
	moved = report();
	print_origins(origins);
	own_destroy(&b.own);
	return moved;
}

static void
read_load(const char *text, void *load)
{
	for (uint32_t i = 0; i < LOADS; i++)
		if (strcmp(text, load_names[i]) == 0) {
			*(uint32_t *)load = i;
			return;
		}
	exit(2);
}

static void
read_most(const char *text, void *at)
{
	uint32_t *most = at;

	for (uint32_t i = 0; i < LOADS; i++) {
		const size_t len = strlen(load_names[i]);

		if (strncmp(text, load_names[i], len) == 0 && text[len] == '=')
			most[i] = bench_number(text + len + 1, 0, 1000000);
	}
}

int
main(int argc, char **argv)
{
	uint32_t mebibytes = 32, operations = 1u << 16, origins = 0;
	uint32_t only = LOADS, cache_kib = SETS_KIB;
	uint32_t most[LOADS] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
	bool failed = false;

	const struct bench_option known[] = {
		BENCH_NUMBER("memory", &mebibytes, 8, 4096),
		BENCH_NUMBER("operations", &operations, 2 * BURST, 10000000),
		BENCH_NUMBER("origins", &origins, 0, ORIGINS_MAX),
		BENCH_NUMBER("cache", &cache_kib, 1, SETS_KIB),
		BENCH_READ("load", read_load, &only),
		BENCH_READ("most", read_most, most),
		{0}};

	bench_options(argc, argv, known);
	b.sets = cache_kib * LINE_SETS_MAX / SETS_KIB;
	operations = operations / (LINE_CORES * BURST) * LINE_CORES * BURST;
	for (uint32_t i = 0; i < LINE_CORES; i++)
		b.cores[i].random = i + 1;
	for (uint32_t i = 0; i < LOADS; i++) {
		if (only != LOADS && only != i)
			continue;

		const uint32_t moved = measure((enum load)i, mebibytes, operations, origins);

		if (moved <= most[i])
			continue;
		fprintf(stderr, "%s: %u lines moved in 1000 operations, %u allowed\n",
			load_names[i], moved, most[i]);
		failed = true;
	}
	return failed ? 1 : 0;
}
