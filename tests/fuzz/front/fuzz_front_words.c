/*
 * Goal:   in any datagram of another front, each key that is read can be sent, is read again as
 *         it was, and words end. Method: the bytes as a request.
 */
#include "fuzz_target.h"

#include "front/front_words.h"

#include <stdlib.h>

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

static void
check_key(struct view key)
{
	static struct front_words words;
	uint8_t room[MC_KEY_DECODED_MAX];
	struct view payload, rest, again;

	must(key.len != 0 && key.len <= MC_KEY_MAX);
	front_words_clear(&words);
	must(front_words_add(&words, key, 1));
	payload = front_words_end(&words);
	must(front_words_begin(
		(struct view){payload.data + MC_UDP_FRAME_BYTES, payload.len - MC_UDP_FRAME_BYTES},
		&rest));
	must(front_words_next(&rest, &again, room) == FRONT_WORD_KEY);
	must(again.len == key.len && memcmp(again.data, key.data, key.len) == 0);
	must(rest.len == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t room[MC_KEY_DECODED_MAX];
	struct view rest, key;
	enum front_word word;
	size_t words = 0;

	if (size > UINT16_MAX || !front_words_begin((struct view){data, (uint32_t)size}, &rest))
		return 0;
	while ((word = front_words_next(&rest, &key, room)) != FRONT_WORD_END) {
		must(++words <= size / 2);
		if (word == FRONT_WORD_KEY)
			check_key(key);
	}
	return 0;
}
