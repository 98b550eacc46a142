/*
 * Pages move while their items are written. Goal: an evacuation leaves a key the version that was
 * written last, or none; never an older one, never a torn one, and none after a delete. Method:
 * every writer has keys of its own, writes rising versions, deletes now and then, and reads;
 * another core takes page after page from the class that has all of them.
 *
 * With "caught" the store is a mutant (mutants.py), and the run passes only if a lie was seen.
 */
#include "caught.h"
#include "gaps.h"
#include "image/store_image.h"
#include "image/store_plan.h"
#include "store/store_state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITERS     3u
#define KEYS        60u    /* keys of each writer */
#define OPERATIONS  60000u /* operations of a writer in a round */
#define ROUNDS_MAX  100u
#define RESCUED_MIN 4000u
#define FILLING     20000u /* other items, so that there are pages to take */
#define TURN_OF     16u
#define DELETE_OF   8u
#define WORDS       12u /* words of a value, each of which is the version */

struct worker {
	struct store_core *core;
	const _Atomic bool *stop;
	_Atomic bool *lied;
	uint32_t id;
	uint64_t random;
	uint64_t version[KEYS]; /* 0: deleted, or never stored */
	uint64_t looked, found;
};

static uint32_t
roll(struct worker *w, uint32_t sides)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((w->random >> 33) % sides);
}

/* Writes a version, and returns the version that the key has then: the last one if there is no
 * memory. */
static uint64_t
write_version(struct store_core *sc, uint64_t name, uint64_t version, uint64_t last)
{
	const struct view key = {(const uint8_t *)&name, sizeof name};
	uint64_t words[WORDS];
	struct fill f;

	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = version;
	if (store_begin(sc, &f, key, store_hash(sc, key), sizeof words, 0, 0) != STORE_OK)
		return last;
	store_fill(sc, &f, words, sizeof words);
	/* A set that is refused removes the old value. */
	return store_finish(sc, &f, STORE_SET, 0) == STORE_OK ? version : 0;
}

/* Returns the present version; 0: none; UINT64_MAX: torn. */
static uint64_t
version_there(struct store_core *sc, uint64_t name)
{
	const struct view key = {(const uint8_t *)&name, sizeof name};
	const struct item *it = store_get(sc, key, store_hash(sc, key));
	uint64_t words[WORDS];

	if (it == NULL)
		return 0;
	memcpy(words, store_value_at(sc, it, 0).data, sizeof words);
	for (uint32_t i = 1; i < WORDS; i++)
		if (words[i] != words[0])
			return UINT64_MAX;
	return words[0];
}

static void
operate(struct worker *w, uint64_t step)
{
	const uint32_t n = roll(w, KEYS);
	const uint64_t name = (uint64_t)(w->id + 1) << 32 | n;
	const struct view key = {(const uint8_t *)&name, sizeof name};
	const uint64_t there = version_there(w->core, name);

	w->looked++;
	w->found += there != 0;
	if (there != 0 && there != w->version[n])
		atomic_store(w->lied, true);
	if (roll(w, DELETE_OF) == 0) {
		store_delete(w->core, key, store_hash(w->core, key));
		w->version[n] = 0;
	} else {
		w->version[n] = write_version(w->core, name, step, w->version[n]);
	}
}

static void *
writer(void *arg)
{
	struct worker *w = arg;

	gaps_begin(w->random);
	for (uint64_t i = 1; i <= OPERATIONS && !atomic_load(w->lied); i++) {
		if (i % TURN_OF == 0)
			store_turn(w->core, STORE_CLOCK_START);
		operate(w, i);
	}
	store_offline(w->core);
	return NULL;
}

/* Takes the page of a writer's key, by marking all other pages' objects as used. */
static void
take_page_of(struct worker *w, uint64_t name, uint32_t class)
{
	const struct view key = {(const uint8_t *)&name, sizeof name};
	const struct store *st = w->core->store;
	struct slab *sl = &w->core->store->slab;
	const struct item *it = store_get(w->core, key, store_hash(w->core, key));

	if (it == NULL)
		return;

	const size_t page = slab_page_of(sl, item_ref(st, it));

	/* Every object in the index gets its reference bit, except those of this page. A word
	 * that another core changes stays as it is. */
	for (size_t i = 0; i < (size_t)sl->arena->page_count * sl->stride; i++) {
		uint64_t now = atomic_load_explicit(&sl->states[i], memory_order_relaxed);
		const uint64_t in = states_in(now);

		atomic_compare_exchange_strong_explicit(
			&sl->states[i], &now, i / sl->stride == page ? in << 1 : in | in << 1,
			memory_order_relaxed, memory_order_relaxed);
	}
	slab_evacuate_start(sl, class);
}

/* Moves page after page of the class to the pool, from where any class may take it. */
static void *
rebalancer(void *arg)
{
	struct worker *w = arg;
	struct slab *sl = &w->core->store->slab;
	const uint32_t bytes = item_head_bytes(0, sizeof(uint64_t), WORDS * sizeof(uint64_t));
	const uint32_t class = slab_class_for(sl, bytes);

	gaps_begin(w->random);
	while (!atomic_load(w->stop)) {
		store_turn(w->core, STORE_CLOCK_START);
		if (atomic_load(&sl->evacuating_count) < 2 &&
		    atomic_load(&sl->classes[class].page_count) > 2)
			take_page_of(w, (uint64_t)(roll(w, WRITERS) + 1) << 32 | roll(w, KEYS),
				     class);
		write_version(w->core, roll(w, FILLING), 1, 0);
	}
	store_offline(w->core);
	return NULL;
}

static void
run(struct store *store, _Atomic bool *lied, uint64_t round)
{
	static struct worker workers[WRITERS + 1];
	pthread_t threads[WRITERS + 1];
	_Atomic bool stop = false;
	uint64_t looked = 0, found = 0;

	for (uint32_t i = 0; i <= WRITERS; i++)
		workers[i] = (struct worker){.core = store_core_of(store, i),
					     .stop = &stop,
					     .lied = lied,
					     .id = i,
					     .random = 64 * round + i + 1};
	for (uint64_t i = 0; i < FILLING; i++) {
		write_version(workers[0].core, i, 1, 0);
		if (i % TURN_OF == 0)
			store_turn(workers[0].core, STORE_CLOCK_START);
	}
	for (uint32_t i = 0; i <= WRITERS; i++)
		pthread_create(&threads[i], NULL, i < WRITERS ? writer : rebalancer, &workers[i]);
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&stop, true);
	pthread_join(threads[WRITERS], NULL);
	for (uint32_t i = 0; i < WRITERS; i++) {
		looked += workers[i].looked;
		found += workers[i].found;
	}
	printf("%llu looks, %llu found\n", (unsigned long long)looked, (unsigned long long)found);
}

int
main(int argc, char **argv)
{
	const bool mutant = argc > 1 && strcmp(argv[1], "caught") == 0;
	const struct store_config cfg = {.memory_bytes = STORE_MEMORY_MIN,
					 .cores = WRITERS + 1,
					 .value_max = 65536,
					 .seed = 0x5eed};
	const size_t bytes = align_up(store_bytes(&cfg), 4096);
	void *memory = aligned_alloc(4096, bytes);
	_Atomic bool lied = false;
	uint64_t rescued = 0;

	if (memory == NULL)
		return 1;
	if (mutant)
		crash_is_harm();
	/* The threads meet at random, so rounds go on until enough has moved,
	 * or a mutant is caught. */
	for (uint32_t round = 0; round < ROUNDS_MAX && !lied && (mutant || rescued < RESCUED_MIN);
	     round++) {
		struct region region = {.base = memset(memory, 0, bytes), .size = bytes};
		struct store *store = store_create(&region, &cfg);

		run(store, &lied, round);
		for (uint32_t i = 0; i <= WRITERS; i++)
			rescued += counter_read(
				&store_counters(store_core_of(store, i))[STORE_RESCUED]);
	}
	printf("%llu rescued: %s\n", (unsigned long long)rescued,
	       lied ? "an older version came back" : "the last version or none");
	free(memory);
	return lied == mutant && (mutant || rescued >= RESCUED_MIN) ? 0 : 1;
}
