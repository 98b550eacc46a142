/*
 * flash_under.h - what a flash device lies on: the file behind a loop device is the same bytes
 * under another name, which neither the kernel's claim nor the lock of the device protects.
 *
 * Shape:  sysfs says what is behind a loop device, of which disk a partition is, and which devices
 *         device-mapper and md are made of. All files and devices on the way down are locked, as
 *         their own user would lock them. A loop device that lies over the file is another way in.
 * Owner:  the locks hold until flash_under_unlock.
 * Thread: any; no heap but readdir's.
 * Errors: a negative errno, and where it was found. What cannot be opened is named, and not locked.
 * Bounds: FLASH_UNDER_MAX locks, FLASH_UNDER_DEPTH levels: what lies deeper is not looked at.
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
	char at[FLASH_UNDER_PATH_BYTES];       /* of an error: the file or device */
	char unopened[FLASH_UNDER_PATH_BYTES]; /* the first that could not be opened, or empty */
};

/* Locks what the open file or block device lies on. -EWOULDBLOCK, -EBUSY: another process has
 * u->at; -EEXIST: u->at is a loop device that lies over the same file. Nothing is locked then. */
int flash_under_lock(struct flash_under *u, const char *sysfs, int fd);
/* The same of a block device by its numbers, but for loop devices that lie over itself. */
int flash_under_lock_device(struct flash_under *u, const char *sysfs, unsigned device_major,
			    unsigned device_minor);
void flash_under_unlock(struct flash_under *u);

#endif
