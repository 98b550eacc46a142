/*
 * test_invalidations.c - messages between fronts about keys.
 *
 * Goal:   every key that is sent is received, with any bytes; a key is sent once in a
 *         datagram; a key that does not fit is refused; malformed text ends a request, and no key
 *         read from it is one that could not be sent.
 * Method: keys drawn at random, read back; requests written by hand, and cut at every byte.
 */
#include "copies/invalidations.h"
#include "sim/sim_rng.h"
#include "support/test.h"

#define KEYS 400u

static struct view
key_draw(struct sim_rng *rng, uint8_t bytes[MC_KEY_MAX])
{
	const bool plain = sim_below(rng, 2) == 0;
	const uint32_t most = plain ? MC_KEY_MAX : MC_KEY_DECODED_MAX;
	const uint32_t len = 1 + sim_below(rng, sim_below(rng, 4) == 0 ? most : 20);

	for (uint32_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(plain ? 'a' + sim_below(rng, 26) : sim_below(rng, 256));
	return (struct view){bytes, len};
}

static struct view
request_of(struct view payload)
{
	check(payload.len > MC_UDP_FRAME_BYTES && payload.len <= INVALIDATIONS_BYTES);
	return (struct view){payload.data + MC_UDP_FRAME_BYTES, payload.len - MC_UDP_FRAME_BYTES};
}

TEST(words_are_received_as_they_were_sent)
{
	static uint8_t bytes[KEYS][MC_KEY_MAX];
	static struct invalidations words;
	uint8_t room[MC_KEY_DECODED_MAX];
	struct sim_rng rng = {.state = 3};

	for (uint32_t round = 0; round < 200; round++) {
		struct view key[KEYS], rest, got;
		uint32_t count = 0;

		invalidations_clear(&words);
		for (; count < KEYS; count++) {
			key[count] = key_draw(&rng, bytes[count]);
			if (!invalidations_add(&words, key[count], count + 1))
				break;
		}
		check(count >= 4 && count < KEYS);
		check(invalidations_begin(request_of(invalidations_end(&words)), &rest));
		for (uint32_t i = 0; i < count; i++) {
			check_eq(invalidations_next(&rest, &got, room), INVALIDATION_KEY);
			check_eq(got.len, key[i].len);
			check_eq(memcmp(got.data, key[i].data, got.len), 0);
		}
		check_eq(invalidations_next(&rest, &got, room), INVALIDATION_END);
		check_eq(rest.len, 0);
	}
}

TEST(a_key_is_in_a_datagram_once)
{
	static struct invalidations words;
	struct view end;

	invalidations_clear(&words);
	for (uint32_t i = 0; i < 1000; i++) {
		check(invalidations_add(&words, text_view("k"), 7));
		check(invalidations_add_all(&words));
	}
	end = request_of(invalidations_end(&words));
	check_eq(end.len, strlen("peer kk f\r\n"));
	check_eq(memcmp(end.data, "peer kk f\r\n", end.len), 0);
	invalidations_clear(&words);
	check(invalidations_add(&words, text_view("k"), 7));
	check_eq(request_of(invalidations_end(&words)).len, strlen("peer kk\r\n"));
}

TEST(a_key_too_long_for_a_word_is_refused)
{
	static struct invalidations words;
	uint8_t key[MC_KEY_MAX] = {0};

	invalidations_clear(&words);
	check(!invalidations_add(&words, (struct view){key, MC_KEY_DECODED_MAX + 1}, 1));
	check(invalidations_add(&words, (struct view){key, MC_KEY_DECODED_MAX}, 1));
}

/* ours: the request is one of these messages. words: the number read before its end or the first
 * malformed word. */
static const struct {
	const char *request;
	bool ours;
	uint32_t words;
} requests[] = {
	{"peer\r\n", true, 0},
	{"peer kx\r\n", true, 1},
	{"peer kx\n", true, 1},
	{"peer kx bazA= f\r\n", true, 3},
	{"peer kx\r\nget x\r\n", true, 1},
	{"peer kx", false, 0},
	{"peers kx\r\n", false, 0},
	{"pee", false, 0},
	{"get x\r\n", false, 0},
	{"peer  kx\r\n", true, 0},
	{"peer kx \r\n", true, 1},
	{"peer k ky\r\n", true, 0},
	{"peer fx kx\r\n", true, 0},
	{"peer xk\r\n", true, 0},
	{"peer bazA\r\n", true, 0},
	{"peer b==== kx\r\n", true, 0},
};

static uint32_t
words_heard(struct view *rest)
{
	uint8_t room[MC_KEY_DECODED_MAX];
	struct view key;
	uint32_t n = 0;

	for (enum invalidation_kind word;
	     (word = invalidations_next(rest, &key, room)) != INVALIDATION_END; n++)
		check(word == INVALIDATION_ALL || (key.len > 0 && key.len <= MC_KEY_MAX));
	return n;
}

TEST(nonsense_ends_a_request)
{
	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
		const struct view all = text_view(requests[i].request);
		struct view rest;
		uint32_t n;

		check_eq(invalidations_begin(all, &rest), requests[i].ours);
		if (!requests[i].ours)
			continue;
		n = words_heard(&rest);
		if (n != requests[i].words)
			fail_msg("%s: %u words", requests[i].request, n);
		for (uint32_t len = 0; len < all.len; len++)
			if (invalidations_begin((struct view){all.data, len}, &rest))
				words_heard(&rest);
	}
}
