/*
 * front_reply.h - parses a server's reply without trust: a server may send anything at any time.
 *
 * Shape:  one call reads one line, or reports that it is incomplete. The bytes of a value are not
 *         read here: value_len bytes and CR LF follow FRONT_REPLY_VALUE, and front_value_end()
 *         checks the CR LF. Views of a reply point into the given bytes.
 * Units:  bytes; exptime: seconds left, -1: none.
 * Owner:  the caller owns the request's description until its last reply.
 * Thread: pure functions.
 * Errors: FRONT_REPLY_BROKEN: the line does not answer the request, or it arrived before the
 *         server had received all of the request. The connection must be closed, and all its open
 *         requests fail.
 * Bounds: lines of FRONT_REPLY_LINE_MAX; FRONT_KEYS_MAX keys a request; reading takes time linear
 *         in the line's length and the number of keys.
 * Source: memcached doc/protocol.txt; lines as observed on 1.6.18 and 1.6.45.
 *
 * Invariants (tests/unit/front/test_front_reply, tests/fuzz/front_reply):
 * - A value belongs to a requested key that had none yet; key is its index.
 * - No byte of a line is passed on: a reply is one of a few kinds, with numbers, and views of the
 *   server's own text (versions, rows of stats).
 * - A reply does not depend on how its bytes were split.
 */
#ifndef CLOCKOO_FRONT_REPLY_H
#define CLOCKOO_FRONT_REPLY_H

#include "base/bytes.h"

#define FRONT_REPLY_LINE_MAX 2048u
#define FRONT_KEYS_MAX       64u
#define FRONT_VALUE_MAX      (1u << 30) /* memcached's largest -I */

/* Kinds of requests by their allowed answers: the rows of front_reply.c. */
enum front_ask {
	FRONT_ASK_GET, /* text get and gets, for some keys */
	FRONT_ASK_STORE,
	FRONT_ASK_DELETE,
	FRONT_ASK_ARITHMETIC,
	FRONT_ASK_TOUCH,
	FRONT_ASK_FLUSH,
	FRONT_ASK_VERSION,
	FRONT_ASK_ME, /* text of meta debug */
	FRONT_ASK_MG,
	FRONT_ASK_MS,
	FRONT_ASK_MD,
	FRONT_ASK_MA,
	FRONT_ASK_MN,
	FRONT_ASK_STATS, /* of any kind: rows, then END */
	FRONT_ASK_LOGIN, /* text authentication */
	FRONT_ASKS_COUNT
};

struct front_asked {
	enum front_ask ask;
	bool received; /* the server acknowledged all bytes of the request */
	bool wants_cas;
	uint32_t nkeys;
	uint32_t next;           /* index of the key expected first: servers keep the order */
	uint64_t had;            /* bit i: key i has had its value */
	const struct view *keys; /* as they were sent, perhaps in base64 */
	struct view opaque;      /* of a meta request; empty: none was sent */
};

enum front_reply_kind {
	FRONT_REPLY_MORE,  /* the line is incomplete */
	FRONT_REPLY_VALUE, /* a value follows; a text get continues after it, a meta reply ends */
	FRONT_REPLY_ROW,   /* a row of stats, which continue */
	FRONT_REPLY_END, /* the last line of stats, or of a text get, whose other keys are misses */
	FRONT_REPLY_STATUS, /* the last and only line */
	FRONT_REPLY_NUMBER, /* the last and only line */
	FRONT_REPLY_ERROR,  /* the last and only line: the request failed */
	FRONT_REPLY_BROKEN,
};

enum front_status {
	FRONT_STORED,
	FRONT_NOT_STORED,
	FRONT_EXISTS,
	FRONT_NOT_FOUND,
	FRONT_DELETED,
	FRONT_TOUCHED,
	FRONT_OK,
	FRONT_VERSION,
	FRONT_ME,
	FRONT_HD,
	FRONT_EN,
	FRONT_NS,
	FRONT_EX,
	FRONT_NF,
	FRONT_MN,
};

/* Flags of a meta reply. */
enum front_meta {
	FRONT_META_CAS = 1 << 0,
	FRONT_META_FLAGS = 1 << 1,
	FRONT_META_SIZE = 1 << 2,
	FRONT_META_TTL = 1 << 3,
	FRONT_META_HIT = 1 << 4,
	FRONT_META_LAST_ACCESS = 1 << 5,
	FRONT_META_WIN = 1 << 6,
	FRONT_META_STALE = 1 << 7,
	FRONT_META_WON = 1 << 8, /* another client has won */
};

struct front_reply {
	enum front_reply_kind kind;
	enum front_status status;
	bool ends_connection; /* of an error: the server may take a body for commands */
	bool is_client_error; /* of an error: CLIENT_ERROR */
	uint8_t error;        /* enum mc_error, for errors passed to clients; else MC_ERR_NONE */
	uint32_t line_len;    /* with CR LF */
	uint32_t key;         /* of a value: its index in asked->keys */
	uint32_t value_len;
	uint32_t client_flags;
	uint32_t meta; /* enum front_meta: the flags that were present */
	uint32_t size, hit;
	uint32_t last_access_s;
	int32_t ttl_s;
	uint64_t cas;
	uint64_t number;
	struct view text; /* FRONT_VERSION: the version; for a row: its value */
	struct view name; /* of a row */
	bool reports_ttl; /* FRONT_VERSION: -1 of `me` means no expiry there, never a second */
};

/* A complete value of `get`. */
struct front_value {
	uint32_t key; /* index in asked->keys */
	uint32_t value_len, client_flags;
	uint32_t at, bytes; /* offsets of the value, and of the first byte after its end */
};

/* Reads the value of the key expected first if it is complete with its end; equal to
 * front_reply_read() and front_value_end(), in fewer steps. False: use those; nothing is
 * changed. */
bool front_value_read(struct front_value *value, struct front_asked *asked, struct view bytes);

/* Reads the line at the beginning of bytes. */
void front_reply_read(struct front_reply *reply, struct front_asked *asked, struct view bytes);

/* True if these up to two bytes after a value are the beginning of CR LF. */
bool front_value_end(struct view bytes);

#endif
