/*
 * memory_page.h - the program's state beside the store in the memory that outlives it: its owner,
 * the outcome of its starts, the clocks.
 *
 * A page of zeros means that there is nothing to keep: a cold start leaves it so until the store
 * is complete.
 *
 * Shape:  4096 bytes at a fixed place of the file. magic is the last store of memory_page_begin.
 * Owner:  the process that holds the file's lock; others may read it, and may see any state of
 *         it.
 * Thread: one thread, except that any thread and signal handler may call memory_page_count_crash.
 * Errors: none.
 */
#ifndef CLOCKOO_MEMORY_PAGE_H
#define CLOCKOO_MEMORY_PAGE_H

#include "keep_gap.h"

#include <assert.h>

#define MEMORY_PAGE_BYTES 4096u
#define MEMORY_PAGE_WORDS 256u
/* The last digit is the version of the page's layout. */
#define MEMORY_PAGE_MAGIC 0x31656761706b6c63ull /* "clkpage1" */
/* After this many crashes with one memory the next start does not use it. */
#define CRASHES_MAX 3u
/* After a service this long without a crash, earlier crashes are not attributed to the memory. */
#define CRASHES_FORGIVEN_NS (24ull * 3600 * 1000000000u)
/* If a file's inode changed more than this after the last check of its process, or before the time
 * that the check found, another process changed it. The process's own stores may be that much
 * later than its last check, and later by any time than what the check found. */
#define CHANGED_BY_OTHERS_NS 2000000000ull

/* Identifies the file, so that a copy is recognised: a copy of memory in use is the state of no
 * single moment. */
struct file_id {
	uint64_t device, inode;
};

struct memory_page {
	_Atomic uint64_t magic;
	uint32_t pid; /* of the process that has the memory, or had it last */
	uint32_t incarnation;
	_Atomic uint32_t attempts; /* starts that did not become ready, and crashes in service */
	_Atomic uint32_t signal;   /* of the last crash; 0: it was during a start */
	struct file_id file;
	char boot_id[BOOT_ID_BYTES];
	struct heartbeat heartbeat;
	uint64_t changed_ns; /* the file's time at the last check, a heartbeat; 0: unknown */
	struct {
		uint64_t device, incarnation; /* 0: none */
	} tier; /* the tier that the process served with (flash_super.h) */
};
static_assert(sizeof(struct memory_page) <= MEMORY_PAGE_BYTES, "it is one page");

static inline bool
memory_page_is_set(const struct memory_page *p)
{
	return atomic_load_explicit(&p->magic, memory_order_acquire) == MEMORY_PAGE_MAGIC;
}

/* True if another program changed the file since its process ended. changed_ns: the inode's time
 * (memory_file.h); 0: it has none. */
bool memory_page_is_changed(const struct memory_page *p, uint64_t changed_ns);

/* The file of a page. changed_ns: memory_file_changed_ns; 0: it has none. */
struct memory_page_file {
	struct file_id id;
	uint64_t changed_ns;
};

/* True if a start may continue from that page. words: why not, else empty. */
bool memory_page_is_whole(const struct memory_page *page, const struct memory_page_file *file,
			  const struct gap_now *now, uint32_t keep_for_s, struct gap *gap,
			  char words[MEMORY_PAGE_WORDS]);

/* Makes the page this process's, and counts its start as an attempt. */
void memory_page_begin(struct memory_page *p, struct file_id file, const char *boot_id,
		       uint32_t pid);
/* Counts a start with the existing memory as an attempt, until memory_page_ready. */
void memory_page_attempt(struct memory_page *p, uint32_t pid);
/* Removes the attempt: the process serves, or was asked to stop before it did. */
void memory_page_ready(struct memory_page *p);
/* Clears the attempts after a graceful stop, or CRASHES_FORGIVEN_NS of service. */
void memory_page_forgive(struct memory_page *p);
/* Counts a crash by that signal; once in a process's life. */
void memory_page_count_crash(struct memory_page *p, int signal_number);

#endif
