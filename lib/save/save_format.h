/*
 * save_format.h - a file of saved items: blocks that describe themselves.
 *
 * Whatever bytes a file has, what is read from it is what was written into it, or nothing: a block
 * counts only if its sum is right, is of this file, and comes after the one before it. A block that
 * does not is skipped, SAVE_ALIGN bytes at a time, and costs the items in it.
 *
 * Shape:  the front: a block with the head, a block with the floors, in SAVE_FRONT_BYTES. Then
 *         blocks of items. Each is a header, and a payload that may be packed (igzip); it begins
 *         at a multiple of SAVE_ALIGN, and lies in one slot: SAVE_SLOT_BYTES of the file from a
 *         multiple of that on, which are read and written as a whole.
 *
 *         A payload of SAVE_ITEMS is records, one after the other: struct save_record, flags and
 *         expiry if its bits say so, the key, the value. An item that no block holds begins a block
 *         of SAVE_LARGE with its record, and as much of the value as fits; the blocks after it, of
 *         SAVE_MORE, have the rest.
 *
 *         All numbers are little-endian, as x86 writes them.
 *
 * Units:  bytes; seconds on the store's clock of the process that saved; ns.
 *
 * Thread: pure functions of bytes.
 *
 * Errors: false: the bytes are no such thing.
 *
 * Bounds: a block has SAVE_BLOCK_BYTES at most, unpacked too.
 */
#ifndef CLOCKOO_SAVE_FORMAT_H
#define CLOCKOO_SAVE_FORMAT_H

#include "memfile/heartbeat.h"
#include "memfile/keep_gap.h"
#include "store/store_saved.h"

#define SAVE_LAYOUT      1u
#define SAVE_ALIGN       4096u
#define SAVE_BLOCK_BYTES 65536u
#define SAVE_SLOT_BYTES  (1u << 20)
#define SAVE_FRONT_BYTES 16384u
#define SAVE_FLOORS_AT   SAVE_ALIGN
#define SAVE_MAGIC       0x31766173636c6b63ull /* "cklcsav1" */

enum save_kind { SAVE_HEAD = 1, SAVE_FLOORS, SAVE_ITEMS, SAVE_LARGE, SAVE_MORE };

struct save_block {
	uint64_t magic;
	uint64_t file; /* a random number, of all blocks of a file */
	uint64_t number;
	uint32_t kind;
	uint32_t bytes;    /* of the block, a multiple of SAVE_ALIGN */
	uint32_t packed;   /* of the payload as it lies there; */
	uint32_t unpacked; /* of the payload; the same: it is not packed */
	uint32_t reserved;
	uint32_t crc; /* CRC32C of header, this word 0, and payload */
};
static_assert(sizeof(struct save_block) == 48, "it stands in files");
#define SAVE_PAYLOAD_MAX (SAVE_BLOCK_BYTES - (uint32_t)sizeof(struct save_block))

/* What a start must know before the first request. */
struct save_head {
	uint32_t layout, hashes_crc;
	uint64_t seed;
	uint64_t items, value_bytes; /* in the file; of all keys and values */
	struct beat beat;            /* the clocks, when the cache last served */
	char boot_id[BOOT_ID_BYTES];
	uint32_t flush_due_s; /* 0: none */
	uint32_t finished;    /* 1: nothing was left out */
};

enum save_bits {
	SAVE_HAS_FLAGS = 1u << 6,
	SAVE_HAS_EXPIRY = 1u << 7
}; /* beside STORE_SAVED_BITS */

struct save_record {
	uint64_t cas;
	uint32_t value_len;
	uint8_t key_len;
	uint8_t bits;
	uint16_t reserved; /* 0 */
};
static_assert(sizeof(struct save_record) == 16, "it stands in files");
#define SAVE_RECORD_MAX ((uint32_t)sizeof(struct save_record) + 8u + ITEM_KEY_MAX)

/* ---- blocks ---- */

/* Complete the header of a block whose payload stands behind it, and zero what follows it up to
 * the block's end. Of *b: file, number, kind, packed, unpacked. Returns the bytes of the block. */
uint32_t save_block_seal(uint8_t *at, struct save_block *b);
/* A block of len bytes at most that begins there. */
bool save_block_read(const uint8_t *at, size_t len, struct save_block *b);
static inline const uint8_t *
save_payload(const uint8_t *block)
{
	return block + sizeof(struct save_block);
}

/* ---- the front ---- */

void save_front_write(uint8_t front[SAVE_FRONT_BYTES], uint64_t file, const struct save_head *head,
		      const uint64_t floors[STORE_SAVED_FLOORS]);
/* False: *why is a few words. */
bool save_front_read(const uint8_t *front, size_t len, uint64_t *file, struct save_head *head,
		     uint64_t floors[STORE_SAVED_FLOORS], const char **why);

/* ---- records ---- */

static inline uint32_t
save_record_bytes(uint32_t key_len, uint32_t flags, uint32_t expiry_s)
{
	return (uint32_t)sizeof(struct save_record) + (flags != 0 ? 4 : 0) +
	       (expiry_s != 0 ? 4 : 0) + key_len;
}

/* All of a record but its value. Returns its bytes. */
uint32_t save_record_write(uint8_t *to, const struct store_saved_item *item);
/* The same from len bytes at most; item->hash is not set. Returns its bytes; 0: it is no record. */
uint32_t save_record_read(const uint8_t *at, uint32_t len, struct store_saved_item *item);

/* ---- packing ---- */

/* Level of igzip, or: */
#define SAVE_UNPACKED 2u
struct save_packer; /* scratch of isal_deflate */
size_t save_packer_bytes(void);
/* Packs len bytes into at most room. 0: it does not become smaller than that. */
uint32_t save_pack(struct save_packer *p, uint32_t level, const uint8_t *bytes, uint32_t len,
		   uint8_t *to, uint32_t room);
/* Exactly len bytes come out, or false. */
bool save_unpack(const uint8_t *packed, uint32_t packed_len, uint8_t *to, uint32_t len);

#endif
