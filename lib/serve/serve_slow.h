/*
 * serve_slow.h - logs slow requests and slow turns with their reason (slow_log.h).
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_SLOW_H
#define CLOCKOO_SERVE_SLOW_H

#include "serve_internal.h"

static_assert((int)SLOW_MEMORY == WAIT_MEMORY && (int)SLOW_WINDOW == WAIT_WINDOW &&
		      (int)SLOW_BACKEND == WAIT_BACKEND,
	      "what a request waits for is a reason");

/* The client that sent a slow request: a session, or the sender of a datagram. key: empty if not
 * known. */
struct asker {
	const struct session *session;
	struct view key;
	struct ip_addr ip;
	uint16_t port; /* 0: the request came on a connection */
};

/* Copies the key of an item that may be freed soon. to has room for MC_KEY_MAX bytes. */
static inline struct view
key_copied(uint8_t *to, const struct item *it)
{
	const struct view key = item_key(it);

	memcpy(to, key.data, key.len);
	return (struct view){to, key.len};
}

/* Logs `count` requests that arrived at since_ns and are answered in this turn; slow_log_wants()
 * was true. row: their transport and kind. */
void slow_late(struct serve *sv, const struct asker *who, uint32_t row, enum slow_reason reason,
	       uint64_t since_ns, uint32_t count);

/* Logs a turn that has ended and was slow; slow_log_wants() was true. Called before the turn's
 * requests are added to cells. */
void slow_turn(struct serve *sv, uint64_t end_ns);

#endif
