/*
 * weak_setup.c - the store of the cases: memory that is the same each time.
 */
#include "weak_setup.h"
#include "image/store_image.h"
#include "image/store_plan.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY     (8u << 20)
#define VALUE_MAX  (64u << 10)
#define PAGE_BYTES 4096u

struct store *setup_store;
uint64_t setup_key_a, setup_key_b;
struct setup_seen setup_seen[SETUP_CORES];
static uint8_t *memory;
static size_t memory_bytes;

struct store_core *
setup_core(uint32_t core)
{
	return store_core_of(setup_store, core);
}

struct view
setup_view(const uint64_t *key)
{
	return (struct view){(const uint8_t *)key, sizeof *key};
}

uint64_t
setup_hash(uint64_t key)
{
	return store_hash(setup_core(0), setup_view(&key));
}

void
setup_begin(uint32_t cores)
{
	const struct store_config cfg = {.memory_bytes = MEMORY,
					 .cores = cores,
					 .value_max = VALUE_MAX,
					 .seed = 0x5eed,
					 .loads = true};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {0};

	plan.bucket_count = SETUP_BUCKETS;
	plan.bucket_step = 0;
	if (memory == NULL) {
		struct store_config most = cfg;

		most.cores = SETUP_CORES;
		memory_bytes = align_up(store_bytes(&most), PAGE_BYTES);
		memory = aligned_alloc(PAGE_BYTES, memory_bytes);
	}
	ensure(memory != NULL && memory_bytes >= store_bytes(&cfg));
	region.base = memory;
	region.size = memory_bytes;
	memset(memory, 0, memory_bytes);
	setup_store = store_create_planned(&region, &cfg, &plan);
	memset(setup_seen, 0, sizeof setup_seen);
	setup_key_a = 1;
	setup_key_b = 2;
}

void
setup_two_keys(void)
{
	setup_begin(2);
	setup_put(0, setup_key_a, 10);
	setup_put(1, setup_key_b, 20);
	setup_turns(0, 2);
	setup_turns(1, 2);
}

enum store_result
setup_put_as(uint32_t core, uint64_t key, uint64_t word, enum store_mode mode, uint64_t cas)
{
	const uint64_t value[SETUP_VALUE / 8] = {word, word, word};
	struct fill f;

	if (store_begin(setup_core(core), &f, setup_view(&key), setup_hash(key), SETUP_VALUE, 0,
			0) != STORE_OK)
		weak_fail("no memory");
	store_fill(setup_core(core), &f, value, SETUP_VALUE);
	return store_finish(setup_core(core), &f, mode, cas);
}

void
setup_put(uint32_t core, uint64_t key, uint64_t word)
{
	weak_check(setup_put_as(core, key, word, STORE_SET, 0) == STORE_OK, "a set was refused");
}

uint64_t
setup_word(uint32_t core, const struct item *it, uint64_t key)
{
	uint64_t value[SETUP_VALUE / 8];

	if (it == NULL)
		return 0;
	weak_check(item_value_len(it) == SETUP_VALUE &&
			   memcmp(item_key(it).data, &key, sizeof key) == 0,
		   "another item");
	memcpy(value, store_value_at(setup_core(core), it, 0).data, SETUP_VALUE);
	weak_check(value[0] == value[1] && value[1] == value[2] && value[0] != 0, "a torn value");
	return value[0];
}

const struct item *
setup_item(uint32_t core, uint64_t key)
{
	return store_get(setup_core(core), setup_view(&key), setup_hash(key));
}

uint64_t
setup_get(uint32_t core, uint64_t key)
{
	return setup_word(core, setup_item(core, key), key);
}

enum store_result
setup_drop(uint32_t core, uint64_t key)
{
	return store_delete(setup_core(core), setup_view(&key), setup_hash(key));
}

void
setup_turns(uint32_t core, uint32_t n)
{
	while (n-- > 0)
		store_turn(setup_core(core), STORE_CLOCK_START);
}

void
setup_nothing(void)
{
}
