/*
 * fuzz_filter.c - inserts, deletes and lookups beside an exact model of a small filter.
 *
 * Goal:   a filter is a multiset of classes of hashes, nothing else: after any inserts, moves,
 *         refusals and deletes, a hash is found exactly if its class has a member.
 * Method: byte 0 is a shape, byte 1 the seed; then two bytes an operation: its kind and how many
 *         times, and the first of its hashes. Hashes are few, so that they share buckets and
 *         fingerprints. A filter with one hash shows which others are of its class.
 *
 * Bounds: OPS_MAX operations; the rest of the input is not read.
 */
#include "../fuzz_target.h"
#include "base/check.h"
#include "support/cuckoo_filter.h"

#include <string.h>

#define HASHES       256u
#define OPS_MAX      1000u
#define FILTER_BYTES 4096u
#define SHAPES       (sizeof shapes / sizeof shapes[0])
#define TIMES_MAX    16u /* of an operation */
#define STEP         7u  /* from one hash of an operation to the next */

static const struct filter_shape shapes[] = {
	{16, 2, 7, false}, {16, 4, 7, false}, {17, 4, 12, false}, {16, 4, 6, true},
	{19, 4, 12, true}, {16, 4, 14, true}, {16, 8, 7, false},  {21, 8, 15, false},
};

static union {
	struct filter filter;
	uint8_t bytes[FILTER_BYTES];
} memory;

/* For each shape, the lowest hash of each hash's class, once it is known. */
static struct {
	bool known;
	uint8_t of[HASHES];
} classes[SHAPES];

struct model {
	const uint8_t *class_of;
	uint32_t members[HASHES]; /* of a class */
	uint64_t count;
};

/* Returns a hash with one of sixteen fingerprints and one of sixteen places. */
static uint64_t
hash_of(uint8_t n)
{
	return (uint64_t)(n >> 4) << 60 | (uint64_t)(n & 15) << 28 | 12345;
}

static const uint8_t *
classes_of(size_t shape)
{
	struct filter *f = &memory.filter;
	uint8_t *of = classes[shape].of;

	for (uint32_t i = HASHES; !classes[shape].known && i-- != 0;) {
		filter_init(f, &shapes[shape], 0);
		ensure(filter_insert(f, hash_of((uint8_t)i)));
		for (uint32_t k = i; k < HASHES; k++)
			if (filter_has(f, hash_of((uint8_t)k)))
				of[k] = (uint8_t)i;
	}
	classes[shape].known = true;
	return of;
}

static bool
must_have(const struct model *m, uint8_t n)
{
	return m->members[m->class_of[n]] != 0;
}

/* Looks up all hashes, a batch at a time. */
static void
check_all(const struct model *m)
{
	const struct filter *f = &memory.filter;

	ensure(f->count == m->count);
	for (uint32_t from = 0; from < HASHES; from += FILTER_BATCH) {
		uint64_t hashes[FILTER_BATCH], want = 0;

		for (uint32_t i = 0; i < FILTER_BATCH; i++) {
			hashes[i] = hash_of((uint8_t)(from + i));
			want |= (uint64_t)must_have(m, (uint8_t)(from + i)) << i;
		}
		ensure(filter_has_many(f, hashes, FILTER_BATCH) == want);
	}
}

static void
insert(struct model *m, uint8_t n)
{
	if (filter_insert(&memory.filter, hash_of(n))) {
		m->members[m->class_of[n]]++;
		m->count++;
	} else {
		check_all(m);
	}
}

/* Deletes a hash. One that was never inserted deletes a member of its class, too. */
static void
take(struct model *m, uint8_t n)
{
	const bool deleted = filter_delete(&memory.filter, hash_of(n));

	ensure(deleted == must_have(m, n));
	if (deleted) {
		m->members[m->class_of[n]]--;
		m->count--;
	}
}

static void
operate(struct model *m, uint8_t what, uint8_t first)
{
	for (uint32_t i = 0; i <= what / 4u % TIMES_MAX; i++) {
		const uint8_t n = (uint8_t)(first + i * STEP);

		switch (what % 4) {
		case 0:
		case 1:
			insert(m, n);
			break;
		case 2:
			take(m, n);
			break;
		default:
			ensure(filter_has(&memory.filter, hash_of(n)) == must_have(m, n));
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;

	const size_t shape = data[0] % SHAPES;
	struct model m = {.class_of = classes_of(shape)};

	ensure(filter_bytes(&shapes[shape]) <= sizeof memory);
	filter_init(&memory.filter, &shapes[shape], data[1]);
	for (size_t at = 2; at + 1 < size && at / 2 <= OPS_MAX; at += 2)
		operate(&m, data[at], data[at + 1]);
	check_all(&m);
	for (uint32_t n = 0; n < HASHES; n++)
		while (must_have(&m, (uint8_t)n))
			take(&m, (uint8_t)n);
	check_all(&m);
	return 0;
}
