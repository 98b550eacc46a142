/*
 * flash_read.c - the record of a key among those that begin on its entry's page.
 */
#include "flash_shard.h"

#include <string.h>

bool
flash_read_buffer(struct flash_shard *s, const struct flash_candidate *at, uint8_t *pages)
{
	const uint32_t buffer = flash_log_pin(&s->log, at->sequence);

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

/* Records that begin on the first page, up to the key's. */
static enum flash_step
walk_to(const struct flash_pages *p, struct view key, struct flash_found *found)
{
	struct flash_walk *w = &found->walk;
	struct flash_record *r = &found->record;
	enum flash_step step;

	w->next = 0;
	flash_walk_skip(p, w, key);
	while ((step = flash_walk_next(p, w, r)) == FLASH_RECORD) {
		if (w->value_at - r->head >= FLASH_PAYLOAD_BYTES)
			return FLASH_END;
		if (r->kind == FLASH_PUT && r->key.len == key.len &&
		    memcmp(r->key.data, key.data, key.len) == 0)
			return FLASH_RECORD;
	}
	return step;
}

enum flash_verdict
flash_read_judge(struct flash_shard *s, const struct flash_candidate *at, const uint8_t *pages,
		 bool was_buffer, struct view key, struct flash_found *found)
{
	struct flash_pages p = {.bytes = pages,
				.sequence = at->sequence,
				.count = flash_location_pages(at->location),
				.first = flash_location_page(at->location)};

	p.good = p.count;
	if (!was_buffer)
		flash_pages_check(&p);
	if (p.good == p.count) {
		const enum flash_step step = walk_to(&p, key, found);

		if (step == FLASH_RECORD)
			return FLASH_FOUND;
		if (step != FLASH_BAD)
			return FLASH_OTHER;
	}
	/* What is not its segment's any more says nothing of the key. */
	return flash_log_live(&s->log, at->location) == at->sequence ? FLASH_UNREADABLE
								     : FLASH_AGAIN;
}
