/*
 * mem_flash_end.h - one device in memory (mem_flash.h) that several submit to, each of whom hears
 * of its own transfers alone.
 *
 * Owner:  the caller: the media, and the array of ends, whose places are their numbers.
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
