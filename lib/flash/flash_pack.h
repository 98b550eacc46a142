/*
 * flash_pack.h - values that lie on flash compressed (flash.compress): deflate by ISA-L's igzip.
 *
 * Shape:  a packed value is its length in 2 bytes, then a raw deflate stream of static codes. The
 *         record says that it is packed, and the sum of its page covers what is on flash.
 * Owner:  the caller: a packer each core that evicts, an unpacker each core that reads; their
 *         buffers are for one value at a time.
 * Thread: whoever has it.
 * Errors: 0: it is not worth packing; or these bytes are no packed value.
 * Bounds: values of FLASH_PACK_MIN to FLASH_PACK_MAX bytes; nothing that is unpacked is longer,
 *         whatever the bytes say, and its time goes with FLASH_PACK_MAX. A core's turn packs
 *         FLASH_PACK_TURN bytes, unpacks FLASH_UNPACK_TURN, where each value counts
 *         FLASH_UNPACK_LEAST more, and what it began below that: some 40 us of each.
 */
#ifndef CLOCKOO_FLASH_PACK_H
#define CLOCKOO_FLASH_PACK_H

#include <isa-l/igzip_lib.h>
#include <stdint.h>

#define FLASH_PACK_MIN     128u  /* below that static codes gain nothing */
#define FLASH_PACK_MAX     8192u /* 13 us to pack, 11 to unpack; 25 to find that it cannot be */
#define FLASH_PACK_TURN    (16u << 10)
#define FLASH_UNPACK_TURN  (32u << 10)
#define FLASH_UNPACK_LEAST 800u /* bytes' time that any value takes */
#define FLASH_PACK_SHARE   8u /* a packed value is by one of so many parts shorter, or it is none */

struct flash_packer {
	struct isal_zstream stream;
	uint8_t value[FLASH_PACK_MAX];
	uint8_t packed[FLASH_PACK_MAX];
};

/* value[0 .. len) into packed. Returns its bytes. */
uint32_t flash_pack(struct flash_packer *packer, uint32_t len);

struct flash_unpacker {
	struct inflate_state state;
	uint8_t packed[FLASH_PACK_MAX];
	uint8_t value[FLASH_PACK_MAX];
};

#define FLASH_PACKED_HEAD ((uint32_t)sizeof(uint16_t))
/* What a packed value says that it becomes; 0: it is none. */
uint32_t flash_unpacked_len(const uint8_t head[FLASH_PACKED_HEAD]);
/* packed[0 .. len) into value. Returns the value's length. */
uint32_t flash_unpack(struct flash_unpacker *unpacker, uint32_t len);

#endif
