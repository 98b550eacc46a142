/*
 * store_image.h - makes, leaves and opens the store's memory as an image that outlives its process.
 *
 * RESTART.md says why it can be repaired; image.h has the layout.
 *
 * Shape:  an image is config.memory_bytes bytes, mapped anywhere: a header, a page for the caller,
 *         the state, struct store, tables, and the pages with index and items. References in it are
 *         offsets; pointers are written anew before use. Cores, retire lists and epochs lie in a
 *         region beside the image and end with the process. A store without a file has the same
 *         image in private memory: store_create().
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
 * Owner:  the caller keeps the mapping and the whole region for as long as it uses the store. It
 *         lets only one process at a time write to an image.
 *
 * Thread: one thread, except for functions that end in _mt.
 *
 * Errors: an image that cannot be kept gives a verdict (enum store_image_fault), never a stop.
 *         Whatever bytes the image has, nothing here reads or writes outside of it, and every loop
 *         ends.
 *
 * Bounds: memory as store_config's; repair gives up at STORE_IMAGE_LOCKED_MAX locked buckets.
 */
#ifndef CLOCKOO_STORE_IMAGE_H
#define CLOCKOO_STORE_IMAGE_H

#include "store/store.h"

/* A change to anything that a successor reads takes a new number. */
#define STORE_IMAGE_LAYOUT 6u
/* The magic number: first word of a complete image. It never changes. */
#define STORE_IMAGE_MAGIC ((uint64_t)0x6f6f6b636f6c63) /* "clockoo" */
/* The mapping starts at a multiple of this. */
#define STORE_IMAGE_ALIGN 4096u
/* The bytes that store_image_look reads. They are enough to check an image without mapping it. */
#define STORE_IMAGE_HEAD_BYTES 12288u
/* The caller's page: heartbeats, attempts, identity of the file. The store never reads it, and
 * writes it once: store_create_in and store_open_cold zero it before the image becomes valid. So
 * the caller must take a page of zeros to mean that there is nothing to keep. */
#define STORE_IMAGE_APP_AT    4096u
#define STORE_IMAGE_APP_BYTES 4096u
/* Buckets that a crash leaves locked: 64 cores hold 28 each at most. */
#define STORE_IMAGE_LOCKED_MAX 2048u

/* ---- checks of an image ---- */

enum store_image_kind {
	STORE_IMAGE_EMPTY, /* nothing can be kept; fault says why */
	STORE_IMAGE_CLEAN, /* left by store_image_leave; opened without reading any item */
	STORE_IMAGE_DIRTY, /* its process ended in another way; repaired by a walk over the index */
};

enum store_image_fault {
	STORE_IMAGE_SOUND,
	STORE_IMAGE_NONE,      /* it was never an image, or was not completed */
	STORE_IMAGE_OTHER,     /* it has another layout (look.layout) */
	STORE_IMAGE_RESIZED,   /* it has another size (look.memory_bytes) */
	STORE_IMAGE_UNLIKE,    /* its build had another hash or other size classes */
	STORE_IMAGE_DAMAGED,   /* a checksum or a figure of the header is wrong */
	STORE_IMAGE_MANY_LOST, /* found by repair: more items damaged than chance explains */
	STORE_IMAGE_TANGLED, /* found by repair: too many locked buckets, or an impossible resize */
};
/* Returns a few words for a log line. */
const char *store_image_fault_words(enum store_image_fault fault);

struct store_image_look {
	enum store_image_kind kind;
	enum store_image_fault fault;
	uint32_t layout;       /* the image's layout; 0: none */
	uint64_t memory_bytes; /* size of the image by its header; 0: none */
	uint64_t seed;         /* seed of its hash, which the opened store keeps */
};

/* Checks an image by its first STORE_IMAGE_HEAD_BYTES, which it only reads. Of cfg only
 * memory_bytes is compared, and must be the image's; limit, cores, value_max, never_evict and
 * eviction may differ from those that it was made with. */
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

/* Makes an empty store over a mapping of cfg->memory_bytes bytes. The old content is invalidated
 * first, so that a crash in here leaves STORE_IMAGE_NONE. The pages are not touched, except the
 * index's first one. */
struct store *store_create_in(struct region *region, void *image, const struct store_config *cfg);

/* ---- opening an image ---- */

struct store_opening;

enum store_open_phase {
	STORE_OPEN_CHECK, /* after CLEAN: checksums of tables, states and index */
	STORE_OPEN_CLEAR, /* repair: states of all objects */
	STORE_OPEN_WALK,  /* repair: every bucket of the index, and the items in it */
	STORE_OPEN_PAGES, /* free lists and counts of all pages */
	STORE_OPEN_DONE,
	STORE_OPEN_REFUSED,
};

/* Begins to open an image that store_image_look, with the same cfg, found to be CLEAN or DIRTY.
 * From now on it is DIRTY. now_s is the store's clock; it must not be before any second that the
 * image has seen, or expired items would be alive again. cfg->seed is ignored. Wrong checksums of a
 * CLEAN image lead to a repair. The process may crash, or the caller may stop calling, at any time
 * from here on: the image stays DIRTY, and nothing more is lost. */
struct store_opening *store_open(struct region *region, void *image, const struct store_config *cfg,
				 uint32_t now_s);

/* Does a share of the present phase, some 0.1 to 10 ms of work. Any number of threads may call it
 * at once. False: no share is left. */
bool store_open_step_mt(struct store_opening *open);

/* Ends the phase, with the work that one thread must do. Called when every step under way has
 * returned. Returns the next phase. */
enum store_open_phase store_open_next(struct store_opening *open);

struct store_open_report {
	enum store_open_phase phase;
	enum store_image_kind kind; /* DIRTY: being repaired, perhaps after wrong checksums */
	enum store_image_fault fault;
	bool checksums_wrong; /* the image was CLEAN, and had to be repaired */
	uint64_t done, total; /* shares of the phase */
	uint64_t items;       /* items kept; complete at DONE */
	uint64_t item_bytes;  /* class sizes of these items */
	uint64_t lost;        /* damaged items, which could not be kept */
	bool flushed;         /* at DONE: a flush was due, so no item is kept */
};
void store_open_report_mt(const struct store_opening *open, struct store_open_report *out);

static inline bool
store_open_has_ended(enum store_open_phase phase)
{
	return phase == STORE_OPEN_DONE || phase == STORE_OPEN_REFUSED;
}

/* Returns the store, at DONE. A flush that became due meanwhile is done. */
struct store *store_open_store(struct store_opening *open);
/* Makes an empty store instead, as store_create_in does, with this seed. Called at any time when no
 * step is under way. */
struct store *store_open_cold(struct store_opening *open, uint64_t seed);

/* ---- leaving an image ---- */

/* Makes the image CLEAN, after all threads of the store have ended and no reply holds a pin. False:
 * it stays DIRTY, since a core is not offline (store_offline) or a tombstone is in the index; the
 * next start repairs it. Only the mapping may be used afterwards. */
bool store_image_leave(struct store *store);

#endif
