/*
 * one_name.h - distinguishes a file of ours from one that another user put in its place.
 *
 * A file with a second name may be anybody's: who can write to a folder can put a hard link to a
 * file of ours there under a name that we open, and what we write then destroys that file.
 * O_NOFOLLOW stops symbolic links only.
 *
 * Thread: any.
 */
#ifndef CLOCKOO_ONE_NAME_H
#define CLOCKOO_ONE_NAME_H

#include <stdbool.h>
#include <sys/stat.h>

/* True if fd is a plain file that has one name at most. */
static inline bool
file_has_one_name(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1;
}

#endif
