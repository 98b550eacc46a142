/*
 * resp_codec.h - a workload's requests and replies as redis speaks (RESP2).
 *
 * A get is GET, of several keys MGET; a set is SET.
 *
 * Shape:  resp_read needs a whole reply: until it is there it takes nothing.
 * Thread: pure functions.
 * Errors: REPLY_MALFORMED: no reply to the request; what else is wrong is counted in sink.
 * Bounds: MULTIGET_MAX values in a reply.
 */
#ifndef CLOCKOO_RESP_CODEC_H
#define CLOCKOO_RESP_CODEC_H

#include "load/reply_reader.h"
#include "load/workload.h"

/* A set up to where its value begins. Returns the bytes written. */
uint32_t resp_put(const struct workload *w, const struct request *req, uint8_t *at);

enum reply_status resp_read(const struct workload *w, const struct request *req,
			    const struct reply_sink *sink, struct view in, uint32_t *used);

#endif
