/*
 * store_rig.h - a store on the heap, and its operations in one line each.
 *
 * Thread: a rig's cores may be used by one thread each.
 */
#ifndef CLOCKOO_STORE_RIG_H
#define CLOCKOO_STORE_RIG_H

#include "store/account.h"
#include "image/image.h"
#include "store/item_access.h"
#include "store/rebalance.h"
#include "store/resize.h"
#include "index/resize_limits.h"
#include "store/retire_list.h"
#include "image/store_plan.h"
#include "store/sweep.h"
#include "store/unlink.h"

#include <stdlib.h>
#include <sys/mman.h>

struct rig {
	void *memory;
	size_t bytes;
	struct store *store;
	struct store_core *core; /* core 0 */
};

static inline struct store_config
rig_config(size_t mebibytes, uint32_t cores, uint32_t value_max)
{
	return (struct store_config){.memory_bytes = mebibytes << 20,
				     .cores = cores,
				     .value_max = value_max,
				     .seed = 0x5eed};
}

/* Makes a new store in the rig's memory, over the old one or any other bytes. */
static inline void
rig_again(struct rig *rig, const struct store_config *cfg, const struct store_plan *plan)
{
	struct region beside = {.base = (uint8_t *)rig->memory + cfg->memory_bytes,
				.size = rig->bytes - cfg->memory_bytes};

	rig->store = image_create(&beside, rig->memory, cfg, plan);
	rig->core = store_core_of(rig->store, 0);
	store_turn(rig->core, STORE_CLOCK_START);
}

/* Returns a rig in mapped memory: only the pages that its test touches are used. */
static inline struct rig
rig_up_planned(const struct store_config *cfg, const struct store_plan *plan)
{
	struct rig rig = {.bytes = align_up(store_bytes(cfg), 4096)};

	rig.memory =
		mmap(NULL, rig.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ensure(rig.memory != MAP_FAILED);
	madvise(rig.memory, rig.bytes, MADV_HUGEPAGE); /* a hint: fewer faults */
	rig_again(&rig, cfg, plan);
	return rig;
}

static inline struct rig
rig_up_with(const struct store_config *cfg)
{
	const struct store_plan plan = store_plan_of(cfg);

	return rig_up_planned(cfg, &plan);
}

static inline struct rig
rig_up_for(size_t mebibytes, uint32_t cores, uint32_t value_max)
{
	const struct store_config cfg = rig_config(mebibytes, cores, value_max);

	return rig_up_with(&cfg);
}

/* Returns a rig whose index starts with this many buckets and is resized in steps of bucket_step;
 * 0: its size is fixed. */
static inline struct rig
rig_up_buckets(size_t mebibytes, uint32_t cores, uint32_t bucket_count, uint32_t bucket_step)
{
	const struct store_config cfg = rig_config(mebibytes, cores, STORE_VALUE_MAX);
	struct store_plan plan = store_plan_of(&cfg);

	plan.bucket_count = bucket_count;
	plan.bucket_step = bucket_step;
	return rig_up_planned(&cfg, &plan);
}

static inline struct rig
rig_up(size_t mebibytes, uint32_t cores)
{
	return rig_up_for(mebibytes, cores, STORE_VALUE_MAX);
}

static inline void
rig_down(struct rig *rig)
{
	ensure(munmap(rig->memory, rig->bytes) == 0);
}

static inline struct view
text(const char *s)
{
	return (struct view){(const uint8_t *)s, (uint32_t)strlen(s)};
}

/* Runs turns and upkeep, as a core does; retired memory is free afterwards. */
static inline void
turns(struct store_core *sc, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		store_turn(sc, sc->now_s);
		store_housekeeping(sc);
	}
}

#define TURNS_A_SECOND 64u

/* Moves the clock forward by this many seconds. */
static inline void
seconds(struct store_core *sc, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		store_turn(sc, sc->now_s + 1);
		turns(sc, TURNS_A_SECOND);
	}
}

static inline enum store_result
put(struct store_core *sc, struct view key, struct view value, enum store_mode mode, uint64_t cas)
{
	struct fill f;
	enum store_result r = store_begin(sc, &f, key, store_hash(sc, key), value.len, 0, 0);

	if (r != STORE_OK)
		return r;
	store_fill(sc, &f, value.data, value.len);
	return store_finish(sc, &f, mode, cas);
}

/* Stores a value as a connection does: it waits, turn by turn, for memory that is coming. */
static inline enum store_result
put_waiting(struct store_core *sc, struct view key, struct view value, uint32_t turns_max,
	    uint32_t *waited)
{
	enum store_result r;

	for (*waited = 0; *waited <= turns_max; ++*waited) {
		r = put(sc, key, value, STORE_SET, 0);
		if (r != STORE_NOT_YET)
			return r;
		turns(sc, 1);
	}
	return STORE_NOT_YET;
}

static inline enum store_result
set(struct store_core *sc, const char *key, const char *value)
{
	return put(sc, text(key), text(value), STORE_SET, 0);
}

/* Sets a value with flags and an expiry. */
static inline enum store_result
set_full(struct store_core *sc, const char *key, const char *value, uint32_t flags,
	 uint32_t expiry_s)
{
	struct fill f;
	const struct view k = text(key), v = text(value);
	enum store_result r = store_begin(sc, &f, k, store_hash(sc, k), v.len, flags, expiry_s);

	if (r != STORE_OK)
		return r;
	store_fill(sc, &f, v.data, v.len);
	return store_finish(sc, &f, STORE_SET, 0);
}

static inline const struct item *
find(struct store_core *sc, const char *key)
{
	return store_get(sc, text(key), store_hash(sc, text(key)));
}

static inline enum store_result
del(struct store_core *sc, const char *key)
{
	return store_delete(sc, text(key), store_hash(sc, text(key)));
}

/* Flushes as a connection does: it waits until the flush is accepted. */
static inline void
flush_now(struct store_core *sc)
{
	for (uint32_t turn = 0; store_flush(sc, 0) != STORE_OK; turn++) {
		ensure(turn < 10000);
		turns(sc, 1);
	}
}

/* True if the item has this value, byte for byte, in one piece or in chunks. */
static inline bool
value_is(const struct store_core *sc, const struct item *it, struct view want)
{
	uint32_t at = 0;

	if (it == NULL || item_value_len(it) != want.len)
		return false;
	while (at < want.len) {
		const struct view run = store_value_at(sc, it, at);

		if (run.len == 0 || run.len > want.len - at ||
		    memcmp(run.data, want.data + at, run.len) != 0)
			return false;
		at += run.len;
	}
	return true;
}

static inline bool
holds(struct store_core *sc, const char *key, const char *value)
{
	return value_is(sc, find(sc, key), text(value));
}

/* Steps the reference stamp as a hand does after it has cleared reference bits, so that the next
 * use of an item sets its bit again. */
static inline void
step_stamp(struct store *st)
{
	const uint32_t now = slab_reference_stamp(&st->slab) >> ITEM_REFERENCE_STAMP_SHIFT;

	atomic_store(&st->slab.reference_stamp, (now + 1) << ITEM_REFERENCE_STAMP_SHIFT);
}

static inline uint64_t
counted(const struct store_core *sc, enum store_counter what)
{
	return counter_read(&store_counters(sc)[what]);
}

/* Evicts the item of an object, as a hand does. */
static inline enum unlinked
evict_object(struct store_core *sc, uint32_t ref, enum ghost ghost)
{
	struct departures d = {.class = slab_class_of_ref(&sc->store->slab, ref)};
	struct victim v;
	enum unlinked how;

	item_apply_referenced(sc);
	unlink_look(sc->store, &ref, 1, &v);
	how = unlink_victim(sc, &v, false, ghost, &d);
	account_departures(sc, &d);
	return how;
}

#endif
