/*
 * front_words.h - what fronts of one fleet tell each other: which keys were written, as words of a
 * request that a memcached answers with ERROR.
 *
 * Shape:  `peer` and words, in one datagram with memcached's frame: k and a key, b and one in
 *         base64 that cannot stand in a line, f: all keys. What is told is read without trust.
 * Units:  bytes.
 * Owner:  the caller.
 * Thread: pure functions.
 * Errors: false: no room, or it is no such request. A word that is nonsense ends the request.
 * Bounds: FRONT_WORDS_BYTES a datagram; a key is MC_KEY_MAX bytes at most, one that needs base64
 *         MC_KEY_DECODED_MAX: longer ones are not told.
 *
 * Invariants (tests/unit/front/test_front_words, tests/fuzz/front_words):
 * - What is added is read back, in its order; a key is told once in a datagram.
 */
#ifndef CLOCKOO_FRONT_WORDS_H
#define CLOCKOO_FRONT_WORDS_H

#include "proto/mc_base64.h"
#include "proto/mc_udp.h"

#define FRONT_WORDS_BYTES 1400u
#define FRONT_WORDS_SEEN  64u /* hashes of keys that are not told again */

struct front_words {
	uint32_t len; /* 0: nothing is told yet */
	bool all;     /* f is among them */
	uint64_t seen[FRONT_WORDS_SEEN];
	uint8_t bytes[FRONT_WORDS_BYTES];
};

/* Nothing is in it. */
static inline void
front_words_clear(struct front_words *words)
{
	words->len = 0;
}

/* False: there is no room for it in this datagram; what cannot be told at all finds none in an
 * empty one either. */
bool front_words_add(struct front_words *words, struct view key, uint64_t hash);
bool front_words_add_all(struct front_words *words);
/* The payload. Nothing may be added behind it. */
struct view front_words_end(struct front_words *words);

enum front_word {
	FRONT_WORD_END, /* of the request, or of what makes sense in it */
	FRONT_WORD_KEY,
	FRONT_WORD_ALL,
};

/* Is this a request of that kind? Then *rest are its words. */
bool front_words_begin(struct view request, struct view *rest);
/* The next one. key: a view of the request or of room, until the next call. */
enum front_word front_words_next(struct view *rest, struct view *key,
				 uint8_t room[MC_KEY_DECODED_MAX]);

#endif
