/*
 * serve_message.h - replies of many datagrams: one message a request.
 *
 * Owner:  serve.messages; a message that waits holds pins of the items it is of.
 *
 * Thread: the core's.
 *
 * Bounds: UDP_MESSAGE_DATAGRAMS_MAX a message.
 */
#ifndef CLOCKOO_SERVE_MESSAGE_H
#define CLOCKOO_SERVE_MESSAGE_H

#include "serve_internal.h"

size_t messages_bytes(void);
void messages_create(struct serve *sv, struct region *region);
uint8_t *message_reserve(struct serve *sv, const struct op *op, uint32_t bytes);
void message_commit(struct serve *sv, uint32_t bytes);
/* head and tail are composed by the caller around it. */
void message_value(struct serve *sv, const struct op *op, const struct item *it);
void message_end(struct serve *sv); /* complete; nothing happens if nothing was composed */
void message_discard(struct serve *sv);
void messages_send(struct serve *sv);
void messages_drop(struct serve *sv); /* all of them */
/* Pins hold much of the memory: one of those that pin goes, if all of them pin more than their
 * share. */
void messages_memory_pressure(struct serve *sv);

/* A complete one of this source waits for room: until it is sent none of its datagrams is read. */
bool messages_source_waits(const struct serve *sv, const struct udp_peer *from);
/* While messages wait: requests of one source that a pass may take. */
uint32_t messages_share(const struct serve *sv);
/* The turn has composed its share: it reads no more datagrams. */
bool messages_turn_is_full(const struct serve *sv);
/* Datagrams of other sources go in front for the next turn. */
void messages_pass_over(struct serve *sv);

static inline bool
messages_pending(const struct serve *sv)
{
	return sv->message_count > (sv->message_open ? 1u : 0u);
}

#endif
