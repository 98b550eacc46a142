/*
 * copy.h - copies of short lengths that are known only at run time.
 *
 * Thread: pure functions.
 * Bounds: reads and writes exactly len bytes. Words overlap, so none reaches beyond the end.
 */
#ifndef CLOCKOO_COPY_H
#define CLOCKOO_COPY_H

#include "bytes.h"
#include "check.h"

#define COPY_INLINE_MAX 128u /* for more bytes a call costs less than inlining saves */

static inline void
copy_below_16(uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (len >= 8) {
		const uint64_t head = load_u64(from), tail = load_u64(from + len - 8);

		store_u64(to, head);
		store_u64(to + len - 8, tail);
	} else if (len >= 4) {
		const uint32_t head = load_u32(from), tail = load_u32(from + len - 4);

		store_u32(to, head);
		store_u32(to + len - 4, tail);
	} else if (len != 0) {
		/* With one to three bytes these three are the first, the middle and the last. */
		to[0] = from[0];
		to[len / 2] = from[len / 2];
		to[len - 1] = from[len - 1];
	}
}

/* memcpy, inlined: a call costs more than a key or a short value. */
static inline void
bytes_copy(uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (unlikely(len < 16)) {
		copy_below_16(to, from, len);
		return;
	}
	if (len > 32) {
		if (unlikely(len > COPY_INLINE_MAX)) {
			memcpy(to, from, len);
			return;
		}
		memcpy(to + 16, from + 16, 16);
		memcpy(to + len - 32, from + len - 32, 16);
		if (len > 64) {
			memcpy(to + 32, from + 32, 32);
			memcpy(to + len - 64, from + len - 64, 32);
		}
	}
	memcpy(to, from, 16);
	memcpy(to + len - 16, from + len - 16, 16);
}

#endif
