/*
 * item_access.c - an item's objects, its value in chunks and its reference bits.
 */
#include "item_access.h"
#include "slab/eviction.h"

enum ghost
item_take_ghost(struct store_core *sc, uint32_t class, struct ghost_group *ghosts, uint64_t hash)
{
	const enum ghost ghost = ghost_take(ghosts, hash);

	if (likely(ghost == GHOST_NONE))
		return ghost;

	struct slab_class *c = &sc->store->slab.classes[class];

	atomic_fetch_add_explicit(&c->passed, PASSED_USED, memory_order_relaxed);
	evictions_returned(ghost == GHOST_OF_NEW ? &c->evictions.of_new : &c->evictions.of_kept);
	count(sc, STORE_GHOSTS_RETURNED, ghost == GHOST_OF_NEW);
	return ghost;
}

void
item_judge_newcomer(struct store_core *sc)
{
	const struct newcomer n = sc->newcomer;
	struct slab *sl = &sc->store->slab;
	const uint32_t class = slab_class_of_ref(sl, n.ref);

	sc->newcomer.ghosts = NULL;
	eviction_stored(sl, n.hash);

	const enum ghost ghost = item_take_ghost(sc, class, n.ghosts, n.hash);

	if (unlikely(ghost != GHOST_NONE) && sl->policy->returned(ghost) == OBJECT_KEPT)
		slab_end_probation(sl, n.ref);
}

void
item_apply_referenced(struct store_core *sc)
{
	if (sc->newcomer.ghosts != NULL)
		item_judge_newcomer(sc);
	for (uint32_t i = 0; i < sc->referenced_pending_count; i++)
		slab_set_referenced(&sc->store->slab, sc->referenced_pending[i]);
	sc->referenced_pending_count = 0;
}

void
item_set_reference_stamp(struct store_core *sc, struct item *it, uint32_t ref, uint32_t stamp)
{
	uint32_t head = item_head(it);

	if (sc->referenced_pending_count == REFERENCED_PENDING_MAX)
		item_apply_referenced(sc);
	slab_prefetch_state(&sc->store->slab, ref);
	sc->referenced_pending[sc->referenced_pending_count++] = ref;
	/* Relaxed: nothing is read through the stamp. Tried once: it fails if another reader has
	 * just stamped the item or set a status bit, and then the next use stamps it. */
	atomic_compare_exchange_strong_explicit(
		&it->head, &head, (head & ~ITEM_REFERENCE_STAMP) | stamp | ITEM_FETCHED,
		memory_order_relaxed, memory_order_relaxed);
}

bool
store_win(struct store_core *sc, const struct item *it)
{
	return item_set_status_once((struct item *)it, ITEM_WON);
}

/* Marks the old version as won, so that no reader of it wins from now on, and passes the right to
 * win to the new version. A reader of the old version may then learn that another one has won
 * although none has; the next reader wins. */
uint32_t
item_hand_over(struct item *old, uint32_t inherit)
{
	uint32_t head = item_head(old);

	protocol_gap();
	if ((inherit & ITEM_WON) != 0)
		head = atomic_fetch_or_explicit(&old->head, ITEM_WON, memory_order_relaxed);
	return head & inherit;
}

void
item_mark_stale(struct item *it, uint64_t cas)
{
	atomic_fetch_or_explicit(&it->head, ITEM_STALE | ITEM_WON, memory_order_relaxed);
	protocol_gap();
	/* Release: a reader that has loaded the new number sees the marks (item_cas). */
	atomic_thread_fence(memory_order_release);
	item_set_cas(it, cas);
	/* Relaxed: a reader with the old number may still win the new version, as may one that
	 * comes between the two stores. */
	atomic_fetch_and_explicit(&it->head, ~ITEM_WON, memory_order_relaxed);
}

/* Returns the address of the value's byte at this offset. *len: how many bytes are contiguous
 * there. */
static uint8_t *
value_at(const struct store *st, const struct item *it, uint32_t offset, uint32_t *len)
{
	const uint32_t value_len = item_value_len(it);

	if ((item_form(it) & ITEM_IS_CHUNKED) == 0) {
		*len = value_len - offset;
		return item_tail(it) + offset;
	}

	const uint32_t i = offset / ITEM_CHUNK_PAYLOAD;
	const uint32_t within = offset % ITEM_CHUNK_PAYLOAD;
	struct item_chunk *c = arena_at(&st->arena, item_chunk_ref(it, i));

	*len = item_chunk_len(value_len, i) - within;
	return c->bytes + within;
}

struct view
item_value_at(const struct store *st, const struct item *it, uint32_t offset)
{
	struct view v;

	v.data = value_at(st, it, offset, &v.len);
	return v;
}

void
item_write(const struct store *st, struct item *it, uint32_t offset, struct view bytes)
{
	if (likely((item_form(it) & ITEM_IS_CHUNKED) == 0)) {
		bytes_copy(item_tail(it) + offset, bytes.data, bytes.len);
		return;
	}
	while (bytes.len != 0) {
		uint32_t space;
		uint8_t *to = value_at(st, it, offset, &space);
		const uint32_t n = bytes.len < space ? bytes.len : space;

		memcpy(to, bytes.data, n);
		offset += n;
		bytes.data += n;
		bytes.len -= n;
	}
}

void
item_write_value(const struct store *st, struct item *to, uint32_t offset, const struct item *from)
{
	const uint32_t len = item_value_len(from);

	for (uint32_t at = 0; at < len;) {
		const struct view run = item_value_at(st, from, at);

		item_write(st, to, offset + at, run);
		at += run.len;
	}
}

bool
item_reshape(const struct store *st, struct item *it, uint32_t form, uint32_t value_len)
{
	const uint32_t now = item_form(it) & ITEM_FORM_SHAPE;
	const uint32_t key_len = item_key_len(it);

	if (now == form && item_value_len(it) == value_len)
		return true;
	if (((now | form) & ITEM_IS_CHUNKED) != 0 ||
	    item_head_bytes(form, key_len, value_len) >
		    slab_size_of_ref(&st->slab, item_ref(st, it)))
		return false;
	memmove(it->body + form_bytes(form), item_key_bytes(it), key_len);
	item_set_head(it, 0, value_len, key_len);
	it->cas_form = form;
	memset(it->body, 0, form_bytes(form));
	if (form & ITEM_HAS_LONG)
		memcpy(item_long_at(it) + offsetof(struct item_long, value_len), &value_len,
		       sizeof value_len);
	return true;
}

void
store_pin(const struct item *it)
{
	/* Relaxed: the pin must be visible before this core's next quiescent state, which is a
	 * release (item_pinned). */
	if (item_form(it) & ITEM_HAS_LONG)
		atomic_fetch_add_explicit(item_pins_at(it), 1, memory_order_relaxed);
}

void
store_unpin(const struct item *it)
{
	/* Release: pairs with the acquire in item_pinned, so this core has read the bytes before
	 * they are freed. */
	if (item_form(it) & ITEM_HAS_LONG)
		atomic_fetch_sub_explicit(item_pins_at(it), 1, memory_order_release);
}

/* ---- all objects of an item ---- */

void
item_free_objects(struct store_core *sc, struct item *it, uint32_t chunks)
{
	for (uint32_t i = 0; i < chunks; i++)
		slab_free(&sc->store->slab, sc->magazines, item_chunk_ref(it, i));
	slab_free(&sc->store->slab, sc->magazines, item_ref(sc->store, it));
}

void
item_free(struct store_core *sc, struct item *it)
{
	item_free_objects(sc, it, item_chunks(it));
}

uint64_t
item_memory(const struct store *st, const struct item *it)
{
	const uint32_t chunks = item_chunks(it);
	uint64_t bytes = slab_size_of_ref(&st->slab, item_ref(st, it));

	for (uint32_t i = 0; i < chunks; i++)
		bytes += slab_size_of_ref(&st->slab, item_chunk_ref(it, i));
	return bytes;
}

__attribute__((noinline)) void
item_count_parts(struct store *st, const struct item *it, uint32_t chunks, int32_t by)
{
	const uint32_t parts[] = {item_ref(st, it), item_chunk_ref(it, chunks - 1)};

	for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		atomic_fetch_add_explicit(
			&st->slab.classes[slab_class_of_ref(&st->slab, parts[i])].value_parts, by,
			memory_order_relaxed);
}

static void
note_due(struct store *st, const struct item *it)
{
	const uint32_t at_s = item_expiry_s(it), chunks = item_chunks(it);

	if (at_s == 0)
		return;
	slab_note_due(&st->slab, item_ref(st, it), at_s);
	for (uint32_t i = 0; i < chunks; i++)
		slab_note_due(&st->slab, item_chunk_ref(it, i), at_s);
}

void
item_set_live(struct store *st, struct item *it, enum object_state state)
{
	const uint32_t chunks = item_chunks(it);

	if (unlikely(chunks != 0))
		item_count_parts(st, it, chunks, 1);
	slab_set_live(&st->slab, item_ref(st, it), state);
	for (uint32_t i = 0; i < chunks; i++)
		slab_set_live(&st->slab, item_chunk_ref(it, i), state);
	if (unlikely((item_form(it) & ITEM_HAS_EXPIRY) != 0))
		note_due(st, it);
}

void
item_note_due(struct store *st, const struct item *it)
{
	/* Pairs with the fence in due_hand.c, where the hand clears a page's note: either the hand
	 * sees the new expiry, or this core sees that the note is cleared. */
	atomic_thread_fence(memory_order_seq_cst);
	note_due(st, it);
}

void
item_clear_live(struct store *st, struct item *it)
{
	const uint32_t chunks = item_chunks(it);

	if (unlikely(chunks != 0))
		item_count_parts(st, it, chunks, -1);
	slab_clear_live(&st->slab, item_ref(st, it));
	for (uint32_t i = 0; i < chunks; i++)
		slab_clear_live(&st->slab, item_chunk_ref(it, i));
}

void
item_set_chunks_referenced(const struct store *st, const struct item *it)
{
	const uint32_t chunks = item_chunks(it);

	for (uint32_t i = 0; i < chunks; i++)
		slab_set_referenced(&st->slab, item_chunk_ref(it, i));
}
