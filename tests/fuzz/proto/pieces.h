/*
 * pieces.h - the same stream in one piece and in many must give the same requests.
 *
 * Errors: abort() if it does not.
 */
#ifndef CLOCKOO_PIECES_H
#define CLOCKOO_PIECES_H

#include "unit/proto/request_trace.h"

#define PIECE_LENGTHS 4u
#define STREAM_MAX    6000u

/* Parses the stream in three ways: whole, in pieces of these lengths in turn, and with its end
 * byte by byte. Returns the trace of the whole. */
const struct request_trace *pieces_agree(const uint8_t lengths[PIECE_LENGTHS],
					 const uint8_t *stream, uint32_t len);

#endif
