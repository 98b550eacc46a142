/*
 * flash_file.c - opens the file or block device, and gives a file its size and its blocks.
 */
#include "flash_file.h"
#include "flash_device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE 0600

static int
size_of(int fd, uint64_t *bytes)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISBLK(st.st_mode))
		return ioctl(fd, BLKGETSIZE64, bytes) == 0 ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*bytes = (uint64_t)st.st_size;
	return 0;
}

/* Gives a file its size, and allocates all its blocks. */
static int
size_to(int fd, uint64_t want, uint64_t *bytes)
{
	int e = size_of(fd, bytes);

	if (e == 0 && want > *bytes) {
		e = -posix_fallocate(fd, 0, (off_t)want);
		*bytes = want;
	}
	if (e == 0 && want != 0)
		*bytes = want;
	*bytes -= *bytes % FLASH_PAGE;
	return e == 0 && *bytes == 0 ? -EINVAL : e;
}

int
flash_file_open(struct flash_file *file, const char *path, uint64_t bytes)
{
	/* O_EXCL without O_CREAT applies to block devices: a mounted one gives EBUSY. */
	const int flags = O_RDWR | O_DIRECT | O_CLOEXEC | O_NOFOLLOW | O_EXCL;
	int e;

	file->fd = open(path, flags);
	if (file->fd < 0 && errno == ENOENT && bytes != 0)
		file->fd = open(path, flags | O_CREAT, MODE);
	if (file->fd < 0)
		return -errno;
	e = size_to(file->fd, bytes, &file->bytes);
	if (e != 0)
		flash_file_close(file);
	return e;
}

void
flash_file_close(struct flash_file *file)
{
	close(file->fd);
	file->fd = -1;
}
