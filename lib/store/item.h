/*
 * item.h - one stored object as it lies in the arena.
 *
 * Shape:  8 bytes of header, then only the optional fields its form names, in this
 *         order, then the key, then the value (or, for a chunked item, references to
 *         the chunks that hold it). Nothing is padded but the object's slab class.
 *
 *           0            4        7   8
 *           |kl|vl:10|st:10|mk:4| fm | cas:24 | flags:4? | expiry:4? | long:16? | key | value...
 *
 * Units:  expiry in seconds on the store's clock, 0 or absent = never.
 * Owner:  the store. A reader may look at an item until its core's next store_turn(), longer only
 *         under store_pin().
 * Thread: immutable once published, but for three atomic words: expiry (touch writes it in place),
 *         the pin count in the long part, and status bits and reference stamp in the first:
 *         ITEM_FETCHED and ITEM_WON may be set by any reader, and are never cleared; a reader
 *         writes the reference stamp where it is not the store's (slab.h).
 * Bounds: key 1..ITEM_KEY_MAX bytes; the cas overflows into the long part, and the length is there
 *         from ITEM_PIN_MIN_BYTES on.
 *
 * cas: a short cas is exact, not a hash. A new version of a key takes the old one's
 * plus 1; a key that is not there starts above the store's floor, which no removed
 * item ever exceeded. So no key ever sees a number twice, and versions only grow;
 * but where a client chooses the numbers (conditional.h), they are what it chooses.
 */
#ifndef CLOCKOO_ITEM_H
#define CLOCKOO_ITEM_H

#include "base/bytes.h"
#include "base/check.h"

#include <stdatomic.h>

#define ITEM_KEY_MAX 250u

/* Values from this size on carry a pin count: replies send them from where they lie. */
#define ITEM_PIN_MIN_BYTES 1024u

enum item_form {
	ITEM_HAS_FLAGS = 1u << 0,
	ITEM_HAS_EXPIRY = 1u << 1,
	ITEM_HAS_LONG = 1u << 2, /* long cas, long length, pin count */
	ITEM_IS_CHUNKED = 1u << 3,
	ITEM_FLUSH_SHIFT = 4, /* bits 4..7: the flush generation it was stored in */
};

/* In the first word, above a short value length: when CLOCK was last told of a use (slab.h); 0 is
 * never. Above that, the marks. */
#define ITEM_CLOCK_STAMP_SHIFT 18u
#define ITEM_CLOCK_STAMP_MAX   1023u
#define ITEM_CLOCK_STAMP       (ITEM_CLOCK_STAMP_MAX << ITEM_CLOCK_STAMP_SHIFT)
#define ITEM_STATUS_SHIFT      28u
enum item_status {
	ITEM_FETCHED = 1u << 28,    /* got or touched since it was stored */
	ITEM_WON = 1u << 29,        /* a reader was told to make a new value */
	ITEM_STALE = 1u << 30,      /* its value is said to be out of date */
	ITEM_BINARY_KEY = 1u << 31, /* the client wrote the key in base64 */
	ITEM_STATUS_MASK = 0xfu << 28,
};

struct item {
	_Atomic uint32_t head; /* marks | stamp | short value length << 8 | key length */
	uint32_t cas_form;     /* cas << 8 | form */
	uint8_t body[];
};
static_assert(sizeof(struct item) == 8, "the common header is 8 bytes");

/* Optional; present from ITEM_PIN_MIN_BYTES on, or when the cas outgrows 24 bits. */
struct item_long {
	uint64_t cas;
	uint32_t value_len;
	_Atomic uint32_t pins;
};
static_assert(sizeof(struct item_long) == 16, "stands inside items");

#endif
