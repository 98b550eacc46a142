/*
 * A store that is cut off after any of its stores. Goal: whichever instruction was the last, a
 * successor can continue with the memory, even if it was cut off itself while it opened that
 * memory. Method: one thread writes to a store of few keys, as one writer or as two that take turns
 * at the store's gaps; its memory is watched (cut_catch.h), and after instructions that wrote to it
 * the rules of RESTART.md that need no repair are checked, and all keys are looked up; at some of
 * these cuts a forked process opens the memory, is checked, and continues.
 *
 * cuts SHAPE [CALLS [SEED [SUCCESSOR_OF]]]
 *
 * A run repeats exactly. With "caught" as first argument the store is a mutant, and must fail.
 */
#include "caught.h"
#include "cut_catch.h"
#include "cut_run.h"
#include "store/account.h"
#include "image/store_image.h"
#include "image/store_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At one cut in this many a forked process opens the memory and continues. SUCCESSOR_OF counts all
 * cuts; it is prime, so that such cuts occur in every kind of store. */
#define SUCCESSOR_OF 127u
#define MOVING_OF    31u /* counts cuts with an item in two slots */
#define CLAIM_OF     13u /* counts cuts while the index claims pages */
#define END_OF       5u  /* counts cuts amid the end of a resize */

static const struct shape shapes[] = {
	{.name = "small", .calls = 2000, .buckets = 20, .flush_of = 64},
	{.name = "crowded", .calls = 1500, .buckets = 16, .calm = true},
	{.name = "resized", .calls = 200, .buckets = 16, .more = 40, .flush_of = 256},
	{.name = "pages",
	 .calls = 400,
	 .limit = 3 << 20,
	 .large_of = 12,
	 .buckets = 32,
	 .flush_of = 512,
	 .page_of = 24},
	/* The index grows from one page to three, in a store that has no free page. */
	{.name = "claims",
	 .calls = 30,
	 .limit = 3 << 20,
	 .large_of = 12,
	 .buckets = 4096,
	 .bucket_step = 4096,
	 .more = 12288,
	 .page_of = 24,
	 .look_of = 61},
	{.name = "never-evict",
	 .calls = 120,
	 .limit = 3 << 20,
	 .large_of = 12,
	 .buckets = 32,
	 .more = 24,
	 .flush_of = 128,
	 .page_of = 24,
	 .never_evict = true},
	{.name = "limits",
	 .calls = 200,
	 .large_of = 8,
	 .buckets = 32,
	 .flush_of = 256,
	 .page_of = 24,
	 .limit_of = 16},
	{.name = "two", .writers = 2, .calls = 800, .buckets = 20, .flush_of = 64},
	{.name = "two-crowded", .writers = 2, .calls = 600, .buckets = 16, .calm = true},
	{.name = "two-resized",
	 .writers = 2,
	 .calls = 200,
	 .buckets = 16,
	 .more = 40,
	 .flush_of = 256},
	{.name = "two-pages",
	 .writers = 2,
	 .calls = 150,
	 .limit = 3 << 20,
	 .large_of = 12,
	 .buckets = 32,
	 .flush_of = 512,
	 .page_of = 24},
};

/* Checks that a delayed flush that was done or replaced is no longer due. Returns NULL, or
 * words. */
static const char *
look_at_flush(const struct run *r)
{
	const struct store *st = r->store;
	const uint64_t due = atomic_load(&st->due_flush);
	const uint32_t generation = store_generation(st);

	return due != 0 && due == store_due_flush((uint32_t)due, generation) &&
			       generation != r->due_generation
		       ? "a flush is done and still due"
		       : NULL;
}

/* True if the process was killed between the two last stores of a resize. */
static bool
resize_ends(const struct index *ix)
{
	return (index_seq(ix) & GEOMETRY_RESIZING) != 0 &&
	       atomic_load(&ix->new_count) == index_bucket_count(ix);
}

static void
look(struct run *r, bool *moving)
{
	const char *what = look_at_index(r->store, &r->model, moving);

	if (what == NULL && writers_of(r) == 1)
		what = look_at_flush(r);
	if (what == NULL)
		what = look_up_all(r->w->core, &r->model);
	if (what != NULL)
		lie(r, what);
}

static void
on_cut(void *arg)
{
	struct run *r = arg;
	const bool claims = atomic_load(&r->store->resize_phase) == RESIZE_CLAIM;
	const bool ends = resize_ends(&r->store->ix);
	bool moving = false;

	r->alone++;
	r->cuts++;
	if (ends || r->shape->look_of == 0 || r->cuts % r->shape->look_of == 0)
		look(r, &moving);
	r->moving_cuts += moving;
	r->claim_cuts += claims;
	r->end_cuts += ends;
	if ((ends && r->end_cuts % END_OF == 0) || r->cuts % r->successor_of == 0 ||
	    (moving && r->moving_cuts % MOVING_OF == 0) ||
	    (claims && r->claim_cuts % CLAIM_OF == 0))
		succeed(r);
	r->alone--;
}

static void
start(struct run *r, uint64_t seed)
{
	r->cfg = (struct store_config){.memory_bytes = STORE_MEMORY_MIN,
				       .limit_bytes = r->shape->limit,
				       .cores = writers_of(r),
				       .value_max = CUT_VALUE_MAX,
				       .seed = seed,
				       .never_evict = r->shape->never_evict};

	struct store_plan plan = store_plan_of(&r->cfg);
	struct region region = {.size = align_up(store_bytes(&r->cfg), 4096)};

	plan.bucket_count = r->shape->buckets;
	plan.bucket_step = 0;
	region.base =
		mmap(NULL, region.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ensure(region.base != MAP_FAILED);
	r->store = store_create_planned(&region, &r->cfg, &plan);
	r->random = seed;
	r->now_s = STORE_CLOCK_START;
	r->w = &r->writers[0];
	for (uint32_t i = 0; i < writers_of(r); i++) {
		struct writer *w = &r->writers[i];

		*w = (struct writer){.core = store_core_of(r->store, i),
				     .doing = "start",
				     .value_bytes = malloc(CUT_VALUE_MAX)};
		ensure(w->value_bytes != NULL);
		store_turn(w->core, r->now_s);
	}
	watch_evictions(r);
	r->shared = mmap(NULL, sizeof *r->shared, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ensure(r->shared != MAP_FAILED);
	r->beside = region.base + r->cfg.memory_bytes;
	r->beside_bytes = region.size - r->cfg.memory_bytes;
	catch_stores(region.base, r->cfg.memory_bytes, on_cut, r);
	catch_close();
}

static void
say(const struct run *r, uint32_t calls)
{
	const struct {
		const char *words;
		uint64_t n;
	} counts[] = {
		{"calls", calls},
		{"cuts", r->cuts},
		{"switches", r->switches},
		{"refused", r->refused},
		{"evicted", store_sum(r->store, STORE_EVICTED)},
		{"moves", store_sum(r->store, STORE_MOVES)},
		{"migrated", store_sum(r->store, STORE_INDEX_MIGRATED)},
		{"rescued", store_sum(r->store, STORE_RESCUED)},
		{"in claims", r->claim_cuts},
		{"amid the end of a resize", r->end_cuts},
		{"successors", r->successors},
		{"openings watched", r->shared->openings},
		{"cuts in them", r->shared->opening_cuts},
		{"opened anew", r->shared->third},
	};

	printf("%s:", r->shape->name);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		printf("%s %llu %s", i == 0 ? "" : ",", (unsigned long long)counts[i].n,
		       counts[i].words);
	printf("\n");
}

int
main(int argc, char **argv)
{
	static struct run run;
	const bool caught = argc > 1 && strcmp(argv[1], "caught") == 0;
	char **const args = argv + 1 + caught;
	const int count = argc - 1 - caught;
	uint32_t wanted;

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (count > 0 && strcmp(args[0], shapes[i].name) == 0)
			run.shape = &shapes[i];
	if (run.shape == NULL) {
		printf("usage: cuts [caught] SHAPE [CALLS [SEED [SUCCESSOR_OF]]]\n");
		return 2;
	}
	wanted = count > 1 ? (uint32_t)strtoul(args[1], NULL, 10) : run.shape->calls;
	run.caught = caught;
	if (caught)
		crash_is_harm();
	run.successor_of = count > 3 ? (uint32_t)strtoul(args[3], NULL, 10) : SUCCESSOR_OF;
	start(&run, count > 2 ? strtoull(args[2], NULL, 10) : 1);
	take_turns(&run, wanted);
	leave(&run);
	say(&run, wanted);
	return caught ? 1 : 0;
}
