/*
 * one_name.h - distinguishes a file of ours from one that another user put in its place.
 *
 * A file with a second name may be another one than it seems: a user who can write to a folder can
 * make a hard link there to a file of ours, under a name that we open. What we then write destroys
 * that file. O_NOFOLLOW stops symbolic links only.
 *
 * Thread: any.
 */
#ifndef CLOCKOO_ONE_NAME_H
#define CLOCKOO_ONE_NAME_H

#include <stdbool.h>
#include <sys/stat.h>

/* True if fd is a plain file with at most one name. */
static inline bool
file_has_one_name(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1;
}

#endif
