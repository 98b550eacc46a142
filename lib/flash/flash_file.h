/*
 * flash_file.h - the file or block device that all flash devices of a process use, without the
 * kernel's cache.
 *
 * Units:  bytes.
 * Owner:  the caller owns the descriptor.
 * Errors: a negative errno. O_DIRECT is required.
 * Bounds: all blocks of a file are allocated before it is used, since a write might otherwise wait
 *         for the file system's metadata.
 */
#ifndef CLOCKOO_FLASH_FILE_H
#define CLOCKOO_FLASH_FILE_H

#include <stdint.h>

struct flash_file {
	int fd;
	uint64_t bytes;
};

/* Opens the file, creating it if necessary. bytes: its size; a smaller file is grown, a larger one
 * is not shrunk; 0: the size that it has. Of a block device that many bytes are used, or all.
 * -EBUSY: the block device is mounted or in use. */
int flash_file_open(struct flash_file *file, const char *path, uint64_t bytes);
void flash_file_close(struct flash_file *file);

#endif
