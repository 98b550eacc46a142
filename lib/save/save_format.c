/*
 * save_format.c - converts blocks and records to bytes and back.
 */
#include "save_format.h"
#include "base/crc32c.h"
#include "base/region.h"

#include <isa-l/igzip_lib.h>
#include <string.h>

/* ---- blocks ---- */

static uint32_t
block_crc(const struct save_block *b, const uint8_t *payload)
{
	struct save_block header = *b;

	header.crc = 0;
	return crc32c(payload, b->packed, crc32c(&header, sizeof header, ~0u));
}

uint32_t
save_block_seal(uint8_t *at, struct save_block *b)
{
	const uint32_t used = (uint32_t)sizeof *b + b->packed;

	b->magic = SAVE_MAGIC;
	b->bytes = (uint32_t)align_up(used, SAVE_ALIGN);
	b->reserved = 0;
	b->crc = block_crc(b, save_payload(at));
	memcpy(at, b, sizeof *b);
	memset(at + used, 0, b->bytes - used);
	return b->bytes;
}

bool
save_block_read(const uint8_t *at, size_t len, struct save_block *b)
{
	if (len < SAVE_ALIGN)
		return false;
	memcpy(b, at, sizeof *b);
	return b->magic == SAVE_MAGIC && b->packed <= SAVE_PAYLOAD_MAX &&
	       b->unpacked <= SAVE_PAYLOAD_MAX &&
	       b->bytes == align_up(sizeof *b + b->packed, SAVE_ALIGN) && b->bytes <= len &&
	       b->crc == block_crc(b, save_payload(at));
}

/* ---- the front ---- */

static void
front_block(uint8_t *at, uint64_t file, uint64_t number, enum save_kind kind, const void *payload,
	    uint32_t len)
{
	struct save_block b = {
		.file = file, .number = number, .kind = kind, .packed = len, .unpacked = len};

	memcpy(at + sizeof b, payload, len);
	save_block_seal(at, &b);
}

void
save_front_write(uint8_t front[SAVE_FRONT_BYTES], uint64_t file, const struct save_head *head,
		 const uint64_t floors[STORE_SAVED_FLOORS])
{
	memset(front, 0, SAVE_FRONT_BYTES);
	front_block(front, file, 0, SAVE_HEAD, head, sizeof *head);
	front_block(front + SAVE_FLOORS_AT, file, 1, SAVE_FLOORS, floors,
		    STORE_SAVED_FLOORS * sizeof floors[0]);
}
static_assert(SAVE_FLOORS_AT + sizeof(struct save_block) + STORE_SAVED_FLOORS * 8 <=
		      SAVE_FRONT_BYTES,
	      "the front has its place");
static_assert(sizeof(struct save_block) + sizeof(struct save_head) <= SAVE_FLOORS_AT,
	      "the head has its own");

static bool
is_front_block(const uint8_t *at, size_t len, enum save_kind kind, uint64_t number, uint32_t bytes,
	       struct save_block *b)
{
	return save_block_read(at, len, b) && b->kind == kind && b->number == number &&
	       b->packed == bytes && b->unpacked == bytes;
}

bool
save_front_read(const uint8_t *front, size_t len, uint64_t *file, struct save_head *head,
		uint64_t floors[STORE_SAVED_FLOORS], const char **why)
{
	const uint32_t floor_bytes = STORE_SAVED_FLOORS * sizeof floors[0];
	struct save_block b;

	*why = "it is no saved cache, or its head is damaged";
	if (len < SAVE_FRONT_BYTES || !is_front_block(front, len, SAVE_HEAD, 0, sizeof *head, &b))
		return false;
	*file = b.file;
	memcpy(head, save_payload(front), sizeof *head);
	*why = "it was saved by another version";
	if (head->layout != SAVE_LAYOUT || head->hashes_crc != store_hashes_crc())
		return false;
	*why = "its cas numbers are damaged";
	if (!is_front_block(front + SAVE_FLOORS_AT, len - SAVE_FLOORS_AT, SAVE_FLOORS, 1,
			    floor_bytes, &b) ||
	    b.file != *file)
		return false;
	memcpy(floors, save_payload(front + SAVE_FLOORS_AT), floor_bytes);
	head->boot_id[BOOT_ID_BYTES - 1] = '\0';
	return true;
}

/* ---- records ---- */

uint32_t
save_record_write(uint8_t *to, const struct store_saved_item *item)
{
	const struct save_record r = {
		.cas = item->cas,
		.value_len = item->value_len,
		.key_len = (uint8_t)item->key.len,
		.bits = (uint8_t)((item->bits & STORE_SAVED_BITS) |
				  (item->flags != 0 ? SAVE_HAS_FLAGS : 0) |
				  (item->expiry_s != 0 ? SAVE_HAS_EXPIRY : 0)),
	};
	uint8_t *at = to + sizeof r;

	memcpy(to, &r, sizeof r);
	if (item->flags != 0) {
		memcpy(at, &item->flags, sizeof item->flags);
		at += sizeof item->flags;
	}
	if (item->expiry_s != 0) {
		memcpy(at, &item->expiry_s, sizeof item->expiry_s);
		at += sizeof item->expiry_s;
	}
	memcpy(at, item->key.data, item->key.len);
	return (uint32_t)(at - to) + item->key.len;
}

uint32_t
save_record_read(const uint8_t *at, uint32_t len, struct store_saved_item *item)
{
	struct save_record r;
	uint32_t used = sizeof r;

	if (len < sizeof r)
		return 0;
	memcpy(&r, at, sizeof r);
	*item = (struct store_saved_item){
		.cas = r.cas, .value_len = r.value_len, .bits = r.bits & STORE_SAVED_BITS};
	if ((r.bits & SAVE_HAS_FLAGS) != 0)
		used += 4;
	if ((r.bits & SAVE_HAS_EXPIRY) != 0)
		used += 4;
	if (r.key_len == 0 || r.key_len > ITEM_KEY_MAX || r.reserved != 0 || used + r.key_len > len)
		return 0;
	if ((r.bits & SAVE_HAS_FLAGS) != 0)
		memcpy(&item->flags, at + sizeof r, sizeof item->flags);
	if ((r.bits & SAVE_HAS_EXPIRY) != 0)
		memcpy(&item->expiry_s, at + used - 4, sizeof item->expiry_s);
	item->key = (struct view){at + used, r.key_len};
	return used + r.key_len;
}

/* ---- packing ---- */

struct save_packer {
	struct isal_zstream stream;
	uint8_t level_buf[ISAL_DEF_LVL1_DEFAULT];
};

size_t
save_packer_bytes(void)
{
	return sizeof(struct save_packer);
}

uint32_t
save_pack(struct save_packer *p, uint32_t level, const uint8_t *bytes, uint32_t len, uint8_t *to,
	  uint32_t room)
{
	struct isal_zstream *s = &p->stream;

	isal_deflate_stateless_init(s);
	s->level = level;
	s->level_buf = p->level_buf;
	s->level_buf_size = level != 0 ? sizeof p->level_buf : 0;
	s->end_of_stream = 1;
	s->flush = NO_FLUSH;
	s->next_in = (uint8_t *)(uintptr_t)bytes;
	s->avail_in = len;
	s->next_out = to;
	s->avail_out = room;
	return isal_deflate_stateless(s) == COMP_OK && s->total_out < len ? s->total_out : 0;
}

bool
save_unpack(const uint8_t *packed, uint32_t packed_len, uint8_t *to, uint32_t len)
{
	struct inflate_state s;

	isal_inflate_init(&s);
	s.next_in = (uint8_t *)(uintptr_t)packed;
	s.avail_in = packed_len;
	s.next_out = to;
	s.avail_out = len;
	return isal_inflate_stateless(&s) == ISAL_DECOMP_OK && s.total_out == len;
}
