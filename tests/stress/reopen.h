/*
 * reopen.h - copies a store's image to another address, and opens it there as another process
 * would.
 *
 * Owner:  the memory of a struct reopened, until reopen_end.
 *
 * Thread: one.
 */
#ifndef CLOCKOO_REOPEN_H
#define CLOCKOO_REOPEN_H

#include "image/image.h"
#include "slab/slab_pages.h"

#include <stdlib.h>
#include <sys/mman.h>

struct reopened {
	uint8_t *image;
	size_t image_bytes;
	void *beside;
	size_t beside_bytes;
	struct store_opening *open; /* an opening under way; NULL until it has begun */
	struct store *store;        /* NULL: refused */
	struct store_image_look look;
	struct store_open_report report;
};

static inline uint8_t *
reopen_image_of(struct store *st)
{
	return (uint8_t *)st - IMAGE_STORE_AT;
}

/* Opens an image in place. */
static inline void
reopen_at(struct reopened *r, uint8_t *image, const struct store_config *cfg, uint32_t now_s)
{
	struct region region = {.size = store_private_bytes(cfg)};
	enum store_open_phase phase;

	*r = (struct reopened){.image = image, .image_bytes = cfg->memory_bytes};
	store_image_look(image, cfg, &r->look);
	if (r->look.kind == STORE_IMAGE_EMPTY)
		return;
	r->beside = region.base = aligned_alloc(CACHE_LINE_BYTES, align_up(region.size, 64));
	r->beside_bytes = region.size;
	memset(r->beside, 0xa5, region.size);
	r->open = store_open(&region, image, cfg, now_s);
	do {
		while (store_open_step_mt(r->open))
			;
		phase = store_open_next(r->open);
	} while (!store_open_has_ended(phase));
	store_open_report_mt(r->open, &r->report);
	if (phase == STORE_OPEN_DONE)
		r->store = store_open_store(r->open);
}

/* Returns a copy of the image elsewhere; fields that no successor may rely on are overwritten. */
static inline uint8_t *
reopen_copy(struct store *st, const struct store_config *cfg)
{
	uint8_t *image = mmap(NULL, cfg->memory_bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const struct image_parts parts = image_parts_of(cfg->memory_bytes, st->arena.page_count,
							st->arena.page_shift, st->arena.shift);

	ensure(image != MAP_FAILED);
	memcpy(image, reopen_image_of(st), parts.ghosts);
	memcpy(image + parts.pages, st->arena.base, cfg->memory_bytes - parts.pages);
	return image;
}

static inline void
reopen(struct reopened *r, struct store *st, const struct store_config *cfg, uint32_t now_s)
{
	reopen_at(r, reopen_copy(st, cfg), cfg, now_s);
}

static inline void
reopen_end(struct reopened *r)
{
	munmap(r->image, r->image_bytes);
	free(r->beside);
}

/* Checks the pages of a store that has just been opened. Each object of each page must be live, on
 * the page's list of free ones, or never allocated; and the counts must agree. Returns the words of
 * the error, or NULL. */
static inline const char *
reopen_look_at_pages(const struct store *st)
{
	const struct slab *sl = &st->slab;
	uint32_t pages[SLAB_CLASSES_MAX] = {0}, free_of[SLAB_CLASSES_MAX] = {0}, pool = 0;

	for (uint32_t n = 0; n < sl->arena->page_count; n++) {
		const struct page *p = &sl->pages[n];
		uint32_t ref = p->free_head, listed = 0;

		pool += p->state == PAGE_POOL;
		if (p->state != PAGE_CLASS)
			continue;
		pages[p->class]++;
		free_of[p->class] += slab_page_free(p);
		for (; ref != 0 && listed <= p->objects; listed++) {
			if (slab_page_of(sl, ref) != n || slab_state(sl, ref) != OBJECT_OUT)
				return "a free object is live, or of another page";
			ref = load_u32(arena_at(sl->arena, ref));
		}
		if (listed != p->free_count ||
		    slab_page_load(sl, p).live + slab_page_free(p) != p->objects)
			return "objects of a page are neither live nor free, or both";
	}
	if (pool != sl->pool_count)
		return "the pool counts other pages than it has";
	for (uint32_t i = 0; i < sl->class_count; i++)
		if (pages[i] != slab_class_pages(&sl->classes[i]) ||
		    free_of[i] != sl->classes[i].free_count)
			return "a class counts other objects than it has";
	return NULL;
}

#endif
