/*
 * memory_page.h - what the program keeps beside the store in the memory that outlives it: who has
 * it, how its starts ended, how the clocks stood.
 *
 * A page of zeros means that there is nothing to keep: it is what a cold start leaves until the
 * store is whole.
 *
 * Shape:  4096 bytes at a fixed place of the file. magic is the last store of memory_page_begin.
 * Owner:  who holds the file's lock; others read, and may see any state of it.
 * Thread: one, but memory_page_count_crash: any, in a signal handler too.
 * Errors: none.
 */
#ifndef CLOCKOO_MEMORY_PAGE_H
#define CLOCKOO_MEMORY_PAGE_H

#include "keep_gap.h"

#include <assert.h>

#define MEMORY_PAGE_BYTES 4096u
#define MEMORY_PAGE_WORDS 256u
/* The page's own layout is in the last digit. */
#define MEMORY_PAGE_MAGIC 0x31656761706b6c63ull /* "clkpage1" */
/* So many crashes with one memory, and the next start does without it. */
#define CRASHES_MAX 3u
/* A service without a crash for so long has not crashed by its memory. */
#define CRASHES_FORGIVEN_NS (24ull * 3600 * 1000000000u)
/* A file whose inode was changed so long before or after its process last looked was changed by
 * another one: that one's own stores may have come after its last look. */
#define CHANGED_BY_OTHERS_NS 2000000000ull

/* The file, so that a copy is known for one: a copy of memory in use is no state of any moment. */
struct file_id {
	uint64_t device, inode;
};

struct memory_page {
	_Atomic uint64_t magic;
	uint32_t pid; /* of the process that has it, or had it last */
	uint32_t incarnation;
	_Atomic uint32_t attempts; /* starts that have not become ready, and crashes in service */
	_Atomic uint32_t signal;   /* of the last crash; 0: that was amid a start */
	struct file_id file;
	char boot_id[BOOT_ID_BYTES];
	struct heartbeat heartbeat;
	uint64_t changed_ns; /* the file's, when this process last looked; 0: not known */
	struct {
		uint64_t device, incarnation; /* 0: none */
	} tier;                               /* that its process served with (flash_super.h) */
};
static_assert(sizeof(struct memory_page) <= MEMORY_PAGE_BYTES, "it is one page");

static inline bool
memory_page_is_set(const struct memory_page *p)
{
	return atomic_load_explicit(&p->magic, memory_order_acquire) == MEMORY_PAGE_MAGIC;
}

/* Did another program change the file since its process ended? changed_ns: the inode's time
 * (memory_file.h); 0: it has none. */
bool memory_page_is_changed(const struct memory_page *p, uint64_t changed_ns);

/* The file that a page lies in. changed_ns: memory_file_changed_ns; 0: it has none. */
struct memory_page_file {
	struct file_id id;
	uint64_t changed_ns;
};

/* Does a start go on from that page? words: why not, else empty. */
bool memory_page_is_whole(const struct memory_page *page, const struct memory_page_file *file,
			  const struct gap_now *now, uint32_t keep_for_s, struct gap *gap,
			  char words[MEMORY_PAGE_WORDS]);

/* A page becomes this process's, whose start counts as an attempt. */
void memory_page_begin(struct memory_page *p, struct file_id file, const char *boot_id,
		       uint32_t pid);
/* A start with what lies there: an attempt, until memory_page_ready. */
void memory_page_attempt(struct memory_page *p, uint32_t pid);
/* It serves, or was asked to stop before it did: the attempt does not count. */
void memory_page_ready(struct memory_page *p);
/* After a graceful stop, or CRASHES_FORGIVEN_NS of service. */
void memory_page_forgive(struct memory_page *p);
/* Once a life: this process ends by that signal. */
void memory_page_count_crash(struct memory_page *p, int signal_number);

#endif
