/*
 * store_image.c - begins an empty image, binds an image to this process, and checks one.
 */
#include "image.h"
#include "store_saved.h"
#include "store/index_owner.h"
#include "store/load_marks.h"
#include "store/resize.h"

#include "base/crc32c.h"

/* Sets the fields that the configuration determines. */
static void
configure(struct store *st, const struct store_config *cfg, const struct store_plan *plan)
{
	st->value_most = store_value_most(cfg);
	atomic_init(&st->value_max, st->value_most);
	st->never_evict = cfg->never_evict;
	st->memory_bytes = cfg->memory_bytes;
	atomic_init(&st->limit_bytes, cfg->memory_bytes);
	st->slab.policy = store_policy(cfg);
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
	if (cfg->never_evict)
		slab_use_no_magazines(&st->slab);
	bind_cores(st, region, cfg->cores);
	load_marks_bind(st, region, cfg);
	st->slab.asked = region_take(region, sizeof *st->slab.asked, CACHE_LINE_BYTES);
	configure(st, cfg, plan);
	for (uint32_t i = 0; i < cfg->cores; i++)
		index_owner_bind(&st->cores[i]);
	return st;
}

/* ---- an empty store ---- */

/* Invalidates the image before anything else is written, so that no later step makes it valid too
 * early. */
static void
image_invalidate(void *image)
{
	struct image_header *header = image;

	/* Release, and a fence: no later store comes before it. */
	atomic_store_explicit(&header->magic, 0, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	memset((uint8_t *)image + sizeof header->magic, 0,
	       IMAGE_STORE_AT + IMAGE_STORE_BYTES + FLOORS * sizeof(uint64_t) -
		       sizeof header->magic);
}

static uint32_t
header_crc(const struct image_header *h)
{
	const size_t from = offsetof(struct image_header, layout);

	return crc32c((const uint8_t *)h + from, offsetof(struct image_header, crc) - from, 0);
}

static uint32_t
classes_crc(uint32_t page_count, uint32_t page_shift, uint32_t shift)
{
	const struct arena arena = arena_of(NULL, page_count, page_shift, shift);
	uint32_t sizes[SLAB_CLASSES_MAX];
	const uint32_t count = slab_class_sizes(&arena, sizes);

	return crc32c(sizes, count * sizeof sizes[0], 0);
}

/* Hashes a text of each length, since XXH3 hashes texts of different lengths in different ways. */
uint32_t
store_hashes_crc(void)
{
	uint8_t text[ITEM_KEY_MAX];
	uint32_t crc = 0;

	for (uint32_t i = 0; i < ITEM_KEY_MAX; i++)
		text[i] = (uint8_t)(i * 37 + 1);
	for (uint32_t len = 1; len <= ITEM_KEY_MAX; len++) {
		const uint64_t hash = hash_bytes(text, len, STORE_IMAGE_MAGIC);

		crc = crc32c(&hash, sizeof hash, crc);
	}
	return crc;
}

static void
image_validate(void *image, const struct store *st)
{
	struct image_header *h = image;

	atomic_store_explicit(&image_left(image)->state, IMAGE_DIRTY, memory_order_relaxed);
	h->layout = STORE_IMAGE_LAYOUT;
	h->header_bytes = sizeof *h;
	h->memory_bytes = st->memory_bytes;
	h->seed = st->seed;
	h->shift = st->arena.shift;
	h->page_shift = st->arena.page_shift;
	h->page_count = st->arena.page_count;
	h->classes_crc = classes_crc(h->page_count, h->page_shift, h->shift);
	h->hashes_crc = store_hashes_crc();
	h->crc = header_crc(h);
	/* Release: the last store, after which everything else is visible. */
	atomic_store_explicit(&h->magic, STORE_IMAGE_MAGIC, memory_order_release);
}

struct store *
image_create(struct region *region, void *image, const struct store_config *cfg,
	     const struct store_plan *plan)
{
	struct store *st;

	image_invalidate(image);
	st = image_bind(region, image, cfg, plan);
	st->seed = cfg->seed;
	slab_fill_pool(&st->slab);
	resize_init(st, plan->bucket_count, plan->bucket_step);
	memset(arena_page(&st->arena, 0), 0, (size_t)st->resize.next_page << plan->page_shift);
	index_init(&st->ix, plan->bucket_count, cfg->seed);
	for (uint32_t i = 0; i < FLOORS; i++)
		atomic_store_explicit(&st->floors[i], cfg->cas_start, memory_order_relaxed);
	if (cfg->limit_bytes != 0 && cfg->limit_bytes < cfg->memory_bytes)
		ensure(store_limit_mt(st, cfg->limit_bytes));
	image_validate(image, st);
	return st;
}

struct store *
store_create_in(struct region *region, void *image, const struct store_config *cfg)
{
	const struct store_plan plan = store_plan_of(cfg);

	return image_create(region, image, cfg, &plan);
}

struct store *
store_create_planned(struct region *region, const struct store_config *cfg,
		     const struct store_plan *plan)
{
	void *image = region_take(region, cfg->memory_bytes, CACHE_LINE_BYTES);

	return image_create(region, image, cfg, plan);
}

struct store *
store_create(struct region *region, const struct store_config *cfg)
{
	const struct store_plan plan = store_plan_of(cfg);

	return store_create_planned(region, cfg, &plan);
}

/* ---- checks of an image ---- */

/* True if this code can work with these figures, which may be any. */
static bool
geometry_is_sound(const struct image_header *h)
{
	if (h->header_bytes != sizeof *h || h->page_shift < SLAB_PAGE_SHIFT_MIN ||
	    h->page_shift > SLAB_PAGE_SHIFT_MAX || h->shift != arena_shift_for(h->memory_bytes) ||
	    h->page_count < 2 || h->page_count > h->memory_bytes >> h->page_shift)
		return false;

	const struct image_parts parts =
		image_parts_of(h->memory_bytes, h->page_count, h->page_shift, h->shift);

	return parts.ghosts <= parts.pages;
}

static enum store_image_fault
fault_of(const struct image_header *h, const struct image_left *left,
	 const struct store_config *cfg)
{
	const uint32_t state = atomic_load_explicit(&left->state, memory_order_relaxed);

	if (atomic_load_explicit(&h->magic, memory_order_relaxed) != STORE_IMAGE_MAGIC)
		return STORE_IMAGE_NONE;
	if (h->layout != STORE_IMAGE_LAYOUT)
		return STORE_IMAGE_OTHER;
	if (h->crc != header_crc(h) || (state != IMAGE_CLEAN && state != IMAGE_DIRTY))
		return STORE_IMAGE_DAMAGED;
	if (h->memory_bytes != cfg->memory_bytes)
		return STORE_IMAGE_RESIZED;
	if (!geometry_is_sound(h))
		return STORE_IMAGE_DAMAGED;
	if (h->hashes_crc != store_hashes_crc() ||
	    h->classes_crc != classes_crc(h->page_count, h->page_shift, h->shift))
		return STORE_IMAGE_UNLIKE;
	return STORE_IMAGE_SOUND;
}

void
store_image_look(const void *head, const struct store_config *cfg, struct store_image_look *out)
{
	const struct image_header *h = head;
	const struct image_left *left = image_left((void *)(uintptr_t)head);

	*out = (struct store_image_look){.fault = fault_of(h, left, cfg)};
	if (out->fault == STORE_IMAGE_NONE)
		return;
	out->layout = h->layout;
	if (out->fault == STORE_IMAGE_OTHER)
		return;
	out->memory_bytes = h->memory_bytes;
	out->seed = h->seed;
	if (out->fault == STORE_IMAGE_SOUND)
		out->kind = atomic_load_explicit(&left->state, memory_order_relaxed) == IMAGE_CLEAN
				    ? STORE_IMAGE_CLEAN
				    : STORE_IMAGE_DIRTY;
}

const char *
store_image_fault_words(enum store_image_fault fault)
{
	static const char *const words[] = {
		[STORE_IMAGE_SOUND] = "sound",
		[STORE_IMAGE_NONE] = "nothing is kept there",
		[STORE_IMAGE_OTHER] = "of another layout",
		[STORE_IMAGE_RESIZED] = "of another size",
		[STORE_IMAGE_UNLIKE] = "of a build with another hash or other size classes",
		[STORE_IMAGE_DAMAGED] = "its header is damaged",
		[STORE_IMAGE_MANY_LOST] = "too many items are damaged",
		[STORE_IMAGE_TANGLED] = "its index cannot be untangled",
	};

	return words[fault];
}

struct store_plan
image_plan(const void *image, const struct store_config *cfg)
{
	const struct image_header *h = image;
	struct store_plan plan = {
		.shift = h->shift, .page_shift = h->page_shift, .page_count = h->page_count};

	store_plan_rest(cfg, &plan);
	return plan;
}

/* ---- sums ---- */

static uint64_t
pieces_of(size_t bytes)
{
	return (bytes + IMAGE_PIECE_BYTES - 1) / IMAGE_PIECE_BYTES;
}

/* Pages whose states make one piece. */
#define STATES_PAGES 64u

struct piece_counts {
	uint64_t tables, states, index;
};

static struct piece_counts
piece_counts_of(const struct store *st, const struct image_parts *parts)
{
	return (struct piece_counts){
		.tables = pieces_of(parts->states - parts->floors),
		.states = (st->arena.page_count + STATES_PAGES - 1) / STATES_PAGES,
		.index = pieces_of(index_bucket_end(&st->ix) * sizeof(struct bucket)),
	};
}

static struct image_parts
parts_of(const struct store *st)
{
	return image_parts_of(st->memory_bytes, st->arena.page_count, st->arena.page_shift,
			      st->arena.shift);
}

/* Returns the checksum of a piece, by its number, of the bytes from start to end. */
static uint32_t
piece_crc(const uint8_t *start, size_t end, uint64_t piece)
{
	const size_t from = piece * (size_t)IMAGE_PIECE_BYTES;
	const size_t len = end - from < IMAGE_PIECE_BYTES ? end - from : IMAGE_PIECE_BYTES;

	return crc32c(start + from, len, 0);
}

static uint32_t
states_crc(const struct slab *sl, uint64_t piece)
{
	const uint64_t first = piece * STATES_PAGES;
	uint32_t crc = 0;

	for (uint64_t n = first; n < first + STATES_PAGES && n < sl->arena->page_count; n++)
		if (slab_page_has_class(sl, &sl->pages[n]))
			crc = crc32c((const void *)&sl->states[n << sl->stride_shift],
				     slab_class_state_words(&sl->classes[sl->pages[n].class]) *
					     sizeof sl->states[0],
				     crc);
	return crc;
}

uint64_t
image_pieces(const struct store *st)
{
	const struct image_parts parts = parts_of(st);
	const struct piece_counts n = piece_counts_of(st, &parts);

	return n.tables + n.states + n.index;
}

uint64_t
image_piece_sum(const struct store *st, uint64_t piece)
{
	const struct image_parts parts = parts_of(st);
	const struct piece_counts n = piece_counts_of(st, &parts);
	const uint8_t *image = (const uint8_t *)st - IMAGE_STORE_AT;
	uint32_t crc;

	if (piece < n.tables)
		crc = piece_crc(image + parts.floors, parts.states - parts.floors, piece);
	else if (piece < n.tables + n.states)
		crc = states_crc(&st->slab, piece - n.tables);
	else
		crc = piece_crc(image + parts.pages,
				index_bucket_end(&st->ix) * sizeof(struct bucket),
				piece - n.tables - n.states);
	return hash_word((uint64_t)crc << 32 | piece, 0);
}
