/*
 * Packed values that were never packed. Goal: on any bytes, nothing is written beyond the length
 * that they state, and the result has that length; a packed value unpacks to the original.
 * Method: the bytes as a packed value, before an end of memory; and as a value that is packed.
 */
#include "flash/flash_pack.h"
#include "base/check.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define MARK 0xa5

static void
unpack(struct flash_unpacker *u, const uint8_t *data, uint32_t len)
{
	uint16_t says = 0;
	uint32_t unpacked;

	if (len > sizeof u->packed)
		return;
	memcpy(u->packed, data, len);
	memset(u->value, MARK, sizeof u->value);
	unpacked = flash_unpack(u, len);
	if (len >= sizeof says)
		memcpy(&says, data, sizeof says);
	ensure(unpacked == 0 || unpacked == says);
	for (uint32_t i = unpacked != 0 ? unpacked : says; i < sizeof u->value; i++)
		ensure(u->value[i] == MARK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct flash_packer p;
	/* The value is the last member of the struct. */
	struct flash_unpacker *u = malloc(sizeof *u);
	uint32_t packed = 0;

	unpack(u, data, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX);
	if (size <= sizeof p.value) {
		memcpy(p.value, data, size);
		packed = flash_pack(&p, (uint32_t)size);
	}
	if (packed != 0) {
		memcpy(u->packed, p.packed, packed);
		ensure(flash_unpack(u, packed) == size && memcmp(u->value, data, size) == 0);
	}
	free(u);
	return 0;
}
