/*
 * flash_pack.h - compresses values on flash (flash.compress) with deflate by ISA-L's igzip.
 *
 * Shape:  a packed value is its length in 2 bytes, then a raw deflate stream of static codes. The
 *         record has a bit for packed, and the sum of its page covers the bytes on flash.
 * Owner:  the caller has a packer for each core that evicts, and an unpacker for each core that
 *         reads; their buffers hold one value at a time.
 * Thread: the thread that owns it.
 * Errors: 0: packing gains too little; or the bytes are no packed value.
 * Bounds: values of FLASH_PACK_MIN to FLASH_PACK_MAX bytes; an unpacked value is never longer,
 *         for any bytes, and its time is bounded by FLASH_PACK_MAX. A core's turn packs
 *         FLASH_PACK_TURN bytes and unpacks FLASH_UNPACK_TURN, where each value counts
 *         FLASH_UNPACK_LEAST more; work begun below these limits is finished. Each takes some 40
 *         us.
 */
#ifndef CLOCKOO_FLASH_PACK_H
#define CLOCKOO_FLASH_PACK_H

#include <isa-l/igzip_lib.h>
#include <stdint.h>

#define FLASH_PACK_MIN     128u  /* below that static codes gain nothing */
#define FLASH_PACK_MAX     8192u /* 13 us to pack, 11 to unpack; 25 if packing gains nothing */
#define FLASH_PACK_TURN    (16u << 10)
#define FLASH_UNPACK_TURN  (32u << 10)
#define FLASH_UNPACK_LEAST 800u /* minimum time of a value, in bytes */
#define FLASH_PACK_SHARE   8u   /* a packed value must be shorter by one part of this many */

struct flash_packer {
	struct isal_zstream stream;
	uint8_t value[FLASH_PACK_MAX];
	uint8_t packed[FLASH_PACK_MAX];
};

/* Packs value[0 .. len) into packed. Returns the packed bytes. */
uint32_t flash_pack(struct flash_packer *packer, uint32_t len);

struct flash_unpacker {
	struct inflate_state state;
	uint8_t packed[FLASH_PACK_MAX];
	uint8_t value[FLASH_PACK_MAX];
};

#define FLASH_PACKED_HEAD ((uint32_t)sizeof(uint16_t))
/* Returns the unpacked length that the head states; 0: it is no packed value. */
uint32_t flash_unpacked_len(const uint8_t head[FLASH_PACKED_HEAD]);
/* Unpacks packed[0 .. len) into value. Returns the value's length. */
uint32_t flash_unpack(struct flash_unpacker *unpacker, uint32_t len);

#endif
