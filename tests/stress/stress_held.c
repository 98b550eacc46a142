/*
 * Items that a core holds stay unchanged, also if their page moves. Goal: an item keeps its bytes
 * until the core that got it turns, and a pinned item keeps its value until it is unpinned, even if
 * it is deleted or evicted, or its page moves to another class. Method: one thread is two cores in
 * turns. One gets some items and does not turn; the other stores values of shifting sizes, so that
 * pages move all the time, and turns often; then the first compares. Pins last for some rounds, of
 * which each is a second. Nothing depends on when threads meet, so a run repeats exactly.
 *
 * With "caught" the store is a mutant (mutants.py), and the run passes only if an item changed,
 * or the store found itself broken.
 */
#include "caught.h"
#include "image/store_image.h"
#include "image/store_plan.h"
#include "store/store_state.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS     1200u
#define KEYS       60000u
#define HELD_MAX   64u
#define SETS       400u /* sets of the busy core while the other does not turn */
#define TURN_SETS  16u
#define SHIFT_OF   8u /* rounds until another size is preferred */
#define VALUE_SEEN 64u
#define PINS_MAX   48u
#define PIN_ROUNDS 12u

static const uint32_t sizes[] = {40, 300, 2000, 90, 9000, 700};

struct held {
	const struct item *it;
	const uint8_t *at; /* the value, as far as it is in one piece */
	uint32_t len, seen;
	uint8_t bytes[VALUE_SEEN];
};

struct rig {
	struct store_core *still, *busy;
	uint64_t random;
	uint64_t stored, held;
	struct held items[HELD_MAX];
	struct held pins[PINS_MAX]; /* each is unpinned and pinned anew in its own rounds */
};

static uint64_t
roll(struct rig *rig, uint64_t sides)
{
	rig->random = rig->random * 6364136223846793005ull + 1442695040888963407ull;
	return (rig->random >> 33) % sides;
}

static void
set(struct rig *rig, uint64_t key, uint32_t len)
{
	const struct view k = {(const uint8_t *)&key, sizeof key};
	uint8_t bytes[16384];
	struct fill f;

	if (store_begin(rig->busy, &f, k, store_hash(rig->busy, k), len, 0, 0) != STORE_OK)
		return;
	memset(bytes, (int)roll(rig, 256), len);
	store_fill(rig->busy, &f, bytes, len);
	rig->stored += store_finish(rig->busy, &f, STORE_SET, 0) == STORE_OK;
}

static struct held
look_at(const struct rig *rig, const struct item *it)
{
	const struct view v = store_value_at(rig->still, it, 0);
	struct held h = {.it = it, .at = v.data, .len = item_value_len(it)};

	h.seen = v.len < VALUE_SEEN ? v.len : VALUE_SEEN;
	memcpy(h.bytes, h.at, h.seen);
	return h;
}

static uint32_t
hold(struct rig *rig)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < HELD_MAX; i++) {
		const uint64_t key = roll(rig, KEYS);
		const struct view k = {(const uint8_t *)&key, sizeof key};
		const struct item *it = store_get(rig->still, k, store_hash(rig->still, k));

		if (it != NULL)
			rig->items[count++] = look_at(rig, it);
	}
	rig->held += count;
	return count;
}

/* Releases some pins, and pins some of the held items. */
static void
pin(struct rig *rig, uint32_t round, uint32_t count)
{
	uint32_t next = 0;

	for (uint32_t n = round % PIN_ROUNDS; n < PINS_MAX; n += PIN_ROUNDS) {
		if (rig->pins[n].it != NULL)
			store_unpin(rig->pins[n].it);
		rig->pins[n].it = NULL;
		while (next < count && rig->items[next].len < ITEM_PIN_MIN_BYTES)
			next++;
		if (next == count)
			continue;
		rig->pins[n] = rig->items[next++];
		store_pin(rig->pins[n].it);
	}
}

static bool
as_it_was(const struct held *h)
{
	return item_value_len(h->it) == h->len && memcmp(h->at, h->bytes, h->seen) == 0;
}

static bool
all_as_they_were(const struct rig *rig, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!as_it_was(&rig->items[i]))
			return false;
	for (uint32_t i = 0; i < PINS_MAX; i++)
		if (rig->pins[i].it != NULL && !as_it_was(&rig->pins[i]))
			return false;
	return true;
}

static bool
run_rounds(struct rig *rig)
{
	bool good = true;

	for (uint32_t round = 0; round < ROUNDS && good; round++) {
		const uint32_t size = sizes[round / SHIFT_OF % (sizeof sizes / sizeof sizes[0])];

		store_turn(rig->still, STORE_CLOCK_START + round);
		store_housekeeping(rig->still);

		const uint32_t count = hold(rig);

		pin(rig, round, count);

		for (uint32_t i = 0; i < SETS && good; i++) {
			set(rig, roll(rig, KEYS), size);
			if (i % TURN_SETS != 0)
				continue;
			store_turn(rig->busy, STORE_CLOCK_START + round);
			store_housekeeping(rig->busy);
			good = all_as_they_were(rig, count);
		}
	}
	return good;
}

int
main(int argc, char **argv)
{
	const bool mutant = argc > 1 && strcmp(argv[1], "caught") == 0;
	const struct store_config cfg = {
		.memory_bytes = STORE_MEMORY_MIN, .cores = 2, .value_max = 65536, .seed = 0x5eed};
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};
	struct rig *rig = calloc(1, sizeof *rig);

	region.base = aligned_alloc(4096, region.size);
	if (rig == NULL || region.base == NULL)
		return 1;
	if (mutant)
		crash_is_harm();

	struct store *store = store_create(&region, &cfg);

	rig->still = store_core_of(store, 0);
	rig->busy = store_core_of(store, 1);

	const bool good = run_rounds(rig);

	printf("%llu stored, %llu held, %llu evicted: %s\n", (unsigned long long)rig->stored,
	       (unsigned long long)rig->held,
	       (unsigned long long)counter_read(&store_counters(rig->busy)[STORE_EVICTED]),
	       good ? "all stayed as they were" : "one changed");
	free(region.base);
	free(rig);
	return good != mutant ? 0 : 1;
}
