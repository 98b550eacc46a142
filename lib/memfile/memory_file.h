/*
 * memory_file.h - the named file that the store's memory lies in, so that it outlives the process.
 *
 * Hugetlbfs or tmpfs: memory, and no disk. One process has a file, by a lock that goes with the
 * last descriptor and the last mapping of it; no child inherits either.
 *
 * Shape:  bytes at base, shared with the file.
 * Units:  bytes.
 * Owner:  the caller, from memory_file_open to memory_file_close. The file stays.
 * Thread: main; memory_file_populate_more: one at a time.
 * Errors: struct error: who has the file, what is wrong with it. What was refused is as it was.
 *         A file of ours that was cut or is damaged is renamed to NAME.damaged, if both fit.
 * Bounds: MEMORY_FILE_WAIT_MS for the lock.
 */
#ifndef CLOCKOO_MEMORY_FILE_H
#define CLOCKOO_MEMORY_FILE_H

#include "config/config.h"
#include "memory_page.h"

#include <stddef.h>
#include <sys/types.h>

#define MEMORY_FILE_WAIT_MS 5000u
#define MEMORY_FILE_STEP    (64u << 20) /* of a tmpfs file, mapped at a time while it serves */
#define MEMORY_FILE_NO_UID  ((uid_t)-1)

struct memory_file_wanted {
	const char *option;      /* "--memory-file": what errors begin with */
	const char *size_option; /* "-m": what makes it smaller */
	const char *path;
	size_t bytes;
	size_t page_at;       /* of the page of memory_page.h in it */
	uint64_t magic;       /* its first word, once it was used: whose it is */
	uint64_t other_magic; /* of files that another option keeps */
	bool renews_damaged;  /* a damaged one is put aside, and a new one made; else it is refused
			       */
	uid_t other_uid;  /* may own the file beside this process's user; or MEMORY_FILE_NO_UID */
	uint32_t wait_ms; /* for another process to end */
};

struct memory_file {
	int fd; /* -1: none */
	uint8_t *base;
	size_t bytes;
	size_t page_bytes;   /* of the file system */
	size_t before_bytes; /* what it had of another size; 0: it has the bytes that are wanted */
	size_t populated;    /* of bytes, from the front */
	bool huge;           /* on hugetlbfs */
	bool fresh;          /* all zeros: nothing is kept */
	const char *damaged; /* what became of the damaged one that was there; NULL: none was */
	uint64_t changed_ns; /* memory_file_changed_ns, as it was found */
	struct file_id id;
	const char *option, *size_option;
	char path[2 * CONFIG_PATH_BYTES];
};

/* Locks the file, makes it if it is not there, and gives it the size. Nothing is mapped yet. */
bool memory_file_open(struct memory_file *f, const struct memory_file_wanted *wanted,
		      struct error *err);
/* Maps it. Its pages are not touched. */
bool memory_file_map(struct memory_file *f, struct error *err);
/* Takes all memory that it wants: hugepages are mapped too, tmpfs's later (populate_more). */
bool memory_file_populate(struct memory_file *f, struct error *err);
/* The next MEMORY_FILE_STEP bytes. False: there are no more. */
bool memory_file_populate_more(struct memory_file *f);
/* Another file of the same name and size, before it is mapped: bad pages stay in the old one. */
bool memory_file_renew(struct memory_file *f, const struct memory_file_wanted *wanted,
		       struct error *err);
/* When its inode changed last, on the wall clock: write, truncate, chmod and mv change it, and so
 * does a store of our own into a page that was not mapped. 0: on hugetlbfs, which nothing can be
 * copied into, since it has no write. */
uint64_t memory_file_changed_ns(const struct memory_file *f);
void memory_file_unmap(struct memory_file *f);
void memory_file_close(struct memory_file *f);

/* May a file of that name be memory: is its folder on hugetlbfs (*huge) or tmpfs? */
bool memory_file_place_ok(const char *option, const char *path, bool *huge, struct error *err);

#endif
