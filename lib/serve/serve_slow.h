/*
 * serve_slow.h - requests and turns that were slow, put down with their reason (slow_log.h).
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_SLOW_H
#define CLOCKOO_SERVE_SLOW_H

#include "serve_internal.h"

static_assert((int)SLOW_MEMORY == WAIT_MEMORY && (int)SLOW_WINDOW == WAIT_WINDOW &&
		      (int)SLOW_SUPPLIER == WAIT_SUPPLIER,
	      "what a request waits for is a reason");

/* Whose request it was. Of a datagram the address, of a connection the session; a key may be empty:
 * not known. */
struct asker {
	const struct session *session;
	struct view key;
	struct ip_addr ip;
	uint16_t port; /* 0: of no datagram */
};

/* The key of an item that is not held for long; to has room for MC_KEY_MAX bytes. */
static inline struct view
key_copied(uint8_t *to, const struct item *it)
{
	const struct view key = item_key(it);

	memcpy(to, key.data, key.len);
	return (struct view){to, key.len};
}

/* row: by transport and kind. Requests that slow_log_wants, and that came at since_ns, are answered
 * in this turn. */
void slow_late(struct serve *sv, const struct asker *who, uint32_t row, enum slow_reason reason,
	       uint64_t since_ns, uint32_t count);

/* The turn that is over, whose requests are not yet in cells; slow_log_wants its time. */
void slow_turn(struct serve *sv, uint64_t end_ns);

#endif
