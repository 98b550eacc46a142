/*
 * serve_message.h - UDP replies of several datagrams: one message for each request.
 *
 * Owner:  serve.messages owns all messages. A waiting message pins the items whose values it sends.
 *
 * Thread: core-local.
 *
 * Bounds: UDP_MESSAGE_DATAGRAMS_MAX datagrams for each message.
 */
#ifndef CLOCKOO_SERVE_MESSAGE_H
#define CLOCKOO_SERVE_MESSAGE_H

#include "serve_internal.h"

size_t messages_bytes(void);
void messages_create(struct serve *sv, struct region *region);
uint8_t *message_reserve(struct serve *sv, const struct op *op, uint32_t bytes);
void message_commit(struct serve *sv, uint32_t bytes);
/* Appends the item's value, and pins it. The caller appends the bytes before and after it. */
void message_value(struct serve *sv, const struct op *op, const struct item *it);
/* Completes the open message and queues it; no effect if none is open. */
void message_end(struct serve *sv);
void message_discard(struct serve *sv);
void messages_send(struct serve *sv);
/* Drops all messages. */
void messages_drop(struct serve *sv);
/* Drops one message with pins, if this core's messages hold more than their share of the pinned
 * memory. Called while pins hold much memory. */
void messages_memory_pressure(struct serve *sv);

/* True if a complete message to this source waits for room. Until it is sent no datagram of the
 * source is read. */
bool messages_source_waits(const struct serve *sv, const struct udp_peer *from);
/* Returns how many requests of one source a pass may take while messages wait. */
uint32_t messages_share(const struct serve *sv);
/* True if messages have taken this turn's share of chunks. The turn then reads no more
 * datagrams. */
bool messages_turn_is_full(const struct serve *sv);
/* Lets the next turn read datagrams of other sources before those of sources that wait. */
void messages_pass_over(struct serve *sv);

static inline bool
messages_pending(const struct serve *sv)
{
	return sv->message_count > (sv->message_open ? 1u : 0u);
}

#endif
