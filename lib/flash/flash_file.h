/*
 * flash_file.h - the file or block device under all flash devices of a process, bypassing the
 * kernel's cache.
 *
 * Units:  bytes.
 * Owner:  the caller owns the descriptor.
 * Errors: a negative errno. O_DIRECT is required.
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

/* Opens the file. bytes: the size that it should have, 0: its own; it is created and grown, never
 * shrunk. For a block device: all of it, or its first bytes; -EBUSY: it is mounted or in use. */
int flash_file_open(struct flash_file *file, const char *path, uint64_t bytes);
void flash_file_close(struct flash_file *file);

#endif
