/*
 * fake_stack.h - a stack without a network, for tests of the service.
 *
 * It keeps the promises of stack.h and enforces ours: a received piece is freed at the end of the
 * turn it was read in (so AddressSanitizer reports a view that is used later), bytes that are sent
 * from elsewhere are compared with their state when they were queued, and room can be taken away.
 *
 * Shape:  streams in and datagrams in, bytes and datagrams out; a real store behind the service.
 * Owner:  rig_create to rig_destroy.
 * Thread: one.
 * Errors: a broken promise fails the running test.
 */
#ifndef CLOCKOO_FAKE_STACK_H
#define CLOCKOO_FAKE_STACK_H

#include "serve/serve.h"

#define FAKE_CONNS      8u
#define FAKE_SPARE      2u /* slots of FAKE_CONNS for connections beyond the limit */
#define FAKE_DATAGRAMS  64u
#define FAKE_KEPT       256u /* datagrams received in a turn, over turns */
#define FAKE_UNIX       1700000000
#define FAKE_SOURCES    64u         /* of datagrams */
#define FAKE_OURS       0x0a630001u /* 10.99.0.1 */
#define FAKE_PEER       0x0a630002u /* 10.99.0.2, the peer of all connections */
#define FAKE_SLOT6      1u          /* the connection in this slot uses IPv6 */
#define FAKE_SLOT_PLAIN 2u          /* this one uses the plain port beside that of TLS */
#define FAKE_PLAIN_PORT 11212u
#define FAKE_OURS6                                                                                 \
	{                                                                                          \
		0x20, 0x01, 0x0d, 0xb8, [15] = 1                                                   \
	} /* 2001:db8::1 */
#define FAKE_PEER6                                                                                 \
	{                                                                                          \
		0x20, 0x01, 0x0d, 0xb8, [15] = 2                                                   \
	}               /* 2001:db8::2 */
#define FAKE_PORT 4000u /* the peer's port in slot 0; slot i has FAKE_PORT + i */

struct rig {
	struct stack *stack;
	struct serve *serve;
	struct serve_shared *shared;
	struct store *store;
	struct store_core *core;
	struct serve_clock clock;
	struct region region;
};

struct rig *rig_create(void);
/* Creates cores on one store. The caller turns each of them, and destroys the first one last. */
void rig_create_cores(struct rig **rigs, uint32_t cores);
void rig_create_never_evicting(struct rig **rigs, uint32_t cores);
void rig_destroy(struct rig *r);

/* Runs a turn as core_turn does: passes until nothing is left, then frees the received frames. */
void rig_turn(struct rig *r);

static inline void
rig_turns(struct rig *rig, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rig_turn(rig);
}

struct conn *rig_open(struct rig *r);
/* Receives one segment. */
void rig_receive(struct rig *r, struct conn *c, const void *bytes, uint32_t len);
/* Drops all unread bytes, as the stack does with unacknowledged ones while frames are short. */
void rig_drop_unread(struct rig *r, struct conn *c);
void rig_receive_text(struct rig *r, struct conn *c, const char *text);
/* dropped: the connection's data is dropped for lack of frames. narrow: its window is closed. */
void rig_starve(struct conn *c, bool dropped, bool narrow);
void rig_eof(struct rig *r, struct conn *c);
/* Ends the connection, without the service's consent. */
void rig_lose(struct rig *r, struct conn *c);
void rig_lose_slot(struct rig *r, uint32_t slot); /* nothing if the slot has no connection */
/* Returns everything sent on the connection so far, closed by a zero. */
const char *rig_sent(struct conn *c, uint32_t *len);
void rig_forget_sent(struct conn *c);
/* Acknowledges all that was queued: chunks and pieces are free again. */
void rig_acked(struct rig *r, struct conn *c);
/* Queues this number of bytes for the connection, until they are acknowledged. */
void rig_set_queued(struct conn *c, uint32_t bytes);
bool rig_closed(const struct conn *c);
bool rig_aborted(const struct conn *c);

void rig_set_pieces(struct rig *r, uint32_t pieces); /* pieces left for bytes sent from elsewhere */
void rig_set_chunks(struct rig *r, uint32_t chunks);
void rig_set_tx_room(struct rig *r, uint32_t frames); /* frames left, in each turn */
uint32_t rig_chunks_used(const struct rig *r);
/* Returns the access list in force, and how many slots were examined for it. */
const struct access_list *rig_access(const struct rig *r, uint32_t *looked);

#define FAKE_DATAGRAM_BYTES 9000u /* the longest datagram, reassembled from fragments */
/* Receives a datagram in this turn; the bytes follow its frame header.
 * total: datagrams it claims. */
void rig_datagram(struct rig *r, uint16_t id, uint16_t total, const void *bytes, uint32_t len);
void rig_datagram_text(struct rig *r, uint16_t id, const char *text);
/* Receives a datagram from FAKE_PEER + peer. */
void rig_datagram_from(struct rig *r, uint32_t peer, uint16_t id, const char *text);
/* Returns the number of datagrams kept for later turns. */
uint32_t rig_datagrams_kept(const struct rig *r);

struct fake_sent {
	bool here; /* the reply lies in its request's frame */
	uint32_t len;
	uint32_t to; /* FAKE_PEER + to */
	uint8_t bytes[2048];
};
uint32_t rig_datagrams_sent(const struct rig *r, const struct fake_sent **list);
void rig_forget_datagrams(struct rig *r);

/* Fills the store with small items until some were evicted. */
void rig_fill(struct rig *r);

uint64_t rig_count(const struct rig *r, enum serve_counter which);
/* Adds n to a counter of the stack. */
void rig_stack_count(struct rig *r, uint32_t which, uint64_t n);

#endif
