/*
 * save_load.c - converts slots to blocks, blocks to records, and records to items.
 */
#include "save_load.h"

#include <string.h>

void
save_load_begin(struct save_loader *l, struct store_core *core, uint64_t file, int64_t shift_s)
{
	memset(l, 0, sizeof *l);
	l->core = core;
	l->file = file;
	l->shift_s = shift_s;
	l->number = 1; /* number of the front's last block */
}

static void
count(struct save_loader *l, enum store_loaded how, const struct store_saved_item *saved)
{
	switch (how) {
	case STORE_LOADED:
		l->count.items++;
		l->count.value_bytes += saved->key.len + saved->value_len;
		break;
	case STORE_LOAD_NEWER:
		l->count.newer++;
		break;
	case STORE_LOAD_NO_ROOM:
		l->count.no_room++;
		break;
	case STORE_LOAD_FLUSHED:
		l->over = true;
		break;
	}
}

/* Translates an item's expiry to this process's clock. False: it has expired. */
static bool
translate(struct save_loader *l, struct store_saved_item *saved)
{
	const int64_t at_s = saved->expiry_s - l->shift_s;

	if (saved->expiry_s == 0)
		return true;
	saved->expiry_s = at_s < UINT32_MAX ? (uint32_t)at_s : UINT32_MAX;
	return at_s > l->now_s;
}

/* ---- items that a block holds ---- */

struct parsed {
	struct store_saved_item saved;
	const uint8_t *value;
	struct fill fill;
	enum store_loaded how;
};

/* Parses the next records, hashes their keys and prefetches their buckets. Returns the bytes that
 * they take. */
static uint32_t
parse_some(struct save_loader *l, const uint8_t *at, uint32_t len, struct parsed *some,
	   uint32_t *parsed)
{
	uint32_t used = 0, n = 0;

	while (n < SAVE_AHEAD && used < len) {
		struct parsed *p = &some[n];
		const uint32_t head = save_record_read(at + used, len - used, &p->saved);

		if (head == 0 || p->saved.value_len > len - used - head) {
			l->count.damaged++;
			used = len;
			break;
		}
		p->value = at + used + head;
		used += head + p->saved.value_len;
		if (!translate(l, &p->saved)) {
			l->count.expired++;
			continue;
		}
		store_load_look(l->core, &p->saved);
		n++;
	}
	*parsed = n;
	return used;
}

/* Loads some items, each step for all of them before the next: taking a lock waits for earlier
 * stores, and these wait for memory. */
static void
load_some(struct save_loader *l, struct parsed *some, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		some[i].how = store_load_begin(l->core, &some[i].fill, &some[i].saved);
	for (uint32_t i = 0; i < n; i++)
		if (some[i].how == STORE_LOADED)
			store_fill(l->core, &some[i].fill, some[i].value, some[i].saved.value_len);
	for (uint32_t i = 0; i < n; i++) {
		struct parsed *p = &some[i];

		if (p->how == STORE_LOADED)
			p->how = store_load_finish(l->core, &p->fill, &p->saved);
		count(l, p->how, &p->saved);
	}
}

static void
load_items(struct save_loader *l, const uint8_t *payload, uint32_t len)
{
	struct parsed some[SAVE_AHEAD];

	for (uint32_t at = 0; at < len && !l->over;) {
		uint32_t n;

		at += parse_some(l, payload + at, len - at, some, &n);
		load_some(l, some, n);
	}
}

/* ---- items of several blocks ---- */

static void
give_up_large(struct save_loader *l)
{
	if (l->large)
		store_abandon(l->core, &l->fill);
	l->large = false;
}

static void
load_part(struct save_loader *l, const uint8_t *bytes, uint32_t len)
{
	const uint32_t left = l->saved.value_len - l->fill.filled;

	if (len > left) {
		l->count.damaged++;
		give_up_large(l);
		return;
	}
	store_fill(l->core, &l->fill, bytes, len);
	if (len < left)
		return;
	l->large = false;
	count(l, store_load_finish(l->core, &l->fill, &l->saved), &l->saved);
}

static void
load_large(struct save_loader *l, const uint8_t *payload, uint32_t len)
{
	const uint32_t head = save_record_read(payload, len, &l->saved);
	enum store_loaded how;

	if (head == 0 || l->saved.value_len <= len - head) {
		l->count.damaged++;
		return;
	}
	memcpy(l->key, l->saved.key.data, l->saved.key.len);
	l->saved.key.data = l->key;
	if (!translate(l, &l->saved)) {
		l->count.expired++;
		return;
	}
	l->saved.hash = store_hash(l->core, l->saved.key);
	how = store_load_begin(l->core, &l->fill, &l->saved);
	if (how != STORE_LOADED) {
		count(l, how, &l->saved);
		return;
	}
	l->large = true;
	load_part(l, payload + head, len - head);
}

/* ---- blocks ---- */

static void
load_block(struct save_loader *l, const struct save_block *b, const uint8_t *at)
{
	const uint8_t *payload = save_payload(at);

	if (b->kind != SAVE_MORE || b->number != l->number + 1)
		give_up_large(l);
	l->number = b->number;
	if (b->unpacked != b->packed) {
		if (!save_unpack(payload, b->packed, l->unpacked, b->unpacked)) {
			l->count.damaged++;
			give_up_large(l);
			return;
		}
		payload = l->unpacked;
	}
	if (b->kind == SAVE_ITEMS)
		load_items(l, payload, b->unpacked);
	else if (b->kind == SAVE_LARGE)
		load_large(l, payload, b->unpacked);
	else if (b->kind == SAVE_MORE && l->large)
		load_part(l, payload, b->unpacked);
	store_turn(l->core, l->now_s);
	store_housekeeping(l->core);
}

/* True if the bytes are the unwritten rest of a slot. */
static bool
is_hole(const uint8_t *at, size_t len)
{
	static const uint8_t zeros[sizeof(struct save_block)];

	return memcmp(at, zeros, len < sizeof zeros ? len : sizeof zeros) == 0;
}

void
save_load_slot(struct save_loader *l, uint64_t slot, const uint8_t *bytes, size_t len,
	       uint32_t now_s)
{
	size_t at = slot == 0 ? SAVE_FRONT_BYTES : 0;
	struct save_block b;

	l->now_s = now_s;
	while (at < len && !l->over) {
		if (save_block_read(bytes + at, len - at, &b) && b.file == l->file &&
		    b.number > l->number) {
			load_block(l, &b, bytes + at);
			l->amid_damage = false;
			at += b.bytes;
		} else {
			const bool damage = !is_hole(bytes + at, len - at);

			l->count.damaged += damage && !l->amid_damage;
			l->amid_damage |= damage;
			at += SAVE_ALIGN;
		}
	}
}

void
save_load_end(struct save_loader *l)
{
	give_up_large(l);
}

bool
save_load_leave(struct save_loader *l, uint32_t now_s)
{
	store_turn(l->core, now_s);
	if (store_has_retired(l->core))
		return false;
	store_offline(l->core);
	return true;
}
