/*
 * front_reply.h - parses a server's reply, without trust: a server may send anything at any time.
 *
 * Shape:  a call reads one line, or reports that the line is incomplete. The bytes of a value are
 *         not read here: behind FRONT_REPLY_VALUE follow value_len bytes and CR LF, which the
 *         caller checks with front_value_end(). Views of a reply point into the bytes that were
 *         passed.
 * Units:  bytes; ttl_s: seconds left, -1: no expiry.
 * Owner:  the caller owns struct front_asked until the request's last reply.
 * Thread: pure functions.
 * Errors: FRONT_REPLY_BROKEN: the line does not answer the request, or came before the server had
 *         received the whole request. The caller must close the connection, and fail its open
 *         requests.
 * Bounds: lines of FRONT_REPLY_LINE_MAX bytes; requests of FRONT_KEYS_MAX keys. Time is linear in
 *         the line's length and the number of keys.
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

/* Kinds of requests. Each kind has its allowed answers, in the tables of front_reply.c. */
enum front_ask {
	FRONT_ASK_GET, /* text get and gets, for some keys */
	FRONT_ASK_STORE,
	FRONT_ASK_DELETE,
	FRONT_ASK_ARITHMETIC,
	FRONT_ASK_TOUCH,
	FRONT_ASK_FLUSH,
	FRONT_ASK_VERSION,
	FRONT_ASK_ME, /* `me`, the text command of meta debug */
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
	bool received; /* the server has acknowledged all bytes of the request */
	bool wants_cas;
	uint32_t nkeys;
	uint32_t next; /* index of the key that is expected next, since servers keep the order */
	uint64_t had;  /* bit i: the value of key i was read */
	const struct view *keys; /* as they were sent: text or base64 */
	struct view opaque;      /* the opaque of a meta request; empty: none was sent */
};

enum front_reply_kind {
	FRONT_REPLY_MORE, /* the line is incomplete */
	/* A value follows; of a text get there may be more after it, of a meta reply not. */
	FRONT_REPLY_VALUE,
	FRONT_REPLY_ROW, /* a row of stats; more may follow */
	/* end of stats, or of a text get; keys without a value are misses */
	FRONT_REPLY_END,
	FRONT_REPLY_STATUS, /* the only line */
	FRONT_REPLY_NUMBER, /* the only line; it has `number` */
	FRONT_REPLY_ERROR,  /* the only line; the request has failed */
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

/* Flags of a meta reply: bits. */
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
	bool ends_connection; /* of an error: the server may read a body as commands now */
	bool is_client_error; /* of an error: it is a CLIENT_ERROR */
	uint8_t error;     /* enum mc_error if the client gets this error; otherwise MC_ERR_NONE */
	uint32_t line_len; /* including CR LF */
	uint32_t key;      /* of a value: the index of its key in asked->keys */
	uint32_t value_len;
	uint32_t client_flags;
	uint32_t meta; /* the flags that it had: enum front_meta */
	uint32_t size, hit;
	uint32_t last_access_s;
	int32_t ttl_s;
	uint64_t cas;
	uint64_t number;
	struct view text; /* of FRONT_VERSION: the version; of a row: its value */
	struct view name; /* of a row: its name */
	/* `me` of the version in text reports TTLs correctly: -1 is always "no expiry" */
	bool reports_ttl;
};

/* A value of `get` that has arrived completely. */
struct front_value {
	uint32_t key; /* index in asked->keys */
	uint32_t value_len, client_flags;
	uint32_t at, bytes; /* offset of the value; offset of the first byte behind its CR LF */
};

/* Reads the value of the key that is expected next, if it has arrived completely. That equals
 * front_reply_read() and front_value_end(), in fewer steps. False: nothing was read or changed; the
 * caller uses those. */
bool front_value_read(struct front_value *value, struct front_asked *asked, struct view bytes);

/* Reads the first line of bytes. */
void front_reply_read(struct front_reply *reply, struct front_asked *asked, struct view bytes);

/* True if these bytes behind a value, at most two, begin CR LF. */
bool front_value_end(struct view bytes);

#endif
