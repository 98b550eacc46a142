/*
 * mc_meta.h - meta commands: the meaning of their flags, and how their replies are written.
 *
 * Shape:  struct mc_meta has the flags of a line, checked and copied. It has no view, so it stays
 *         valid while a body arrives in pieces. Flags are bits; the letters that a reply shows are
 *         kept in the order of the request.
 * Units:  exptimes as sent (see serve_expiry_s); ttl and idle in seconds.
 * Thread: pure functions.
 * Bounds: MC_META_TOKENS_MAX tokens of a line, MC_OPAQUE_MAX bytes of opaque, MC_META_LINE_MAX
 *         bytes of a reply's line, its end included.
 * Source: memcached doc/protocol.txt, "Meta Commands"; limits, order and texts as in 1.6.45.
 */
#ifndef CLOCKOO_MC_META_H
#define CLOCKOO_MC_META_H

#include "base/check.h"
#include "mc_base64.h"
#include "mc_number.h"

#define MC_META_TOKENS_MAX 20u /* command and key included */
#define MC_OPAQUE_MAX      31u /* without its O */

/* The letters, as bits: X(letter, name). */
#define MC_META_LETTERS(X)                                                                         \
	X('b', MC_FLAG_BASE64)  /* the key is sent as base64 */                                    \
	X('c', MC_FLAG_CAS)     /* return the cas */                                               \
	X('f', MC_FLAG_CLIENT)  /* return client flags */                                          \
	X('h', MC_FLAG_HIT)     /* return whether it was fetched before */                         \
	X('k', MC_FLAG_KEY)     /* return the key */                                               \
	X('l', MC_FLAG_IDLE)    /* return seconds since the last access */                         \
	X('q', MC_FLAG_QUIET)   /* no reply that contains no news */                               \
	X('s', MC_FLAG_SIZE)    /* return the value's length */                                    \
	X('t', MC_FLAG_TTL)     /* return seconds left, -1 for ever */                             \
	X('u', MC_FLAG_NO_BUMP) /* mg: do not count as a use */                                    \
	X('v', MC_FLAG_VALUE)   /* return the value */                                             \
	X('x', MC_FLAG_DROP)    /* md: drop the value, keep the item */                            \
	X('C', MC_FLAG_COMPARE) /* only if the cas is this: req.cas; for ma, MA and MP 0 is any */ \
	X('D', MC_FLAG_DELTA)   /* ma: req.delta */                                                \
	X('E', MC_FLAG_NEW_CAS) /* store this cas: new_cas */                                      \
	X('F', MC_FLAG_SET_CLIENT)  /* ms, md x: req.client_flags */                               \
	X('I', MC_FLAG_INVALIDATE)  /* md: mark stale; ms: an older cas stores as stale */         \
	X('J', MC_FLAG_INITIAL)     /* ma: initial */                                              \
	X('L', MC_FLAG_PATH)        /* for proxies; ignored */                                     \
	X('M', MC_FLAG_MODE)        /* mode */                                                     \
	X('N', MC_FLAG_VIVIFY)      /* create if absent, with this exptime: vivify_exptime */      \
	X('O', MC_FLAG_OPAQUE)      /* return this: opaque */                                      \
	X('P', MC_FLAG_PROXY)       /* for proxies; ignored */                                     \
	X('R', MC_FLAG_RECACHE)     /* mg: the first one wins below recache_s seconds */           \
	X('T', MC_FLAG_SET_EXPTIME) /* req.exptime */

#define MC_META_INDEX(letter, name) name##_INDEX,
enum { MC_META_LETTERS(MC_META_INDEX) MC_META_LETTER_COUNT };
#define MC_META_BIT(letter, name) name = 1u << name##_INDEX,
enum mc_meta_flag { MC_META_LETTERS(MC_META_BIT) };

/* Flags are executed in the order of the request. The bits below record the order where it matters.
 */
#define MC_FLAG_TTL_BEFORE_TOUCH     (1u << 28) /* t precedes T and shows the former time */
#define MC_FLAG_TTL_BEFORE_VIVIFY    (1u << 29) /* t precedes N, which sets it on a new item */
#define MC_FLAG_RECACHE_BEFORE_TOUCH (1u << 30) /* R precedes T and checks the former time */
#define MC_FLAG_VIVIFY_AFTER_TOUCH   (1u << 31) /* N follows T: a new item has its exptime */
#define MC_META_ORDER                                                                              \
	(MC_FLAG_TTL_BEFORE_TOUCH | MC_FLAG_TTL_BEFORE_VIVIFY | MC_FLAG_RECACHE_BEFORE_TOUCH |     \
	 MC_FLAG_VIVIFY_AFTER_TOUCH)
static_assert(MC_META_LETTER_COUNT <= 28, "bits beside the letters");

/* Returns the flag of a letter; 0: the letter is none. */
static inline uint32_t
mc_meta_bit(uint8_t letter)
{
	switch (letter) {
#define MC_META_CASE(l, name)                                                                      \
	case l:                                                                                    \
		return name;
		MC_META_LETTERS(MC_META_CASE)
	default:
		return 0;
	}
}

/* Letters that may appear in a reply. */
#define MC_META_RETURNED                                                                           \
	(MC_FLAG_CAS | MC_FLAG_CLIENT | MC_FLAG_HIT | MC_FLAG_KEY | MC_FLAG_IDLE | MC_FLAG_SIZE |  \
	 MC_FLAG_TTL | MC_FLAG_OPAQUE)
#define MC_META_RETURNED_MAX 8u
/* Flags that a reply without an item returns: misses of mg and ma, and every md. Failures of ms
 * also show cas and size. */
#define MC_META_ECHOED (MC_FLAG_KEY | MC_FLAG_OPAQUE)

enum mc_mode {
	MC_MODE_NONE, /* ms: set; ma: incr */
	MC_MODE_ADD,
	MC_MODE_APPEND,
	MC_MODE_PREPEND,
	MC_MODE_REPLACE,
	MC_MODE_SET,
	MC_MODE_INCR,
	MC_MODE_DECR,
};

struct mc_meta {
	uint32_t flags;                      /* enum mc_meta_flag */
	uint8_t mode;                        /* enum mc_mode, of ms and ma */
	uint8_t opaque_len;                  /* 0: "O" alone */
	uint8_t order_count;                 /* letters in order[] */
	uint8_t order[MC_META_RETURNED_MAX]; /* the letters to return, in the request's order */
	uint8_t opaque[MC_OPAQUE_MAX];
	int32_t vivify_exptime;
	int32_t recache_s;
	uint64_t new_cas;
	uint64_t initial; /* ma, and binary incr and decr */
};

/* The fields of an item that a reply can show. A field is read only if its letter is shown. */
struct mc_meta_item {
	uint32_t shown; /* letters that this reply may show, of MC_META_RETURNED */
	bool base64;    /* the item's key is sent as base64 */
	bool fetched;
	bool sent, stale, won; /* Z, X, W, which follow the other flags in this order */
	struct view key;
	uint32_t size;
	uint32_t client_flags;
	int32_t ttl_s; /* -1: never expires */
	uint32_t idle_s;
	uint64_t cas;
};

/* Length of "VA <len>" with the longest form of every flag. */
#define MC_META_LINE_MAX                                                                           \
	(3 + 10 + 2 + MC_KEY_BASE64_MAX + 2 + 2 + MC_OPAQUE_MAX + 2 * (2 + MC_U64_DIGITS_MAX) +    \
	 4 * (2 + 11) + 6 + 2)

/* The lines of replies: X(symbol, word). */
#define MC_META_CODES(X)                                                                           \
	X(MC_META_HD, "HD")                                                                        \
	X(MC_META_EN, "EN")                                                                        \
	X(MC_META_NF, "NF")                                                                        \
	X(MC_META_NS, "NS")                                                                        \
	X(MC_META_EX, "EX")
#define MC_META_CODE_SYMBOL(symbol, word) symbol,
enum mc_meta_code { MC_META_CODES(MC_META_CODE_SYMBOL) MC_META_CODE_COUNT };

/* Writes "<code> <flags>* CR LF". */
uint8_t *mc_put_meta(uint8_t *at, enum mc_meta_code code, const struct mc_meta *meta,
		     const struct mc_meta_item *item);
/* Writes "VA <len> <flags>* CR LF"; the value and a line end follow. */
uint8_t *mc_put_meta_value_head(uint8_t *at, uint32_t len, const struct mc_meta *meta,
				const struct mc_meta_item *item);

/* ---- metadata of an item, for me and the dumps ---- */

struct mc_item_info {
	struct view key;
	bool base64; /* as in mc_meta_item */
	bool fetched;
	int64_t exptime; /* me: seconds left; a dump: the wall clock second; -1 never */
	uint64_t access; /* me: seconds since the last access; a dump: its wall clock second */
	uint64_t cas;
	uint32_t slab_class;
	uint32_t size; /* of the whole item */
	uint32_t client_flags;
};

/* Each byte of a key may take three. */
#define MC_ITEM_INFO_LINE_MAX (3 * MC_KEY_MAX + 160)

/* Writes "ME <key> exp=... la=... cas=... fetch=yes|no cls=... size=..." for me. */
uint8_t *mc_put_debug(uint8_t *at, const struct mc_item_info *f);
/* Writes "key=<as in a URI> exp=... la=... cas=... fetch=... cls=... size=... flags=... LF" for
 * lru_crawler metadump. */
uint8_t *mc_put_metadump(uint8_t *at, const struct mc_item_info *f);
/* Writes "mg <key>" or "mg <base64> b" for lru_crawler mgdump. */
uint8_t *mc_put_mgdump(uint8_t *at, const struct mc_item_info *f);
/* Writes a key as metadump and watch show it: characters that a URI does not allow become %XX. At
 * most three bytes for each byte. */
uint8_t *mc_put_uri(uint8_t *at, struct view key);

#endif
