/*
 * get_codec.h - writes a get of one key, and checks its answer, in each protocol.
 *
 * Units: bytes; both fit GET_CODEC_MAX for keys and values of the bench.
 */
#ifndef CLOCKOO_GET_CODEC_H
#define CLOCKOO_GET_CODEC_H

#include "base/bytes.h"

#define GET_CODEC_MAX 128u

enum get_protocol { GET_TEXT, GET_META, GET_BINARY, GET_PROTOCOLS };

extern const char *const get_protocol_names[GET_PROTOCOLS];

/* Writes a get. Returns the bytes written. */
uint32_t get_request_put(uint8_t *at, enum get_protocol protocol, const char *key);
/* True if this is the answer with this value, stored with flags 0 and any cas. */
bool get_answer_is(struct view answer, enum get_protocol protocol, const char *key,
		   const char *value);

#endif
