/*
 * bom.h - the byte order mark that some editors write at the start of a file in UTF-8.
 *
 * Thread: pure function.
 */
#ifndef CLOCKOO_BOM_H
#define CLOCKOO_BOM_H

#include <stddef.h>
#include <string.h>

#define BOM_BYTES 3u

/* Returns how many bytes of the text its mark takes: BOM_BYTES or 0. */
static inline size_t
bom_bytes(const char *text, size_t len)
{
	return len >= BOM_BYTES && memcmp(text, "\xef\xbb\xbf", BOM_BYTES) == 0 ? BOM_BYTES : 0;
}

#endif
