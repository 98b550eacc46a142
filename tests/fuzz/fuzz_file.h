/*
 * fuzz_file.h - the bytes of an input as a regular file without a folder, for readers that take a
 * path.
 *
 * Owner:  one file of the process; the next input overwrites it.
 * Thread: one.
 */
#ifndef CLOCKOO_FUZZ_FILE_H
#define CLOCKOO_FUZZ_FILE_H

#include "base/check.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_FILE_PATH_BYTES 32u

static inline void
fuzz_file_put(char path[FUZZ_FILE_PATH_BYTES], const void *bytes, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	ensure(fd >= 0 && ftruncate(fd, 0) == 0);
	ensure(pwrite(fd, bytes, size, 0) == (ssize_t)size);
	snprintf(path, FUZZ_FILE_PATH_BYTES, "/proc/self/fd/%d", fd);
}

#endif
