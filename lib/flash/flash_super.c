/*
 * flash_super.c - the superblock to bytes and back, and what kind of start it allows.
 */
#include "flash_super.h"

#include <string.h>

/* A page as segments have them: its sum covers this sequence and number. */
#define SUPER_SEQUENCE 0x31726570757366ull /* "fsuper1" */
#define COPIES         2u
#define RANDOM_HEAD    (1ull << 40) /* above any that counting reaches */

static_assert(sizeof(struct flash_super) <= FLASH_PAYLOAD_BYTES, "it is one page");

uint64_t
flash_super_write(uint8_t *page, const struct flash_super *super)
{
	const uint32_t copy = super->counter % COPIES;

	memcpy(page + sizeof(struct flash_page), super, sizeof *super);
	flash_page_seal(page, SUPER_SEQUENCE, copy, FLASH_NO_RECORD, sizeof *super);
	return (uint64_t)copy * FLASH_SUPER_BYTES;
}

bool
flash_super_read(const uint8_t *pages, struct flash_super *super)
{
	bool found = false;

	for (uint32_t i = 0; i < COPIES; i++) {
		const uint8_t *page = pages + i * FLASH_SUPER_BYTES;
		struct flash_super s;
		struct flash_page h;

		if (!flash_page_read(page, SUPER_SEQUENCE, i, &h) || h.used != sizeof s)
			continue;
		memcpy(&s, page + sizeof h, sizeof s);
		if (found && s.counter < super->counter)
			continue;
		*super = s;
		found = true;
	}
	return found;
}

bool
flash_super_may_take(const uint8_t *bytes, size_t len)
{
	struct flash_page h;

	for (uint32_t i = 0; i < COPIES && len >= (i + 1) * FLASH_SUPER_BYTES; i++)
		if (flash_page_read(bytes + i * FLASH_SUPER_BYTES, SUPER_SEQUENCE, i, &h))
			return true;
	return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static bool
is_layout(const struct flash_layout *a, const struct flash_layout *b)
{
	return a->device == b->device && a->seed == b->seed && a->shards == b->shards &&
	       a->segments == b->segments && a->segment_pages == b->segment_pages &&
	       a->buckets == b->buckets;
}

enum flash_start
flash_start_of(const struct flash_super *super, const struct flash_state_id *state,
	       const struct flash_layout *layout)
{
	if (super == NULL || !is_layout(&super->layout, layout))
		return FLASH_COLD;
	/* Left whole: what a killed process kept is older. */
	if (super->clean != 0)
		return FLASH_FROM_CLEAN;
	return state->incarnation == super->incarnation && is_layout(&state->layout, layout)
		       ? FLASH_FROM_STATE
		       : FLASH_COLD;
}

void
flash_start_kept(enum flash_start start, const struct flash_super *super, uint32_t shard,
		 uint64_t random, struct flash_kept *kept)
{
	if (start == FLASH_FROM_STATE)
		return;
	memset(kept, 0, sizeof *kept);
	if (start == FLASH_FROM_CLEAN) {
		kept->head = super->shard[shard].head;
		kept->first = super->shard[shard].first;
		return;
	}
	kept->head = RANDOM_HEAD | random % RANDOM_HEAD;
	kept->first = kept->head + 1;
}
