/*
 * crc32c.h - the one interface to CRC32C, from ISA-L.
 *
 * Thread: pure functions.
 */
#ifndef CLOCKOO_CRC32C_H
#define CLOCKOO_CRC32C_H

#include <isa-l/crc.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the CRC32C of bytes, continuing from crc, that of the bytes before them. ISA-L declares
 * the bytes as writable, but only reads them. */
static inline uint32_t
crc32c(const void *bytes, size_t len, uint32_t crc)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)len, crc);
}

#endif
