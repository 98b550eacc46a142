/*
 * save_blocks.c - converts records to blocks, and blocks to slots.
 */
#include "save_blocks.h"

#include <string.h>

size_t
save_blocks_bytes(void)
{
	return SAVE_IO_BYTES + SAVE_BLOCK_BYTES + align_up(save_packer_bytes(), SAVE_ALIGN);
}

/* ---- slots ---- */

static bool
packs(const struct save_blocks *w)
{
	return w->level != SAVE_UNPACKED;
}

static uint8_t *
slot_at(const struct save_blocks *w)
{
	return save_io_buffer(&w->io, w->slot) + w->used;
}

static uint32_t
slot_left(const struct save_blocks *w)
{
	return SAVE_SLOT_BYTES - w->used;
}

static void
note(struct save_blocks *w, int32_t e)
{
	if (e < 0 && w->e == 0)
		w->e = e;
}

/* Opens the slot, after its buffer's previous transfer. */
static void
slot_open(struct save_blocks *w)
{
	note(w, save_io_wait(&w->io, w->slot));
	w->used = 0;
}

static void
slot_close(struct save_blocks *w)
{
	if (w->used != 0 && w->e == 0)
		save_io_begin(&w->io, w->slot, w->used);
	w->result->file_bytes = w->slot * SAVE_SLOT_BYTES + w->used;
	w->slot++;
	slot_open(w);
	if (w->go_on != NULL && !w->go_on(w->arg, w->result))
		w->ends = true;
}

/* ---- blocks ---- */

/* Seals the block at the end of the slot. */
static void
seal(struct save_blocks *w, uint32_t packed)
{
	struct save_block b = {.file = w->file,
			       .number = w->number++,
			       .kind = w->kind,
			       .packed = packed,
			       .unpacked = w->len};

	w->used += save_block_seal(slot_at(w), &b);
}

static uint32_t
payload_room(const struct save_blocks *w)
{
	const uint32_t left = slot_left(w);

	if (left < SAVE_ALIGN)
		return 0;
	return left < SAVE_BLOCK_BYTES ? left - (uint32_t)sizeof(struct save_block)
				       : SAVE_PAYLOAD_MAX;
}

/* Seals the payload in w->raw into the slot if it fits there, packed if that is smaller. */
static void
seal_packed(struct save_blocks *w)
{
	uint32_t packed = 0;

	for (uint32_t tries = 0; tries < 2; tries++) {
		const uint32_t room = payload_room(w);
		uint8_t *to = slot_at(w) + sizeof(struct save_block);

		packed = room != 0 ? save_pack(w->packer, w->level, w->raw, w->len, to, room) : 0;
		if (packed == 0 && w->len <= room) {
			memcpy(to, w->raw, w->len);
			packed = w->len;
		}
		if (packed != 0)
			break;
		slot_close(w); /* the next slot has room for any block */
	}
	seal(w, packed);
}

static void
block_close(struct save_blocks *w)
{
	if (w->kind != 0 && w->len != 0 && packs(w))
		seal_packed(w);
	else if (w->kind != 0 && w->len != 0)
		seal(w, w->len);
	w->kind = 0;
	w->len = 0;
}

/* Opens a block with room for at least need bytes. */
static void
block_open(struct save_blocks *w, enum save_kind kind, uint32_t need)
{
	block_close(w);
	if (!packs(w) && payload_room(w) < need)
		slot_close(w);
	w->kind = kind;
	w->payload = packs(w) ? w->raw : slot_at(w) + sizeof(struct save_block);
	w->room = packs(w) ? SAVE_PAYLOAD_MAX : payload_room(w);
}

/* ---- items ---- */

void
save_blocks_item(struct save_blocks *w, const struct store_saved_item *saved)
{
	const uint64_t head = save_record_bytes(saved->key.len, saved->flags, saved->expiry_s);
	const uint64_t bytes = head + saved->value_len;
	const bool large = bytes > SAVE_PAYLOAD_MAX;

	w->result->items++;
	w->result->value_bytes += saved->key.len + saved->value_len;
	if (large)
		block_open(w, SAVE_LARGE, SAVE_RECORD_MAX + 1);
	else if (w->kind != SAVE_ITEMS || w->room - w->len < bytes)
		block_open(w, SAVE_ITEMS, (uint32_t)bytes);
	w->len += save_record_write(w->payload + w->len, saved);
	w->value_left = saved->value_len;
}

void
save_blocks_value(struct save_blocks *w, struct view bytes)
{
	ensure(bytes.len <= w->value_left);
	w->value_left -= bytes.len;
	while (bytes.len != 0) {
		const uint32_t room = w->room - w->len;
		const uint32_t n = bytes.len < room ? bytes.len : room;

		memcpy(w->payload + w->len, bytes.data, n);
		w->len += n;
		bytes.data += n;
		bytes.len -= n;
		if (bytes.len != 0 || (w->value_left != 0 && w->len == w->room))
			block_open(w, SAVE_MORE, 1);
	}
	if (w->value_left == 0 && w->kind != SAVE_ITEMS)
		block_close(w);
}

/* ---- the file ---- */

void
save_blocks_begin(struct save_blocks *w, void *memory)
{
	uint8_t *at = memory;

	w->raw = at + SAVE_IO_BYTES;
	w->packer = (void *)(at + SAVE_IO_BYTES + SAVE_BLOCK_BYTES);
	w->used = SAVE_FRONT_BYTES;
	w->number = 2; /* after the front's blocks */
	w->result->how = save_io_words(&w->io);
	memset(at, 0, SAVE_FRONT_BYTES);
}

void
save_blocks_end(struct save_blocks *w)
{
	block_close(w);
	if (w->used != 0)
		slot_close(w);
	for (uint32_t i = 0; i < SAVE_IO_DEPTH; i++)
		note(w, save_io_wait(&w->io, i));
}

void
save_blocks_front(struct save_blocks *w, const struct save_head *head,
		  const uint64_t floors[STORE_SAVED_FLOORS])
{
	save_front_write(save_io_buffer(&w->io, 0), w->file, head, floors);
	save_io_begin(&w->io, 0, SAVE_FRONT_BYTES);
	note(w, save_io_wait(&w->io, 0));
	note(w, save_io_sync(&w->io));
}
