/*
 * store.c - the memory is divided at start; each turn does what is due.
 */
#include "item_access.h"
#include "pinned.h"
#include "rebalance.h"
#include "resize.h"
#include "retire_list.h"
#include "sweep.h"

/* Pages become larger, up to hugepages, as long as the store has so many. */
#define PAGES_WANTED 256u
/* For the alignment of all parts of the region. */
#define SLACK_BYTES 1024u

static_assert(STORE_MEMORY_MAX - ARENA_LEAD_BYTES <= ARENA_BYTES_MAX, "its pages can be named");

/* The limit by which pages and ghosts are sized; it may be raised later. */
static size_t
limit_of(const struct store_config *cfg)
{
	return cfg->limit_bytes != 0 && cfg->limit_bytes < cfg->memory_bytes ? cfg->limit_bytes
									     : cfg->memory_bytes;
}

static uint32_t
value_max_of(const struct store_config *cfg)
{
	const size_t half = cfg->memory_bytes / 2;
	size_t max = (size_t)CHUNKS_MAX * ITEM_CHUNK_PAYLOAD;

	if (half < max)
		max = half;
	return cfg->value_max < max ? cfg->value_max : (uint32_t)max;
}

/* Pages for the chunks and the first object of a value of the largest size, or of the default size
 * if that is less: larger values wait for memory. */
static uint32_t
reserve_of(const struct store_config *cfg, const struct store_plan *plan)
{
	const uint32_t value_max = value_max_of(cfg);
	const uint32_t chunks =
		(value_max < STORE_VALUE_MAX ? value_max : STORE_VALUE_MAX) / ITEM_CHUNK_PAYLOAD;
	const uint32_t per_page = (1u << plan->page_shift) / ITEM_CHUNK_BYTES;
	const uint32_t pages = (chunks + per_page - 1) / per_page + 1;

	return pages < plan->page_count / 4 ? pages : plan->page_count / 4;
}

/* Ghosts have what is left over of whole pages: half of what they are to have at least. */
static uint32_t
ghost_groups(const struct store_config *cfg, size_t left_over)
{
	const size_t most = limit_of(cfg) / GHOST_PART;

	if (cfg->never_evict || cfg->clock_only)
		return 0;
	return (uint32_t)((left_over < most ? left_over : most) / sizeof(struct ghost_group));
}

struct store_plan
store_plan_of(const struct store_config *cfg)
{
	struct store_plan plan = {.page_shift = SLAB_PAGE_SHIFT_MIN};

	ensure(cfg->memory_bytes >= STORE_MEMORY_MIN && cfg->memory_bytes <= STORE_MEMORY_MAX);
	ensure(cfg->cores >= 1 && cfg->cores <= STORE_CORES_MAX);
	while (plan.page_shift < SLAB_PAGE_SHIFT_MAX &&
	       limit_of(cfg) >> (plan.page_shift + 1) >= PAGES_WANTED)
		plan.page_shift++;

	const size_t page_bytes = slab_bytes_per_page(plan.page_shift) + (1ull << plan.page_shift);
	const size_t fixed =
		sizeof(struct store) + FLOORS * sizeof(uint64_t) + SLACK_BYTES + ARENA_LEAD_BYTES;
	const size_t ghosts = limit_of(cfg) / GHOST_PART;

	plan.page_count = (uint32_t)((cfg->memory_bytes - fixed - ghosts / 2) / page_bytes);
	plan.ghost_groups =
		ghost_groups(cfg, cfg->memory_bytes - fixed - plan.page_count * page_bytes);
	plan.bucket_step = (uint32_t)((1ull << plan.page_shift) / sizeof(struct bucket));
	plan.bucket_count = plan.bucket_step;
	plan.reserve = reserve_of(cfg, &plan);
	return plan;
}

size_t
store_bytes(const struct store_config *cfg)
{
	return cfg->memory_bytes + cfg->cores * sizeof(struct store_core) + epoch_bytes(cfg->cores);
}

struct store *
store_create(struct region *region, const struct store_config *cfg)
{
	const struct store_plan plan = store_plan_of(cfg);

	return store_create_planned(region, cfg, &plan);
}

struct store *
store_create_planned(struct region *region, const struct store_config *cfg,
		     const struct store_plan *plan)
{
	struct store *st = region_take(region, sizeof *st, CACHE_LINE_BYTES);

	st->seed = cfg->seed;
	st->core_count = cfg->cores;
	st->value_most = value_max_of(cfg);
	atomic_init(&st->value_max, st->value_most);
	st->never_evict = cfg->never_evict;
	st->memory_bytes = cfg->memory_bytes;
	atomic_init(&st->limit_bytes, cfg->memory_bytes);
	st->cores = region_take(region, cfg->cores * sizeof(struct store_core), CACHE_LINE_BYTES);
	st->floors = region_take(region, FLOORS * sizeof(uint64_t), sizeof(uint64_t));
	ghosts_init(&st->ghosts, region, plan->ghost_groups);
	st->slab.probation = plan->ghost_groups != 0;
	epoch_init(&st->epoch, region, cfg->cores);
	arena_init(&st->arena, region, plan->page_count, plan->page_shift);
	arena_write_header(&st->arena, plan->bucket_count, cfg->seed);
	slab_init(&st->slab, region, &st->arena, plan->reserve);
	index_init(&st->ix, &st->arena, plan->bucket_count, cfg->seed);
	resize_init(st, plan);
	if (limit_of(cfg) < cfg->memory_bytes)
		ensure(store_limit_mt(st, limit_of(cfg)));
	for (uint32_t i = 0; i < cfg->cores; i++) {
		st->cores[i].store = st;
		st->cores[i].id = i;
		st->cores[i].now_s = STORE_CLOCK_START;
	}
	return st;
}

struct store_core *
store_core_of(struct store *store, uint32_t core)
{
	ensure(core < store->core_count);
	return &store->cores[core];
}

/* ---- once a turn ---- */

void
store_online(struct store_core *sc)
{
	epoch_online(&sc->store->epoch, sc->id);
	sc->online = true;
}

void
store_offline(struct store_core *sc)
{
	item_apply_referenced(sc);
	retire_list_reclaim(sc);
	retire_list_publish(sc);
	slab_empty_magazines(&sc->store->slab, sc->magazines);
	epoch_offline(&sc->store->epoch, sc->id);
	sc->online = false;
}

/* Empty this core's magazines once a page is being evacuated: they may hold objects of it. */
static void
answer_recall(struct store_core *sc)
{
	/* Acquire: pairs with the release in slab_evacuate_page. */
	const uint32_t recall = atomic_load_explicit(&sc->store->slab.recall, memory_order_acquire);

	if (likely(recall == sc->recall))
		return;
	sc->recall = recall;
	slab_empty_magazines(&sc->store->slab, sc->magazines);
}

void
store_turn(struct store_core *sc, uint32_t now_s)
{
	struct store *st = sc->store;

	sc->now_s = now_s;
	item_apply_referenced(sc);
	slab_tick(&st->slab, now_s);
	if (likely(sc->online))
		epoch_quiescent(&st->epoch, sc->id);
	else
		store_online(sc);
	retire_list_reclaim(sc);
	retire_list_publish(sc);
	if (unlikely(sc->pinned.count != 0))
		pinned_turn(sc);
	answer_recall(sc);
	rebalance_turn(sc);
	resize_turn(sc);
	sweep_turn(sc);
	if (unlikely(atomic_load_explicit(&st->due_flush, memory_order_relaxed) != 0))
		flush_due(sc);
}

void
store_housekeeping(struct store_core *sc)
{
	rebalance_step(sc);
	resize_consider(sc);
	sweep_slice(sc);
}
