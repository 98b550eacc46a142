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

/* The client of a slow request: a session, or the address of a datagram's sender. key may be
 * empty: unknown. */
struct asker {
	const struct session *session;
	struct view key;
	struct ip_addr ip;
	uint16_t port; /* 0: no datagram */
};

/* Copies the key of an item whose reference is short-lived; to has room for MC_KEY_MAX
 * bytes. */
static inline struct view
key_copied(uint8_t *to, const struct item *it)
{
	const struct view key = item_key(it);

	memcpy(to, key.data, key.len);
	return (struct view){to, key.len};
}

/* Logs count requests that arrived at since_ns, are answered in this turn, and that
 * slow_log_wants. row: by transport and kind. */
void slow_late(struct serve *sv, const struct asker *who, uint32_t row, enum slow_reason reason,
	       uint64_t since_ns, uint32_t count);

/* Logs a slow turn, which has ended and whose time slow_log_wants, before its requests are
 * added to cells. */
void slow_turn(struct serve *sv, uint64_t end_ns);

#endif
