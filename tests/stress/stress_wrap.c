/*
 * A reader is stopped inside one get, and meanwhile others flush until the flush generation's
 * number recurs. Goal: an item that was flushed before the get began is a miss all the same.
 * Method: one thread runs both cores. The gaps between two steps of the get are taken in turn: at
 * each, the other core stores and flushes GENERATIONS_MAX times, which with one flush before the
 * get is as often as there are numbers. A run repeats exactly.
 */
#include "image/store_plan.h"
#include "store/store_state.h"
#include "../support/store_calls.h"
#include "image/store_image.h"

#include <stdio.h>
#include <stdlib.h>

#define GAPS_MAX  16u /* more than a get has */
#define TURNS_MAX 10000u

enum variant { VARIANT_GET, VARIANT_PEEK, VARIANT_PROBE, VARIANT_RUN, VARIANT_MANY, VARIANT_COUNT };

static struct store_core *flusher; /* NULL: it is not its turn */
static uint32_t gaps_left;

static struct view
text(const char *s)
{
	return (struct view){(const uint8_t *)s, (uint32_t)strlen(s)};
}

static void
put(struct store_core *sc, struct view key)
{
	struct fill f;

	ensure(store_begin(sc, &f, key, store_hash(sc, key), 1, 0, 0) == STORE_OK);
	store_fill(sc, &f, "1", 1);
	ensure(store_finish(sc, &f, STORE_SET, 0) == STORE_OK);
}

/* Flushes from the core that is not stopped in a get. That core also collects the items of old
 * generations; the stopped core makes no turn. */
static void
flush(struct store_core *sc)
{
	for (uint32_t turn = 0; store_flush(sc, 0) != STORE_OK; turn++) {
		ensure(turn < TURNS_MAX);
		store_turn(sc, STORE_CLOCK_START);
	}
}

void
stress_gap(void)
{
	struct store_core *sc = flusher;

	if (sc == NULL || gaps_left-- != 0)
		return;
	flusher = NULL;
	/* The run flushes once before the get: this many more flushes give the item's number again.
	 */
	for (uint32_t i = 0; i < GENERATIONS_MAX; i++) {
		put(sc, text("other"));
		flush(sc);
	}
}

static const struct item *
get(struct store_core *sc, enum variant variant, struct view key)
{
	const struct item *it = NULL;
	struct store_get_batch batch;
	struct probe p;

	switch (variant) {
	case VARIANT_GET:
		return store_get(sc, key, store_hash(sc, key));
	case VARIANT_PEEK:
		return store_peek(sc, key, store_hash(sc, key));
	case VARIANT_PROBE:
		store_probe(sc, &p, key);
		if (store_probe_primary(sc, &p))
			store_probe_alternate(sc, &p);
		return store_get_probed(sc, &p, key);
	case VARIANT_RUN:
		store_probe(sc, &p, key);
		if (store_probe_primary(sc, &p))
			store_probe_alternate(sc, &p);
		batch = store_get_batch_begin(sc);
		stress_gap();
		return store_get_in_batch(&batch, &p, key);
	default:
		store_gets(sc, &key, 1, &it);
		return it;
	}
}

/* True if a get finds the flushed item when the other core flushes at that gap. */
static bool
is_a_lie(struct store *st, enum variant variant, uint32_t gap)
{
	struct store_core *sc = store_core_of(st, 0), *other = store_core_of(st, 1);

	for (uint32_t i = 0; i < 4; i++) {
		store_turn(sc, STORE_CLOCK_START);
		store_turn(other, STORE_CLOCK_START);
	}
	put(sc, text("key"));
	ensure(get(sc, variant, text("key")) != NULL);
	flush(other);
	gaps_left = gap;
	flusher = other;

	const struct item *it = get(sc, variant, text("key"));

	flusher = NULL;
	return it != NULL;
}

int
main(void)
{
	const struct store_config cfg = {.memory_bytes = STORE_MEMORY_MIN,
					 .cores = 2,
					 .value_max = STORE_VALUE_MAX,
					 .seed = 1};
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};
	void *memory = region.base = aligned_alloc(4096, region.size);
	struct store *st = store_create(&region, &cfg);
	uint32_t lies = 0;

	for (uint32_t variant = 0; variant < VARIANT_COUNT; variant++) {
		for (uint32_t gap = 0; gap < GAPS_MAX; gap++) {
			if (!is_a_lie(st, variant, gap))
				continue;
			lies++;
			printf("variant %u: held up at gap %u, a flushed value is found\n", variant,
			       gap);
		}
	}
	free(memory);
	return lies != 0;
}
