/*
 * store_plan.c - plans how the memory is divided, and computes how much is needed.
 */
#include "image.h"
#include "slab/eviction.h"
#include "store/load_marks.h"

/* The page size grows, up to a hugepage, while the memory has at least this many pages. */
#define PAGES_WANTED 256u
/* Bytes for the alignment of all parts of the region. */
#define SLACK_BYTES 1024u

static_assert(STORE_MEMORY_MAX <= ARENA_BYTES_MAX, "its pages can be named");

/* Returns the limit for which pages and ghosts are sized; it may be raised later. */
static size_t
limit_of(const struct store_config *cfg)
{
	return cfg->limit_bytes != 0 && cfg->limit_bytes < cfg->memory_bytes ? cfg->limit_bytes
									     : cfg->memory_bytes;
}

uint32_t
store_value_most(const struct store_config *cfg)
{
	const size_t half = cfg->memory_bytes / 2;
	size_t max = (size_t)CHUNKS_MAX * ITEM_CHUNK_PAYLOAD;

	if (half < max)
		max = half;
	return cfg->value_max < max ? cfg->value_max : (uint32_t)max;
}

/* Returns how many pages the chunks and the first object of one value take: a value of the largest
 * size, or of the default size if that is smaller. Larger values wait for memory. */
static uint32_t
reserve_of(const struct store_config *cfg, const struct store_plan *plan)
{
	const uint32_t value_max = store_value_most(cfg);
	const uint32_t chunks =
		(value_max < STORE_VALUE_MAX ? value_max : STORE_VALUE_MAX) / ITEM_CHUNK_PAYLOAD;
	const uint32_t per_page = (1u << plan->page_shift) / ITEM_CHUNK_BYTES;
	const uint32_t pages = (chunks + per_page - 1) / per_page + 1;

	return pages < plan->page_count / 4 ? pages : plan->page_count / 4;
}

const struct eviction_policy *
store_policy(const struct store_config *cfg)
{
	if (cfg->never_evict)
		return &eviction_clock;
	return cfg->eviction != NULL ? cfg->eviction : &eviction_2q;
}

/* Returns how many groups of ghosts fit into the memory that whole pages leave over, but at least
 * those of half of the ghosts' share. */
static uint32_t
ghost_groups(const struct store_config *cfg, size_t left_over)
{
	const size_t most = limit_of(cfg) / GHOST_PART;

	if (!store_policy(cfg)->has_ghosts)
		return 0;
	return (uint32_t)((left_over < most ? left_over : most) / sizeof(struct ghost_group));
}

size_t
image_fixed_bytes(void)
{
	/* Each table begins at a cache line. */
	return IMAGE_STORE_AT + IMAGE_STORE_BYTES + FLOORS * sizeof(uint64_t) + IMAGE_RECORD_BYTES +
	       4 * CACHE_LINE_BYTES;
}

struct image_parts
image_parts_of(size_t memory_bytes, uint32_t page_count, uint32_t page_shift, uint32_t shift)
{
	const size_t words = slab_state_words(page_shift, shift);
	struct image_parts p = {.floors = IMAGE_STORE_AT + IMAGE_STORE_BYTES};

	p.record = p.floors + FLOORS * sizeof(uint64_t);
	p.reciprocals = p.record + IMAGE_RECORD_BYTES;
	p.page_table = align_up(p.reciprocals + page_count * sizeof(uint64_t), CACHE_LINE_BYTES);
	p.states = align_up(p.page_table + page_count * sizeof(struct page), CACHE_LINE_BYTES);
	p.ghosts = p.states + page_count * words * sizeof(uint64_t);
	p.pages = (memory_bytes >> page_shift << page_shift) - ((size_t)page_count << page_shift);
	return p;
}

void
store_plan_rest(const struct store_config *cfg, struct store_plan *plan)
{
	const struct image_parts parts =
		image_parts_of(cfg->memory_bytes, plan->page_count, plan->page_shift, plan->shift);

	plan->ghost_groups = ghost_groups(cfg, parts.pages - parts.ghosts);
	plan->bucket_step = (uint32_t)((1ull << plan->page_shift) / sizeof(struct bucket));
	plan->bucket_count = plan->bucket_step;
	plan->reserve = reserve_of(cfg, plan);
}

struct store_plan
store_plan_of(const struct store_config *cfg)
{
	struct store_plan plan = {.shift = arena_shift_for(cfg->memory_bytes),
				  .page_shift = SLAB_PAGE_SHIFT_MIN};

	ensure(cfg->memory_bytes >= STORE_MEMORY_MIN && cfg->memory_bytes <= STORE_MEMORY_MAX);
	ensure(cfg->cores >= 1 && cfg->cores - cfg->loads <= STORE_CORES_MAX);
	while (plan.page_shift < SLAB_PAGE_SHIFT_MAX &&
	       limit_of(cfg) >> (plan.page_shift + 1) >= PAGES_WANTED)
		plan.page_shift++;

	const size_t page_bytes =
		slab_bytes_per_page(plan.page_shift, plan.shift) + (1ull << plan.page_shift);
	/* The pages end where the memory ends, and begin at multiples of their size. */
	const size_t whole = cfg->memory_bytes >> plan.page_shift << plan.page_shift;
	const size_t ghosts = limit_of(cfg) / GHOST_PART;

	plan.page_count = (uint32_t)((whole - image_fixed_bytes() - ghosts / 2) / page_bytes);
	store_plan_rest(cfg, &plan);
	return plan;
}

size_t
store_private_bytes(const struct store_config *cfg)
{
	return sizeof(struct asked) + cfg->cores * sizeof(struct store_core) +
	       epoch_bytes(cfg->cores) + load_marks_bytes(cfg) + STORE_OPENING_BYTES + SLACK_BYTES;
}

size_t
store_bytes(const struct store_config *cfg)
{
	return cfg->memory_bytes + store_private_bytes(cfg);
}
