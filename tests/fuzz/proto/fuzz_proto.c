/*
 * Goal: what the text parser makes of a stream depends on its bytes alone, never on where the
 * network cut it; it reads nothing it was not given, and keeps every promise of mc_req.h.
 * Method: the same stream in one piece, byte by byte, and in pieces whose lengths the first
 * bytes of the input choose; the traces of all three must be one.
 */
#include "fuzz_target.h"
#include "unit/proto/request_trace.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_LENGTHS 4u
#define STREAM_MAX    6000u

static struct request_trace whole, pieces;

static void
must_be_one(void)
{
	if (whole.text_len != pieces.text_len || whole.done != pieces.done ||
	    memcmp(whole.text, pieces.text, whole.text_len) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *stream = data + PIECE_LENGTHS;
	uint32_t len, arrived = 0;

	if (size < PIECE_LENGTHS || size > STREAM_MAX)
		return 0;
	len = (uint32_t)size - PIECE_LENGTHS;
	trace_start(&whole);
	trace_arrived(&whole, stream, len);

	trace_start(&pieces);
	for (uint32_t i = 0; arrived < len; i++) {
		arrived += 1u + data[i % PIECE_LENGTHS];
		arrived = arrived < len ? arrived : len;
		trace_arrived(&pieces, stream, arrived);
	}
	must_be_one();

	trace_start(&pieces);
	for (arrived = len < 512 ? 0 : len - 512; arrived <= len; arrived++)
		trace_arrived(&pieces, stream, arrived);
	must_be_one();
	return 0;
}
