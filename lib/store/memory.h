/*
 * memory.h - allocates objects for new items.
 *
 * Thread: the core named.
 *
 * Errors: NULL: no memory. memory_is_coming says whether to wait.
 */
#ifndef CLOCKOO_MEMORY_H
#define CLOCKOO_MEMORY_H

#include "store_state.h"

/* Makes an item with its header, key and chunks. Its value is not written. */
struct item *item_new(struct store_core *sc, struct view key, uint32_t value_len, uint32_t form);

/* Makes an item without optional fields if this core's magazine has an object for it; otherwise
 * returns NULL. *class: the class of that object. */
static inline struct item *
item_new_fast(struct store_core *sc, struct view key, uint32_t value_len, uint32_t *class)
{
	const uint32_t bytes = (uint32_t)sizeof(struct item) + key.len + value_len;

	if (unlikely(value_len > ITEM_LEN_MAX))
		return NULL;
	*class = slab_class_for(&sc->store->slab, bytes);

	struct magazine *m = &sc->magazines[*class];
	const uint32_t count = magazine_count(m);

	if (unlikely(count == 0))
		return NULL;
	magazine_set(m, count - 1);

	struct item *it = item_at(sc->store, m->ref[count - 1]);

	item_set_head(it, 0, value_len, key.len);
	it->cas_form = 0;
	bytes_copy(it->body, key.data, key.len);
	return it;
}

/* Evicts ahead of need in the class whose items this core retired last. Called in each turn in
 * which the core retired something. */
void memory_turn(struct store_core *sc);
/* True if memory for an item_new that has failed becomes free some turns later. */
bool memory_is_coming(const struct store_core *sc, uint32_t bytes);
/* Returns how many chunks a value may have: those that fit into all memory, without the index, the
 * reserve and some pages for other classes. */
uint32_t memory_chunks_max(const struct store_core *sc);
/* Returns the bytes of the first object that item_new allocates. */
uint32_t item_first_bytes(uint32_t form, uint32_t key_len, uint32_t value_len);

#endif
