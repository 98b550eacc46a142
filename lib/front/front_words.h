/*
 * front_words.h - the messages between fronts of one fleet: written keys, as words of a request
 * that a memcached answers with ERROR.
 *
 * Shape:  `peer` and words, in one datagram with memcached's frame: k with a key, b with a key in
 *         base64 that a line cannot contain, f for all keys. Received words are read without
 *         trust.
 * Units:  bytes.
 * Owner:  the caller.
 * Thread: pure functions.
 * Errors: false: no room, or another request. An invalid word ends the request.
 * Bounds: FRONT_WORDS_BYTES a datagram; a key is MC_KEY_MAX bytes at most, one that needs base64
 *         MC_KEY_DECODED_MAX: longer ones are not sent.
 *
 * Invariants (tests/unit/front/test_front_words, tests/fuzz/front_words):
 * - Added words are read back in their order; a key is in a datagram only once.
 */
#ifndef CLOCKOO_FRONT_WORDS_H
#define CLOCKOO_FRONT_WORDS_H

#include "proto/mc_base64.h"
#include "proto/mc_udp.h"

#define FRONT_WORDS_BYTES 1400u
#define FRONT_WORDS_SEEN  64u /* hashes of keys that are not added again */

struct front_words {
	uint32_t len; /* 0: no word yet */
	bool all;     /* f is among them */
	uint64_t seen[FRONT_WORDS_SEEN];
	uint8_t bytes[FRONT_WORDS_BYTES];
};

/* Empties the datagram. */
static inline void
front_words_clear(struct front_words *words)
{
	words->len = 0;
}

/* Adds a word. False: this datagram has no room; a key that cannot be sent at all finds none in
 * an empty one either. */
bool front_words_add(struct front_words *words, struct view key, uint64_t hash);
bool front_words_add_all(struct front_words *words);
/* Returns the payload. Nothing may be added after it. */
struct view front_words_end(struct front_words *words);

enum front_word {
	FRONT_WORD_END, /* end of the request, or of its valid words */
	FRONT_WORD_KEY,
	FRONT_WORD_ALL,
};

/* True if this is a request of that kind; *rest are then its words. */
bool front_words_begin(struct view request, struct view *rest);
/* Reads the next word. key: a view of the request or of room, until the next call. */
enum front_word front_words_next(struct view *rest, struct view *key,
				 uint8_t room[MC_KEY_DECODED_MAX]);

#endif
