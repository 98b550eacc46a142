/*
 * flash_pack.h - compresses values on flash (flash.compress) with deflate by ISA-L's igzip.
 *
 * Shape:  a packed value is its length in 2 bytes, then a raw deflate stream with static codes. A
 *         bit of the record says that its value is packed. The sums of pages cover the packed
 *         bytes.
 * Owner:  the caller has a packer for each core that evicts, and an unpacker for each core that
 *         reads. Their buffers hold one value at a time.
 * Thread: each packer and unpacker: one thread.
 * Errors: a length of 0: packing gains too little, or the bytes are no packed value.
 * Bounds: values of FLASH_PACK_MIN to FLASH_PACK_MAX bytes. Unpacking any bytes takes bounded time
 *         and yields at most FLASH_PACK_MAX bytes. A turn of a core packs FLASH_PACK_TURN bytes and
 *         unpacks FLASH_UNPACK_TURN, where each value counts as FLASH_UNPACK_LEAST bytes more. The
 *         value that reaches the limit is still finished. Each of the two limits is some 40 us.
 */
#ifndef CLOCKOO_FLASH_PACK_H
#define CLOCKOO_FLASH_PACK_H

#include <isa-l/igzip_lib.h>
#include <stdint.h>

#define FLASH_PACK_MIN 128u /* shorter values gain nothing from static codes */
/* 13 us to pack, 11 us to unpack; 25 us if packing gains nothing. */
#define FLASH_PACK_MAX     8192u
#define FLASH_PACK_TURN    (16u << 10)
#define FLASH_UNPACK_TURN  (32u << 10)
#define FLASH_UNPACK_LEAST 800u /* fixed cost of a value, in bytes */
#define FLASH_PACK_SHARE   8u   /* a packed value must be shorter by 1/FLASH_PACK_SHARE */

struct flash_packer {
	struct isal_zstream stream;
	uint8_t value[FLASH_PACK_MAX];
	uint8_t packed[FLASH_PACK_MAX];
};

/* Packs value[0 .. len) into packed. Returns the number of packed bytes. */
uint32_t flash_pack(struct flash_packer *packer, uint32_t len);

struct flash_unpacker {
	struct inflate_state state;
	uint8_t packed[FLASH_PACK_MAX];
	uint8_t value[FLASH_PACK_MAX];
};

#define FLASH_PACKED_HEAD ((uint32_t)sizeof(uint16_t))
/* Returns the unpacked length that the head states; 0: the bytes are no packed value. */
uint32_t flash_unpacked_len(const uint8_t head[FLASH_PACKED_HEAD]);
/* Unpacks packed[0 .. len) into value. Returns the value's length. */
uint32_t flash_unpack(struct flash_unpacker *unpacker, uint32_t len);

#endif
