/*
 * front_reply.h - a server's reply, read without trust: it may send anything at any time.
 *
 * Shape:  one call reads one line, or says that it is not whole yet. The bytes of a value are not
 *         read here: value_len of them and CR LF follow FRONT_REPLY_VALUE, and front_value_end()
 *         judges the latter. Views of a reply point into the bytes that were given.
 * Units:  bytes; exptime: seconds left, -1: none.
 * Owner:  the caller: what was asked, until the reply that is its last.
 * Thread: pure functions.
 * Errors: FRONT_REPLY_BROKEN: this is no answer to what was asked, or it came before all of the
 *         request had been received: the connection must be ended, all that it still owes fails.
 * Bounds: a line FRONT_REPLY_LINE_MAX; FRONT_KEYS_MAX keys a request; a line is read in time linear
 *         in its length and the number of keys.
 * Source: memcached doc/protocol.txt; lines as observed on 1.6.18 and 1.6.45.
 *
 * Invariants (tests/unit/front/test_front_reply, tests/fuzz/front_reply):
 * - A value is that of a key which was asked and has had none yet; key is its index.
 * - No byte of a line is passed on: a reply is one of a few kinds, with numbers, and views of text
 *   that is the server's own (versions, rows of stats).
 * - A reply does not depend on how its bytes were cut.
 */
#ifndef CLOCKOO_FRONT_REPLY_H
#define CLOCKOO_FRONT_REPLY_H

#include "base/bytes.h"

#define FRONT_REPLY_LINE_MAX 2048u
#define FRONT_KEYS_MAX       64u
#define FRONT_VALUE_MAX      (1u << 30) /* memcached's largest -I */

/* What a request may be answered with: the rows of front_reply.c. */
enum front_ask {
	FRONT_ASK_GET, /* text get and gets, of some keys */
	FRONT_ASK_STORE,
	FRONT_ASK_DELETE,
	FRONT_ASK_ARITHMETIC,
	FRONT_ASK_TOUCH,
	FRONT_ASK_FLUSH,
	FRONT_ASK_VERSION,
	FRONT_ASK_ME, /* the text of meta debug */
	FRONT_ASK_MG,
	FRONT_ASK_MS,
	FRONT_ASK_MD,
	FRONT_ASK_MA,
	FRONT_ASK_MN,
	FRONT_ASK_STATS, /* of any kind: rows, and END */
	FRONT_ASKS_COUNT
};

struct front_asked {
	enum front_ask ask;
	bool received; /* all bytes of the request were acknowledged */
	bool wants_cas;
	uint32_t nkeys;
	uint32_t next;           /* the key that is expected first: servers keep the order */
	uint64_t had;            /* bit i: key i had its value */
	const struct view *keys; /* as they were sent, in base64 too */
	struct view opaque;      /* of a meta request; empty: none was sent */
};

enum front_reply_kind {
	FRONT_REPLY_MORE,  /* no whole line yet */
	FRONT_REPLY_VALUE, /* a value follows; a text get goes on behind it, a meta reply ends */
	FRONT_REPLY_ROW,   /* of stats, which go on */
	FRONT_REPLY_END,   /* the last line of stats, or of a text get: its other keys are misses */
	FRONT_REPLY_STATUS, /* the last, and only, line */
	FRONT_REPLY_NUMBER, /* likewise */
	FRONT_REPLY_ERROR,  /* likewise: the request failed */
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
	FRONT_META_WON = 1 << 8, /* another one has won */
};

struct front_reply {
	enum front_reply_kind kind;
	enum front_status status;
	bool ends_connection; /* of an error: the server may take a body for commands */
	uint8_t error;        /* enum mc_error, of those that a client is told; else MC_ERR_NONE */
	uint32_t line_len;    /* with CR LF */
	uint32_t key;         /* of a value: index of asked->keys */
	uint32_t value_len;
	uint32_t client_flags;
	uint32_t meta; /* enum front_meta: which of these were there */
	uint32_t size, hit;
	uint32_t last_access_s;
	int32_t ttl_s;
	uint64_t cas;
	uint64_t number;
	struct view text; /* FRONT_VERSION: the version; of a row: its value */
	struct view name; /* of a row */
	bool tells_ttl;   /* FRONT_VERSION: -1 of `me` is no expiry there, never a second */
};

/* A value of `get` that is here as a whole. */
struct front_value {
	uint32_t key; /* index of asked->keys */
	uint32_t value_len, client_flags;
	uint32_t at, bytes; /* the value, and the first byte behind its end, in what was read */
};

/* Is the value of the key that is expected first here, with its end? As front_reply_read() and
 * front_value_end() have it, in fewer steps. False: it is for those, and nothing is changed. */
bool front_value_read(struct front_value *value, struct front_asked *asked, struct view bytes);

/* The line at the beginning of bytes. */
void front_reply_read(struct front_reply *reply, struct front_asked *asked, struct view bytes);

/* Are these up to two bytes behind a value CR LF, as far as they are here? */
bool front_value_end(struct view bytes);

#endif
