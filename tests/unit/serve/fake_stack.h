/*
 * fake_stack.h - a stack without a network, for tests of the service.
 *
 * It keeps the promises of stack.h and enforces ours: a received piece is gone at the end of the
 * turn it was read in (so that AddressSanitizer sees a view that outlives it), pieces that lie
 * elsewhere are compared with what they were when they were queued, and room can be taken away.
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
#define FAKE_SPARE      2u /* of them, for those who come too many */
#define FAKE_DATAGRAMS  64u
#define FAKE_KEPT       256u /* of them, over turns */
#define FAKE_UNIX       1700000000
#define FAKE_SOURCES    64u         /* of datagrams */
#define FAKE_OURS       0x0a630001u /* 10.99.0.1 */
#define FAKE_PEER       0x0a630002u /* 10.99.0.2, everybody's */
#define FAKE_SLOT6      1u          /* the connection in this slot comes over IPv6 */
#define FAKE_SLOT_PLAIN 2u          /* and in this one, of the port beside that of TLS */
#define FAKE_PLAIN_PORT 11212u
#define FAKE_OURS6                                                                                 \
	{                                                                                          \
		0x20, 0x01, 0x0d, 0xb8, [15] = 1                                                   \
	} /* 2001:db8::1 */
#define FAKE_PEER6                                                                                 \
	{                                                                                          \
		0x20, 0x01, 0x0d, 0xb8, [15] = 2                                                   \
	}               /* 2001:db8::2 */
#define FAKE_PORT 4000u /* of the connection in slot 0; then upwards */

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
/* Some cores on one store; each is turned by itself. The first one is destroyed last. */
void rig_create_cores(struct rig **rigs, uint32_t cores);
void rig_create_never_evicting(struct rig **rigs, uint32_t cores);
void rig_destroy(struct rig *r);

/* As core_turn does it: passes until nothing is left, then frames are gone. */
void rig_turn(struct rig *r);

static inline void
rig_turns(struct rig *rig, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rig_turn(rig);
}

struct conn *rig_open(struct rig *r);
/* One received segment. */
void rig_receive(struct rig *r, struct conn *c, const void *bytes, uint32_t len);
void rig_receive_text(struct rig *r, struct conn *c, const char *text);
/* Its data is dropped for want of frames; its window is closed. */
void rig_starve(struct conn *c, bool dropped, bool narrow);
void rig_eof(struct rig *r, struct conn *c);
/* The connection is gone, whatever the service wants. */
void rig_lose(struct rig *r, struct conn *c);
void rig_lose_slot(struct rig *r, uint32_t slot); /* if there is one */
/* Everything sent on the connection so far, closed by a zero. */
const char *rig_sent(struct conn *c, uint32_t *len);
void rig_forget_sent(struct conn *c);
/* All that was queued is acknowledged: chunks and pieces are free again. */
void rig_acked(struct rig *r, struct conn *c);
bool rig_closed(const struct conn *c);
bool rig_aborted(const struct conn *c);

void rig_set_pieces(struct rig *r, uint32_t pieces); /* left for bytes elsewhere */
void rig_set_chunks(struct rig *r, uint32_t chunks);
void rig_set_tx_room(struct rig *r, uint32_t frames); /* left, a turn */
uint32_t rig_chunks_used(const struct rig *r);
/* Who is let in, and how many slots were looked at since for connections of others. */
const struct access_list *rig_access(const struct rig *r, uint32_t *looked);

#define FAKE_DATAGRAM_BYTES 9000u /* put together of fragments */
/* A datagram of this turn; bytes behind the frame. total: datagrams it claims. */
void rig_datagram(struct rig *r, uint16_t id, uint16_t total, const void *bytes, uint32_t len);
void rig_datagram_text(struct rig *r, uint16_t id, const char *text);
/* From FAKE_PEER + peer. */
void rig_datagram_from(struct rig *r, uint32_t peer, uint16_t id, const char *text);
/* Left for later turns. */
uint32_t rig_datagrams_kept(const struct rig *r);

struct fake_sent {
	bool here; /* in the frame of its request */
	uint32_t len;
	uint32_t to; /* FAKE_PEER + to */
	uint8_t bytes[2048];
};
uint32_t rig_datagrams_sent(const struct rig *r, const struct fake_sent **list);
void rig_forget_datagrams(struct rig *r);

/* Small items until some were evicted, straight into the store. */
void rig_fill(struct rig *r);

uint64_t rig_count(const struct rig *r, enum serve_counter which);
/* n more of a counter of the stack. */
void rig_stack_count(struct rig *r, uint32_t which, uint64_t n);

#endif
