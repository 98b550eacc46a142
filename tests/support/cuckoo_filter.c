/*
 * cuckoo_filter.c - buckets as bits, and the walk that makes room.
 */
#include "cuckoo_filter.h"

#include "base/bytes.h"
#include "base/check.h"
#include "filter/filter_codes.h"

#include <math.h>

#define WORD_BITS    57u /* bits that one load contains at any bit offset */
#define TAIL_BYTES   8u  /* read beyond the last bucket, and not used */
#define SORTED_SLOTS FILTER_QUAD
#define DIGIT_BITS   (FILTER_CODE_BITS / FILTER_QUAD) /* bits of a slot that form its digit */

/* ---- sizes ---- */

double
filter_load_max(uint32_t slots)
{
	return slots == 2 ? 0.84 : slots == 4 ? 0.9525 : 0.98;
}

/* Returns the bits of a sorted fingerprint that lie in the slot, below its digit. */
static uint32_t
low_bits_of(const struct filter_shape *s)
{
	return s->bits - DIGIT_BITS;
}

static double
rate_of(const struct filter_shape *shape, double load)
{
	const double match = 1.0 / (filter_values(shape) - 1);

	return 1 - pow(1 - match, 2 * shape->slots * load);
}

double
filter_rate(const struct filter_shape *shape, uint64_t items)
{
	return rate_of(shape, (double)items / ((double)shape->buckets * shape->slots));
}

bool
filter_shape_for(struct filter_shape *shape, const struct filter_want *want)
{
	const double load = filter_load_max(want->slots),
		     buckets = ceil((double)want->items / (want->slots * load));
	const uint32_t bits_max = want->sorted ? FILTER_SORTED_BITS_MAX : FILTER_BITS_MAX;
	const uint8_t bits_min = want->sorted ? FILTER_SORTED_BITS_MIN : FILTER_BITS_MIN;

	ensure(want->slots == 2 || want->slots == 4 || want->slots == 8);
	ensure(!want->sorted || want->slots == SORTED_SLOTS);
	if (buckets > FILTER_BUCKETS_MAX)
		return false;
	*shape = (struct filter_shape){.buckets = buckets > FILTER_BUCKETS_MIN ? (uint32_t)buckets
									       : FILTER_BUCKETS_MIN,
				       .slots = want->slots,
				       .bits = bits_min,
				       .sorted = want->sorted};
	while (shape->bits < bits_max && rate_of(shape, load) > want->rate)
		shape->bits++;
	return rate_of(shape, load) <= want->rate;
}

static uint32_t
bucket_bits(const struct filter_shape *s)
{
	return (uint32_t)s->slots * s->bits;
}

uint64_t
filter_bits(const struct filter_shape *shape)
{
	return (uint64_t)shape->buckets * bucket_bits(shape);
}

size_t
filter_bytes(const struct filter_shape *shape)
{
	return (sizeof(struct filter) + (filter_bits(shape) + 7) / 8 + TAIL_BYTES + 7) & ~(size_t)7;
}

/* Returns the number of slots in one load. A bucket takes as many loads as it needs. */
static uint32_t
slots_a_word(const struct filter_shape *s)
{
	uint32_t slots = s->slots;

	while (slots * s->bits > WORD_BITS)
		slots /= 2;
	return slots;
}

/* Returns a word with ones at the low end of each of n fields. */
static uint64_t
low_ends(uint32_t bits, uint32_t n)
{
	uint64_t ends = 1;

	for (uint32_t i = 1; i < n; i++)
		ends = ends << bits | 1;
	return ends;
}

void
filter_init(struct filter *f, const struct filter_shape *shape, uint64_t seed)
{
	memset(f, 0, filter_bytes(shape));
	f->shape = *shape;
	f->random = seed;
	f->values = filter_values(shape);
	f->word_slots = slots_a_word(shape);
	f->ends = low_ends(shape->sorted ? low_bits_of(shape) : shape->bits, f->word_slots);
}

/* ---- buckets as bits ---- */

static uint64_t
low_bits(uint64_t word, uint32_t n)
{
	return word & ((1ull << n) - 1);
}

static uint64_t
load_bits(const struct filter *f, uint64_t at, uint32_t n)
{
	return low_bits(load_u64(f->bits + at / 8) >> at % 8, n);
}

static void
store_bits(struct filter *f, uint64_t at, uint32_t n, uint64_t word)
{
	uint8_t *to = f->bits + at / 8;
	const uint64_t mask = low_bits(UINT64_MAX, n) << at % 8;

	store_u64(to, (load_u64(to) & ~mask) | word << at % 8);
}

struct bucket {
	uint32_t slot[FILTER_SLOTS_MAX];
};

static uint64_t
place_of(const struct filter *f, uint32_t bucket)
{
	return (uint64_t)bucket * bucket_bits(&f->shape);
}

/* Reads a sorted bucket: the code of the digits, then the bits below them, in the digits'
 * order. */
static void
read_sorted(const struct filter *f, uint64_t word, struct bucket *b)
{
	const uint32_t bits = low_bits_of(&f->shape);
	uint64_t lows = word >> FILTER_CODE_BITS;
	uint8_t digits[FILTER_QUAD];

	filter_digits((uint32_t)low_bits(word, FILTER_CODE_BITS), digits);
	for (uint32_t i = 0; i < SORTED_SLOTS; i++, lows >>= bits)
		b->slot[i] = (uint32_t)digits[i] << bits | (uint32_t)low_bits(lows, bits);
}

static uint64_t
sorted_word(const struct filter *f, uint32_t bucket)
{
	return load_bits(f, place_of(f, bucket), bucket_bits(&f->shape));
}

static void
read_bucket(const struct filter *f, uint32_t bucket, struct bucket *b)
{
	const uint32_t bits = f->shape.bits;

	if (f->shape.sorted) {
		read_sorted(f, sorted_word(f, bucket), b);
		return;
	}
	for (uint32_t i = 0; i < f->shape.slots; i++)
		b->slot[i] = (uint32_t)load_bits(f, place_of(f, bucket) + i * bits, bits);
}

void
filter_bucket(const struct filter *f, uint32_t bucket, uint32_t slots[FILTER_SLOTS_MAX])
{
	struct bucket b;

	read_bucket(f, bucket, &b);
	memcpy(slots, b.slot, f->shape.slots * sizeof slots[0]);
}

static void
order(uint32_t *a, uint32_t *b)
{
	const uint32_t low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;

	*a = low;
	*b = high;
}

/* Sorts four slots without a branch, by the network of five comparators. */
static void
sort(uint32_t slot[SORTED_SLOTS])
{
	order(&slot[0], &slot[1]);
	order(&slot[2], &slot[3]);
	order(&slot[0], &slot[2]);
	order(&slot[1], &slot[3]);
	order(&slot[1], &slot[2]);
}

static void
write_sorted(struct filter *f, uint32_t bucket, struct bucket *b)
{
	const uint32_t bits = low_bits_of(&f->shape);
	uint8_t digits[FILTER_QUAD];
	uint64_t word = 0;

	sort(b->slot);
	for (uint32_t i = SORTED_SLOTS; i-- != 0;) {
		digits[i] = (uint8_t)(b->slot[i] >> bits);
		word = word << bits | low_bits(b->slot[i], bits);
	}
	store_bits(f, place_of(f, bucket), bucket_bits(&f->shape),
		   word << FILTER_CODE_BITS | filter_code(digits));
}

/* Writes one slot. *b is the bucket's content, and is updated. */
static void
set_slot(struct filter *f, uint32_t bucket, struct bucket *b, uint32_t slot, uint32_t fingerprint)
{
	const uint32_t bits = f->shape.bits;

	b->slot[slot] = fingerprint;
	if (f->shape.sorted)
		write_sorted(f, bucket, b);
	else
		store_bits(f, place_of(f, bucket) + slot * bits, bits, fingerprint);
}

/* ---- lookup ---- */

static uint32_t
slot_with(const struct bucket *b, uint32_t slots, uint32_t fingerprint)
{
	uint32_t i = 0;

	while (i < slots && b->slot[i] != fingerprint)
		i++;
	return i;
}

/* True if any field of a word has the value. After the exclusive or a match is a zero field, and
 * the lowest zero field is always found. */
static bool
word_has(uint64_t word, uint64_t ends, uint32_t bits, uint64_t value)
{
	const uint64_t differ = word ^ ends * value;

	return ((differ - ends) & ~differ & ends << (bits - 1)) != 0;
}

/* False if the bucket does not have the fingerprint. Digits are decoded only if the bits below
 * them match. */
static bool
sorted_may_have(const struct filter *f, uint64_t word, uint32_t fingerprint)
{
	const uint32_t bits = low_bits_of(&f->shape);

	return word_has(word >> FILTER_CODE_BITS, f->ends, bits, low_bits(fingerprint, bits));
}

static bool
sorted_has(const struct filter *f, uint32_t bucket, uint32_t fingerprint)
{
	const uint64_t word = sorted_word(f, bucket);
	struct bucket b;

	if (!sorted_may_have(f, word, fingerprint))
		return false;
	read_sorted(f, word, &b);
	return slot_with(&b, SORTED_SLOTS, fingerprint) < SORTED_SLOTS;
}

static bool
bucket_has(const struct filter *f, uint32_t bucket, uint32_t fingerprint)
{
	const uint32_t bits = f->shape.bits, n = f->word_slots;
	uint64_t at = place_of(f, bucket);

	if (f->shape.sorted)
		return sorted_has(f, bucket, fingerprint);
	for (uint32_t i = 0; i < f->shape.slots; i += n, at += n * bits)
		if (word_has(load_bits(f, at, n * bits), f->ends, bits, fingerprint))
			return true;
	return false;
}

static void
fetch(const struct filter *f, uint32_t bucket)
{
	const uint8_t *at = f->bits + place_of(f, bucket) / 8;

	__builtin_prefetch(at);
	__builtin_prefetch(at + TAIL_BYTES);
}

bool
filter_has(const struct filter *f, uint64_t hash)
{
	const struct filter_place p = filter_place(&f->shape, hash);

	fetch(f, p.buckets[1]);
	return bucket_has(f, p.buckets[0], p.fingerprint) ||
	       bucket_has(f, p.buckets[1], p.fingerprint);
}

uint64_t
filter_has_many(const struct filter *f, const uint64_t *hashes, uint32_t n)
{
	uint64_t found = 0;

	ensure(n <= FILTER_BATCH);
	for (uint32_t i = 0; i < n; i++) {
		const struct filter_place p = filter_place(&f->shape, hashes[i]);

		fetch(f, p.buckets[0]);
		fetch(f, p.buckets[1]);
	}
	for (uint32_t i = 0; i < n; i++)
		found |= (uint64_t)filter_has(f, hashes[i]) << i;
	return found;
}

/* ---- changes ---- */

/* Replaces one fingerprint of a bucket by another; 0 is a free slot. */
static bool
replace(struct filter *f, uint32_t bucket, uint32_t was, uint32_t now)
{
	struct bucket b;
	uint32_t slot;

	if (f->shape.sorted && !sorted_may_have(f, sorted_word(f, bucket), was))
		return false;
	read_bucket(f, bucket, &b);
	slot = slot_with(&b, f->shape.slots, was);
	if (slot == f->shape.slots)
		return false;
	set_slot(f, bucket, &b, slot, now);
	return true;
}

/* Returns a random number below a limit by Knuth's MMIX generator, whose high bits are the good
 * ones. */
static uint32_t
draw(struct filter *f, uint32_t below)
{
	f->random = f->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((f->random >> 32) * below >> 32);
}

/* A move that a walk has made, recorded to undo it. */
struct kick {
	uint32_t bucket, in, out;
};

static void
undo(struct filter *f, const struct kick *kicks, uint32_t n)
{
	while (n-- != 0)
		ensure(replace(f, kicks[n].bucket, kicks[n].in, kicks[n].out));
}

/* Returns a slot of a full bucket whose fingerprint finds a free slot in its other bucket, or
 * f->shape.slots if there is none. All other buckets are prefetched before the first is read, so
 * together they cost what one does. */
static uint32_t
who_finds_room(const struct filter *f, uint32_t bucket, const struct bucket *b)
{
	uint32_t other[FILTER_SLOTS_MAX], slot = 0;

	for (uint32_t i = 0; i < f->shape.slots; i++) {
		other[i] = filter_other_bucket(&f->shape, bucket, b->slot[i]);
		fetch(f, other[i]);
	}
	while (slot < f->shape.slots && !bucket_has(f, other[slot], 0))
		slot++;
	return slot;
}

/* Makes room in a full bucket: a fingerprint moves to its other bucket, one that finds room there
 * if any does, else a random one, which displaces the next fingerprint in turn. */
static bool
walk(struct filter *f, uint32_t bucket, uint32_t fingerprint)
{
	struct kick kicks[FILTER_KICKS_MAX];

	for (uint32_t n = 0; n < FILTER_KICKS_MAX; n++) {
		struct bucket b;
		uint32_t slot;

		read_bucket(f, bucket, &b);
		slot = who_finds_room(f, bucket, &b);
		if (slot == f->shape.slots)
			slot = draw(f, f->shape.slots);
		kicks[n] = (struct kick){.bucket = bucket, .in = fingerprint, .out = b.slot[slot]};
		set_slot(f, bucket, &b, slot, fingerprint);
		fingerprint = kicks[n].out;
		bucket = filter_other_bucket(&f->shape, bucket, fingerprint);
		if (replace(f, bucket, 0, fingerprint))
			return true;
	}
	undo(f, kicks, FILTER_KICKS_MAX);
	return false;
}

bool
filter_insert(struct filter *f, uint64_t hash)
{
	const struct filter_place p = filter_place(&f->shape, hash);

	fetch(f, p.buckets[0]);
	fetch(f, p.buckets[1]);
	if (!replace(f, p.buckets[0], 0, p.fingerprint) &&
	    !replace(f, p.buckets[1], 0, p.fingerprint) &&
	    !walk(f, p.buckets[draw(f, 2)], p.fingerprint))
		return false;
	f->count++;
	return true;
}

bool
filter_delete(struct filter *f, uint64_t hash)
{
	const struct filter_place p = filter_place(&f->shape, hash);

	if (!replace(f, p.buckets[0], p.fingerprint, 0) &&
	    !replace(f, p.buckets[1], p.fingerprint, 0))
		return false;
	f->count--;
	return true;
}
