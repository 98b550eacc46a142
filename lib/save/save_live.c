/*
 * save_live.c - copies items in slices, and writes each slice while the store's core is offline.
 */
#include "save_live.h"

#include <errno.h>
#include <string.h>

/* Most turns for a grace period, which takes some turns of the other cores. */
#define LEAVE_TURNS    10000u
#define STAGE_BYTES    (LIVE_STAGE_BYTES + SAVE_RECORD_MAX + LIVE_COPY_BYTES)
#define STAGE_AT_BYTES align_up(save_blocks_bytes(), SAVE_ALIGN)

struct live {
	const struct save_live_ask *ask;
	struct save_blocks blocks;
	struct store_snapshot snap;
	uint8_t *stage; /* records with their values */
	uint32_t staged;
	const struct item *held; /* pinned; NULL: none */
	struct store_saved_item held_fields;
	uint8_t held_key[ITEM_KEY_MAX];
};

size_t
save_live_bytes(void)
{
	return STAGE_AT_BYTES + STAGE_BYTES;
}

/* ---- in a turn ---- */

static void
hold(struct live *l, const struct item *it, const struct store_saved_item *saved)
{
	store_pin(it);
	l->held = it;
	l->held_fields = *saved;
	memcpy(l->held_key, saved->key.data, saved->key.len);
	l->held_fields.key.data = l->held_key;
}

static void
stage(struct live *l, const struct item *it, const struct store_saved_item *saved)
{
	l->staged += save_record_write(l->stage + l->staged, saved);
	for (uint32_t from = 0; from < saved->value_len;) {
		const struct view run = store_value_at(l->ask->core, it, from);

		memcpy(l->stage + l->staged, run.data, run.len);
		l->staged += run.len;
		from += run.len;
	}
}

/* Takes the next items in one turn. */
static void
take_slice(struct live *l)
{
	struct store_core *core = l->ask->core;

	store_turn(core, l->ask->now_s(l->ask->arg));
	for (uint32_t i = 0; i < LIVE_STEPS && l->staged < LIVE_STAGE_BYTES && l->held == NULL &&
			     !l->snap.cursor.done;
	     i++) {
		const struct item *it = store_snapshot_next(core, &l->snap);
		struct store_saved_item saved;

		if (it == NULL)
			continue;
		store_snapshot_read(core, it, &saved);
		if (saved.value_len <= LIVE_COPY_BYTES)
			stage(l, it, &saved);
		else
			hold(l, it, &saved);
	}
	store_offline(core);
}
static_assert(LIVE_COPY_BYTES >= ITEM_PIN_MIN_BYTES, "a longer value can be pinned");

/* ---- out of turns ---- */

static void
put_staged(struct live *l)
{
	uint32_t at = 0;

	while (at < l->staged) {
		struct store_saved_item saved;

		at += save_record_read(l->stage + at, l->staged - at, &saved);
		save_blocks_item(&l->blocks, &saved);
		save_blocks_value(&l->blocks, (struct view){l->stage + at, saved.value_len});
		at += saved.value_len;
	}
	l->staged = 0;
}

static void
put_held(struct live *l)
{
	struct view run;

	if (l->held == NULL)
		return;
	save_blocks_item(&l->blocks, &l->held_fields);
	for (uint32_t from = 0; from < l->held_fields.value_len; from += run.len) {
		run = store_value_at(l->ask->core, l->held, from);
		save_blocks_value(&l->blocks, run);
	}
	store_unpin(l->held);
	l->held = NULL;
}

/* Turns until no retired object waits for a grace period, since the pages of such objects could not
 * be evacuated. */
static void
leave(const struct live *l)
{
	uint32_t turns = 0;

	do
		store_turn(l->ask->core, l->ask->now_s(l->ask->arg));
	while (store_has_retired(l->ask->core) && ++turns < LEAVE_TURNS);
	store_offline(l->ask->core);
}

/* ---- the file ---- */

static void
put_live_front(struct live *l, const uint64_t floors[STORE_SAVED_FLOORS], uint32_t flush_due_s)
{
	const struct save_live_ask *ask = l->ask;
	struct save_head head = {
		.layout = SAVE_LAYOUT,
		.hashes_crc = store_hashes_crc(),
		.seed = store_seed(ask->store),
		.items = l->blocks.result->items,
		.value_bytes = l->blocks.result->value_bytes,
		.beat = ask->beat,
		.flush_due_s = flush_due_s,
		.finished = 1,
	};

	memcpy(head.boot_id, ask->boot_id, strnlen(ask->boot_id, BOOT_ID_BYTES - 1));
	save_blocks_front(&l->blocks, &head, floors);
}

/* Writes all items, and the front unless a flush or a lost place makes the items useless. Returns
 * why it ended. */
static const char *
put_all(struct live *l)
{
	static const char *const ends[] = {
		[STORE_SNAPSHOT_FLUSHED] = "a flush came in between",
		[STORE_SNAPSHOT_CROWDED] =
			"listings of all keys are under way, or the disk was too slow",
	};
	struct store_core *core = l->ask->core;
	uint64_t floors[STORE_SAVED_FLOORS], begun_ns;
	enum store_snapshot_end end;
	uint32_t due_s;

	store_turn(core, l->ask->now_s(l->ask->arg));
	begun_ns = l->ask->now_ns(l->ask->arg);
	store_snapshot_begin(core, &l->snap);
	while (!l->snap.cursor.done && save_blocks_go_on(&l->blocks) && !l->snap.lost_place) {
		take_slice(l);
		put_staged(l);
		put_held(l);
		l->blocks.ends |= !l->ask->go_on(l->ask->arg, l->blocks.result);
	}
	end = store_snapshot_end(core, &l->snap, floors, &due_s);
	l->blocks.result->skew_ns = l->ask->now_ns(l->ask->arg) - begun_ns;
	leave(l);
	save_blocks_end(&l->blocks);
	if (!save_blocks_go_on(&l->blocks))
		return l->blocks.e != 0 ? strerror(-l->blocks.e) : "it was ended";
	if (end != STORE_SNAPSHOT_WHOLE)
		return ends[end];
	l->blocks.result->finished = true;
	put_live_front(l, floors, due_s);
	return l->blocks.e != 0 ? strerror(-l->blocks.e) : NULL;
}

bool
save_live(const struct save_live_ask *ask, struct save_result *result, struct error *err)
{
	struct live l = {
		.ask = ask,
		.blocks = {.result = result,
			   .file = ask->file,
			   .level = ask->level,
			   .go_on = ask->go_on,
			   .arg = ask->arg},
		.stage = (uint8_t *)ask->memory + STAGE_AT_BYTES,
	};
	const char *why;

	*result = (struct save_result){.how = ""};
	save_io_use(&l.blocks.io, ask->fd, ask->uring, ask->memory);
	save_blocks_begin(&l.blocks, ask->memory);
	why = put_all(&l);
	save_io_close(&l.blocks.io);
	return why == NULL || error_set(err, "%s: %s", ask->path, why);
}
