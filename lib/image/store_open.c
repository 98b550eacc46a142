/*
 * store_open.c - opens an image: keeps what its header and its index say, and rebuilds the rest.
 */
#include "opening.h"
#include "index/geometry.h"
#include "store/resize.h"
#include "store/sweep.h"

/* ---- checks of the image's figures ---- */

static bool
bucket_count_is_sound(const struct store *st, uint32_t count)
{
	const size_t bytes = (size_t)count * sizeof(struct bucket);
	const size_t pages = (size_t)st->arena.page_count << st->arena.page_shift;

	return count >= INDEX_BUCKETS_MIN && count % 2 == 0 && bytes <= pages;
}

/* True if the index's geometry is sound. If the process ended inside geometry_end, both numbers are
 * the same and seq is odd. */
static bool
index_geometry_is_sound(struct store *st)
{
	struct index *ix = &st->ix;
	const uint32_t seq = index_seq(ix), old = index_bucket_count(ix);
	const uint32_t new = atomic_load_explicit(&ix->new_count, memory_order_relaxed);
	const uint32_t first = atomic_load_explicit(&ix->first_seq, memory_order_relaxed);

	if (!bucket_count_is_sound(st, old))
		return false;
	if ((seq & GEOMETRY_RESIZING) == 0)
		return true;
	if (new == old) {
		geometry_end(ix);
		return true;
	}
	return bucket_count_is_sound(st, new) && (first & GEOMETRY_RESIZING) != 0 &&
	       (seq - first) / GEOMETRY_STEP <= old;
}

static const struct image_record *
record_of(const struct store_opening *open)
{
	return (const struct image_record *)(const void *)(open->image + open->parts.record);
}

/* True if the record fits this struct store. If so, the record's sum covers all other fields,
 * too. */
static bool
record_matches(const struct store_opening *open)
{
	const struct image_record *r = record_of(open);
	const struct store *st = open->store;
	const struct index *ix = &st->ix;

	return r->seed == st->seed &&
	       r->due_flush == atomic_load_explicit(&st->due_flush, memory_order_relaxed) &&
	       r->generation == store_generation(st) && r->seq == index_seq(ix) &&
	       r->bucket_count == index_bucket_count(ix) &&
	       r->new_count == atomic_load_explicit(&ix->new_count, memory_order_relaxed) &&
	       r->first_seq == atomic_load_explicit(&ix->first_seq, memory_order_relaxed) &&
	       r->class_count == st->slab.class_count;
}

/* ---- phases ---- */

static uint64_t
page_shares(const struct store_opening *open)
{
	return (open->store->arena.page_count + OPEN_PAGES_SHARE - 1) / OPEN_PAGES_SHARE;
}

static void
phase_begin(struct store_opening *open, enum store_open_phase phase, uint64_t shares)
{
	open->phase = phase;
	open->total = shares;
	atomic_store_explicit(&open->done, 0, memory_order_relaxed);
	atomic_store_explicit(&open->next, 0, memory_order_release);
}

static void
image_refuse(struct store_opening *open, enum store_image_fault fault)
{
	open->fault = fault;
	phase_begin(open, STORE_OPEN_REFUSED, 0);
}

static void
repair_begin(struct store_opening *open)
{
	open->kind = STORE_IMAGE_DIRTY;
	phase_begin(open, STORE_OPEN_CLEAR, page_shares(open));
}

static uint32_t
index_pages(const struct store *st)
{
	const size_t bytes = (size_t)index_bucket_end(&st->ix) * sizeof(struct bucket);
	const size_t page = (size_t)1 << st->arena.page_shift;

	return (uint32_t)((bytes + page - 1) / page);
}

static void
open_begin(struct store_opening *open)
{
	struct store *st = open->store;
	const struct image_header *h = (const void *)open->image;

	if (st->seed != h->seed || st->ix.seed != h->seed)
		image_refuse(open, STORE_IMAGE_DAMAGED);
	else if (!index_geometry_is_sound(st))
		image_refuse(open, STORE_IMAGE_TANGLED);
	else
		open->index_pages = index_pages(st);
	if (open->fault != STORE_IMAGE_SOUND)
		return;
	if (open->kind == STORE_IMAGE_CLEAN)
		phase_begin(open, STORE_OPEN_CHECK, image_pieces(st));
	else
		repair_begin(open);
}

struct store_opening *
store_open(struct region *region, void *image, const struct store_config *cfg, uint32_t now_s)
{
	const struct region before = *region;
	struct store_opening *open = region_take(region, sizeof *open, CACHE_LINE_BYTES);
	const struct store_plan plan = image_plan(image, cfg);
	struct image_left *left = image_left(image);

	open->image = image;
	open->cfg = *cfg;
	open->region = before;
	open->now_s = now_s;
	open->kind = atomic_load_explicit(&left->state, memory_order_relaxed) == IMAGE_CLEAN
			     ? STORE_IMAGE_CLEAN
			     : STORE_IMAGE_DIRTY;
	/* Sequentially consistent: comes before any other store. */
	atomic_store_explicit(&left->state, IMAGE_DIRTY, memory_order_seq_cst);
	open->parts =
		image_parts_of(cfg->memory_bytes, plan.page_count, plan.page_shift, plan.shift);
	/* The previous process's stamp, to which the stamps in items refer. */
	open->reference_stamp =
		slab_reference_stamp(&image_store(image)->slab) & ITEM_REFERENCE_STAMP;
	open->store = image_bind(region, image, cfg, &plan);
	open_begin(open);
	return open;
}

bool
store_open_step_mt(struct store_opening *open)
{
	/* Acquire: pairs with the release in phase_begin. */
	const uint64_t share = atomic_fetch_add_explicit(&open->next, 1, memory_order_acquire);

	if (share >= open->total)
		return false;
	switch (open->phase) {
	case STORE_OPEN_CHECK:
		atomic_fetch_add_explicit(&open->sum, image_piece_sum(open->store, share),
					  memory_order_relaxed);
		break;
	case STORE_OPEN_CLEAR:
		repair_clear_share(open, share);
		break;
	case STORE_OPEN_WALK:
		repair_walk_share(open, share);
		break;
	case STORE_OPEN_PAGES:
		open_pages_share(open, share);
		repair_count_share(open, share);
		break;
	default:
		break;
	}
	atomic_fetch_add_explicit(&open->done, 1, memory_order_relaxed);
	return true;
}

/* ---- the end ---- */

static void
set_counter(struct counter *c, uint64_t value)
{
	atomic_store_explicit(&c->value, value, memory_order_relaxed);
}

/* Counts the items in the index as linked by core 0, and then the flushed ones as flushed. */
static void
count_kept(struct store_opening *open)
{
	struct store *st = open->store;
	struct store_core *sc = &st->cores[0];
	const struct image_record *r = &open->record;

	set_counter(&sc->counters[STORE_ITEMS_LINKED], r->all.items);
	set_counter(&sc->counters[STORE_BYTES_LINKED], r->all.bytes);
	set_counter(&sc->flush_base.items, r->all.flushed);
	set_counter(&sc->flush_base.bytes, r->all.flushed_bytes);
	for (uint32_t i = 0; i < st->slab.class_count; i++) {
		const struct image_balance *b = &r->classes[i];

		set_counter(&sc->class_counters[i][CLASS_LINKED], b->items);
		set_counter(&sc->class_counters[i][CLASS_BYTES_LINKED], b->bytes);
		set_counter(&sc->class_flush_base[i].items, b->flushed);
		set_counter(&sc->class_flush_base[i].bytes, b->flushed_bytes);
	}
	for (uint32_t i = 0; i < st->core_count; i++)
		atomic_store_explicit(&st->cores[i].counted_generation, store_generation(st),
				      memory_order_relaxed);
	sc->grown_for = r->all.items;
	st->resize.items = r->all.items;
	atomic_store_explicit(&open->items, r->all.items - r->all.flushed, memory_order_relaxed);
	atomic_store_explicit(&open->item_bytes, r->all.bytes - r->all.flushed_bytes,
			      memory_order_relaxed);
}

/* Lets the store's turns continue a resize that was under way. */
static void
resume_resize(struct store_opening *open)
{
	struct store *st = open->store;
	struct resize *rs = &st->resize;

	/* An index that does not fill whole pages was made by a test, and is never resized. */
	if (index_bucket_target(&st->ix) % rs->step != 0)
		rs->step = 0;
	rs->next_page = open->index_pages;
	rs->waits_since_s = open->now_s;
	rs->target = index_bucket_target(&st->ix);
	if ((index_seq(&st->ix) & GEOMETRY_RESIZING) != 0)
		atomic_store_explicit(&st->resize_phase, RESIZE_MIGRATE, memory_order_relaxed);
}

static void
set_clocks(struct store *st, uint32_t now_s)
{
	atomic_store_explicit(&st->slab.now_s, now_s, memory_order_relaxed);
	for (uint32_t i = 0; i < st->core_count; i++)
		st->cores[i].now_s = now_s;
}

static void
do_due_flush(struct store_opening *open)
{
	struct store *st = open->store;
	const uint32_t generation = store_generation(st);

	if (atomic_load_explicit(&st->due_flush, memory_order_relaxed) == 0)
		return;
	flush_due(&st->cores[0]);
	open->flushed = store_generation(st) != generation;
	if (!open->flushed)
		return;
	atomic_store_explicit(&open->items, 0, memory_order_relaxed);
	atomic_store_explicit(&open->item_bytes, 0, memory_order_relaxed);
}

static void
open_end(struct store_opening *open)
{
	struct store *st = open->store;
	const struct store_config *cfg = &open->cfg;

	open_pages_end(open);
	resume_resize(open);
	set_clocks(st, open->now_s);
	if (open->record.reference_stamp != 0)
		atomic_store_explicit(&st->slab.reference_stamp, open->record.reference_stamp,
				      memory_order_relaxed);
	atomic_store_explicit(&st->oldest_generation, open->record.oldest_generation,
			      memory_order_relaxed);
	count_kept(open);
	st->linked_at_flush = UINT64_MAX; /* the next flush must flush the kept items */
	if (cfg->limit_bytes != 0 && cfg->limit_bytes < cfg->memory_bytes)
		ensure(store_limit_mt(st, cfg->limit_bytes));
	do_due_flush(open);
	phase_begin(open, STORE_OPEN_DONE, 0);
}

static void
check_end(struct store_opening *open)
{
	const uint64_t sum = atomic_load_explicit(&open->sum, memory_order_relaxed);

	open->checksums_wrong = sum != image_left(open->image)->sum || !record_matches(open);
	if (open->checksums_wrong) {
		repair_begin(open);
		return;
	}
	open->record = *record_of(open);
	phase_begin(open, STORE_OPEN_PAGES, page_shares(open));
}

/* Ends the phase WALK, which has dropped dead and damaged items. */
static void
walk_end(struct store_opening *open)
{
	const enum store_image_fault fault = repair_walk_end(open);

	if (fault != STORE_IMAGE_SOUND) {
		image_refuse(open, fault);
		return;
	}
	open->record.oldest_generation = store_generation(open->store);
	open->record.reference_stamp = open->reference_stamp;
	phase_begin(open, STORE_OPEN_PAGES, page_shares(open));
}

enum store_open_phase
store_open_next(struct store_opening *open)
{
	switch (open->phase) {
	case STORE_OPEN_CHECK:
		check_end(open);
		break;
	case STORE_OPEN_CLEAR:
		phase_begin(open, STORE_OPEN_WALK,
			    (index_bucket_end(&open->store->ix) + REPAIR_WALK_SHARE - 1) /
				    REPAIR_WALK_SHARE);
		break;
	case STORE_OPEN_WALK:
		walk_end(open);
		break;
	case STORE_OPEN_PAGES:
		open_end(open);
		break;
	default:
		break;
	}
	return open->phase;
}

void
store_open_report_mt(const struct store_opening *open, struct store_open_report *out)
{
	*out = (struct store_open_report){
		.phase = open->phase,
		.kind = open->kind,
		.fault = open->fault,
		.checksums_wrong = open->checksums_wrong,
		.done = atomic_load_explicit(&open->done, memory_order_relaxed),
		.total = open->total,
		.items = atomic_load_explicit(&open->items, memory_order_relaxed),
		.item_bytes = atomic_load_explicit(&open->item_bytes, memory_order_relaxed),
		.lost = atomic_load_explicit(&open->lost, memory_order_relaxed),
		.flushed = open->flushed,
	};
}

struct store *
store_open_store(struct store_opening *open)
{
	ensure(open->phase == STORE_OPEN_DONE);
	return open->store;
}

struct store *
store_open_cold(struct store_opening *open, uint64_t seed)
{
	/* A copy, since the original is in the region, which is reused now. */
	struct store_config cfg = open->cfg;
	struct region region = open->region;
	void *image = open->image;

	cfg.seed = seed;
	return store_create_in(&region, image, &cfg);
}
