/*
 * Goal:   the requests parsed from a stream depend on its bytes alone, never on where the network
 *         cut it; the parsers read nothing past their bytes, and keep every promise of mc_req.h.
 *         Method: the same stream whole and in pieces whose lengths the first bytes of the input
 *         choose (pieces.h).
 */
#include "fuzz_target.h"
#include "pieces.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= PIECE_LENGTHS && size <= STREAM_MAX)
		pieces_agree(data, data + PIECE_LENGTHS, (uint32_t)size - PIECE_LENGTHS);
	return 0;
}
