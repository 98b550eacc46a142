/*
 * machine_tree.c - reads files of /sys and /proc, from a directory or a recorded text.
 */
#include "machine_tree.h"
#include "recorded_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
map_text(struct tree *t, int fd, const char *where, size_t bytes, struct error *err)
{
	void *at;

	if (bytes == 0 || bytes > TREE_TEXT_MAX)
		return error_set(err, "--sysfs: %s: expected 1 to %u bytes of recorded text", where,
				 TREE_TEXT_MAX);
	at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return error_set(err, "--sysfs: %s: %s", where, strerror(errno));
	t->text = at;
	t->text_len = bytes;
	return true;
}

bool
tree_open(struct tree *t, const char *where, struct error *err)
{
	struct stat st;
	bool good = true;
	int fd;

	memset(t, 0, sizeof *t);
	if ((size_t)snprintf(t->root, sizeof t->root, "%s", where) >= sizeof t->root)
		return error_set(err, "--sysfs: a path of more than %zu characters",
				 sizeof t->root - 1);
	fd = open(where, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set(err,
				 "--sysfs: %s: %s: expected a directory with sys/ and proc/, or a "
				 "file that tools/nic record wrote",
				 where, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		good = map_text(t, fd, where, (size_t)st.st_size, err);
	close(fd);
	if (good && !tree_has(t, "sys/devices/system/cpu")) {
		tree_close(t);
		return error_set(err, "--sysfs: %s: nothing of sys/devices/system/cpu in it",
				 where);
	}
	return good;
}

void
tree_close(struct tree *t)
{
	if (t->text != NULL)
		munmap((void *)(uintptr_t)t->text, t->text_len);
	t->text = NULL;
}

bool
tree_is_live(const struct tree *t)
{
	return t->text == NULL && strcmp(t->root, "/") == 0;
}

/* Writes the full path. False if it does not fit; the file then counts as missing. */
static bool
full_path(const struct tree *t, char full[2 * TREE_PATH_BYTES], const char *path)
{
	const int len = snprintf(full, 2 * TREE_PATH_BYTES, "%s/%s", t->root, path);

	return len > 0 && (size_t)len < 2 * TREE_PATH_BYTES;
}

void
tree_lines(const struct tree *t, const char *path, tree_each_fn *each, void *arg)
{
	char full[2 * TREE_PATH_BYTES], line[TREE_LINE_BYTES];
	FILE *file;

	if (t->text != NULL) {
		recorded_lines(t, path, each, arg);
		return;
	}
	file = full_path(t, full, path) ? fopen(full, "re") : NULL;
	if (file == NULL)
		return;
	for (uint32_t i = 0; i < TREE_LINES_MAX && fgets(line, sizeof line, file) != NULL; i++) {
		line[strcspn(line, "\n")] = '\0';
		if (!each(arg, line))
			break;
	}
	fclose(file);
}

void
tree_names(const struct tree *t, const char *folder, tree_each_fn *each, void *arg)
{
	char full[2 * TREE_PATH_BYTES];
	struct dirent *entry;
	DIR *dir;

	if (t->text != NULL) {
		recorded_names(t, folder, each, arg);
		return;
	}
	dir = full_path(t, full, folder) ? opendir(full) : NULL;
	if (dir == NULL)
		return;
	for (uint32_t i = 0; i < TREE_NAMES_MAX && (entry = readdir(dir)) != NULL; i++)
		if (entry->d_name[0] != '.' && !each(arg, entry->d_name))
			break;
	closedir(dir);
}

struct wanted {
	char *line;
	size_t size;
	const char *key; /* NULL: the first line */
	bool found;
};

static bool
keep_line(void *arg, const char *line)
{
	struct wanted *w = arg;

	if (w->key != NULL && strstr(line, w->key) == NULL)
		return true;
	snprintf(w->line, w->size, "%s", line);
	w->found = true;
	return false;
}

static bool
find_line(const struct tree *t, struct wanted *w, const char *format, va_list args)
{
	char path[TREE_PATH_BYTES];

	if ((size_t)vsnprintf(path, sizeof path, format, args) >= sizeof path)
		return false;
	tree_lines(t, path, keep_line, w);
	return w->found;
}

bool
tree_line(const struct tree *t, char *line, size_t size, const char *path, ...)
{
	struct wanted w = {line, size, NULL, false};
	va_list args;

	line[0] = '\0';
	va_start(args, path);
	find_line(t, &w, path, args);
	va_end(args);
	return w.found;
}

static bool
number_at(const char *text, uint64_t *n)
{
	char *end;

	text += strspn(text, " \t");
	if (*text < '0' || *text > '9')
		return false;
	*n = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	return end != text;
}

bool
tree_number(const struct tree *t, uint64_t *n, const char *path, ...)
{
	char line[TREE_LINE_BYTES];
	struct wanted w = {line, sizeof line, NULL, false};
	va_list args;

	va_start(args, path);
	find_line(t, &w, path, args);
	va_end(args);
	return w.found && number_at(line, n);
}

bool
tree_value_of(const struct tree *t, uint64_t *n, const char *key, const char *path, ...)
{
	char line[TREE_LINE_BYTES];
	struct wanted w = {line, sizeof line, key, false};
	va_list args;

	va_start(args, path);
	find_line(t, &w, path, args);
	va_end(args);
	return w.found && number_at(strstr(line, key) + strlen(key), n);
}

static bool
link_target(const struct tree *t, char target[TREE_PATH_BYTES], const char *path)
{
	char full[2 * TREE_PATH_BYTES];
	ssize_t len;

	if (t->text != NULL)
		return recorded_link(t, path, target, TREE_PATH_BYTES);
	if (!full_path(t, full, path))
		return false;
	len = readlink(full, target, TREE_PATH_BYTES - 1);
	target[len > 0 ? len : 0] = '\0';
	return len > 0;
}

bool
tree_link(const struct tree *t, char *name, size_t size, const char *path, ...)
{
	char where[TREE_PATH_BYTES], target[TREE_PATH_BYTES];
	const char *slash;
	va_list args;
	int len;

	name[0] = '\0';
	va_start(args, path);
	len = vsnprintf(where, sizeof where, path, args);
	va_end(args);
	if ((size_t)len >= sizeof where || !link_target(t, target, where))
		return false;
	slash = strrchr(target, '/');
	snprintf(name, size, "%s", slash != NULL ? slash + 1 : target);
	return true;
}

bool
tree_has(const struct tree *t, const char *path, ...)
{
	char where[TREE_PATH_BYTES], full[2 * TREE_PATH_BYTES];
	va_list args;
	int len;

	va_start(args, path);
	len = vsnprintf(where, sizeof where, path, args);
	va_end(args);
	if ((size_t)len >= sizeof where)
		return false;
	if (t->text != NULL)
		return recorded_has(t, where);
	return full_path(t, full, where) &&
	       faccessat(AT_FDCWD, full, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
