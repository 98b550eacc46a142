/*
 * request_trace.h - a stream of bytes, cut at will, as the words of the requests in it.
 *
 * The requests parsed from a stream are written as text, so that tables can state them and two
 * runs can be compared: one line for a request, one word for a field with a meaning there.
 *
 * Owner:  the trace owns its text.
 * Errors: abort() if the parser breaks a promise of mc_req.h that holds for every input.
 */
#ifndef CLOCKOO_REQUEST_TRACE_H
#define CLOCKOO_REQUEST_TRACE_H

#include "proto/mc_req.h"

#include <stdint.h>

#define TRACE_BYTES (1u << 20)

struct request_trace {
	struct mc_parser parser;
	uint64_t body_left; /* bytes of a body and its line end still to skip */
	uint32_t done;      /* bytes of the stream that were used up */
	bool closed;
	uint32_t text_len;
	char text[TRACE_BYTES];
};

void trace_start(struct request_trace *t);

/* Parses what can be parsed now that bytes 0..arrived-1 of the stream have arrived. */
void trace_arrived(struct request_trace *t, const uint8_t *stream, uint32_t arrived);

#endif
