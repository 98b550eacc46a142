/*
 * flash_replay.c - checks a segment's pages, and reads its records.
 */
#include "flash_replay.h"

static bool
is_segment(const struct flash_replay_of *of, const uint8_t *bytes, uint64_t sequence)
{
	struct flash_segment_id id;

	return flash_header_read(bytes, &id) && id.device == of->id.device &&
	       id.shard == of->id.shard && id.stream == of->id.stream && id.sequence == sequence;
}

void
flash_replay_begin(struct flash_replay *r, const struct flash_replay_of *of, const uint8_t *bytes,
		   uint64_t sequence)
{
	r->pages = (struct flash_pages){
		.sequence = sequence, .count = of->segment_pages - 1, .first = 1};
	r->walk.next = 0;
	r->count = 0;
	r->step = FLASH_BAD;
	if (bytes == NULL || !is_segment(of, bytes, sequence))
		return;
	r->pages.bytes = bytes + FLASH_PAGE_BYTES;
	flash_pages_check(&r->pages);
	if (r->pages.good == r->pages.count)
		r->step = FLASH_RECORD;
}

static struct flash_change
put_of(const struct flash_replay *r, const struct flash_replay_of *of,
       const struct flash_record *record)
{
	const uint32_t page = (r->walk.value_at - record->head) / FLASH_PAYLOAD_BYTES;
	const uint32_t last = (r->walk.value_at + record->value_len - 1) / FLASH_PAYLOAD_BYTES;
	const uint32_t slot = (uint32_t)(r->pages.sequence % of->segments);

	return (struct flash_change){.hash = of->hash(of->arg, record->key),
				     .location = flash_location(slot, 1 + page, last - page + 1),
				     .kind = FLASH_PUT};
}

void
flash_replay_next(struct flash_replay *r, const struct flash_replay_of *of,
		  struct flash_change *changes, uint32_t room)
{
	struct flash_record record;

	for (r->count = 0; r->count < room;) {
		r->step = flash_walk_next(&r->pages, &r->walk, &record);
		if (r->step != FLASH_RECORD)
			return;
		if (record.kind == FLASH_PUT)
			changes[r->count++] = put_of(r, of, &record);
		else if (record.kind != FLASH_VOID)
			changes[r->count++] = (struct flash_change){
				.hash = record.number,
				.location =
					1 + (r->walk.value_at - record.head) / FLASH_PAYLOAD_BYTES,
				.kind = record.kind};
	}
}
