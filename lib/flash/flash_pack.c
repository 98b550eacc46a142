/*
 * flash_pack.c - packs a value into a deflate stream, and unpacks it.
 */
#include "flash_pack.h"

#include <stdbool.h>
#include <string.h>

uint32_t
flash_pack(struct flash_packer *p, uint32_t len)
{
	const uint16_t length = (uint16_t)len;

	if (len < FLASH_PACK_MIN || len > FLASH_PACK_MAX)
		return 0;
	isal_deflate_stateless_init(&p->stream);
	isal_deflate_set_hufftables(&p->stream, NULL, IGZIP_HUFFTABLE_STATIC);
	p->stream.next_in = p->value;
	p->stream.avail_in = len;
	p->stream.next_out = p->packed + FLASH_PACKED_HEAD;
	p->stream.avail_out = len - len / FLASH_PACK_SHARE - FLASH_PACKED_HEAD;
	p->stream.end_of_stream = 1;
	if (isal_deflate_stateless(&p->stream) != COMP_OK || p->stream.avail_in != 0)
		return 0;
	memcpy(p->packed, &length, FLASH_PACKED_HEAD);
	return FLASH_PACKED_HEAD + p->stream.total_out;
}

/* True if all of the input was used, the stream has ended, and the output has the expected
 * length. */
static bool
is_whole(const struct inflate_state *s, uint32_t length)
{
	return s->block_state == ISAL_BLOCK_FINISH && s->avail_in == 0 && s->total_out == length;
}

uint32_t
flash_unpacked_len(const uint8_t head[FLASH_PACKED_HEAD])
{
	uint16_t length;

	memcpy(&length, head, FLASH_PACKED_HEAD);
	return length >= FLASH_PACK_MIN && length <= FLASH_PACK_MAX ? length : 0;
}

uint32_t
flash_unpack(struct flash_unpacker *u, uint32_t len)
{
	uint32_t length;

	if (len <= FLASH_PACKED_HEAD || len > sizeof u->packed)
		return 0;
	length = flash_unpacked_len(u->packed);
	if (length == 0)
		return 0;
	isal_inflate_init(&u->state);
	u->state.next_in = u->packed + FLASH_PACKED_HEAD;
	u->state.avail_in = len - FLASH_PACKED_HEAD;
	u->state.next_out = u->value;
	u->state.avail_out = length;
	if (isal_inflate_stateless(&u->state) != ISAL_DECOMP_OK || !is_whole(&u->state, length))
		return 0;
	return length;
}
