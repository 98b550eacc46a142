/*
 * flash_read.c - finds a key's record among those that begin on its entry's page.
 */
#include "flash_shard_columns.h"
#include "flash_shard_inside.h"

#include <string.h>

bool
flash_read_buffer(struct flash_shard *s, const struct flash_candidate *at, uint8_t *pages)
{
	const uint32_t buffer =
		flash_is_in_column(at) ? FLASH_BUFFERS : flash_log_pin(&s->log, at->sequence);

	if (buffer == FLASH_BUFFERS)
		return false;
	protocol_gap();
	memcpy(pages,
	       s->log.buffer[buffer].pages +
		       (size_t)flash_location_page(at->location) * FLASH_PAGE_BYTES,
	       (size_t)flash_location_pages(at->location) * FLASH_PAGE_BYTES);
	flash_log_unpin(&s->log, buffer);
	return true;
}

/* Walks over the records that begin on the first `pages` pages, up to the one with this key. */
static enum flash_step
walk_to(const struct flash_pages *p, uint32_t pages, struct view key, struct flash_found *found)
{
	struct flash_walk *w = &found->walk;
	struct flash_record *r = &found->record;
	enum flash_step step;

	w->next = 0;
	flash_walk_skip(p, w, key);
	while ((step = flash_walk_next(p, w, r)) == FLASH_RECORD) {
		if (w->value_at - r->head >= pages * FLASH_PAYLOAD_BYTES)
			return FLASH_END;
		if (r->kind == FLASH_PUT && r->key.len == key.len &&
		    memcmp(r->key.data, key.data, key.len) == 0)
			return FLASH_RECORD;
	}
	return step;
}

/* Describes the pages of a candidate, which is in a column or in the log. */
static struct flash_pages
pages_of(const struct flash_shard *s, const struct flash_candidate *at)
{
	const bool in_column = flash_is_in_column(at);

	return (struct flash_pages){
		.sequence = in_column ? flash_column_sequence(s, at->sequence & ~FLASH_IN_COLUMN)
				      : at->sequence,
		.count = flash_candidate_pages(at),
		.first = in_column ? (at->location & ~FLASH_USED) >> 1
				   : flash_location_page(at->location),
	};
}

static bool
is_live(const struct flash_shard *s, const struct flash_candidate *at)
{
	return flash_is_in_column(at) ? flash_column_is_shown(s, at->sequence & ~FLASH_IN_COLUMN)
				      : flash_log_live(&s->log, at->location) == at->sequence;
}

enum flash_verdict
flash_read_judge(struct flash_shard *s, const struct flash_candidate *at, const uint8_t *pages,
		 bool was_buffer, struct view key, struct flash_found *found)
{
	struct flash_pages p = pages_of(s, at);

	p.bytes = pages;
	p.good = p.count;
	if (!was_buffer)
		flash_pages_check(&p);
	if (p.good == p.count) {
		/* An index entry leads to the first page. In a column the record may begin on
		 * either page of its bucket. */
		const enum flash_step step =
			walk_to(&p, flash_is_in_column(at) ? p.count : 1, key, found);

		if (step == FLASH_RECORD)
			return FLASH_FOUND;
		if (step != FLASH_BAD)
			return FLASH_OTHER;
	}
	/* If the segment or column no longer counts, the pages prove nothing about the key. A bad
	 * page in a buffer proves nothing about the device. */
	return is_live(s, at) && !was_buffer ? FLASH_UNREADABLE : FLASH_AGAIN;
}
