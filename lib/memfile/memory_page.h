/*
 * memory_page.h - a page of the memory that outlives the process, with the program's state: owner,
 * outcome of starts, clocks.
 *
 * A page of zeros means that there is nothing to keep. A cold start leaves it so until the store is
 * complete.
 *
 * Shape:  4096 bytes at a fixed offset in the file. memory_page_begin stores magic last.
 * Owner:  the process that holds the file's lock. Others may read the page, in any state.
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
/* After this many crashes with the same memory the next start does not use it. */
#define CRASHES_MAX 3u
/* After a service of this length without a crash, earlier crashes no longer count against the
 * memory. */
#define CRASHES_FORGIVEN_NS (24ull * 3600 * 1000000000u)
/* Tolerance for the time of a file's inode. A process checks that time, and notes it and the time
 * of its check. Its own stores may change the inode up to this much after its last check. A change
 * later than that, or earlier than the noted time by more than this, is another process's. */
#define CHANGED_BY_OTHERS_NS 2000000000ull

/* Identifies the file, so that a copy is recognised. A copy of memory in use does not show the
 * state at any single moment. */
struct file_id {
	uint64_t device, inode;
};

struct memory_page {
	_Atomic uint64_t magic;
	uint32_t pid; /* the process that has the memory, or had it last */
	uint32_t incarnation;
	_Atomic uint32_t attempts; /* starts that did not become ready, and crashes in service */
	_Atomic uint32_t signal;   /* of the last crash; 0: it was during a start */
	struct file_id file;
	char boot_id[BOOT_ID_BYTES];
	struct heartbeat heartbeat;
	/* The file's time at the last check, which is a heartbeat; 0: not known. */
	uint64_t changed_ns;
	struct {
		uint64_t device, incarnation; /* 0: none */
	} tier; /* the tier with which the process served (flash_super.h) */
};
static_assert(sizeof(struct memory_page) <= MEMORY_PAGE_BYTES, "it is one page");

static inline bool
memory_page_is_set(const struct memory_page *p)
{
	return atomic_load_explicit(&p->magic, memory_order_acquire) == MEMORY_PAGE_MAGIC;
}

/* True if another program has changed the file since its process ended. changed_ns: the inode's
 * time (memory_file.h); 0: there is none. */
bool memory_page_is_changed(const struct memory_page *p, uint64_t changed_ns);

/* The file that a page is in. changed_ns: memory_file_changed_ns(); 0: there is none. */
struct memory_page_file {
	struct file_id id;
	uint64_t changed_ns;
};

/* True if a start can continue from the page. words: why not; otherwise empty. */
bool memory_page_is_whole(const struct memory_page *page, const struct memory_page_file *file,
			  const struct gap_now *now, uint32_t keep_for_s, struct gap *gap,
			  char words[MEMORY_PAGE_WORDS]);

/* Makes the page this process's, and counts the start as an attempt. */
void memory_page_begin(struct memory_page *p, struct file_id file, const char *boot_id,
		       uint32_t pid);
/* Counts a start with the existing memory as an attempt, until memory_page_ready(). */
void memory_page_attempt(struct memory_page *p, uint32_t pid);
/* Takes the attempt back: the process serves, or was asked to stop before it did. */
void memory_page_ready(struct memory_page *p);
/* Clears the attempts after a graceful stop, or CRASHES_FORGIVEN_NS of service. */
void memory_page_forgive(struct memory_page *p);
/* Counts a crash by this signal; once in the life of a process. */
void memory_page_count_crash(struct memory_page *p, int signal_number);

#endif
