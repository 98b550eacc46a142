/*
 * memory_file.h - the named file that contains the store's memory, so that this outlives the
 * process.
 *
 * The file is on hugetlbfs or tmpfs: in memory, not on a disk. A lock gives it to one process. The
 * lock ends with the last descriptor and the last mapping of the file; no child inherits either.
 *
 * Shape:  bytes at base, shared with the file.
 * Units:  bytes.
 * Owner:  the caller, from memory_file_open to memory_file_close. The file stays.
 * Thread: main; memory_file_populate_more: one at a time.
 * Errors: struct error: the process that has the file, or what is wrong with it. A file that is
 *         refused stays unchanged. A file of this program that was truncated or is damaged is
 *         renamed to NAME.damaged, if there is room for both.
 * Bounds: MEMORY_FILE_WAIT_MS for the lock.
 */
#ifndef CLOCKOO_MEMORY_FILE_H
#define CLOCKOO_MEMORY_FILE_H

#include "config/config.h"
#include "memory_page.h"

#include <stddef.h>
#include <sys/types.h>

#define MEMORY_FILE_WAIT_MS 5000u
/* Bytes of a tmpfs file that are mapped in one step, while the cache serves. */
#define MEMORY_FILE_STEP   (64u << 20)
#define MEMORY_FILE_NO_UID ((uid_t)-1)

struct memory_file_wanted {
	const char *option;      /* "--memory-file", with which errors begin */
	const char *size_option; /* "-m", the option by which the file can be made smaller */
	const char *path;
	size_t bytes;
	size_t page_at;       /* offset of the page of memory_page.h */
	uint64_t magic;       /* the first word of a used file of this option */
	uint64_t other_magic; /* the first word of files that another option uses */
	/* A damaged file is renamed, and a new one made; false: it is refused. */
	bool renews_damaged;
	/* A user who may own the file, besides this process's user; or MEMORY_FILE_NO_UID. */
	uid_t other_uid;
	uint32_t wait_ms; /* most milliseconds to wait for another process to end */
};

struct memory_file {
	int fd; /* -1: none */
	uint8_t *base;
	size_t bytes;
	size_t page_bytes;   /* page size of the file system */
	size_t before_bytes; /* former size of the file; 0: it had the right one */
	size_t populated;    /* bytes populated so far, from the beginning */
	bool huge;           /* on hugetlbfs */
	bool fresh;          /* all zeros: nothing was kept */
	const char *damaged; /* what was done with a damaged file; NULL: there was none */
	uint64_t changed_ns; /* memory_file_changed_ns when the file was opened */
	struct file_id id;
	const char *option, *size_option;
	char path[2 * CONFIG_PATH_BYTES];
};

/* Locks the file, creating it if necessary, and gives it its size. Nothing is mapped yet. */
bool memory_file_open(struct memory_file *f, const struct memory_file_wanted *wanted,
		      struct error *err);
/* Maps the file. Its pages are not touched. */
bool memory_file_map(struct memory_file *f, struct error *err);
/* Allocates all of the file's memory. Hugepages are mapped as well; pages of tmpfs are mapped later
 * (memory_file_populate_more). */
bool memory_file_populate(struct memory_file *f, struct error *err);
/* Maps the next MEMORY_FILE_STEP bytes. False: there are no more. */
bool memory_file_populate_more(struct memory_file *f);
/* Creates another file with the same name and size, before it is mapped. Bad pages stay in the old
 * file. */
bool memory_file_renew(struct memory_file *f, const struct memory_file_wanted *wanted,
		       struct error *err);
/* Returns when the file's inode last changed, by the wall clock. write, truncate, chmod and mv
 * change it, and so does a store of this program into a page that was not mapped. Returns 0 on
 * hugetlbfs, which has no write, so that nothing can be copied into the file. */
uint64_t memory_file_changed_ns(const struct memory_file *f);
void memory_file_unmap(struct memory_file *f);
void memory_file_close(struct memory_file *f);

/* True if a file with that name can be memory: its folder is on hugetlbfs (*huge) or tmpfs. */
bool memory_file_place_ok(const char *option, const char *path, bool *huge, struct error *err);

#endif
