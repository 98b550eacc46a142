/*
 * Goal:   in any datagram of another front, each key that is read can be sent, is read again as
 *         it was, and words end. Method: the bytes as a request.
 */
#include "fuzz_target.h"

#include "copies/invalidations.h"

#include <stdlib.h>

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

static void
check_key(struct view key)
{
	static struct invalidations words;
	uint8_t room[MC_KEY_DECODED_MAX];
	struct view payload, rest, again;

	must(key.len != 0 && key.len <= MC_KEY_MAX);
	invalidations_clear(&words);
	must(invalidations_add(&words, key, 1));
	payload = invalidations_end(&words);
	must(invalidations_begin(
		(struct view){payload.data + MC_UDP_FRAME_BYTES, payload.len - MC_UDP_FRAME_BYTES},
		&rest));
	must(invalidations_next(&rest, &again, room) == INVALIDATION_KEY);
	must(again.len == key.len && memcmp(again.data, key.data, key.len) == 0);
	must(rest.len == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t room[MC_KEY_DECODED_MAX];
	struct view rest, key;
	enum invalidation_kind word;
	size_t words = 0;

	if (size > UINT16_MAX || !invalidations_begin((struct view){data, (uint32_t)size}, &rest))
		return 0;
	while ((word = invalidations_next(&rest, &key, room)) != INVALIDATION_END) {
		must(++words <= size / 2);
		if (word == INVALIDATION_KEY)
			check_key(key);
	}
	return 0;
}
