/*
 * front_request.h - a request for one key to a server.
 *
 * Private to lib/front.
 *
 * Shape:  most requests are plain gets, which use only the first fields and an item; the other
 *         fields are zeros. front_core.h says in which lists a request is, and who owns it.
 * Thread: core-local.
 */
#ifndef CLOCKOO_FRONT_REQUEST_H
#define CLOCKOO_FRONT_REQUEST_H

#include "copies/coalesce.h"
#include "front_compose.h"

#include "base/list.h"
#include "base/vec16.h"

struct front_lane;

/* Bytes of a key and its value together that need no memory of the store. */
#define FRONT_SHORT_MAX 312u

struct front_request {
	/* In the pool, a queue, a batch or a list of followers. */
	_Alignas(CACHE_LINE_BYTES) struct list link;
	uint64_t ticket, hash;
	struct front_lane *lane; /* the lane to which it counts */
	uint32_t asked_lane;     /* the lane of its ticket; not `lane` if its server is away */
	uint32_t users;          /* uses of its answer: its own client, and followers */
	bool open;               /* it is not answered yet */
	uint8_t parity;          /* of the fleet's generation when the request began */
	bool wanted;             /* its client waits for it */
	bool sent;
	/* in its lane's queue, or sent: later requests in that queue are executed after it */
	bool queued;
	uint8_t len;    /* of its key */
	bool reads;     /* it is a retrieval */
	bool used_more; /* it uses fields beyond this line and the item; taking it clears them */
	/* The value that was read, in its fill or in `item`; NULL: none. */
	const struct item *answer;

	/* The key, and behind it a short value: an item with its body. */
	_Alignas(struct item) uint8_t item[sizeof(struct item)];
	uint8_t bytes[FRONT_SHORT_MAX];

	/* These fields are zeros unless used_more, except for the list of followers. */
	bool writes;        /* its fill is the value that it writes */
	bool missed;        /* of a flush: some server has not done its part */
	bool is_writer;     /* it is counted as a writer in its key's version word */
	bool is_flush;      /* it is counted as a flush in progress */
	bool outcome_known; /* the server has answered it */
	/* Behind an earlier request of its client for its key: it follows no other client's. */
	bool behind;
	uint64_t lease;  /* for the copy that it may make; 0: none */
	uint32_t opened; /* the number of connections opened before it was sent */
	struct front_query query;
	struct fill fill;

	struct coalesced coalesced; /* Place of this request among those of its key (coalesce.h). */
	/* The answer, which its followers use as well. */
	bool failed;
	uint8_t error, result; /* enum mc_error, store_result */
	uint64_t cas;
	struct front_request *owner; /* the leader whose answer it uses; NULL: it has its own */

	/* For a server's part of a flush, the flush. For a fetch from a former server, the
	 * retrieval that missed. For an add of a hand-over, the add itself. */
	struct front_request *whole;
	uint32_t parts;  /* of a flush or a retrieval: its parts in progress */
	bool adds;       /* it is the add of a hand-over */
	uint8_t fetches; /* of a retrieval that missed: former servers that were asked */
	uint8_t asks;    /* times that it was sent to its own server again */
};
static_assert(offsetof(struct front_request, item) == CACHE_LINE_BYTES,
	      "a plain get takes as few lines as it can");
static_assert(offsetof(struct front_request, bytes) ==
		      offsetof(struct front_request, item) + sizeof(struct item),
	      "an item's body is behind its head");
static_assert(MC_GET == 0, "the query of a plain get is zeros");
static_assert(FRONT_SHORT_MAX >= MC_KEY_MAX && FRONT_SHORT_MAX < ITEM_PIN_MIN_BYTES,
	      "bytes holds any key, and what is in it is not pinned");

/* To be called before fields beyond the first line are set. */
static inline void
front_request_use_more(struct front_request *request)
{
	request->used_more = true;
}

/* True if mc_key_is_text() of the key. It may read bytes behind the key. */
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
