/*
 * item_layout.h - the addresses and sizes of an item's parts, for the store's own files.
 *
 * Shape:  a chunked item's value is in chunks of ITEM_CHUNK_BYTES, the last one in the smallest
 *         class that holds it. References to them follow the key. A chunk has a reference to its
 *         item, so that a hand, which passes objects page by page, finds the item of a chunk.
 *
 * Thread: pure functions of an item that the caller may read.
 */
#ifndef CLOCKOO_ITEM_LAYOUT_H
#define CLOCKOO_ITEM_LAYOUT_H

#include "item.h"
#include "base/copy.h"
#include "base/vec16.h"
#include "slab/arena.h"
#include "slab/slab_sizes.h"

#define ITEM_UNCHUNKED_MAX SLAB_OBJECT_MAX          /* bytes of an item that is not chunked */
#define ITEM_CAS_MAX       ((1u << 24) - 1)         /* the largest short cas */
#define ITEM_LEN_MAX       (ITEM_PIN_MIN_BYTES - 1) /* the largest short value length */
#define ITEM_FORM_SHAPE    0x0fu
#define ITEM_FLUSH_MASK    0x0fu

static_assert(ITEM_LEN_MAX << 8 < 1u << ITEM_REFERENCE_STAMP_SHIFT,
	      "a short length stays below the stamp");

#define ITEM_CHUNK_BYTES   SLAB_OBJECT_MAX
#define ITEM_CHUNK_PAYLOAD (ITEM_CHUNK_BYTES - (uint32_t)sizeof(struct item_chunk))

/* A chunk begins with a marker whose low byte is 0. An item has its key length there, which is
 * never 0. */
struct item_chunk {
	_Atomic uint32_t marker; /* 0 */
	uint32_t owner;          /* reference of the item that the chunk belongs to */
	uint8_t bytes[];
};
static_assert(sizeof(struct item_chunk) == 8, "payload stays aligned");

static inline uint32_t
item_form(const struct item *it)
{
	return it->cas_form & 0xff;
}

static inline uint32_t
item_head(const struct item *it)
{
	/* Relaxed: lengths never change, and nothing is read through a status bit. */
	return atomic_load_explicit(&it->head, memory_order_relaxed);
}

static inline uint32_t
item_key_len(const struct item *it)
{
	return item_head(it) & 0xff;
}

static inline uint32_t
item_status_bits(const struct item *it)
{
	return item_head(it) >> ITEM_STATUS_SHIFT << ITEM_STATUS_SHIFT;
}

/* Sets the head of an unpublished item. A value length that does not fit is stored in the long
 * part. */
static inline void
item_set_head(struct item *it, uint32_t status, uint32_t value_len, uint32_t key_len)
{
	atomic_store_explicit(&it->head, status | (value_len & ITEM_LEN_MAX) << 8 | key_len,
			      memory_order_relaxed);
}

/* Returns the bytes of the optional fields of a form. */
static inline uint32_t
form_bytes(uint32_t form)
{
	if (likely((form & ITEM_FORM_SHAPE) == 0))
		return 0;
	return ((form & ITEM_HAS_FLAGS) << 2) + ((form & ITEM_HAS_EXPIRY) << 1) +
	       ((form & ITEM_HAS_LONG) << 2);
}
static_assert(ITEM_HAS_FLAGS << 2 == 4 && ITEM_HAS_EXPIRY << 1 == 4 &&
		      ITEM_HAS_LONG << 2 == sizeof(struct item_long),
	      "form_bytes turns bits into sizes");

static inline const uint8_t *
item_key_bytes(const struct item *it)
{
	return it->body + form_bytes(item_form(it));
}

static inline bool
words_same(const uint8_t *a, const uint8_t *b, uint32_t at)
{
	return vec16_signs(vec16_equal_8(vec16_load(a + at), vec16_load(b + at))) == 0xffff;
}

/* memcmp(a, b, len) == 0 for len > 0, inlined: keys are short, and a call costs as much as
 * comparing. The last two words overlap, so that nothing past the end is read. */
static inline bool
bytes_same(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	if (len >= 16) {
		for (uint32_t at = 0; at + 16 < len; at += 16)
			if (!words_same(a, b, at))
				return false;
		return words_same(a, b, len - 16);
	}
	if (len >= 8)
		return ((load_u64(a) ^ load_u64(b)) |
			(load_u64(a + len - 8) ^ load_u64(b + len - 8))) == 0;
	if (len >= 4)
		return ((load_u32(a) ^ load_u32(b)) |
			(load_u32(a + len - 4) ^ load_u32(b + len - 4))) == 0;
	/* At most three words remain. The comparisons of the first, the middle and the last cover
	 * them. */
	return a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1];
}

static inline bool
item_has_key(const struct item *it, struct view key)
{
	return item_key_len(it) == key.len && bytes_same(item_key_bytes(it), key.data, key.len);
}

/* True if the item has a key of this length, no optional field, no chunks, this flush generation
 * and this reference stamp. */
static inline bool
item_is_fast_hit(const struct item *it, uint32_t key_len, uint32_t generation, uint32_t stamp)
{
	return (((item_head(it) ^ (stamp | key_len)) & (ITEM_REFERENCE_STAMP | 0xff)) |
		((it->cas_form ^ generation << ITEM_FLUSH_SHIFT) & 0xff)) == 0;
}

/* Returns the address of the field in an item whose form has it. */
static inline uint8_t *
item_long_at(const struct item *it)
{
	return (uint8_t *)it->body + form_bytes(item_form(it) & (ITEM_HAS_FLAGS | ITEM_HAS_EXPIRY));
}

static inline _Atomic uint32_t *
item_expiry_at(const struct item *it)
{
	return (_Atomic uint32_t *)(void *)((uint8_t *)it->body +
					    form_bytes(item_form(it) & ITEM_HAS_FLAGS));
}

static inline _Atomic uint32_t *
item_pins_at(const struct item *it)
{
	return (_Atomic uint32_t *)(void *)(item_long_at(it) + offsetof(struct item_long, pins));
}

/* Returns the two halves of the long cas, the lower one first. */
static inline _Atomic uint32_t *
item_cas_halves(const struct item *it)
{
	return (_Atomic uint32_t *)(void *)(item_long_at(it) + offsetof(struct item_long, cas));
}

/* Returns the value of an unchunked item, or the chunk references of a chunked one. */
static inline uint8_t *
item_tail(const struct item *it)
{
	return (uint8_t *)item_key_bytes(it) + item_key_len(it);
}

static inline uint32_t
item_chunk_count(uint32_t value_len)
{
	return (value_len + ITEM_CHUNK_PAYLOAD - 1) / ITEM_CHUNK_PAYLOAD;
}

static inline uint32_t
item_chunk_ref(const struct item *it, uint32_t i)
{
	return load_u32(item_tail(it) + i * sizeof(uint32_t));
}

/* Returns the value's bytes in chunk i. */
static inline uint32_t
item_chunk_len(uint32_t value_len, uint32_t i)
{
	const uint32_t left = value_len - i * ITEM_CHUNK_PAYLOAD;

	return left < ITEM_CHUNK_PAYLOAD ? left : ITEM_CHUNK_PAYLOAD;
}

/* Returns the bytes of the item itself, without its chunks. */
static inline uint32_t
item_head_bytes(uint32_t form, uint32_t key_len, uint32_t value_len)
{
	const uint32_t head = (uint32_t)sizeof(struct item) + form_bytes(form) + key_len;

	if (form & ITEM_IS_CHUNKED)
		return head + item_chunk_count(value_len) * (uint32_t)sizeof(uint32_t);
	return head + value_len;
}

/* Returns the form with which an item of this size is stored. */
static inline uint32_t
form_cut(uint32_t form, uint32_t key_len, uint32_t value_len)
{
	const bool cut = item_head_bytes(form, key_len, value_len) > ITEM_UNCHUNKED_MAX;

	return form | (cut ? ITEM_IS_CHUNKED : 0);
}

/* Returns the bytes of an item without optional fields. */
static inline uint32_t
item_simple_bytes(const struct item *it)
{
	const uint32_t head = item_head(it);

	return (uint32_t)sizeof(struct item) + (head & 0xff) + (head >> 8 & ITEM_LEN_MAX);
}

/* True if the item is past its expiry; 0 is never. */
static inline bool
item_expired(const struct item *it, uint32_t now_s)
{
	if ((item_form(it) & ITEM_HAS_EXPIRY) == 0)
		return false;

	/* Relaxed: nothing is read through the expiry, which store_touch writes. */
	const uint32_t at = atomic_load_explicit(item_expiry_at(it), memory_order_relaxed);

	return at != 0 && at <= now_s;
}

static inline bool
item_flushed(const struct item *it, uint32_t generation)
{
	return ((item_form(it) >> ITEM_FLUSH_SHIFT) ^ generation) & ITEM_FLUSH_MASK;
}

void item_set_expiry(struct item *it, uint32_t expiry_s);
/* Sets the cas of an item. False: the number needs the long part, which the item lacks. */
bool item_set_cas(struct item *it, uint64_t cas);
/* Sets a status bit. False: it was set already. */
bool item_set_status_once(struct item *it, uint32_t bit);

#endif
