/*
 * flash_file.h - the file or block device under all flash devices of a process, bypassing the
 * kernel's cache.
 *
 * Units:  bytes.
 * Owner:  the caller owns the descriptor.
 * Errors: a negative errno. O_DIRECT is required.
 * Bounds: a file gets all its blocks before it is used: otherwise a write might wait for the file
 *         system's metadata.
 */
#ifndef CLOCKOO_FLASH_FILE_H
#define CLOCKOO_FLASH_FILE_H

#include <stdint.h>

struct flash_file {
	int fd;
	uint64_t bytes;
};

/* Opens the file, creating it if necessary. bytes: the size it is to have: it is grown to that,
 * never shrunk; 0: the size it has. Of a block device, all of it or the first bytes are used.
 * -EBUSY: the block device is mounted or in use. */
int flash_file_open(struct flash_file *file, const char *path, uint64_t bytes);
void flash_file_close(struct flash_file *file);

#endif
