/*
 * Goal:   a request that a fast path takes is the one that the slow path reads, and nothing past
 *         the bytes at hand is read. Method: any stream by both (fast_path_compare.h), in a block
 *         of its own size.
 */
#include "fuzz_target.h"
#include "unit/proto/fast_path_compare.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_MAX 8192u

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact;

	if (size == 0 || size > STREAM_MAX)
		return 0;
	exact = malloc(size);
	memcpy(exact, data, size);
	paths_agree(exact, (uint32_t)size);
	free(exact);
	return 0;
}
