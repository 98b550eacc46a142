/*
 * Pages of flash that no process wrote. Goal: on any bytes, a page that was not sealed this way
 * is refused; and under right sums every record that a walk gives is within the pages, the walk
 * ends, and a record that was read writes the same bytes. Method: the bytes as they are, then as
 * payloads with first and used from their own beginning, sealed.
 */
#include "flash/flash_segment.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define PAGES_MAX 6u
#define SEQUENCE  77u

static void
walk(const uint8_t *bytes, uint32_t count)
{
	const uint32_t end = count * FLASH_PAYLOAD_BYTES;
	struct flash_pages p = {.bytes = bytes, .count = count, .first = 1, .sequence = SEQUENCE};
	struct flash_walk w = {0};
	struct flash_record r;
	enum flash_step step;

	flash_pages_check(&p);
	ensure(p.good <= count);
	for (uint32_t steps = 0; (step = flash_walk_next(&p, &w, &r)) == FLASH_RECORD; steps++) {
		uint8_t head[FLASH_HEAD_BYTES_MAX], value[64];

		ensure(steps <= end / FLASH_RECORD_HEAD);
		ensure(w.value_at <= end && r.value_len <= end - w.value_at);
		if (r.value_len <= sizeof value)
			flash_payload_get(bytes, w.value_at, value, r.value_len);
		/* A writer leaves out fields that are 0; a reader accepts them. */
		ensure(flash_record_write(head, &r) <= r.head);
	}
	ensure(step != FLASH_END || p.good == count);
	w.next = 0;
	flash_walk_skip(&p, &w, (struct view){(const uint8_t *)"k", 1});
	ensure(w.next <= end + 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t share = FLASH_PAGE_BYTES - 12;
	const uint32_t count =
		(uint32_t)(size / share) + 1 < PAGES_MAX ? (uint32_t)(size / share) + 1 : PAGES_MAX;
	uint8_t *pages = calloc(count, FLASH_PAGE_BYTES);

	for (uint32_t i = 0; i < count && size > 4; i++) {
		const size_t len = size < share ? size : share;
		uint16_t h[2];

		memcpy(h, data, sizeof h);
		memcpy(pages + i * FLASH_PAGE_BYTES + sizeof(struct flash_page), data + 4, len - 4);
		flash_page_seal(pages + i * FLASH_PAGE_BYTES, SEQUENCE, 1 + i, h[0],
				h[1] % (FLASH_PAYLOAD_BYTES + 1));
		data += len;
		size -= len;
	}
	walk(pages, count);
	pages[0] ^= 1;
	walk(pages, count);
	free(pages);
	return 0;
}
