/*
 * save_write.c - converts items to records, records to blocks, and blocks to slots.
 */
#include "save_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct writer {
	const struct save_ask *ask;
	struct save_told *told;
	struct save_io io;
	struct store_core *core; /* through which values are read */
	struct save_packer *packer;
	uint8_t *raw; /* a payload before it is packed */
	uint64_t slot, number;
	uint32_t used; /* bytes of the slot in closed blocks */
	uint32_t kind; /* of the open block; 0: none is open */
	uint8_t *payload;
	uint32_t len, room; /* of the open block's payload */
	int e;              /* the first error */
	bool ends;          /* go_on returned false */
};

size_t
save_write_bytes(void)
{
	return SAVE_IO_BYTES + SAVE_BLOCK_BYTES + align_up(save_packer_bytes(), SAVE_ALIGN);
}

/* ---- slots ---- */

static bool
packs(const struct writer *w)
{
	return w->ask->level != SAVE_UNPACKED;
}

static uint8_t *
slot_at(const struct writer *w)
{
	return save_io_buffer(&w->io, w->slot) + w->used;
}

static uint32_t
slot_left(const struct writer *w)
{
	return SAVE_SLOT_BYTES - w->used;
}

static void
note(struct writer *w, int32_t e)
{
	if (e < 0 && w->e == 0)
		w->e = e;
}

/* Opens the slot, after its buffer's previous transfer. */
static void
slot_open(struct writer *w)
{
	note(w, save_io_wait(&w->io, w->slot));
	w->used = 0;
}

static void
slot_close(struct writer *w)
{
	if (w->used != 0 && w->e == 0)
		save_io_begin(&w->io, w->slot, w->used);
	w->told->file_bytes = w->slot * SAVE_SLOT_BYTES + w->used;
	w->slot++;
	slot_open(w);
	if (w->ask->go_on != NULL && !w->ask->go_on(w->ask->arg, w->told))
		w->ends = true;
}

/* ---- blocks ---- */

/* Seals the block at the end of the slot. */
static void
seal(struct writer *w, uint32_t packed)
{
	struct save_block b = {.file = w->ask->file,
			       .number = w->number++,
			       .kind = w->kind,
			       .packed = packed,
			       .unpacked = w->len};

	w->used += save_block_seal(slot_at(w), &b);
}

static uint32_t
payload_room(const struct writer *w)
{
	const uint32_t left = slot_left(w);

	if (left < SAVE_ALIGN)
		return 0;
	return left < SAVE_BLOCK_BYTES ? left - (uint32_t)sizeof(struct save_block)
				       : SAVE_PAYLOAD_MAX;
}

/* Seals the payload in w->raw where it fits, packed if that is smaller. */
static void
seal_packed(struct writer *w)
{
	uint32_t packed = 0;

	for (uint32_t tries = 0; tries < 2; tries++) {
		const uint32_t room = payload_room(w);
		uint8_t *to = slot_at(w) + sizeof(struct save_block);

		packed = room != 0 ? save_pack(w->packer, w->ask->level, w->raw, w->len, to, room)
				   : 0;
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
block_close(struct writer *w)
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
block_open(struct writer *w, enum save_kind kind, uint32_t need)
{
	block_close(w);
	if (!packs(w) && payload_room(w) < need)
		slot_close(w);
	w->kind = kind;
	w->payload = packs(w) ? w->raw : slot_at(w) + sizeof(struct save_block);
	w->room = packs(w) ? SAVE_PAYLOAD_MAX : payload_room(w);
}

/* ---- items ---- */

/* Copies count bytes of the value from an offset on. */
static void
put_value(struct writer *w, const struct item *it, uint32_t from, uint32_t count)
{
	while (count != 0) {
		const struct view run = store_value_at(w->core, it, from);
		const uint32_t n = run.len < count ? run.len : count;

		memcpy(w->payload + w->len, run.data, n);
		w->len += n;
		from += n;
		count -= n;
	}
}

static void
put_large(struct writer *w, const struct item *it, const struct store_saved_item *saved)
{
	uint32_t from = 0;

	block_open(w, SAVE_LARGE, SAVE_RECORD_MAX + 1);
	w->len = save_record_write(w->payload, saved);
	while (from < saved->value_len) {
		const uint32_t left = saved->value_len - from, room = w->room - w->len;
		const uint32_t n = left < room ? left : room;

		put_value(w, it, from, n);
		from += n;
		if (from < saved->value_len)
			block_open(w, SAVE_MORE, 1);
	}
	block_close(w);
}

static void
put_item(struct writer *w, const struct item *it)
{
	const struct store_saved_item saved = {
		.key = item_key(it),
		.cas = item_cas(it),
		.value_len = item_value_len(it),
		.flags = item_flags(it),
		.expiry_s = item_expiry_s(it),
		.bits = store_saved_bits_of(w->ask->store, it),
	};
	const uint64_t head = save_record_bytes(saved.key.len, saved.flags, saved.expiry_s);

	w->told->items++;
	w->told->value_bytes += saved.key.len + saved.value_len;
	if (head + saved.value_len > SAVE_PAYLOAD_MAX) {
		put_large(w, it, &saved);
		return;
	}
	if (w->kind != SAVE_ITEMS || w->room - w->len < head + saved.value_len)
		block_open(w, SAVE_ITEMS, (uint32_t)head + saved.value_len);
	w->len += save_record_write(w->payload + w->len, &saved);
	put_value(w, it, 0, saved.value_len);
}

/* ---- the file ---- */

/* Writes all items. The floors cover all items, saved or not: a key that is lost must not get a
 * cas number twice. */
static void
put_items(struct writer *w, struct store_scan *scan)
{
	const struct item *it;

	while ((it = store_scan_next(w->ask->store, scan, w->ask->now_s)) != NULL) {
		w->told->finished = !w->ends && w->e == 0;
		if (w->told->finished)
			put_item(w, it);
		else if (w->e != 0)
			return;
	}
	w->told->finished = !w->ends && w->e == 0;
	block_close(w);
	if (w->used != 0)
		slot_close(w);
	for (uint32_t i = 0; i < SAVE_IO_DEPTH; i++)
		note(w, save_io_wait(&w->io, i));
}

static void
put_front(struct writer *w, const struct store_scan *scan)
{
	uint64_t floors[STORE_SAVED_FLOORS];
	struct save_head head = {
		.layout = SAVE_LAYOUT,
		.hashes_crc = store_hashes_crc(),
		.seed = store_seed(w->ask->store),
		.items = w->told->items,
		.value_bytes = w->told->value_bytes,
		.beat = w->ask->beat,
		.flush_due_s = store_flush_due_s(w->ask->store),
		.finished = w->told->finished,
	};

	memcpy(head.boot_id, w->ask->boot_id, strnlen(w->ask->boot_id, BOOT_ID_BYTES - 1));
	store_saved_floors(w->ask->store, scan, floors);
	save_front_write(save_io_buffer(&w->io, 0), w->ask->file, &head, floors);
	save_io_begin(&w->io, 0, SAVE_FRONT_BYTES);
	note(w, save_io_wait(&w->io, 0));
	note(w, save_io_sync(&w->io));
}

bool
save_write(const struct save_ask *ask, struct save_told *told, struct error *err)
{
	uint8_t *memory = ask->memory;
	struct writer w = {
		.ask = ask,
		.told = told,
		.core = store_core_of(ask->store, 0),
		.raw = memory + SAVE_IO_BYTES,
		.packer = (void *)(memory + SAVE_IO_BYTES + SAVE_BLOCK_BYTES),
		.used = SAVE_FRONT_BYTES,
		.number = 2, /* after the front's blocks */
	};
	struct store_scan scan = {.pass = 0};

	*told = (struct save_told){.how = ""};
	w.e = save_io_open(&w.io, ask->path, O_RDWR | O_CREAT | O_EXCL, ask->uring, memory);
	if (w.e == 0) {
		told->how = save_io_words(&w.io);
		memset(memory, 0, SAVE_FRONT_BYTES);
		put_items(&w, &scan);
		if (w.e == 0)
			put_front(&w, &scan);
		save_io_close(&w.io);
	}
	return w.e == 0 || error_set(err, "%s: %s", ask->path, strerror(-w.e));
}
