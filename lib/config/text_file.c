/*
 * text_file.c - reads a text file that an option names.
 */
#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char mark[] = "\xef\xbb\xbf";

#define MARK_BYTES (sizeof mark - 1)

/* Reads up to size bytes of the open file. Returns how many, or -1 with errno set. */
static ssize_t
read_open(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size && (n = read(fd, text + used, size - used)) != 0) {
		if (n < 0)
			return -1;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

static ssize_t
without_mark(char *text, size_t len)
{
	if (len < MARK_BYTES || memcmp(text, mark, MARK_BYTES) != 0)
		return (ssize_t)len;
	memmove(text, text + MARK_BYTES, len - MARK_BYTES);
	return (ssize_t)(len - MARK_BYTES);
}

ssize_t
text_file_read(char *text, size_t max, const char *before, const char *path, struct error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		error_set(err, "%scannot read %s: %s", before, path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		error_set(err, "%s%s is not a regular file", before, path);
	else if ((len = read_open(fd, text, max + 1)) < 0)
		error_set(err, "%scannot read %s: %s", before, path, strerror(errno));
	else if ((size_t)len > max)
		error_set(err, "%s%s has more than %zu bytes", before, path, max);
	else if ((len = without_mark(text, (size_t)len)) == 0)
		error_set(err, "%s%s is empty", before, path);
	if (fd >= 0)
		close(fd);
	return len <= 0 || (size_t)len > max ? -1 : len;
}
