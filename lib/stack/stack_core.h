/*
 * stack_core.h - what the files of this room share: struct stack, its transmit queue, its
 * interfaces inside.
 *
 * Private to lib/stack. The files of the frame-level part and those of TCP (tcp_*.c) meet here.
 *
 * Owner:  a frame is in exactly one place: the burst being classified, the transmit queue, the
 *         frame cache, the deferred-free list, or a connection's receive queue.
 * Thread: core-local.
 */
#ifndef CLOCKOO_STACK_CORE_H
#define CLOCKOO_STACK_CORE_H

#include "pmtu_reports.h"
#include "rate_limit.h"
#include "stack.h"
#include "base/check.h"
#include "base/prefetch.h"
#include "wire/inet_cksum.h"
#include "wire/udp_wire.h"

#include <emmintrin.h>

/* Frames to send, oldest first: frame i is burst[i / BURST_MAX], place i % BURST_MAX, so a burst
 * is handed to the port as it stands. What the port refused moves to the front. */
#define TX_QUEUE_BURSTS (TX_QUEUE_MAX / BURST_MAX)

struct tx_queue {
	uint32_t count;
	struct burst burst[TX_QUEUE_BURSTS];
};

/* Empty frames, for what is not answered in place. Filled up to FRAME_CACHE_TARGET at the start of
 * a turn, with what was received and is to be freed to FRAME_CACHE_MAX at its end; used from the
 * end: the frame last put in is the one most likely still cached. */
#define FRAME_CACHE_TARGET TX_QUEUE_MAX

struct frame_cache {
	uint32_t count;
	uint8_t *data[FRAME_CACHE_MAX];
	struct frame *frame[FRAME_CACHE_MAX];
};

/* Who handles a frame of other[]. */
enum other_kind {
	OTHER_ARP,
	OTHER_ICMP,
	OTHER_ICMP6,
	OTHER_FRAGMENT,
};

#define UDP4_TEMPLATE_BYTES 32u

/* Of datagrams kept one source has at most so many times what is left for all others: four fifths,
 * if it is the only one. Sources are told apart by a hash. */
#define UDP_BACKLOG_SHARE 4u
#define UDP_BACKLOG_CELLS 1024u
/* One reassembled from fragments stands for so many of its source's: a quarter of all that there is
 * memory for (reasm.h) are its share. */
#define UDP_BACKLOG_REASSEMBLED_WEIGHT 256u

/* Transmit queue slots that no received frame may claim: for segments and ARP of our own accord. */
#define TX_QUEUE_RESERVE 64u

struct reasm; /* reasm.h */
struct tcp;   /* tcp.h */

/* What a frame to us is compared with in one go (classify.c): bytes of its headers under a mask,
 * words as the machine loads them. */
#define FAST_HIGH_OFFSET 18u /* behind IPv4's total length, up to the end of its header */

struct fast_match {
	__m128i low, low_mask; /* Ethernet, and that IPv4's header has no options */
	__m128i high, high_mask;
	uint64_t mac;       /* ours, in the low six bytes */
	uint32_t ip;        /* ours */
	uint32_t broadcast; /* of our subnet; if it has none, ours */
	uint32_t udp_port;  /* the only one of ours; none at all if there are more or none */
	uint64_t out_8,
		out_16;   /* what we send: bytes 8 and 16 of Ethernet, IPv4 and TCP; no length */
	uint32_t len_min; /* of a frame with these headers; if frames are tagged, none takes the
			     fast path */
};

struct stack {
	struct stack_config cfg;
	struct port *port;
	struct neigh_table *neigh;
	struct stack_user user;
	uint64_t now_ns; /* of this turn; set by stack_input */
	uint32_t now_us; /* the same, modulo 2^32: for the scoreboard */
	uint32_t now_ms; /* and for timestamps */
	struct tcp *tcp;
	struct reasm *reasm; /* NULL: no UDP, nothing to reassemble */

	uint32_t netmask;
	uint32_t ip_ol_flags;  /* FRAME_IP_CKSUM_FILL if the port does it, else 0 */
	uint32_t udp_ol_flags; /* FRAME_L4_CKSUM_FILL, likewise */
	uint32_t tcp_ol_flags; /* the same, with FRAME_L4_IS_TCP */
	uint64_t ip_sum;       /* of our IPv4 header without protocol, length, destination */
	/* Of our IPv4 datagrams: the headers from our MAC on, without lengths, destination and
	 * checksums; the sum of the pseudo header without length and destination. */
	uint8_t udp4_template[UDP4_TEMPLATE_BYTES];
	uint64_t udp4_pseudo_sum;
	uint16_t udp_span;     /* of our UDP ports; 0: none */
	uint32_t datagram_max; /* bytes of UDP payload in one frame of the port */

	struct ip_addr router4;         /* cfg.gateway; zero: none */
	struct ip_addr ip[LOCAL_COUNT]; /* ours; zero: we have none of that kind */
	bool ipv6_enabled;              /* the MTU is IPv6's least at least */
	uint16_t tag;                   /* of every frame we send, if cfg.vlan says so */
	uint32_t fast_ether_type;       /* IPv4's Ethernet type; none at all if frames are tagged */
	struct fast_match fast;

	uint32_t announce_round; /* of announcements of our addresses, seen by this core */
	uint32_t announces_left; /* of that round, if it is ours */
	uint64_t announce_at_ns; /* the next */
	struct rate_limit echo_limit, neigh_limit[NEIGHBOURS]; /* by the station that asks */
	struct classified *in;                                 /* of this turn */
	bool rx_backlog;     /* it took all the frames it had room for, so more may be waiting */
	uint32_t tx_credits; /* received frames that may still become their own answer this turn */
	uint32_t datagram_first; /* of datagrams[]: where those of this turn begin */
	uint32_t datagram_count;
	uint32_t backlog_count;    /* of them, from the last turn */
	uint32_t datagrams_hidden; /* of them, the last ones: not shown to the service this turn */
	uint32_t datagrams_unread; /* of those shown, the last ones: for the next turn */
	uint16_t backlog_of[UDP_BACKLOG_CELLS]; /* of backlog_count, by source */

	/* Frames received and no longer needed; given back in one call by stack_release().
	 * to_free_max is every received frame this core can own, so there is always a place. */
	uint32_t to_free_count, to_free_max;
	struct frame **to_free;
	uint8_t **to_free_start;

	struct pmtu_inbox pmtu_reports; /* for TCP, which empties it each turn */
	struct tx_queue out;
	struct frame_cache frame_cache;
	/* Those kept move up only when they have come to the middle. */
	struct datagram datagrams[2 * UDP_BACKLOG_MAX + BURST_MAX];
	_Alignas(CACHE_LINE_BYTES) struct counter counters[STACK_COUNTER_COUNT];
};

/* Of a service, a core's own or another's; of who asks, one of those that he asks from, so that
 * hashing spreads the answers. */
static inline bool
udp_port_is_ours(const struct stack *s, uint16_t port)
{
	return (uint16_t)(port - s->cfg.udp_port) < s->udp_span;
}

/* One of our own as the source would let a forger set two caches to answer each other's answers
 * for ever. */
static inline bool
udp_source_is_bad(const struct stack *s, const struct udp *udp)
{
	return udp->src_port == 0 || udp_port_is_ours(s, udp->src_port);
}

static inline void
stack_count(struct stack *s, enum stack_counter which)
{
	counter_add(&s->counters[which], 1);
}

/* ---- frame level, for tcp_*.c (stack.c, ip_out.c) ---- */

/* Free slots on the transmit queue that a fresh frame can be had for; what is reserved for replies
 * in received frames is not counted. */
uint32_t tx_queue_room(const struct stack *s);

/* Is there any? */
static inline bool
tx_queue_has_room(const struct stack *s)
{
	return s->out.count + s->tx_credits < TX_QUEUE_MAX && s->frame_cache.count != 0;
}

/* Where a packet goes, and from which of our addresses (enum local). */
struct ip_dest {
	const struct ip_addr *dst;
	uint8_t local;
	uint8_t protocol;
};

/* Bytes of the IP header in front of what we send from an address of ours. */
static inline uint32_t
ip_header_bytes(uint8_t local)
{
	return local == LOCAL_V4 ? 20 : 40;
}

/* The sum of the pseudo header from one of our addresses to dst, or back: they are equal. */
static inline uint64_t
ip_pseudo_sum(const struct stack *s, struct ip_dest dest, uint16_t l4_len)
{
	if (likely(dest.local == LOCAL_V4))
		return inet_sum_pseudo(s->cfg.ipv4, ip_addr_v4_get(dest.dst), dest.protocol,
				       l4_len);
	return inet_sum_pseudo6(s->ip[dest.local].b, dest.dst->b, dest.protocol, l4_len);
}

/* Start an IP packet in a fresh frame at the transmit queue's end, addressed to mac. Returns where
 * its L4 header goes; NULL if the transmit queue is full or no frame is to be had. */
uint8_t *ip_begin(struct stack *s, const uint8_t mac[6], struct ip_dest dest);
/* Finish it: IP length and checksum; the L4 checksum over l4_len bytes, by us or the port.
 * cksum_at: offset of the checksum field in the L4 header. A packet begun and not committed
 * was never there. */
void ip_commit(struct stack *s, uint32_t l4_len, uint32_t cksum_at);

/* The MAC for a destination: from the neighbour table by route (on-link or gateway), else fallback
 * (the MAC its frames come from), asking the neighbours in that case. */
void next_hop_mac(struct stack *s, const struct ip_addr *dst_ip, const uint8_t fallback[6],
		  uint8_t mac[6]);

/* The same where the table knows it for sure: until when it does, if nothing changes there
 * (neigh_generation_mt). */
bool next_hop_reachable(const struct stack *s, const struct ip_addr *dst, uint8_t mac[6],
			uint64_t *until_ns);
void next_hop_doubt(struct stack *s, const struct ip_addr *dst); /* nobody answers: asks for it */

/* A received frame goes to the frame cache, or back to the port, at the next stack_release().
 * start: where sort has it begin. */
void frame_defer_free(struct stack *s, struct frame *f, uint8_t *start);

/* Empties the deferred-free list: the frame cache is filled first, the port gets the rest. */
void frames_release(struct stack *s);

/* ---- frame level, among its own files ---- */

/* tx_queue.c: fill up the frame cache; the frame at the end of the frame cache, NULL if there is no
 * room for it; the same frame again; send it; send received frame i, of this turn, back; do not. */
void frame_cache_refill(struct stack *s);
uint8_t *tx_queue_begin(struct stack *s);
uint8_t *tx_queue_begun(struct stack *s);
void tx_queue_commit(struct stack *s, uint32_t len, uint32_t ol_flags);
void tx_queue_send_rx(struct stack *s, uint32_t rx_index, uint32_t len, uint32_t ol_flags);
void tx_queue_send_rx_frame(struct stack *s, struct frame *f, uint8_t *start, uint32_t len,
			    uint32_t ol_flags);
void rx_frame_drop(struct stack *s, uint32_t rx_index);

/* A received packet that is to be its own answer. */
struct ip_request {
	uint8_t *frame;
	const struct ip_addr *src;
	uint32_t l4_offset; /* in frame */
	uint8_t local;
};

/* ip_out.c: plain headers back to where it came from, its l4_len bytes of L4 behind them. Returns
 * where they now are. */
uint8_t *ip_reply_in_place(struct stack *s, struct ip_request from, uint32_t l4_len,
			   uint8_t protocol);

/* neigh_io.c: does a route of ours go through this neighbour? */
bool route_uses(const struct stack *s, const struct ip_addr *ip);
/* Which of our addresses speaks to dst when we begin: enum local. */
uint8_t local_addr_select(const struct stack *s, const struct ip_addr *dst);

bool neigh_rate_limited(struct stack *s, const uint8_t mac[6]); /* it has had all its answers */
/* Ask who has ip; tell all who we are. False: there is no room. */
bool arp_send_request(struct stack *s, const struct ip_addr *ip);
bool nd_send_solicit(struct stack *s, const struct ip_addr *ip);
bool nd_send_unsolicited(struct stack *s, uint8_t local);

/* icmp_error.c: an error about a packet we are said to have sent; p: the ICMP message, whose
 * checksum holds. Returns the counter of what it came to. */
enum stack_counter icmp_error(struct stack *s, const uint8_t *p, uint32_t len);
enum stack_counter icmp6_error(struct stack *s, const uint8_t *p, uint32_t len);

/* Each takes over the frame: it is sent back or spent. */
void arp_input(struct stack *s, uint32_t rx_index);
void icmp_input(struct stack *s, uint32_t rx_index);
void icmp6_input(struct stack *s, uint32_t rx_index);
void nd_input(struct stack *s, uint32_t rx_index);
void fragment_input(struct stack *s, uint32_t rx_index);
void udp_create(struct stack *s);
void udp_input(struct stack *s, const struct classified *in);
void udp_release(struct stack *s);
void neigh_tick(struct stack *s);
uint64_t neigh_next(const struct stack *s); /* when it has something to say; UINT64_MAX: nothing */

/* ---- byte streams, for stack.c (tcp_*.c) ---- */

size_t tcp_bytes(const struct stack_config *cfg);
struct tcp *tcp_create(struct region *region, const struct stack_config *cfg);
void tcp_match(struct stack *s, struct classified *in);
/* Takes over the frames of in->tcp: each ends in a receive queue or on the deferred-free list. */
void tcp_input(struct stack *s, struct classified *in);
void tcp_tick(struct stack *s);
void tcp_output(struct stack *s);
uint64_t tcp_next_timer(const struct stack *s);
bool tcp_has_ready(const struct stack *s);
bool tcp_drain(struct stack *s);
/* Fill in what is in use; any thread. */
void tcp_usage_mt(const struct stack *s, struct stack_usage *out);

#endif
