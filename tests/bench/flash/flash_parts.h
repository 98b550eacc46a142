/*
 * flash_parts.h - the parts of flash_trial: each prints its rows, lines of JSON.
 */
#ifndef CLOCKOO_FLASH_PARTS_H
#define CLOCKOO_FLASH_PARTS_H

#include <stdint.h>

struct flash_trial {
	uint32_t run, mib; /* mib: of flash, or of the memory that the part fills */
	uint32_t value, depth;
	uint32_t gets, rounds;
	const char *file; /* NULL: memory */
	const char *peer; /* memcached's socket; NULL: clockoo */
	uint32_t workers; /* helper threads of a recovery */
	uint32_t keys, flash_mib;
};

void flash_part_bytes(const struct flash_trial *trial);
void flash_part_reads(const struct flash_trial *trial);
void flash_part_raw(const struct flash_trial *trial);
void flash_part_recover(const struct flash_trial *trial);
void flash_part_misses(const struct flash_trial *trial);
void flash_part_pack(const struct flash_trial *trial);
void flash_part_busy(const struct flash_trial *trial);
void flash_part_kept(const struct flash_trial *trial);
void flash_part_hits(const struct flash_trial *trial);
void flash_part_extstore(const struct flash_trial *trial);

#endif
