/*
 * store_image.c - an image is divided, begun empty, and bound to this process.
 */
#include "image.h"
#include "resize.h"

/* What a store is told by its configuration. */
static void
configure(struct store *st, const struct store_config *cfg, const struct store_plan *plan)
{
	st->value_most = store_value_most(cfg);
	atomic_init(&st->value_max, st->value_most);
	st->never_evict = cfg->never_evict;
	st->memory_bytes = cfg->memory_bytes;
	atomic_init(&st->limit_bytes, cfg->memory_bytes);
	st->slab.probation = plan->ghost_groups != 0;
	st->resize.step = plan->bucket_step;
}

static void
bind_cores(struct store *st, struct region *region, uint32_t cores)
{
	st->core_count = cores;
	st->cores = region_take(region, cores * sizeof(struct store_core), CACHE_LINE_BYTES);
	epoch_init(&st->epoch, region, cores);
	for (uint32_t i = 0; i < cores; i++) {
		st->cores[i].store = st;
		st->cores[i].id = i;
		st->cores[i].now_s = STORE_CLOCK_START;
	}
}

struct store *
image_bind(struct region *region, void *image, const struct store_config *cfg,
	   const struct store_plan *plan)
{
	const struct image_parts parts =
		image_parts_of(cfg->memory_bytes, plan->page_count, plan->page_shift, plan->shift);
	struct store *st = image_store(image);
	uint8_t *at = image;

	memset((uint8_t *)st + STORE_KEPT_BYTES, 0, IMAGE_STORE_BYTES - STORE_KEPT_BYTES);
	st->arena = arena_of(at + parts.pages, plan->page_count, plan->page_shift, plan->shift);
	index_bind(&st->ix, &st->arena);
	st->floors = (_Atomic uint64_t *)(void *)(at + parts.floors);
	st->ghosts = (struct ghosts){(struct ghost_group *)(void *)(at + parts.ghosts),
				     plan->ghost_groups};
	slab_init(&st->slab,
		  &(struct slab_tables){(struct page *)(void *)(at + parts.page_table),
					(uint64_t *)(void *)(at + parts.reciprocals),
					(_Atomic uint64_t *)(void *)(at + parts.states)},
		  &st->arena, plan->reserve);
	bind_cores(st, region, cfg->cores);
	configure(st, cfg, plan);
	return st;
}

/* ---- an empty store ---- */

/* Whatever was there is invalid from the first store on, and cannot become valid half-way. */
static void
image_invalidate(void *image)
{
	struct image_header *header = image;

	/* Release: no later store comes before it. */
	atomic_store_explicit(&header->magic, 0, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	memset((uint8_t *)image + sizeof header->magic, 0,
	       IMAGE_STORE_AT + IMAGE_STORE_BYTES + FLOORS * sizeof(uint64_t) -
		       sizeof header->magic);
}

static void
image_validate(void *image, const struct store *st)
{
	struct image_header *header = image;

	header->layout = STORE_IMAGE_LAYOUT;
	header->header_bytes = sizeof *header;
	header->memory_bytes = st->memory_bytes;
	header->seed = st->seed;
	header->shift = st->arena.shift;
	header->page_shift = st->arena.page_shift;
	header->page_count = st->arena.page_count;
	/* Release: the last store; all before it is there. */
	atomic_store_explicit(&header->magic, IMAGE_MAGIC, memory_order_release);
}

static struct store *
create_over(struct region *region, void *image, const struct store_config *cfg,
	    const struct store_plan *plan)
{
	struct store *st;

	image_invalidate(image);
	st = image_bind(region, image, cfg, plan);
	st->seed = cfg->seed;
	slab_fill_pool(&st->slab);
	resize_init(st, plan);
	memset(arena_page(&st->arena, 0), 0, (size_t)st->resize.next_page << plan->page_shift);
	index_init(&st->ix, plan->bucket_count, cfg->seed);
	if (cfg->limit_bytes != 0 && cfg->limit_bytes < cfg->memory_bytes)
		ensure(store_limit_mt(st, cfg->limit_bytes));
	image_validate(image, st);
	return st;
}

struct store *
store_create_in(struct region *region, void *image, const struct store_config *cfg)
{
	const struct store_plan plan = store_plan_of(cfg);

	return create_over(region, image, cfg, &plan);
}

struct store *
store_create_planned(struct region *region, const struct store_config *cfg,
		     const struct store_plan *plan)
{
	void *image = region_take(region, cfg->memory_bytes, CACHE_LINE_BYTES);

	return create_over(region, image, cfg, plan);
}

struct store *
store_create(struct region *region, const struct store_config *cfg)
{
	const struct store_plan plan = store_plan_of(cfg);

	return store_create_planned(region, cfg, &plan);
}
