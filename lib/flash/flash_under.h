/*
 * flash_under.h - locks the files and devices under a flash device. For example, the file of a loop
 * device has the same bytes under another name, and neither the kernel's claim nor the device's
 * lock protects it.
 *
 * Shape:  sysfs names the file of a loop device, the disk of a partition, and the devices below
 *         device-mapper and md. All files and devices on the way down are locked, as a user of each
 *         would lock it. A second loop device over the same file is refused, since it gives access
 *         to the same bytes.
 * Owner:  the locks hold until flash_under_unlock.
 * Thread: any. Only readdir uses the heap.
 * Errors: a negative errno, and the file or device in `at`. One that cannot be opened is named in
 *         `unopened`, and is not locked.
 * Bounds: FLASH_UNDER_MAX locks, FLASH_UNDER_DEPTH levels; deeper ones are ignored.
 */
#ifndef CLOCKOO_FLASH_UNDER_H
#define CLOCKOO_FLASH_UNDER_H

#include <stdbool.h>
#include <stdint.h>

#define FLASH_UNDER_MAX        8u
#define FLASH_UNDER_DEPTH      4u
#define FLASH_UNDER_PATH_BYTES 512u
#define FLASH_UNDER_SYSFS      "/sys"

struct flash_under {
	uint32_t count;
	int fds[FLASH_UNDER_MAX];
	char at[FLASH_UNDER_PATH_BYTES]; /* the file or device of an error */
	/* Name of the first one that could not be opened, or empty. */
	char unopened[FLASH_UNDER_PATH_BYTES];
};

/* Locks the files and devices under the open file or block device. On an error no lock stays, and
 * u->at is the cause. -EWOULDBLOCK, -EBUSY: another process uses it. -EEXIST: it is a loop device
 * over the same file. */
int flash_under_lock(struct flash_under *u, const char *sysfs, int fd);
/* Does the same for a block device given by its numbers, but does not search for loop devices over
 * it. */
int flash_under_lock_device(struct flash_under *u, const char *sysfs, unsigned device_major,
			    unsigned device_minor);
void flash_under_unlock(struct flash_under *u);

#endif
