/*
 * save_rig.h - a store is saved into a file, and a file's bytes are loaded into a store.
 *
 * Thread: one; core 0 is the clients', core 1 the loader's.
 */
#ifndef CLOCKOO_SAVE_RIG_H
#define CLOCKOO_SAVE_RIG_H

#include "../store/store_rig.h"
#include "save/save_file.h"
#include "save/save_load.h"
#include "save/save_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define RIG_BOOT_ID "this boot"
#define RIG_FILE    0x1234567890abcdefull

/* The bytes of a file. */
struct bytes {
	uint8_t *at;
	size_t len;
};

static inline struct store_config
load_rig_config(size_t mebibytes)
{
	struct store_config cfg = rig_config(mebibytes, 2, STORE_VALUE_MAX);

	cfg.loads = true;
	return cfg;
}

static inline struct rig
load_rig_up(size_t mebibytes)
{
	const struct store_config cfg = load_rig_config(mebibytes);

	return rig_up_with(&cfg);
}

static inline void
read_file(const char *path, struct bytes *b)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	ensure(fd >= 0 && fstat(fd, &st) == 0);
	b->len = (size_t)st.st_size;
	b->at = malloc(b->len + 1);
	ensure(read(fd, b->at, b->len) == (ssize_t)b->len);
	close(fd);
}

struct saving {
	uint32_t level;
	bool uring;
	bool (*go_on)(void *arg, const struct save_result *result);
	void *arg;
};

/* Saves the store into a file at the current second, reads the file's bytes, and removes the
 * file. */
static inline void
save(struct rig *rig, const struct saving *how, struct save_result *result, struct bytes *b)
{
	char path[] = "/tmp/save_rig_XXXXXX";
	struct save_ask ask = {
		.store = rig->store,
		.path = path,
		.now_s = rig->core->now_s,
		.beat = {.boot_ns = 1, .wall_ns = 1, .served_boot_ns = 1},
		.boot_id = RIG_BOOT_ID,
		.file = RIG_FILE,
		.level = how->level,
		.uring = how->uring,
		.memory = aligned_alloc(SAVE_ALIGN, align_up(save_blocks_bytes(), SAVE_ALIGN)),
		.go_on = how->go_on,
		.arg = how->arg,
	};
	struct error err;

	close(mkstemp(path));
	unlink(path);
	store_offline(rig->core);
	ensure(save_write(&ask, result, &err));
	read_file(path, b);
	unlink(path);
	free(ask.memory);
}

/* Prepares a load as a start does. False if the file's front is refused. */
static inline bool
load_prepare(struct rig *rig, struct save_loader *l, const struct bytes *b, int64_t shift_s)
{
	uint64_t floors[STORE_SAVED_FLOORS], file;
	struct save_head head;
	const char *why;

	if (!save_front_read(b->at, b->len, &file, &head, floors, &why))
		return false;
	ensure(head.seed == store_seed(rig->store));
	store_load_prepare(rig->store, floors, head.flush_due_s);
	save_load_begin(l, store_core_of(rig->store, 1), file, shift_s);
	store_turn(l->core, rig->core->now_s);
	store_load_expect(l->core, head.items);
	return true;
}

static inline void
load_slots(struct rig *rig, struct save_loader *l, const struct bytes *b)
{
	for (size_t at = 0; at < b->len; at += SAVE_SLOT_BYTES) {
		const size_t left = b->len - at;

		save_load_slot(l, at / SAVE_SLOT_BYTES, b->at + at,
			       left < SAVE_SLOT_BYTES ? left : SAVE_SLOT_BYTES, rig->core->now_s);
	}
}

static inline void
load_end(struct rig *rig, struct save_loader *l)
{
	save_load_end(l);
	store_load_end(rig->store);
	store_offline(l->core);
}

static inline bool
load(struct rig *rig, struct save_loader *l, const struct bytes *b, int64_t shift_s)
{
	if (!load_prepare(rig, l, b, shift_s))
		return false;
	load_slots(rig, l, b);
	load_end(rig, l);
	return true;
}

#endif
