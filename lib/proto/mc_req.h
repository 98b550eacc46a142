/*
 * mc_req.h - one memcached request, as the text parser makes it.
 *
 * A multi-get becomes one request a key: the first carries MC_FIRST, the last MC_LAST. So a
 * line with 20,000 keys needs no buffer, and one key and a hundred take the same path.
 *
 * Shape:  key and value are views into the parsed bytes; nothing is copied.
 * Units:  lengths in bytes; exptime as sent (see mc_expiry in serve).
 * Thread: pure functions.
 * Errors: a line that is wrong is a request too: verb MC_BAD with the error to answer.
 * Bounds: MC_LINE_MAX bytes of line, its end included (a retrieval line is unbounded; every
 *         run of spaces in it is bounded by the same number), keys of 1..MC_KEY_MAX.
 * Source: memcached doc/protocol.txt; limits and error texts as observed on 1.6.45.
 */
#ifndef CLOCKOO_MC_REQ_H
#define CLOCKOO_MC_REQ_H

#include "base/bytes.h"

#define MC_KEY_MAX  250u
#define MC_LINE_MAX 2048u

enum mc_verb {
	MC_GET,
	MC_GETS,
	MC_GAT,
	MC_GATS,
	MC_SET,
	MC_ADD,
	MC_REPLACE,
	MC_APPEND,
	MC_PREPEND,
	MC_CAS,
	MC_DELETE,
	MC_INCR,
	MC_DECR,
	MC_TOUCH,
	MC_FLUSH_ALL,
	MC_VERSION,
	MC_VERBOSITY,
	MC_STATS,
	MC_QUIT,
	MC_BAD, /* answer req.error */
	MC_VERB_COUNT,
};

enum mc_error {
	MC_ERR_NONE,
	MC_ERR_UNKNOWN,   /* ERROR */
	MC_ERR_FORMAT,    /* CLIENT_ERROR bad command line format */
	MC_ERR_EXPTIME,   /* CLIENT_ERROR invalid exptime argument */
	MC_ERR_DELTA,     /* CLIENT_ERROR invalid numeric delta argument */
	MC_ERR_DELETE,    /* CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply] */
	MC_ERR_CHUNK,     /* CLIENT_ERROR bad data chunk */
	MC_ERR_NUMBER,    /* CLIENT_ERROR cannot increment or decrement non-numeric value */
	MC_ERR_TOO_LARGE, /* SERVER_ERROR object too large for cache */
	MC_ERR_MEMORY,    /* SERVER_ERROR out of memory storing object */
	MC_ERR_NO_ROOM,   /* SERVER_ERROR out of memory */
	MC_ERR_STATS,     /* SERVER_ERROR out of memory writing stats */
	MC_ERR_COUNT,
};

enum mc_req_flag {
	MC_NOREPLY = 1u << 0,
	MC_FIRST = 1u << 1,    /* first key of a retrieval line */
	MC_LAST = 1u << 2,     /* last key of it: END follows */
	MC_HAS_BODY = 1u << 3, /* body_len bytes and a line end follow the line */
};

struct mc_req {
	uint8_t verb;    /* enum mc_verb */
	uint8_t flags;   /* enum mc_req_flag */
	uint8_t error;   /* enum mc_error, for MC_BAD. With MC_HAS_BODY: swallow the body */
	struct view key; /* stats: its argument */
	uint32_t client_flags;
	int32_t exptime;
	uint32_t body_len; /* without the line end */
	union {
		uint64_t cas;
		uint64_t delta;
	};
};

enum mc_status {
	MC_OK,    /* *req is complete; used bytes are done with (a body stands after them) */
	MC_MORE,  /* no request yet. used 0: the same bytes and more are needed. used above 0:
		   * so much of a broken line was skipped; go on with what stands after it */
	MC_CLOSE, /* not worth an answer: close the connection */
};

struct mc_result {
	enum mc_status status;
	uint32_t used;
};

/* What one stream remembers between calls: inside which retrieval line it is. All zero at
 * the start of a stream or a datagram. */
struct mc_parser {
	uint8_t verb;    /* enum mc_verb of the open line */
	uint8_t in_line; /* between the keys of a retrieval line */
	uint8_t swallow; /* an overlong key broke this line: skip to its end */
	int32_t exptime; /* of the open gat line */
};

/*
 * Take one request off the front of len bytes at p.
 *
 * What comes out depends on the bytes alone, never on where they were cut: a line is looked at
 * only once all of it is there, or MC_LINE_MAX bytes of it. So MC_MORE with used 0 is never the
 * answer to MC_LINE_MAX bytes or more.
 */
struct mc_result mc_text_parse(struct mc_parser *ps, struct mc_req *req, const uint8_t *p,
			       uint32_t len);

#endif
