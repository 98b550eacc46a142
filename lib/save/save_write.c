/*
 * save_write.c - converts the items of a store at rest to records.
 */
#include "save_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void
put_item(struct save_blocks *w, const struct save_ask *ask, const struct item *it)
{
	const struct store_core *core =
		store_core_of(ask->store, 0); /* values are read through it */
	const struct store_saved_item saved = {
		.key = item_key(it),
		.cas = item_cas(it),
		.value_len = item_value_len(it),
		.flags = item_flags(it),
		.expiry_s = item_expiry_s(it),
		.bits = store_saved_bits_of(ask->store, it),
	};
	struct view run;

	save_blocks_item(w, &saved);
	for (uint32_t from = 0; from < saved.value_len; from += run.len) {
		run = store_value_at(core, it, from);
		save_blocks_value(w, run);
	}
}

/* Writes all items. The floors cover items that are not saved, too, since a lost key must not get a
 * cas number twice. */
static void
put_items(struct save_blocks *w, const struct save_ask *ask, struct store_scan *scan)
{
	const struct item *it;

	while ((it = store_scan_next(ask->store, scan, ask->now_s)) != NULL) {
		w->result->finished = save_blocks_go_on(w);
		if (w->result->finished)
			put_item(w, ask, it);
		else if (w->e != 0)
			return;
	}
	w->result->finished = save_blocks_go_on(w);
	save_blocks_end(w);
}

static void
put_front(struct save_blocks *w, const struct save_ask *ask, const struct store_scan *scan)
{
	uint64_t floors[STORE_SAVED_FLOORS];
	struct save_head head = {
		.layout = SAVE_LAYOUT,
		.hashes_crc = store_hashes_crc(),
		.seed = store_seed(ask->store),
		.items = w->result->items,
		.value_bytes = w->result->value_bytes,
		.beat = ask->beat,
		.flush_due_s = store_flush_due_s(ask->store),
		.finished = w->result->finished,
	};

	memcpy(head.boot_id, ask->boot_id, strnlen(ask->boot_id, BOOT_ID_BYTES - 1));
	store_saved_floors(ask->store, scan, floors);
	save_blocks_front(w, &head, floors);
}

bool
save_write(const struct save_ask *ask, struct save_result *result, struct error *err)
{
	struct save_blocks w = {
		.result = result,
		.file = ask->file,
		.level = ask->level,
		.go_on = ask->go_on,
		.arg = ask->arg,
	};
	struct store_scan scan = {.pass = 0};

	*result = (struct save_result){.how = ""};
	w.e = save_io_open(&w.io, ask->path, O_RDWR | O_CREAT | O_EXCL, ask->uring, ask->memory);
	if (w.e == 0) {
		save_blocks_begin(&w, ask->memory);
		put_items(&w, ask, &scan);
		if (w.e == 0)
			put_front(&w, ask, &scan);
		save_io_close(&w.io);
	}
	return w.e == 0 || error_set(err, "%s: %s", ask->path, strerror(-w.e));
}
