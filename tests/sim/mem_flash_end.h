/*
 * mem_flash_end.h - several users of one device in memory (mem_flash.h); each polls its own
 * transfers at an end of its own.
 *
 * Owner:  the caller owns the media and the array of ends. An end's number is its index there.
 * Thread: one.
 * Bounds: tags below 2^48.
 */
#ifndef CLOCKOO_MEM_FLASH_END_H
#define CLOCKOO_MEM_FLASH_END_H

#include "mem_flash.h"

struct mem_flash_end {
	struct flash_device device;
	struct mem_flash *media;
	struct mem_flash_end *ends;
	struct flash_result results[FLASH_DEPTH_MAX];
	uint32_t count;
};

void mem_flash_ends_open(struct mem_flash_end *ends, uint32_t count, struct mem_flash *media,
			 uint32_t depth);

#endif
