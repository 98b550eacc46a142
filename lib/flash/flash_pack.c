/*
 * flash_pack.c - one value to a deflate stream, and back.
 */
#include "flash_pack.h"

#include <stdbool.h>
#include <string.h>

#define LENGTH_BYTES ((uint32_t)sizeof(uint16_t))

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
	p->stream.next_out = p->packed + LENGTH_BYTES;
	p->stream.avail_out = len - len / FLASH_PACK_SHARE - LENGTH_BYTES;
	p->stream.end_of_stream = 1;
	if (isal_deflate_stateless(&p->stream) != COMP_OK || p->stream.avail_in != 0)
		return 0;
	memcpy(p->packed, &length, LENGTH_BYTES);
	return LENGTH_BYTES + p->stream.total_out;
}

/* All of the input has made as many bytes as were said, and the stream has ended. */
static bool
is_whole(const struct inflate_state *s, uint32_t length)
{
	return s->block_state == ISAL_BLOCK_FINISH && s->avail_in == 0 && s->total_out == length;
}

uint32_t
flash_unpack(struct flash_unpacker *u, uint32_t len)
{
	uint16_t length;

	if (len <= LENGTH_BYTES || len > sizeof u->packed)
		return 0;
	memcpy(&length, u->packed, LENGTH_BYTES);
	if (length < FLASH_PACK_MIN || length > sizeof u->value)
		return 0;
	isal_inflate_init(&u->state);
	u->state.next_in = u->packed + LENGTH_BYTES;
	u->state.avail_in = len - LENGTH_BYTES;
	u->state.next_out = u->value;
	u->state.avail_out = length;
	if (isal_inflate_stateless(&u->state) != ISAL_DECOMP_OK || !is_whole(&u->state, length))
		return 0;
	return length;
}
