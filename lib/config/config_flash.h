/*
 * config_flash.h - the operator's settings of the second tier, on flash.
 *
 * Shape:  plain data, a part of struct config.
 * Units:  MB of 2^20 bytes; milliseconds.
 */
#ifndef CLOCKOO_CONFIG_FLASH_H
#define CLOCKOO_CONFIG_FLASH_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_FLASH_MIN_MB 256u
#define CONFIG_FLASH_MAX_MB (2u << 20) /* second_tier.c asserts that both limits fit lib/flash */
/* Longest value, so that it fits a segment of the log. */
#define CONFIG_FLASH_ITEM_MAX (2035u << 10)
#define CONFIG_FLASH_HASHED   1016u /* longest record of an item that a column may have */

enum config_flash_admit { FLASH_ADMIT_ALL, FLASH_ADMIT_USED }; /* which evicted items are written */
enum config_flash_io { FLASH_IO_AUTO, FLASH_IO_URING, FLASH_IO_THREADS };
enum config_flash_layout { FLASH_LAYOUT_AUTO, FLASH_LAYOUT_LOG, FLASH_LAYOUT_HASH };

#define CONFIG_FLASH_PATH 256u

struct config_flash {
	char device[CONFIG_FLASH_PATH]; /* file or block device; empty: no tier */
	/* File of the index; empty: the one beside memory_file, if there is that. */
	char state[CONFIG_FLASH_PATH];
	uint32_t size_mb;   /* 0: the size of the device */
	uint32_t budget_mb; /* MB written in a second; 0: unlimited */
	uint32_t admit;     /* enum config_flash_admit */
	uint32_t layout;    /* enum config_flash_layout */
	uint32_t io;        /* enum config_flash_io */
	/* For layout hash: percent of the device for items above CONFIG_FLASH_HASHED. */
	uint32_t large;
	uint32_t item_size;      /* mean bytes of an item on flash */
	uint32_t item_max_bytes; /* largest value */
	uint32_t deadline_ms;
	bool compress; /* compresses a value if that makes it shorter */
};

#endif
