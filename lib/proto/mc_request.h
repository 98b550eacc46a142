/*
 * mc_request.h - one memcached request, of any protocol.
 *
 * A multi-get becomes one request a key: the first carries MC_FIRST, the last MC_LAST. So a
 * line with 20,000 keys needs no buffer, and one key and a hundred take the same path.
 *
 * Shape:  key and text are views into the parsed bytes; nothing is copied but an opaque.
 * Units:  lengths in bytes; exptime as sent (see serve_expiry_s).
 * Bounds: keys of 1..MC_KEY_MAX.
 */
#ifndef CLOCKOO_MC_REQUEST_H
#define CLOCKOO_MC_REQUEST_H

#include "base/bytes.h"
#include "base/check.h"
#include "mc_base64.h"
#include "mc_error.h"
#include "mc_meta.h"
#include "mc_table.h"

#define MC_BODY_END 2u /* CR LF */

enum mc_req_flag {
	MC_NOREPLY = 1u << 0,     /* no answer, not even an error */
	MC_FIRST = 1u << 1,       /* first key of a retrieval line */
	MC_LAST = 1u << 2,        /* last key of that line: END follows */
	MC_HAS_BODY = 1u << 3,    /* body_len and body_end bytes follow */
	MC_QUIET = 1u << 4,       /* meta q, binary Q: no reply that contains no news */
	MC_BINARY = 1u << 5,      /* answer in the binary protocol: opcode and opaque */
	MC_CLOSE_AFTER = 1u << 6, /* answer, then close: the bytes that follow cannot be read */
	MC_KEY_BASE64 = 1u << 7,  /* key is base64; mc_base64_decode gives the key */
};

/* ---- administrative commands ---- */

#define MC_CLASS_MAX 127u /* highest slab class that a request can name */
#define MC_AUTH_MAX  1024u

/* The streams that a connection can watch: X(symbol, name). */
#define MC_STREAMS(X)                                                                              \
	X(MC_STREAM_FETCHERS, "fetchers")                                                          \
	X(MC_STREAM_MUTATIONS, "mutations")                                                        \
	X(MC_STREAM_EVICTIONS, "evictions")                                                        \
	X(MC_STREAM_CONNEVENTS, "connevents")                                                      \
	X(MC_STREAM_DELETIONS, "deletions")                                                        \
	X(MC_STREAM_SYSEVENTS, "sysevents")                                                        \
	X(MC_STREAM_RAWCMDS, "rawcmds")                                                            \
	X(MC_STREAM_PROXYREQS, "proxyreqs")                                                        \
	X(MC_STREAM_PROXYEVENTS, "proxyevents")                                                    \
	X(MC_STREAM_PROXYUSER, "proxyuser")
#define MC_STREAM_INDEX(symbol, name) symbol##_INDEX,
enum { MC_STREAMS(MC_STREAM_INDEX) MC_STREAM_COUNT };
#define MC_STREAM_BIT(symbol, name) symbol = 1u << symbol##_INDEX,
enum mc_stream { MC_STREAMS(MC_STREAM_BIT) };

/* The word that selects among the forms of one command. */
enum mc_option {
	MC_OPTION_NONE,
	MC_OPTION_ON, /* stats detail */
	MC_OPTION_OFF,
	MC_OPTION_DUMP,
	MC_OPTION_GRACEFUL, /* shutdown */
	MC_OPTION_CLASSES,  /* crawl and dumps: items of these classes */
	MC_OPTION_ALL,
	MC_OPTION_HASH,      /* dumps: all items, by walking the index */
	MC_OPTION_LEVEL,     /* automove: number[0] is 0, 1 or 2 */
	MC_OPTION_RATIO,     /* number[0] thousandths */
	MC_OPTION_FREERATIO, /* number[0] thousandths */
	MC_OPTION_WINDOW,    /* number[0] */
	MC_OPTION_FLAT,      /* lru mode */
	MC_OPTION_SEGMENTED,
};

struct mc_admin {
	uint8_t option; /* enum mc_option */
	uint8_t stats;  /* binary stat: enum mc_verb of its text command, MC_BAD if there is none */
	/* Arguments. verbosity: level; cache_memlimit: megabytes; sleep; tocrawl; cachedump: class,
	 * limit; reassign: from (-1: any), to; temp_ttl. */
	int64_t number[2];
	uint64_t classes[(MC_CLASS_MAX + 1) / 64]; /* bits: crawl and dumps */
	uint32_t streams;                          /* watch: enum mc_stream */
	struct view text;                          /* SASL: the client's message */
};

/* ---- a request ---- */

struct mc_req {
	uint8_t verb;  /* enum mc_verb */
	uint8_t flags; /* enum mc_req_flag */
	uint8_t error; /* enum mc_error, for MC_BAD. With MC_HAS_BODY the body is skipped. Also set
			  for shutdown, watch, stats detail and cachedump: it is answered if the
			  command is allowed at all */
	uint8_t body_end;   /* bytes after a body: 2 for CR LF; binary 0 */
	uint8_t opcode;     /* binary, as sent */
	struct be32 opaque; /* binary: echoed */
	struct view key;    /* stats: its argument */
	uint32_t client_flags;
	int32_t exptime;
	uint32_t body_len; /* without its end */
	uint64_t cas; /* the cas to compare with: cas; meta with MC_FLAG_COMPARE; binary if not 0 */
	uint64_t delta;
	union {
		/* Meta commands. Binary incr and decr: MC_FLAG_VIVIFY with vivify_exptime and
		 * initial, or no flag. */
		struct mc_meta meta;
		struct mc_admin admin; /* administrative commands, binary stat and SASL */
	};
};
static_assert(sizeof(struct mc_req) <= 144, "a batch of operations stays in the cache");

/* Turns *req into an error; its noreply flag stays. */
static inline void
mc_bad(struct mc_req *req, enum mc_error error)
{
	req->verb = MC_BAD;
	req->error = (uint8_t)error;
}

/* Returns the verb of a request; a binary stat is the command that its key names. */
static inline uint8_t
mc_req_command(const struct mc_req *req)
{
	return req->verb == MC_BIN_STAT && req->admin.stats != MC_BAD ? req->admin.stats
								      : req->verb;
}

/* True if the request is allowed over UDP; admin: also one that changes more than one key. */
static inline bool
mc_req_over_udp(const struct mc_req *req, bool admin)
{
	const enum mc_udp udp = mc_verb_over_udp(mc_req_command(req));

	return udp == MC_UDP_YES || (udp == MC_UDP_ADMIN && admin);
}

/* Returns the role that the request needs; mg stores with some of its flags. */
static inline enum mc_role
mc_req_role(const struct mc_req *req)
{
	const uint32_t stores =
		MC_FLAG_SET_EXPTIME | MC_FLAG_VIVIFY | MC_FLAG_RECACHE | MC_FLAG_NEW_CAS;

	if (req->verb == MC_MG && (req->meta.flags & stores) != 0)
		return MC_ROLE_WRITE;
	return mc_verb_role(mc_req_command(req));
}

#endif
