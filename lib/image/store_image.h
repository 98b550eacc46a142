/*
 * store_image.h - makes, leaves and opens the store's memory as an image that outlives its process.
 *
 * RESTART.md says why it can be repaired; image.h has the layout.
 *
 * Shape:  an image is config.memory_bytes bytes, mapped anywhere: a header, a page for the caller,
 *         the state, struct store, tables, and the pages with index and items. References in it are
 *         offsets; pointers are set before use. Cores, retire lists and epochs are in a region
 *         beside the image, and end with the process. A store without a file has the same image in
 *         private memory: store_create().
 *
 *         The caller maps and locks the file, calls store_image_look(), and then either makes an
 *         empty store (store_create_in) or opens the image:
 *
 *             open = store_open(...);
 *             do {
 *                     on all lcores: while (store_open_step_mt(open)) ;
 *                     barrier; on one: phase = store_open_next(open);
 *             } while (!store_open_has_ended(phase));
 *             store = phase == STORE_OPEN_DONE ? store_open_store(open)
 *                                              : store_open_cold(open, seed);
 *
 *         At a graceful stop, when all threads of the store have ended: store_image_leave().
 *
 * Units:  bytes; seconds on the store's clock (store.h).
 *
 * Owner:  the caller keeps the mapping and the whole region for as long as it uses the store. Only
 *         one process at a time may write to an image; the caller ensures that.
 *
 * Thread: one thread, except for functions that end in _mt.
 *
 * Errors: for an image that cannot be kept the result is an enum store_image_fault; the process
 *         never aborts. Whatever bytes an image has, nothing here reads or writes outside of it,
 *         and every loop ends.
 *
 * Bounds: memory as store_config's; repair gives up at STORE_IMAGE_LOCKED_MAX locked buckets.
 */
#ifndef CLOCKOO_STORE_IMAGE_H
#define CLOCKOO_STORE_IMAGE_H

#include "store/store.h"

/* The number of the layout. A change to anything that a successor reads increments it. */
#define STORE_IMAGE_LAYOUT 6u
/* The magic number, the first word of a complete image. It never changes. */
#define STORE_IMAGE_MAGIC ((uint64_t)0x6f6f6b636f6c63) /* "clockoo" */
/* The mapping must begin at a multiple of this. */
#define STORE_IMAGE_ALIGN 4096u
/* The bytes that store_image_look reads. A caller can check an image by them without mapping it. */
#define STORE_IMAGE_HEAD_BYTES 12288u
/* The caller's page: heartbeats, attempts, identity of the file. The store never reads it. It
 * writes it once, when store_create_in or store_open_cold fills it with zeros before the image
 * becomes valid. So the caller must treat a page of zeros as one with nothing to keep. */
#define STORE_IMAGE_APP_AT    4096u
#define STORE_IMAGE_APP_BYTES 4096u
/* Most buckets that a crash leaves locked: 64 cores hold up to 28 each. */
#define STORE_IMAGE_LOCKED_MAX 2048u

/* ---- checks of an image ---- */

enum store_image_kind {
	STORE_IMAGE_EMPTY, /* nothing can be kept; fault says why */
	STORE_IMAGE_CLEAN, /* left by store_image_leave; opened without reading any item */
	STORE_IMAGE_DIRTY, /* its process ended in another way; repaired by a walk over the index */
};

enum store_image_fault {
	STORE_IMAGE_SOUND,
	STORE_IMAGE_NONE,      /* no image, or one that was never completed */
	STORE_IMAGE_OTHER,     /* has another layout (look.layout) */
	STORE_IMAGE_RESIZED,   /* has another size (look.memory_bytes) */
	STORE_IMAGE_UNLIKE,    /* was made by a build with another hash or other size classes */
	STORE_IMAGE_DAMAGED,   /* a checksum or a figure of the header is wrong */
	STORE_IMAGE_MANY_LOST, /* more items are damaged than chance explains (found by repair) */
	/* Too many locked buckets, or an impossible resize (found by repair). */
	STORE_IMAGE_TANGLED,
};
/* Returns a few words about the fault, for a log line. */
const char *store_image_fault_words(enum store_image_fault fault);

struct store_image_look {
	enum store_image_kind kind;
	enum store_image_fault fault;
	uint32_t layout;       /* the image's layout; 0: none */
	uint64_t memory_bytes; /* size of the image by its header; 0: none */
	uint64_t seed;         /* seed of the image's hash, which the opened store keeps */
};

/* Checks an image by its first STORE_IMAGE_HEAD_BYTES, which it only reads. Of cfg only
 * memory_bytes must be the image's; limit, cores, value_max, never_evict and eviction may
 * differ. */
void store_image_look(const void *head, const struct store_config *cfg,
		      struct store_image_look *out);

/* Returns the caller's page of an image. */
static inline void *
store_image_app_page(void *image)
{
	return (uint8_t *)image + STORE_IMAGE_APP_AT;
}

/* ---- an empty store ---- */

/* Returns the bytes of region that the store takes: memory_bytes, and some for each core
 * (README.md). */
size_t store_bytes(const struct store_config *cfg);
struct store *store_create(struct region *region, const struct store_config *cfg);

/* Returns the bytes of region that the store takes beside its image. */
size_t store_private_bytes(const struct store_config *cfg);

/* Makes an empty store over a mapping of cfg->memory_bytes bytes. First invalidates the old
 * content, so that after a crash in this function the image is STORE_IMAGE_NONE. Writes to no page
 * of items, and only to the first page of the index. */
struct store *store_create_in(struct region *region, void *image, const struct store_config *cfg);

/* ---- opening an image ---- */

struct store_opening;

enum store_open_phase {
	STORE_OPEN_CHECK, /* of a CLEAN image: checksums of tables, states and index */
	STORE_OPEN_CLEAR, /* of a repair: states of all objects */
	STORE_OPEN_WALK,  /* of a repair: every bucket of the index, and the items in it */
	STORE_OPEN_PAGES, /* free lists and counts of all pages */
	STORE_OPEN_DONE,
	STORE_OPEN_REFUSED,
};

/* Begins to open an image that store_image_look, with the same cfg, found to be CLEAN or DIRTY.
 * From now on it is DIRTY. now_s is the store's clock. It must not be earlier than any second that
 * the image has seen, since expired items would seem alive. cfg->seed is ignored. If the checksums
 * of a CLEAN image are wrong, it is repaired. From here on the process may crash, or the caller may
 * stop, at any time: the image stays DIRTY, and nothing more is lost. */
struct store_opening *store_open(struct region *region, void *image, const struct store_config *cfg,
				 uint32_t now_s);

/* Does a share of the present phase, which takes 0.1 to 10 ms. Any number of threads may call it at
 * once. False: no share is left. */
bool store_open_step_mt(struct store_opening *open);

/* Ends the phase, doing the work that needs a single thread. Called when no step is running.
 * Returns the next phase. */
enum store_open_phase store_open_next(struct store_opening *open);

struct store_open_report {
	enum store_open_phase phase;
	/* DIRTY: the image is being repaired, possibly because checksums were wrong. */
	enum store_image_kind kind;
	enum store_image_fault fault;
	bool checksums_wrong; /* the image was CLEAN, but had to be repaired */
	uint64_t done, total; /* shares of the phase, those done and all */
	uint64_t items;       /* items kept so far; final at DONE */
	uint64_t item_bytes;  /* class sizes of these items */
	uint64_t lost;        /* damaged items, which are not kept */
	bool flushed;         /* at DONE: a flush was due, so no item was kept */
};
void store_open_report_mt(const struct store_opening *open, struct store_open_report *out);

static inline bool
store_open_has_ended(enum store_open_phase phase)
{
	return phase == STORE_OPEN_DONE || phase == STORE_OPEN_REFUSED;
}

/* Returns the store, at DONE. If a flush became due meanwhile, it has been executed. */
struct store *store_open_store(struct store_opening *open);
/* Makes an empty store instead, as store_create_in does, with this seed. May be called at any time
 * when no step is running. */
struct store *store_open_cold(struct store_opening *open, uint64_t seed);

/* ---- leaving an image ---- */

/* Makes the image CLEAN, after all threads of the store have ended and no reply holds a pin. False:
 * it stays DIRTY, since a core is not offline (store_offline) or the index has a tombstone; the
 * next start repairs it. After the call only the mapping may be used. */
bool store_image_leave(struct store *store);

#endif
