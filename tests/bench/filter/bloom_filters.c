/*
 * bloom_filters.c - three Bloom filters, as small as their papers have them.
 */
#include "bloom_filters.h"

#include <math.h>
#include <string.h>

#define LINE_BITS   512u
#define COUNTER_MAX 15u

static uint32_t
bits_of_place(enum bloom_kind kind)
{
	return kind == BLOOM_COUNTING ? 4 : 1;
}

uint32_t
bloom_places(enum bloom_kind kind, uint64_t bits)
{
	const uint64_t places = bits / bits_of_place(kind) / LINE_BITS * LINE_BITS;

	return places < LINE_BITS ? LINE_BITS : (uint32_t)places;
}

size_t
bloom_bytes(enum bloom_kind kind, uint32_t places)
{
	return sizeof(struct bloom) + (size_t)places * bits_of_place(kind) / 8;
}

uint64_t
bloom_bits(const struct bloom *b)
{
	return (uint64_t)b->places * bits_of_place(b->kind);
}

uint32_t
bloom_hashes(double bits_per_item)
{
	const double best = round(bits_per_item * log(2));

	return best < 1 ? 1 : best > BLOOM_HASHES_MAX ? BLOOM_HASHES_MAX : (uint32_t)best;
}

void
bloom_init(struct bloom *b, enum bloom_kind kind, uint32_t places, uint32_t hashes)
{
	b->kind = kind;
	b->places = places;
	b->hashes = hashes;
	memset(b->bytes, 0, bloom_bytes(kind, places) - sizeof *b);
}

/* The places of a hash: base + (first + i x step), scaled or limited to a line. */
struct walk {
	uint32_t base, first, step, mask, below;
};

static struct walk
walk_of(const struct bloom *b, uint64_t hash)
{
	const uint32_t high = (uint32_t)(hash >> 32), low = (uint32_t)hash;

	if (b->kind == BLOOM_BLOCKED) {
		const uint32_t line = (uint32_t)((uint64_t)high * (b->places / LINE_BITS) >> 32);

		return (struct walk){line * LINE_BITS, low, low >> 16 | 1, LINE_BITS - 1, 0};
	}
	return (struct walk){0, high, low | 1, 0, b->places};
}

static uint32_t
place(const struct walk *w, uint32_t i)
{
	const uint32_t at = w->first + i * w->step;

	return w->below == 0 ? w->base + (at & w->mask) : (uint32_t)((uint64_t)at * w->below >> 32);
}

static uint32_t
value(const struct bloom *b, uint32_t at)
{
	if (b->kind == BLOOM_COUNTING)
		return b->bytes[at / 2] >> at % 2 * 4 & COUNTER_MAX;
	return b->bytes[at / 8] >> at % 8 & 1;
}

static void
add(struct bloom *b, uint32_t at, int what)
{
	const uint32_t counter = value(b, at);

	if (counter != COUNTER_MAX && (what > 0 || counter != 0))
		b->bytes[at / 2] = (uint8_t)(b->bytes[at / 2] + what * (1 << at % 2 * 4));
}

void
bloom_insert(struct bloom *b, uint64_t hash)
{
	const struct walk w = walk_of(b, hash);

	for (uint32_t i = 0; i < b->hashes; i++) {
		const uint32_t at = place(&w, i);

		if (b->kind == BLOOM_COUNTING)
			add(b, at, 1);
		else
			b->bytes[at / 8] |= (uint8_t)(1 << at % 8);
	}
}

bool
bloom_has(const struct bloom *b, uint64_t hash)
{
	const struct walk w = walk_of(b, hash);

	for (uint32_t i = 0; i < b->hashes; i++)
		if (value(b, place(&w, i)) == 0)
			return false;
	return true;
}

uint32_t
bloom_reads(const struct bloom *b, uint64_t hash)
{
	const struct walk w = walk_of(b, hash);
	uint32_t reads = 1;

	while (reads < b->hashes && value(b, place(&w, reads - 1)) != 0)
		reads++;
	return reads;
}

void
bloom_delete(struct bloom *b, uint64_t hash)
{
	const struct walk w = walk_of(b, hash);

	for (uint32_t i = 0; i < b->hashes; i++)
		add(b, place(&w, i), -1);
}
