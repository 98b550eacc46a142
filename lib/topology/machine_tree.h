/*
 * machine_tree.h - reads files of /sys and /proc, of this machine or of another one.
 *
 * A tree is a directory that has sys/ and proc/ ("/" is this machine), or a text recorded from one
 * ("tools/nic record"). So a plan can be made for another machine, and tests have machines to read.
 * A line of such a text is "PATH = a line of the file" or "PATH -> target of the link". A list
 * {0-7,16-23} in PATH stands for one path for each number; a {list} in the value supplies the entry
 * at the same position; after its last entry it starts again. # begins a comment.
 *
 * Shape:  paths have no leading slash: "sys/devices/system/cpu/online".
 * Owner:  tree_open to tree_close.
 * Thread: one, at start; reads files, maps a recorded text.
 * Errors: a missing file gives false; only tree_open gives the reason, in a struct error.
 * Bounds: TREE_TEXT_MAX bytes of text, TREE_LINE_BYTES of a line, TREE_LINES_MAX lines of a file,
 *         TREE_NAMES_MAX names of a directory. More is cut off.
 */
#ifndef CLOCKOO_MACHINE_TREE_H
#define CLOCKOO_MACHINE_TREE_H

#include "config/errors.h"

#include <stddef.h>
#include <stdint.h>

#define TREE_TEXT_MAX   (4u << 20)
#define TREE_LINE_BYTES 512u
#define TREE_PATH_BYTES 512u
#define TREE_LINES_MAX  65536u
#define TREE_NAMES_MAX  65536u

struct tree {
	char root[TREE_PATH_BYTES]; /* of a directory; unused for a text */
	const char *text;           /* a recorded text; NULL: a directory */
	size_t text_len;
};

/* Called with each line or name. False ends the walk. */
typedef bool tree_each_fn(void *arg, const char *words);

bool tree_open(struct tree *t, const char *where, struct error *err);
void tree_close(struct tree *t);
/* True if the tree is this machine, so that system calls may be used, too. */
bool tree_is_live(const struct tree *t);

void tree_lines(const struct tree *t, const char *path, tree_each_fn *each, void *arg);
/* Visits the names in a directory, in no order and each once. */
void tree_names(const struct tree *t, const char *folder, tree_each_fn *each, void *arg);

/* Reads the first line of a file. */
bool tree_line(const struct tree *t, char *line, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* Reads the number at the beginning of a file: decimal, or hexadecimal after 0x. A negative one
 * does not count as a number. */
bool tree_number(const struct tree *t, uint64_t *n, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* Reads the last name in a link's target. */
bool tree_link(const struct tree *t, char *name, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* True if there is such a file, directory or link. */
bool tree_has(const struct tree *t, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Reads the number after key in the first line that has it, as in "Node 0 MemTotal: 65951232
 * kB". */
bool tree_value_of(const struct tree *t, uint64_t *n, const char *key, const char *path, ...)
	__attribute__((format(printf, 4, 5)));

#endif
