/*
 * front_request.h - a request of one key to a server.
 *
 * Private to lib/front.
 *
 * Shape:  most requests are plain gets, which use only the first fields and an item; the others
 *         are zeros. front_core.h describes the lists that a request is in, and its owner.
 * Thread: core-local.
 */
#ifndef CLOCKOO_FRONT_REQUEST_H
#define CLOCKOO_FRONT_REQUEST_H

#include "copies/coalesce.h"
#include "front_compose.h"

#include "base/list.h"
#include "base/vec16.h"

struct front_lane;

#define FRONT_SHORT_MAX 312u /* bytes of a key and value that need no memory of the store */

struct front_request {
	_Alignas(CACHE_LINE_BYTES) struct list link; /* in pool, queue or batch */
	uint64_t ticket, hash;
	struct front_lane *lane; /* the lane whose place it takes */
	uint32_t asked_lane;     /* of its ticket: another lane while its server is away */
	uint32_t users;          /* of its answer, including its own client */
	bool open;               /* not answered yet */
	uint8_t parity;          /* of the fleet's generation when it began */
	bool wanted;             /* the service waits for it */
	bool sent;
	bool queued; /* in its lane's queue, or sent: a request queued now is executed after it */
	uint8_t len;
	bool reads;     /* a retrieval */
	bool used_more; /* more than this line and the item were used; cleared when it is taken
			   again */
	const struct item *answer; /* what was read, of its fill or here; NULL: nothing */

	/* The key, followed by a short value: the body of an item. */
	_Alignas(struct item) uint8_t item[sizeof(struct item)];
	uint8_t bytes[FRONT_SHORT_MAX];

	/* Zeros unless used_more, except the list of followers. */
	bool writes;        /* its fill is the value of a write */
	bool missed;        /* of a flush: a server has not answered */
	bool is_writer;     /* it is a writer of its version word */
	bool is_flush;      /* a flush is in progress */
	bool outcome_known; /* the server has answered what was sent */
	bool behind;        /* an earlier request of its client and key: it follows no other */
	uint64_t lease;     /* of the copy to make; 0: none */
	uint32_t opened;    /* connections opened before it was sent */
	struct front_query query;
	struct fill fill;

	struct coalesced coalesced;
	/* The answer, which followers use, too. */
	bool failed;
	uint8_t error, result; /* enum mc_error, store_result */
	uint64_t cas;
	struct front_request *owner; /* the request whose answer this one uses; NULL: its own */

	/* The flush of all servers that this is a part of, or the retrieval that it fetches for; of
	 * an add that hands a key over: itself. */
	struct front_request *whole;
	uint32_t parts;        /* open ones */
	bool adds;             /* it hands its key over */
	uint8_t fetches, asks; /* of a retrieval that missed: of the former server, again */
};
static_assert(offsetof(struct front_request, item) == CACHE_LINE_BYTES,
	      "a plain get takes as few lines as it can");
static_assert(offsetof(struct front_request, bytes) ==
		      offsetof(struct front_request, item) + sizeof(struct item),
	      "an item's body is behind its head");
static_assert(MC_GET == 0, "the query of a plain get is zeros");
static_assert(FRONT_SHORT_MAX >= MC_KEY_MAX && FRONT_SHORT_MAX < ITEM_PIN_MIN_BYTES,
	      "bytes holds any key, and what is in it is not pinned");

/* Permits the use of all fields. */
static inline void
front_request_use_more(struct front_request *request)
{
	request->used_more = true;
}

/* True if the key is text, as by mc_key_is_text(). Bytes after the key may be read. */
static inline bool
front_request_is_text(const struct front_request *request)
{
	const vec16 space = vec16_of_8(' '), del = vec16_of_8(127);

	for (uint32_t at = 0; at < request->len; at += 16) {
		const vec16 part = vec16_load(&request->bytes[at]);
		const vec16 others = vec16_or(vec16_equal_8(vec16_min_8(part, space), part),
					      vec16_equal_8(part, del));
		const uint32_t left = request->len - at;

		if ((vec16_signs(others) & ((left < 16 ? 1u << left : 1u << 16) - 1)) != 0)
			return false;
	}
	return true;
}

static inline bool
front_verb_flushes(uint8_t verb)
{
	return verb == MC_FLUSH_ALL || verb == MC_BIN_FLUSH;
}

static inline struct view
front_request_key(const struct front_request *request)
{
	return (struct view){.data = request->bytes, .len = request->len};
}

#endif
