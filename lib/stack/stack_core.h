/*
 * stack_core.h - what the files of this room share: struct stack, its outbox, its doors inside.
 *
 * Private to lib/stack. stack.c, sort.c, arp_*.c, icmp_*.c, udp_*.c make the frame-level part;
 * tcp_*.c the byte streams. They meet here and nowhere else.
 *
 * Owner:  a frame is in exactly one place: the burst being sorted, the outbox, the stock, the
 *         spent list, or a connection's receive queue.
 * Thread: core-local.
 */
#ifndef CLOCKOO_STACK_CORE_H
#define CLOCKOO_STACK_CORE_H

#include "stack.h"

/* Frames to send, oldest first. What the port refused stays at the front. */
struct outbox {
	uint32_t count;
	uint32_t len[OUTBOX_MAX];
	uint32_t mark[OUTBOX_MAX];
	uint8_t *data[OUTBOX_MAX];
	struct frame *frame[OUTBOX_MAX];
};

/* Frames received and no longer needed; given back in one call by stack_release(). */
#define SPENT_MAX 1024u

struct tcp; /* tcp.h */

struct stack {
	struct stack_config cfg;
	struct port *port;
	struct arp_table *arp;
	struct stack_user user;
	uint64_t now_ns; /* of this turn; set by stack_input */
	struct tcp *tcp;

	struct burst stock; /* empty frames, allocated a burst at a time */
	struct sorted *in;  /* of this turn */
	struct datagram datagrams[BURST_MAX];
	uint32_t datagram_count;
	uint32_t spent_count;
	struct frame *spent[SPENT_MAX];
	struct outbox out;
	_Alignas(64) struct counter counters[STACK_COUNTER_COUNT];
};

static inline void
stack_count(struct stack *s, enum stack_counter which)
{
	counter_add(&s->counters[which], 1);
}

/* ---- frame level, for tcp_*.c (stack.c, ipv4_out.c) ---- */

/* Free slots in the outbox that a fresh frame can be had for. */
uint32_t outbox_room(const struct stack *s);

/* Start an IPv4 packet to ip in a fresh frame at the outbox's end, addressed to mac. Returns
 * where its L4 header goes; NULL if the outbox is full or no frame is to be had. */
uint8_t *ipv4_begin(struct stack *s, const uint8_t mac[6], uint32_t dst_ip, uint8_t protocol);
/* Finish it: IP length and checksum; the L4 checksum over l4_len bytes, by us or the port.
 * cksum_at: offset of the checksum field in the L4 header. */
void ipv4_commit(struct stack *s, uint32_t l4_len, uint32_t cksum_at);

/* The MAC for a destination: from the ARP table by route (on-link or gateway), else fallback
 * (the MAC its frames come from), asking by ARP in that case. */
void next_hop_mac(struct stack *s, uint32_t dst_ip, const uint8_t fallback[6], uint8_t mac[6]);

/* Give a received frame back at the next stack_release(). */
void frame_spent(struct stack *s, struct frame *f);

/* ---- byte streams, for stack.c (tcp_*.c) ---- */

size_t tcp_bytes(const struct stack_config *cfg);
struct tcp *tcp_create(struct region *region, const struct stack_config *cfg);
void tcp_match(struct stack *s, struct sorted *in);
/* Takes over the frames of in->tcp: each ends in a receive queue or on the spent list. */
void tcp_input(struct stack *s, struct sorted *in);
void tcp_tick(struct stack *s);
void tcp_output(struct stack *s);
uint64_t tcp_next_timer(const struct stack *s);
bool tcp_drain(struct stack *s);

#endif
