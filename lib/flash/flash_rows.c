/*
 * flash_rows.c - writes, reads and checks the rows of columns.
 */
#include "flash_rows.h"

#include "base/crc32c.h"

#define SUM_THERE  (1ull << 32) /* keeps a sum from being 0 */
#define NUMBER_MAX (1ull << 40) /* more than counting ever reaches */

size_t
flash_rows_bytes(uint32_t buckets)
{
	return align_up(flash_columns_bytes(buckets), FLASH_PAGE_BYTES);
}

/* ---- transfers ---- */

static uint32_t
piece_of(size_t bytes, size_t at)
{
	return bytes - at < FLASH_TRANSFER_MAX ? (uint32_t)(bytes - at) : FLASH_TRANSFER_MAX;
}

/* Waits for the transfers in progress, since the next user of the device must not receive their
 * results. Returns how many have not ended. */
static uint32_t
drain(const struct flash_rows_io *rows, uint32_t under_way)
{
	struct flash_result ended;

	for (uint32_t i = 0; i < FLASH_ROWS_WAITS && under_way != 0; i++) {
		if (rows->device->ops->poll(rows->device, &ended, 1) == 0)
			rows->wait(rows->arg);
		else
			under_way -= ended.tag == FLASH_ROWS_TAG;
	}
	return under_way;
}

/* Reads or writes all rows. *hangs: how many transfers have not ended. */
static bool
transfer_rows(const struct flash_column_config *c, const struct flash_rows_io *rows,
	      enum flash_io_kind kind, bool *hangs)
{
	const uint64_t offset = c->offset + (uint64_t)c->count * c->pages * FLASH_PAGE_BYTES;
	const size_t bytes = flash_rows_bytes(c->buckets);
	uint32_t under_way = 0;
	bool ok = true;

	for (size_t at = 0; at < bytes || under_way != 0;) {
		const struct flash_io io = {.tag = FLASH_ROWS_TAG,
					    .offset = offset + at,
					    .data = c->memory + at,
					    .len = at < bytes ? piece_of(bytes, at) : 0,
					    .kind = kind};
		struct flash_result ended;

		if (at < bytes && under_way < FLASH_ROWS_DEPTH &&
		    rows->device->ops->submit(rows->device, &io, 1) == 1) {
			under_way++;
			at += io.len;
		} else if (rows->device->ops->poll(rows->device, &ended, 1) == 0) {
			if (rows->wait(rows->arg))
				continue;
			*hangs = drain(rows, under_way) != 0;
			return false;
		} else if (ended.tag == FLASH_ROWS_TAG) {
			under_way--;
			ok &= ended.error == 0;
		}
	}
	return ok;
}

static uint64_t
rows_sum(const struct flash_column_config *c)
{
	const size_t bytes = flash_rows_bytes(c->buckets);
	uint32_t crc = ~0u;

	for (size_t at = 0; at < bytes; at += piece_of(bytes, at))
		crc = crc32c(c->memory + at, piece_of(bytes, at), crc);
	return crc | SUM_THERE;
}

uint64_t
flash_rows_write(const struct flash_column_config *c, const struct flash_rows_io *io)
{
	bool hangs;

	return transfer_rows(c, io, FLASH_WRITE, &hangs) ? rows_sum(c) : 0;
}

/* ---- a start ---- */

/* True if a process can have left these numbers. Fingerprints and borders need no check, since
 * lookups tolerate any. */
static bool
rows_are_sound(const struct flash_column_config *c)
{
	const struct flash_columns_kept *k = (const void *)c->memory;

	if (k->last >= NUMBER_MAX || (k->visible >> (c->count - 1)) > 1)
		return false;
	for (uint32_t i = 0; i < c->count; i++)
		if ((k->visible >> i & 1) != 0 &&
		    (k->number[i] % c->count != i || k->number[i] > k->last ||
		     k->pages[i] > c->pages))
			return false;
	return true;
}

bool
flash_rows_start(struct flash_column_config *c, enum flash_start start,
		 const struct flash_super *super, uint32_t shard, const struct flash_rows_io *io)
{
	const uint64_t sum = start == FLASH_FROM_CLEAN ? super->shard[shard].rows : 0;

	bool hangs = false;

	c->is_kept = false;
	if (start == FLASH_COLD)
		return true;
	if (start == FLASH_FROM_CLEAN &&
	    (sum == 0 || !transfer_rows(c, io, FLASH_READ, &hangs) || rows_sum(c) != sum))
		return !hangs;
	c->is_kept = rows_are_sound(c);
	return true;
}
