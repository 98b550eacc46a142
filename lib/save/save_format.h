/*
 * save_format.h - the format of a file of saved items: self-describing blocks.
 *
 * Whatever bytes are in the file, a reader gets what was written or nothing: a block is valid only
 * if its checksum is right, it belongs to this file, and its number is higher than the one before.
 * An invalid block is skipped, SAVE_ALIGN bytes at a time, and its items are lost.
 *
 * Shape:  the front: a block with the head, a block with the floors, in SAVE_FRONT_BYTES. Then
 *         blocks of items. Each is a header, and a payload that may be packed (igzip); a block
 *         begins at a multiple of SAVE_ALIGN, and is within one slot. A slot is SAVE_SLOT_BYTES of
 *         the file, beginning at a multiple of that, which are read and written as a whole.
 *
 *         A payload of SAVE_ITEMS is records, one after the other: struct save_record, flags and
 *         expiry if its bits say so, the key, the value. An item too large for a block begins a
 *         block of SAVE_LARGE with its record and as much of the value as fits; the following
 *         blocks, of SAVE_MORE, have the rest.
 *
 *         All numbers are little-endian, as x86 writes them.
 *
 * Units:  bytes; seconds on the store's clock of the process that saved; ns.
 *
 * Thread: pure functions of bytes.
 *
 * Errors: false: the bytes are not of this form.
 *
 * Bounds: a block has at most SAVE_BLOCK_BYTES, also when unpacked.
 */
#ifndef CLOCKOO_SAVE_FORMAT_H
#define CLOCKOO_SAVE_FORMAT_H

#include "memfile/heartbeat.h"
#include "memfile/keep_gap.h"
#include "image/store_saved.h"

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
	uint64_t file; /* a random number, the same in all blocks of a file */
	uint64_t number;
	uint32_t kind;
	uint32_t bytes;    /* of the block, a multiple of SAVE_ALIGN */
	uint32_t packed;   /* size of the payload in the file */
	uint32_t unpacked; /* size of the unpacked payload; equal to packed if it is not packed */
	uint32_t reserved;
	uint32_t crc; /* CRC32C of the header, with 0 in this word, and the payload */
};
static_assert(sizeof(struct save_block) == 48, "it stands in files");
#define SAVE_PAYLOAD_MAX (SAVE_BLOCK_BYTES - (uint32_t)sizeof(struct save_block))

/* Facts that a start needs before the first request. */
struct save_head {
	uint32_t layout, hashes_crc;
	uint64_t seed;
	/* Number of items in the file; bytes of all their keys and values. */
	uint64_t items, value_bytes;
	struct beat beat; /* the clocks when the cache last served */
	char boot_id[BOOT_ID_BYTES];
	uint32_t flush_due_s; /* 0: none */
	uint32_t finished;    /* 1: nothing was left out */
};

enum save_bits {
	SAVE_HAS_FLAGS = 1u << 6,
	SAVE_HAS_EXPIRY = 1u << 7
}; /* in addition to STORE_SAVED_BITS */

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

/* Completes the header of a block whose payload follows it, and zeroes the rest of the block. Uses
 * file, number, kind, packed and unpacked of *b. Returns the bytes of the block. */
uint32_t save_block_seal(uint8_t *at, struct save_block *b);
/* Reads the header of a block of at most len bytes that begins at `at`. False if it is
 * invalid. */
bool save_block_read(const uint8_t *at, size_t len, struct save_block *b);
static inline const uint8_t *
save_payload(const uint8_t *block)
{
	return block + sizeof(struct save_block);
}

/* ---- the front ---- */

void save_front_write(uint8_t front[SAVE_FRONT_BYTES], uint64_t file, const struct save_head *head,
		      const uint64_t floors[STORE_SAVED_FLOORS]);
/* Reads the front. False: *why gives the reason in a few words. */
bool save_front_read(const uint8_t *front, size_t len, uint64_t *file, struct save_head *head,
		     uint64_t floors[STORE_SAVED_FLOORS], const char **why);

/* ---- records ---- */

static inline uint32_t
save_record_bytes(uint32_t key_len, uint32_t flags, uint32_t expiry_s)
{
	return (uint32_t)sizeof(struct save_record) + (flags != 0 ? 4 : 0) +
	       (expiry_s != 0 ? 4 : 0) + key_len;
}

/* Writes a record without its value. Returns its bytes. */
uint32_t save_record_write(uint8_t *to, const struct store_saved_item *item);
/* Reads a record from at most len bytes; item->hash is not set. Returns its bytes; 0: it is no
 * record. */
uint32_t save_record_read(const uint8_t *at, uint32_t len, struct store_saved_item *item);

/* ---- packing ---- */

/* Values are not packed; other levels are igzip's. */
#define SAVE_UNPACKED 2u
struct save_packer; /* scratch of isal_deflate */
size_t save_packer_bytes(void);
/* Packs len bytes into at most room. Returns 0 if the result would not fit. */
uint32_t save_pack(struct save_packer *p, uint32_t level, const uint8_t *bytes, uint32_t len,
		   uint8_t *to, uint32_t room);
/* Unpacks to exactly len bytes, or returns false. */
bool save_unpack(const uint8_t *packed, uint32_t packed_len, uint8_t *to, uint32_t len);

#endif
