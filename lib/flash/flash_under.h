/*
 * flash_under.h - locks what a flash device lies on: the file behind a loop device has the same
 * bytes under another name, which neither the kernel's claim nor the lock of the device protects.
 *
 * Shape:  sysfs has the file behind a loop device, the disk of a partition, and the devices below
 *         device-mapper and md. All files and devices on the way down are locked, as their own
 *         user would lock them. A loop device that lies over the file would be another access to
 *         it.
 * Owner:  the locks hold until flash_under_unlock.
 * Thread: any; no heap but readdir's.
 * Errors: a negative errno, with the file or device. One that cannot be opened is named, and not
 *         locked.
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
	char at[FLASH_UNDER_PATH_BYTES];       /* the file or device of an error */
	char unopened[FLASH_UNDER_PATH_BYTES]; /* the first one that was not opened, or empty */
};

/* Locks what the open file or block device lies on. -EWOULDBLOCK, -EBUSY: another process uses
 * u->at; -EEXIST: u->at is a loop device that lies over the same file. On an error nothing stays
 * locked. */
int flash_under_lock(struct flash_under *u, const char *sysfs, int fd);
/* As flash_under_lock, for a block device by its numbers, without the check for loop devices
 * that lie over it. */
int flash_under_lock_device(struct flash_under *u, const char *sysfs, unsigned device_major,
			    unsigned device_minor);
void flash_under_unlock(struct flash_under *u);

#endif
