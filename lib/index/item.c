/*
 * item.c - the fields and the status bits of an item.
 */
#include "item_layout.h"

struct view
item_key(const struct item *it)
{
	return (struct view){item_key_bytes(it), item_key_len(it)};
}

uint32_t
item_flags(const struct item *it)
{
	return item_form(it) & ITEM_HAS_FLAGS ? load_u32(it->body) : 0;
}

uint32_t
item_expiry_s(const struct item *it)
{
	if ((item_form(it) & ITEM_HAS_EXPIRY) == 0)
		return 0;
	/* Relaxed: nothing is read through the expiry. */
	return atomic_load_explicit(item_expiry_at(it), memory_order_relaxed);
}

/* Returns the long cas, which may change while readers read it (item_mark_stale). It is aligned to
 * 4 bytes only, so its halves are loaded one by one, the upper one first. A reader that sees the
 * new upper half sees the new lower half, too. So a mixture is less than the new number, and is
 * refused as an outdated number is. */
static uint64_t
long_cas(const struct item *it)
{
	const _Atomic uint32_t *half = item_cas_halves(it);
	/* Acquire: pairs with the release in set_long_cas. */
	const uint64_t upper = atomic_load_explicit(&half[1], memory_order_acquire);
	const uint64_t lower = atomic_load_explicit(&half[0], memory_order_relaxed);

	/* Acquire: pairs with the release in item_mark_stale. Status bits that are loaded after
	 * this belong to this number, or to a later one. */
	atomic_thread_fence(memory_order_acquire);
	return upper << 32 | lower;
}

static void
set_long_cas(struct item *it, uint64_t cas)
{
	_Atomic uint32_t *half = item_cas_halves(it);

	atomic_store_explicit(&half[0], (uint32_t)cas, memory_order_relaxed);
	/* Release: pairs with the acquire in long_cas. */
	atomic_store_explicit(&half[1], (uint32_t)(cas >> 32), memory_order_release);
}

uint64_t
item_cas(const struct item *it)
{
	if (item_form(it) & ITEM_HAS_LONG)
		return long_cas(it);
	return it->cas_form >> 8;
}

uint32_t
item_value_len(const struct item *it)
{
	if (item_form(it) & ITEM_HAS_LONG)
		return load_u32(item_long_at(it) + offsetof(struct item_long, value_len));
	return item_head(it) >> 8 & ITEM_LEN_MAX;
}

void
item_set_expiry(struct item *it, uint32_t expiry_s)
{
	if (item_form(it) & ITEM_HAS_EXPIRY)
		atomic_store_explicit(item_expiry_at(it), expiry_s, memory_order_relaxed);
}

bool
item_set_cas(struct item *it, uint64_t cas)
{
	if (item_form(it) & ITEM_HAS_LONG) {
		set_long_cas(it, cas);
		return true;
	}
	it->cas_form = (uint32_t)(cas & ITEM_CAS_MAX) << 8 | item_form(it);
	return cas <= ITEM_CAS_MAX;
}

bool
item_is_stale(const struct item *it)
{
	return (item_head(it) & ITEM_STALE) != 0;
}

bool
item_is_won(const struct item *it)
{
	return (item_head(it) & ITEM_WON) != 0;
}

bool
item_key_is_binary(const struct item *it)
{
	return (item_head(it) & ITEM_BINARY_KEY) != 0;
}

bool
item_set_status_once(struct item *it, uint32_t bit)
{
	/* Relaxed: nothing is read through the bit; the word itself decides which core sets it. */
	return (item_head(it) & bit) == 0 &&
	       (atomic_fetch_or_explicit(&it->head, bit, memory_order_relaxed) & bit) == 0;
}
