/*
 * flash_super.c - encodes and decodes the superblock, and chooses the start.
 */
#include "flash_super.h"

#include <stdio.h>
#include <string.h>

/* The superblock has the form of a segment's page, with this sequence, and the number of the copy
 * as the page's number. */
#define SUPER_SEQUENCE 0x31726570757366ull /* "fsuper1" */
#define COPIES         2u
/* More than counting ever reaches. The sequences of a cold start begin above it. */
#define RANDOM_HEAD (1ull << 40)
#define HEAD_MAX    (1ull << 48) /* more than counting from there reaches */

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

static bool
is_zero(const uint8_t *bytes, size_t len)
{
	return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* True if a copy was torn by a loss of power while the other one is complete: each of its sectors
 * is from before or after a write of a superblock. */
static bool
is_torn(const uint8_t *page, uint32_t copy, const struct flash_super *whole)
{
	struct flash_page h;
	struct flash_super s;

	memcpy(&h, page, sizeof h);
	memcpy(&s, page + sizeof h, sizeof s);
	if (h.sequence != (uint32_t)SUPER_SEQUENCE || h.number != copy ||
	    s.layout.device != whole->layout.device)
		return false;
	/* A partition table ends in bytes that make this number odd. */
	for (uint32_t i = 0; i < FLASH_SHARDS_MAX; i++)
		if (s.shard[i].head >= HEAD_MAX || s.shard[i].first > HEAD_MAX ||
		    s.shard[i].rows >= HEAD_MAX)
			return false;
	return is_zero(page + sizeof h + sizeof s, FLASH_PAYLOAD_BYTES - sizeof s);
}

bool
flash_super_may_take(const uint8_t *bytes, size_t len)
{
	const size_t copies = (size_t)COPIES * FLASH_SUPER_BYTES;
	struct flash_super super;
	struct flash_page h;
	bool known;

	if (len < copies)
		return is_zero(bytes, len);
	known = flash_super_read(bytes, &super);
	for (uint32_t i = 0; i < COPIES; i++) {
		const uint8_t *page = bytes + (size_t)i * FLASH_SUPER_BYTES;

		if (!flash_page_read(page, SUPER_SEQUENCE, i, &h) &&
		    !is_zero(page, FLASH_SUPER_BYTES) && !(known && is_torn(page, i, &super)))
			return false;
	}
	return is_zero(bytes + copies, len - copies);
}

static bool
is_layout(const struct flash_layout *a, const struct flash_layout *b)
{
	return a->shards == b->shards && a->segments == b->segments &&
	       a->segment_pages == b->segment_pages && a->buckets == b->buckets &&
	       a->columns == b->columns && a->column_buckets == b->column_buckets &&
	       a->column_pages == b->column_pages && a->streams == b->streams &&
	       a->large_segments == b->large_segments && a->large_buckets == b->large_buckets;
}

static bool
is_state(const struct flash_state_id *state, const struct flash_super *super)
{
	return state->incarnation == super->incarnation &&
	       state->layout.device == super->layout.device &&
	       state->layout.seed == super->layout.seed &&
	       is_layout(&state->layout, &super->layout);
}

/* True if the numbers are possible. A recovery with impossible ones might never end. */
static bool
super_is_sound(const struct flash_super *s)
{
	for (uint32_t i = 0; i < s->layout.shards; i++)
		if (s->shard[i].head >= HEAD_MAX || s->shard[i].first > s->shard[i].head + 1)
			return false;
	return true;
}

/* Returns why no kind of start can keep anything; NULL: there is no reason. */
static const char *
fault_of(const struct flash_before *b, const struct flash_layout *layout)
{
	const struct flash_super *s = b->super;

	if (s == NULL)
		return "it is new";
	if (s->layout.device != layout->device)
		return "it is another device";
	if (!is_layout(&s->layout, layout))
		return "it was divided for another flash.size, flash.layout, flash.large or "
		       "flash.item_size";
	if (s->layout.seed != layout->seed)
		return "memory has another hash of keys";
	if (s->clean != 0 && !super_is_sound(s))
		return "its numbers are damaged";
	if (b->has_store &&
	    (b->store.device != layout->device || b->store.incarnation != s->incarnation))
		return "what memory keeps was last served without it";
	return NULL;
}

enum flash_start
flash_start_of(const struct flash_before *b, const struct flash_layout *layout,
	       char words[FLASH_START_WORDS])
{
	const char *fault = fault_of(b, layout);

	words[0] = '\0';
	if (fault != NULL) {
		strcpy(words, fault);
		return FLASH_COLD;
	}
	/* A CLEAN superblock is newer than anything that a killed process left. */
	if (b->super->clean != 0) {
		snprintf(words, FLASH_START_WORDS, "%s", b->gap_words);
		return words[0] == '\0' ? FLASH_FROM_CLEAN : FLASH_COLD;
	}
	if (b->state->incarnation != 0 && is_state(b->state, b->super))
		return FLASH_FROM_STATE;
	snprintf(words, FLASH_START_WORDS,
		 "its process was killed, and of flash.state nothing is kept: %s",
		 b->state->incarnation != 0 ? "it is of another process" : b->state_words);
	return FLASH_COLD;
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
