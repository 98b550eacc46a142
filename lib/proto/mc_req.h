/*
 * mc_req.h - bytes -> one memcached request, in any protocol.
 *
 * Thread: pure functions.
 * Errors: a wrong request is a request too: verb MC_BAD with the error to answer.
 * Bounds: a line has at most MC_LINE_MAX bytes, its end included. A retrieval line is unbounded,
 *         and so are the spaces in front of its first key; a later run of spaces is within
 *         MC_LINE_MAX.
 * Source: memcached doc/protocol.txt; limits and error texts as observed on 1.6.45.
 */
#ifndef CLOCKOO_MC_REQ_H
#define CLOCKOO_MC_REQ_H

#include "mc_request.h"

#define MC_LINE_MAX 2048u

enum mc_status {
	MC_OK,    /* *req is complete, and `used` bytes are consumed; a body follows them */
	MC_MORE,  /* no request yet. used 0: needs the same bytes and more. used above 0: skipped
		     bytes of a line; continue after them */
	MC_CLOSE, /* close the connection without an answer */
};

struct mc_result {
	enum mc_status status;
	uint32_t used;
};

static inline struct mc_result
mc_result_of(enum mc_status status, uint32_t used)
{
	return (struct mc_result){status, used};
}

enum mc_protocol {
	MC_PROTOCOL_UNKNOWN, /* the first byte decides */
	MC_PROTOCOL_TEXT,
	MC_PROTOCOL_BINARY,
};

/* Bytes to skip before anything is parsed. */
enum mc_swallow {
	MC_SWALLOW_NOTHING,
	MC_SWALLOW_LINE,   /* an overlong key broke this line: skip to its end */
	MC_SWALLOW_SPACES, /* in front of the first key of a retrieval line */
};

/* The parser's state between calls: the stream's protocol, and the retrieval line it is in. All
 * zero at the start of a stream or a datagram. */
struct mc_parser {
	uint8_t verb;     /* enum mc_verb of the open line */
	uint8_t in_line;  /* between the keys of a retrieval line */
	uint8_t swallow;  /* enum mc_swallow */
	uint8_t protocol; /* enum mc_protocol; set before the first byte, it is not negotiated */
	int32_t exptime;  /* exptime of the open gat line */
};

/* Takes one request off the front of len bytes at p. The result depends on the bytes alone, never
 * on where they were cut: a line is read once it has arrived whole, or MC_LINE_MAX bytes of it. So
 * MC_MORE with used 0 is never returned for MC_LINE_MAX bytes or more. */
struct mc_result mc_text_parse(struct mc_parser *ps, struct mc_req *req, const uint8_t *p,
			       uint32_t len);
/* Parses as mc_text_parse() does, without fast paths; tests compare both. */
struct mc_result mc_text_parse_slow(struct mc_parser *ps, struct mc_req *req, const uint8_t *p,
				    uint32_t len);
struct mc_result mc_binary_parse(struct mc_parser *ps, struct mc_req *req, const uint8_t *p,
				 uint32_t len);

#define MC_BIN_REQUEST_MAGIC  0x80u
#define MC_BIN_RESPONSE_MAGIC 0x81u
#define MC_BIN_HEAD_BYTES     24u

/* Parses in the stream's protocol, which its first byte decides. */
static inline struct mc_result
mc_parse(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	if (likely(ps->protocol == MC_PROTOCOL_TEXT))
		return mc_text_parse(ps, req, p, len);
	if (ps->protocol == MC_PROTOCOL_UNKNOWN) {
		if (len == 0)
			return (struct mc_result){MC_MORE, 0};
		ps->protocol = p[0] == MC_BIN_REQUEST_MAGIC ? MC_PROTOCOL_BINARY : MC_PROTOCOL_TEXT;
		return mc_parse(ps, req, p, len);
	}
	return mc_binary_parse(ps, req, p, len);
}

/* Returns how many bytes of a binary request the parser needs before it can continue, of which len
 * at p have arrived. A cut request is gathered up to there. */
uint32_t mc_binary_need(const uint8_t *p, uint32_t len);

#endif
