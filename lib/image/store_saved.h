/*
 * store_saved.h - saves live items of the store to a file, and loads them from one.
 *
 * The store knows nothing of the file: it gives and takes items, one at a time.
 *
 * Saving, when no thread changes the store any longer:
 *
 *     struct store_scan scan = {0};
 *     while ((it = store_scan_next(store, &scan, now_s)) != NULL)
 *             save what item_*() and store_value_at() say of it;
 *     save store_saved_floors() of the scan;
 *
 * Saving while cores serve, by a core for this purpose (config.loads), once the load has ended.
 * That core copies each item in the turn in which it gets it, and goes offline while it waits:
 *
 *     store_turn(...); store_snapshot_begin(...);
 *     in each turn, some times: store_snapshot_next(...); store_snapshot_read(...);
 *     store_snapshot_end(...);
 *
 * Each item is the version that a lookup found at some moment between begin and end. A key that
 * stays cached from begin to end is given once. A key removed or expired before the begin is not
 * given. A flush makes the snapshot void.
 *
 * Loading while cores serve, by the same core, which turns like any other and goes offline while it
 * waits:
 *
 *     store_load_prepare(...);           before any core turns
 *     store_load_look(...); store_load_begin(...); store_fill(...); store_load_finish(...);
 *     store_load_end(store);
 *
 * Writes of clients win over the file. A key in the index is not loaded, even if its item is dead.
 * A key that a client removed, or tried to remove, is not loaded either: removals set marks, which
 * are bits chosen by the hash. A flush ends the load. Nothing is evicted for a loaded item.
 *
 * Shape:  a mark is set before the key's slot is cleared, and read after the key's slots are; both
 *         under the key's lock.
 *
 * Units:  seconds on the store's clock; the caller has translated those of the file.
 *
 * Thread: scans: one, while no other runs. Snapshots, store_load_begin and _finish: the loader's
 *         core.
 *
 * Errors: enum store_loaded.
 *
 * Bounds: marks have a bit for each 16 bytes of memory, and 8 MiB at most. A key that shares its
 *         bit with a removed key is not loaded.
 */
#ifndef CLOCKOO_STORE_SAVED_H
#define CLOCKOO_STORE_SAVED_H

#include "index/walk_cursor.h"
#include "store/store.h"

/* ---- saving ---- */

#define STORE_SAVED_FLOORS 1024u

/* The bits of an item that are saved in addition to its fields: its status, and its state under the
 * eviction policy. */
enum store_saved_bits {
	STORE_SAVED_STATE = 3u,        /* two bits of state */
	STORE_SAVED_STATUS_SHIFT = 2u, /* four status bits */
	STORE_SAVED_BITS = 0x3fu,
};

struct store_saved_item {
	struct view key;
	uint64_t hash;
	uint64_t cas;
	uint32_t value_len, flags, expiry_s;
	uint32_t bits; /* enum store_saved_bits */
};

/* The position of a scan; it begins as zeros. Items on probation come last, so that if a store has
 * no room for all items, these are the ones it lacks. */
struct store_scan {
	uint32_t pass, page, word;
	uint32_t count, at;
	uint32_t refs[32];
	/* Raised to at least the cas of each item that the scan gave. */
	uint64_t floors[STORE_SAVED_FLOORS];
};

/* Returns the next item that is alive at now_s; NULL: there are no more. */
const struct item *store_scan_next(const struct store *store, struct store_scan *scan,
				   uint32_t now_s);
uint32_t store_saved_bits_of(const struct store *store, const struct item *it);
/* Returns floors after a scan: no version of a key, saved or removed, has a higher cas than its
 * floor. They are valid only for the store's seed and hash. */
void store_saved_floors(const struct store *store, const struct store_scan *scan,
			uint64_t floors[STORE_SAVED_FLOORS]);
uint64_t store_seed(const struct store *store);
/* Returns the second in which a delayed flush is due; 0: none. */
uint32_t store_flush_due_s(const struct store *store);
/* Returns a checksum of the hashes of one text of each length that a key may have. Floors are valid
 * only for a build with the same hash. */
uint32_t store_hashes_crc(void);

/* ---- saving while cores serve: a snapshot ---- */

/* Distance by which a snapshot's floors are above all numbers that keys had at its end. A store
 * that loads the snapshot reuses none of the numbers that this many later writes used. */
#define STORE_SNAPSHOT_AHEAD (1ull << 20)

struct store_snapshot {
	struct walk_cursor cursor;
	uint32_t flushes; /* store_flushes() at the begin */
	uint64_t linked;  /* items ever linked at the begin */
	bool lost_place;
	/* Raised to at least the cas of each item that the snapshot gave. */
	uint64_t floors[STORE_SAVED_FLOORS];
};

enum store_snapshot_end {
	STORE_SNAPSHOT_WHOLE,
	STORE_SNAPSHOT_FLUSHED, /* there was a flush since the begin, so its items are flushed */
	/* WALKS_MAX other walks are under way, or the snapshot paused for too long. */
	STORE_SNAPSHOT_CROWDED,
};

void store_snapshot_begin(struct store_core *sc, struct store_snapshot *snap);
/* Returns an item that a lookup finds now, valid until this core's next turn. NULL: this step found
 * none; snap->cursor.done says whether that was the end. */
const struct item *store_snapshot_next(struct store_core *sc, struct store_snapshot *snap);
/* Reads the fields of an item, which other cores may meanwhile remove, touch or mark. *saved points
 * to the item's key. */
void store_snapshot_read(const struct store_core *sc, const struct item *it,
			 struct store_saved_item *saved);
/* Ends the snapshot, finished or not. Its items and floors may be loaded only if it is WHOLE.
 * *flush_due_s: as store_flush_due_s returns it. */
enum store_snapshot_end store_snapshot_end(struct store_core *sc, struct store_snapshot *snap,
					   uint64_t floors[STORE_SAVED_FLOORS],
					   uint32_t *flush_due_s);

/* ---- loading ---- */

enum store_loaded {
	STORE_LOADED,
	STORE_LOAD_NEWER,   /* clients have stored or removed the key */
	STORE_LOAD_NO_ROOM, /* no free memory, no slot, or too large for this store */
	STORE_LOAD_FLUSHED, /* there was a flush since the load began; the load has ended */
};

/* Prepares an empty store with config.loads, before any core turns. flush_due_s: what
 * store_flush_due_s() returned at the save if that is still in the future, otherwise 0. */
void store_load_prepare(struct store *store, const uint64_t floors[STORE_SAVED_FLOORS],
			uint32_t flush_due_s);
/* Raises all floors, so that later cas numbers of absent keys are above cas. cas: at most a quarter
 * of all numbers. */
void store_floors_raise(struct store *store, uint64_t cas);
/* Announces that this many items follow, so that the index grows while it is empty. Takes some
 * turns. */
void store_load_expect(struct store_core *sc, uint64_t items);
/* Sets the item's hash, and prefetches the memory that the calls below read for it. */
void store_load_look(const struct store_core *sc, struct store_saved_item *saved);
/* Allocates memory for an item whose value follows (store_fill). If this does not return
 * STORE_LOADED there is no fill. */
enum store_loaded store_load_begin(struct store_core *sc, struct fill *f,
				   const struct store_saved_item *saved);
/* Publishes an item whose value is complete. The fill ends in every case. */
enum store_loaded store_load_finish(struct store_core *sc, struct fill *f,
				    const struct store_saved_item *saved);
/* Ends the load: later removals set no marks. */
void store_load_end(struct store *store);

#endif
