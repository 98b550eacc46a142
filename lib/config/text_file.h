/*
 * text_file.h - reads a text file that an option names.
 *
 * Thread: any; reads a file, no heap.
 * Errors: struct error names the file and what is wrong, in one line.
 * Bounds: the file has at most max bytes, and must be a regular one, since a pipe or a device could
 *         block the reader for ever.
 */
#ifndef CLOCKOO_TEXT_FILE_H
#define CLOCKOO_TEXT_FILE_H

#include "errors.h"

#include <sys/types.h>

/* Reads the file into text, which has room for max + 1 bytes. Leaves out the byte order mark that
 * some editors write at the beginning of a file in UTF-8. Returns the length; or -1, and an error
 * that begins with `before`. */
ssize_t text_file_read(char *text, size_t max, const char *before, const char *path,
		       struct error *err);

#endif
