/*
 * Saved files that no process saved. Goal: a front, a block, a record and a packed payload of any
 * bytes are refused or within those bytes; a load ends, and the store it went into takes a set
 * and returns it. Method: the bytes as a front, as a packed payload, and as payloads under right
 * sums, since a fuzzer would find none: each byte that ends a payload names its kind.
 */
#include "save/save_load.h"
#include "image/store_image.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY     (8u << 20)
#define FILE_ID    7u
#define BLOCKS_MAX 8u
#define TAIL       1u /* of a block's bytes: its kind */

static struct store_core *
fresh(struct region *region)
{
	const struct store_config cfg = {.memory_bytes = MEMORY,
					 .cores = 2,
					 .value_max = STORE_VALUE_MAX,
					 .seed = FILE_ID,
					 .loads = true};
	static uint64_t floors[STORE_SAVED_FLOORS];
	struct store *store;

	*region = (struct region){.size = store_bytes(&cfg)};
	region->base = aligned_alloc(SAVE_ALIGN, align_up(region->size, SAVE_ALIGN));
	store = store_create(region, &cfg);
	store_load_prepare(store, floors, 0);
	store_turn(store_core_of(store, 0), STORE_CLOCK_START);
	store_offline(store_core_of(store, 0));
	return store_core_of(store, 1);
}

/* Makes a block of each share of the bytes, plain or as if it were
 * packed. Returns their bytes. */
static size_t
make_slot(uint8_t *slot, const uint8_t *data, size_t size)
{
	const size_t share = size / BLOCKS_MAX + 1 + TAIL;
	size_t at = 0;

	for (uint32_t n = 0; size > TAIL && n < BLOCKS_MAX; n++) {
		const size_t len = share < size ? share : size;
		const uint8_t tail = data[len - 1];
		struct save_block b = {.file = FILE_ID,
				       .number = 2 + n,
				       .kind = SAVE_ITEMS + tail % 3,
				       .packed = (uint32_t)(len - TAIL)};

		b.unpacked = (tail & 0x80) != 0 ? SAVE_PAYLOAD_MAX : b.packed;
		memcpy(slot + at + sizeof b, data, b.packed);
		at += save_block_seal(slot + at, &b);
		data += len;
		size -= len;
	}
	return at;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct save_loader l;
	static uint8_t slot[SAVE_SLOT_BYTES], unpacked[SAVE_PAYLOAD_MAX];
	uint64_t floors[STORE_SAVED_FLOORS], file;
	const struct view key = {(const uint8_t *)"k", 1};
	struct save_head head;
	struct region region = {0};
	struct store_core *sc;
	struct fill f;
	const char *why;

	if (size > SAVE_SLOT_BYTES / 2)
		return 0;
	save_front_read(data, size, &file, &head, floors, &why);
	if (size <= SAVE_PAYLOAD_MAX)
		save_unpack(data, (uint32_t)size, unpacked, sizeof unpacked);
	sc = fresh(&region);
	save_load_begin(&l, sc, FILE_ID, (int64_t)size % 3 - 1);
	save_load_slot(&l, 1, slot, make_slot(slot, data, size), STORE_CLOCK_START);
	save_load_end(&l);
	if (store_begin(sc, &f, key, store_hash(sc, key), 1, 0, 0) == STORE_OK) {
		store_fill(sc, &f, "v", 1);
		ensure(store_finish(sc, &f, STORE_SET, 0) == STORE_OK);
	}
	ensure(store_get(sc, key, store_hash(sc, key)) != NULL);
	free(region.base);
	return 0;
}
