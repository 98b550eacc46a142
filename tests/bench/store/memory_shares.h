/*
 * memory_shares.h - measures by samples the use of the memory of a store of one core.
 *
 * Shape:  the shares add up to the whole memory. Chunks count as part of their values.
 *
 * Units:  bytes, summed over the samples.
 */
#ifndef CLOCKOO_MEMORY_SHARES_H
#define CLOCKOO_MEMORY_SHARES_H

#include "store/store_state.h"

#include <stdio.h>

#define MEMORY_SHARES(X)                                                                           \
	X(requested) /* headers, keys and values of items in the index */                          \
	X(rounding)  /* the part of their objects beyond that */                                   \
	X(retired)   /* within their grace period, or being filled */                              \
	X(free)      /* free objects of classes, */                                                \
	X(magazines) /* free objects in magazines */                                               \
	X(tails)     /* of pages, after the last object */                                         \
	X(moving)    /* on pages being evacuated, except items in the index */                     \
	X(pool)      /* free pages: the reserve */                                                 \
	X(index)                                                                                   \
	X(ghosts)                                                                                  \
	X(tables) /* header, pages, states */

struct memory_shares {
#define MEMORY_SHARE(name) int64_t name;
	MEMORY_SHARES(MEMORY_SHARE)
#undef MEMORY_SHARE
	int64_t whole;
	uint32_t samples, pages, classes, classes_without_page;
};

static inline void
memory_shares_add_page(struct memory_shares *m, const struct slab *sl, const struct page *p)
{
	const int64_t page_bytes = 1ll << sl->arena->page_shift;
	const struct slab_class *c = &sl->classes[p->class];
	const struct page_load load = slab_page_load(sl, p);

	switch (atomic_load_explicit(&p->state, memory_order_relaxed)) {
	case PAGE_POOL:
		m->pool += page_bytes;
		return;
	case PAGE_INDEX:
		m->index += page_bytes;
		return;
	case PAGE_EVACUATING:
		m->moving += page_bytes - (int64_t)load.live * c->size;
		break;
	case PAGE_CLASS:
		m->free += (int64_t)slab_page_free(p) * c->size;
		m->retired += (int64_t)(p->objects - slab_page_free(p) - load.live) * c->size;
		m->tails += page_bytes - (int64_t)c->per_page * c->size;
		break;
	}
	m->rounding += (int64_t)load.live * c->size;
}

static inline void
memory_shares_add(struct memory_shares *m, struct store *st)
{
	const struct slab *sl = &st->slab;
	const int64_t pages = (int64_t)sl->arena->page_count << sl->arena->page_shift;
	const int64_t ghosts = (int64_t)(st->ghosts.count * sizeof *st->ghosts.groups);

	m->samples++;
	m->pages = sl->arena->page_count;
	m->classes = sl->class_count;
	m->whole += (int64_t)st->memory_bytes;
	m->ghosts += ghosts;
	m->tables += (int64_t)st->memory_bytes - pages - ghosts;
	for (uint32_t i = 0; i < sl->arena->page_count; i++)
		memory_shares_add_page(m, sl, &sl->pages[i]);
	for (uint32_t i = 0; i < sl->class_count; i++) {
		const int64_t held = magazine_count(&st->cores[0].magazines[i]);
		struct store_class_usage usage;

		store_class_usage_mt(st, i + 1, 0, &usage);
		m->requested += (int64_t)usage.item_bytes;
		m->rounding -= (int64_t)usage.item_bytes;
		m->magazines += held * sl->classes[i].size;
		m->retired -= held * sl->classes[i].size;
		m->classes_without_page += slab_class_pages(&sl->classes[i]) == 0;
	}
}

/* Prints one line with each part as a share of the memory. */
static inline void
memory_shares_print(const struct memory_shares *m)
{
	printf("{\"part\": \"shares\", \"pages\": %u, \"classes\": %u, \"without_page\": %.1f",
	       m->pages, m->classes, (double)m->classes_without_page / m->samples);
#define MEMORY_SHARE(name) printf(", \"" #name "\": %.4f", (double)m->name / (double)m->whole);
	MEMORY_SHARES(MEMORY_SHARE)
#undef MEMORY_SHARE
	printf("}\n");
}

#endif
