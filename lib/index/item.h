/*
 * item.h - an item: the layout of a key and its value in the arena.
 *
 * Shape:  8 bytes of header; the optional fields that its form names, in this order; the key; the
 *         value, or, if the item is chunked, references to the chunks that hold it. There is no
 *         padding between fields; the whole is padded to the object size of its slab class.
 *
 *           0             4  5       8
 *           |kl|vl:10|cs:10|st:4|fm| cas:24 | flags:4? | expiry:4? | long:16? | key | value...
 *
 *         kl: key length; vl: short value length; cs: reference stamp; st: status bits; fm: form.
 *
 * Units:  expiry in seconds on the store's clock; 0 or absent is never.
 *
 * Owner:  the store. A reader may read an item until its core's next store_turn(), and the value of
 *         a pinned item until store_unpin().
 *
 * Thread: immutable once published, except for three atomic words: the expiry, which a touch
 *         writes; the pin count in the long part; and the first word, in which any reader may set
 *         ITEM_FETCHED and ITEM_WON, which stay, and bring the reference stamp up to date. A large
 *         item that is marked as stale in place (item_mark_stale) loses ITEM_WON and gets another
 *         cas.
 *
 * Bounds: keys of 1..ITEM_KEY_MAX bytes. A value length of ITEM_PIN_MIN_BYTES or more is in the
 *         long part, as is a cas of more than 24 bits.
 *
 * The cas is a number, not a hash. A new version's is above the old version's and above the key's
 * floor. The floor is at least the cas of each item that was removed, or replaced by one with a
 * client's own number (conditional.h). So the store never gives a key a number that the key had
 * before.
 */
#ifndef CLOCKOO_ITEM_H
#define CLOCKOO_ITEM_H

#include "base/bytes.h"
#include "base/check.h"

#include <stdatomic.h>
#include <stdbool.h>

#define ITEM_KEY_MAX 250u

/* Items with values of this size or more have a pin count, so that replies can send them in
 * place. */
#define ITEM_PIN_MIN_BYTES 1024u

enum item_form {
	ITEM_HAS_FLAGS = 1u << 0,
	ITEM_HAS_EXPIRY = 1u << 1,
	ITEM_HAS_LONG = 1u << 2, /* long cas, long length, pin count */
	ITEM_IS_CHUNKED = 1u << 3,
	ITEM_FLUSH_SHIFT = 4, /* bits 4..7: flush generation in which the item was stored */
};

/* Layout of an item's first word, from the bottom: key length, short value length, reference stamp,
 * status bits. The stamp says when the reference bit was last set (slab_states.h); 0: never. */
#define ITEM_REFERENCE_STAMP_SHIFT 18u
#define ITEM_REFERENCE_STAMP_MAX   1023u
#define ITEM_REFERENCE_STAMP       (ITEM_REFERENCE_STAMP_MAX << ITEM_REFERENCE_STAMP_SHIFT)
#define ITEM_STATUS_SHIFT          28u
enum item_status {
	ITEM_FETCHED = 1u << 28,    /* read or touched since it was stored */
	ITEM_WON = 1u << 29,        /* a reader was asked to make a new value */
	ITEM_STALE = 1u << 30,      /* a client marked the value as out of date */
	ITEM_BINARY_KEY = 1u << 31, /* the client wrote the key in base64 */
	ITEM_STATUS_MASK = 0xfu << 28,
};

struct item {
	_Atomic uint32_t head; /* status | stamp | short value length << 8 | key length */
	uint32_t cas_form;     /* cas << 8 | form */
	uint8_t body[];
};
static_assert(sizeof(struct item) == 8, "the common header is 8 bytes");

/* Present if the value has ITEM_PIN_MIN_BYTES or more, or the cas more than 24 bits. */
struct item_long {
	uint64_t cas;
	uint32_t value_len;
	_Atomic uint32_t pins;
};
static_assert(sizeof(struct item_long) == 16, "stands inside items");

struct view item_key(const struct item *it);
uint32_t item_flags(const struct item *it);
uint32_t item_expiry_s(const struct item *it);
uint64_t item_cas(const struct item *it);
uint32_t item_value_len(const struct item *it);
bool item_is_stale(const struct item *it);
bool item_is_won(const struct item *it);
bool item_key_is_binary(const struct item *it);

#endif
