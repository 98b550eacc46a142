/*
 * config_flash.h - what the operator decides of the second tier, on flash.
 *
 * Shape:  plain data, a part of struct config.
 * Units:  MB of 2^20 bytes; milliseconds.
 */
#ifndef CLOCKOO_CONFIG_FLASH_H
#define CLOCKOO_CONFIG_FLASH_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_FLASH_MIN_MB 256u
#define CONFIG_FLASH_MAX_MB (2u << 20) /* second_tier.c holds them and lib/flash together */
#define CONFIG_FLASH_HASHED 1016u      /* largest item of a column; with all of its record */

enum config_flash_admit { FLASH_ADMIT_ALL, FLASH_ADMIT_USED }; /* of what memory evicts */
enum config_flash_io { FLASH_IO_AUTO, FLASH_IO_URING, FLASH_IO_THREADS };
enum config_flash_layout { FLASH_LAYOUT_AUTO, FLASH_LAYOUT_LOG, FLASH_LAYOUT_HASH };

#define CONFIG_FLASH_PATH 256u

struct config_flash {
	char device[CONFIG_FLASH_PATH]; /* file or block device; empty: there is no tier */
	char state[CONFIG_FLASH_PATH];  /* memory file; empty: beside memory_file, or none */
	uint32_t size_mb;               /* 0: what the device has */
	uint32_t budget_mb;             /* written a second; 0: any */
	uint32_t admit;                 /* enum config_flash_admit */
	uint32_t layout;                /* enum config_flash_layout */
	uint32_t io;                    /* enum config_flash_io */
	uint32_t large;                 /* of layout hash: percent of it for items above HASHED */
	uint32_t item_size;             /* mean bytes of an item on flash */
	uint32_t item_max_bytes;        /* of value */
	uint32_t deadline_ms;
	bool compress; /* values, where that makes them shorter */
};

#endif
