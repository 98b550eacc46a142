/*
 * text_file.h - reads a text file that an option names.
 *
 * Thread: any; reads a file, no heap.
 * Errors: struct error says what is wrong with which file, in one line.
 * Bounds: the file is a regular one, since a pipe or a device could block the reader for ever, and
 *         has 1 to max bytes. An empty file is one that is being written, or was cut: as a list of
 *         networks it would let in everybody. A list without entries has a comment.
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
