#include "pieces.h"

#include <stdlib.h>
#include <string.h>

/* Parsing byte by byte costs a parse for each byte, so it is done at the end only, where the open
 * request is. */
#define TAIL_BYTES 96u

/* After this many pieces they grow: a long input must not cost a parse for each byte either. */
#define SMALL_PIECES 64u

static struct request_trace whole, pieces;

static void
must_be_one(void)
{
	if (whole.text_len != pieces.text_len || whole.done != pieces.done ||
	    whole.closed != pieces.closed || memcmp(whole.text, pieces.text, whole.text_len) != 0)
		abort();
}

const struct request_trace *
pieces_agree(const uint8_t lengths[PIECE_LENGTHS], const uint8_t *stream, uint32_t len)
{
	uint32_t arrived = 0;

	trace_start(&whole);
	trace_arrived(&whole, stream, len);

	trace_start(&pieces);
	for (uint32_t i = 0; arrived < len; i++) {
		arrived += 1u + lengths[i % PIECE_LENGTHS] + (i < SMALL_PIECES ? 0 : len / 32);
		arrived = arrived < len ? arrived : len;
		trace_arrived(&pieces, stream, arrived);
	}
	must_be_one();

	trace_start(&pieces);
	for (arrived = len < TAIL_BYTES ? 0 : len - TAIL_BYTES; arrived <= len; arrived++)
		trace_arrived(&pieces, stream, arrived);
	must_be_one();
	return &whole;
}
