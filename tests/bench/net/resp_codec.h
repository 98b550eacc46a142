/*
 * resp_codec.h - a workload's requests and replies in the protocol of redis (RESP2).
 *
 * A get is GET, or MGET for several keys; a set is SET.
 *
 * Shape:  resp_read needs a whole reply, and consumes nothing before it is complete.
 * Thread: pure functions.
 * Errors: REPLY_MALFORMED: not a reply to the request; other faults are counted in sink.
 * Bounds: MULTIGET_MAX values in a reply.
 */
#ifndef CLOCKOO_RESP_CODEC_H
#define CLOCKOO_RESP_CODEC_H

#include "load/reply_reader.h"
#include "load/workload.h"

/* Writes a set up to the beginning of its value, or a get. Returns the bytes written. */
uint32_t resp_put(const struct workload *w, const struct request *req, uint8_t *at);

enum reply_status resp_read(const struct workload *w, const struct request *req,
			    const struct reply_sink *sink, struct view in, uint32_t *used);

#endif
