/*
 * flash_file.h - the file or block device under all flash devices of a process, past the kernel's
 * cache.
 *
 * Units:  bytes.
 * Owner:  the caller: the descriptor.
 * Errors: a negative errno. O_DIRECT is demanded.
 * Bounds: a file has its blocks before it is used, since else a write may wait for the file
 *         system's metadata.
 */
#ifndef CLOCKOO_FLASH_FILE_H
#define CLOCKOO_FLASH_FILE_H

#include <stdint.h>

struct flash_file {
	int fd;
	uint64_t bytes;
};

/* bytes: what the file is to have, 0: what it has; it is made, and grown, never shrunk. Of a block
 * device all, or bytes of it; -EBUSY: it is mounted, or somebody else's. */
int flash_file_open(struct flash_file *file, const char *path, uint64_t bytes);
void flash_file_close(struct flash_file *file);

#endif
