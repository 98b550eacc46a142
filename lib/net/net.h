/*
 * net.h - one core's net: Ethernet, neighbours, IPv4, IPv6, ICMP and UDP. This header has the types
 * for all rooms above, and the datagrams for the service.
 *
 * lib/stack runs its stages, and lib/tcp sends through it (net_core.h). The net depends on neither.
 *
 * Shape:  each core has a net; only the neighbour table is shared.
 * Units:  peers' addresses are struct ip_addr; our IPv4 address and all ports are in host order.
 * Owner: payloads are valid until stack_release(); those of kept datagrams until the next
 *        stack_release().
 * Thread: core-local.
 * Errors: false or NULL; drops are counted by reason (NET_COUNTERS).
 * Bounds: frames sent in a turn: TX_QUEUE_MAX. Datagrams kept over turns: UDP_BACKLOG_MAX.
 *         Received frames that connections hold: rx_frames_max.
 */
#ifndef CLOCKOO_NET_H
#define CLOCKOO_NET_H

#include "base/bytes.h"
#include "base/ip_addr.h"
#include "local_addrs.h"
#include "pkt/port.h"

#define TX_QUEUE_MAX 256u

/* Most frames in the frame cache: one for each slot of the transmit queue, so that for a free
 * slot there is always a frame, and in addition the frames of a received burst, which are freed
 * into it. */
#define FRAME_CACHE_MAX (TX_QUEUE_MAX + BURST_MAX)
/* Most frames that a stack owns at once, without cfg->rx_frames_max: its frame cache, its transmit
 * queue, and a burst. The size of the port's pool follows from it. */
#define STACK_FRAMES_MAX (FRAME_CACHE_MAX + TX_QUEUE_MAX + BURST_MAX)
/* Most unread datagrams that are kept for later turns. With UDP a stack owns this many more
 * frames. */
#define UDP_BACKLOG_MAX 1024u
/* Hashed cells by which the sources of datagrams are distinguished. */
#define UDP_SOURCES      1024u
#define UDP_NETWORKS_MAX 16u

struct access_list;
struct kernel_lane;

/* A network whose datagrams are read before those of others. */
struct udp_network {
	struct ip_addr ip;
	uint32_t prefix_len; /* bits of the 128 of an ip_addr.h address */
};

struct net_config {
	uint32_t ipv4;       /* our address */
	uint32_t prefix_len; /* 0..32 */
	uint32_t gateway;    /* 0 = none */
	/* IPv6: a link-local address is made from the port's MAC, and `ipv6` is another one. */
	struct ip_addr ipv6; /* zero = none */
	/* No IPv6, not even a link-local address: IPv6 frames are dropped. */
	bool ipv6_off;
	uint32_t prefix6_len;    /* 0..128 */
	struct ip_addr gateway6; /* zero = none */
	/* VLAN of the 802.1Q tag on every frame received and sent; 0 = none. */
	uint16_t vlan;
	uint8_t vlan_priority; /* priority of frames sent, 0..7 */
	uint16_t udp_port;     /* 0 = off */
	uint16_t udp_ports;    /* ports, from udp_port on; 0 counts as one */
	/* Most received frames that all connections together hold. */
	uint32_t rx_frames_max;
	const struct access_list *access; /* sources that are allowed; NULL: all */
	/* The table of our addresses, links and routes; NULL: one is made from the fields above. */
	const struct local_addrs *addrs;
	struct kernel_lane *kernel; /* the kernel's share of the port; NULL: none */
	/* Networks whose datagrams are read first while some are kept. If there are none, all
	 * sources are equal. */
	struct udp_network udp_networks[UDP_NETWORKS_MAX];
	uint32_t udp_network_count;
	uint64_t seed; /* seed of hashes of flows, stations and sources */
};

/* Received frames, sorted by handler: indices into the burst. */
struct classified {
	uint32_t udp_count, tcp_count, other_count;
	uint8_t udp[BURST_MAX], tcp[BURST_MAX], other[BURST_MAX];
	struct burst rx; /* filled by stage 1 */
	struct l3_info {
		_Alignas(8) struct ip_addr src_ip; /* a row is 24 bytes */
		uint16_t l4_offset;                /* bytes from the frame's start */
		uint16_t l4_len;                   /* header and payload, by the IP total length */
		uint16_t local;                    /* number of the destination; LOCAL_NONE */
		uint8_t kind;                      /* enum other_kind, for frames of other[] */
		uint8_t link;                      /* link on which the frame arrived */
	} l3[BURST_MAX];
};

/* ---- datagrams, for the service ---- */

/* The handle that users keep. Its first member is a struct net (net_core.h). */
struct stack;

/* The sender of a datagram, to which the reply goes. */
struct udp_peer {
	uint8_t mac[6];
	uint16_t port;
	uint16_t our_port; /* destination port of the request, and source port of the reply */
	struct ip_addr ip;
	uint16_t local; /* our address: destination of the request, and source of the reply */
};

/* Whether a datagram is kept from an earlier turn, and from which kind of source. Near sources are
 * read first: those in udp_networks, or all if there are no such networks. */
enum datagram_kept { DATAGRAM_NEW, DATAGRAM_KEPT_NEAR, DATAGRAM_KEPT_FAR };

struct datagram {
	struct udp_peer from;
	struct view payload;
	/* Private to the stack: the frame of the datagram, or of its last fragment. */
	struct frame *frame;
	uint8_t *start;
	uint16_t l4_offset; /* bytes from start */
	/* Cells of the source and of its network; valid while the datagram is kept. */
	uint16_t cell, network;
	bool answered;
	uint8_t kept;      /* enum datagram_kept */
	uint64_t since_ns; /* turn in which it was received */
};

/* Returns the datagrams of this turn: those kept, then those received. */
struct datagram *stack_datagrams(struct stack *s, uint32_t *count);
/* Keeps the datagrams from number `first` on for the next turn; their bytes stay where they are.
 * The last call of a turn counts; without a call all are freed. If a source exceeds its limit, or
 * all exceed UDP_BACKLOG_MAX, the newest are dropped. */
void stack_datagrams_defer(struct stack *s, uint32_t first);
/* Returns the number of a peer's source, below UDP_SOURCES: a hash of its IPv4 address, or of the
 * /64 of its IPv6 address. */
uint32_t stack_udp_source(const struct stack *s, const struct udp_peer *from);
/* Has up to BURST_MAX kept datagrams moved to the front at the end of the turn, but none of sources
 * that wait. Sources in udp_networks come first; among the others networks take turns, and so do
 * the sources within a network. Datagrams of one source keep their order. first_stays: the first
 * datagram is not moved. waiting: the caller's bitmap of sources, which must stay valid until the
 * next call. */
void stack_datagrams_pass_over(struct stack *s, const uint64_t *waiting, bool first_stays);
/* Returns the place of an in-place reply, over the request; *room: the bytes there. */
uint8_t *udp_reply_buffer(struct stack *s, struct datagram *d, uint32_t *room);
/* Sends the request's frame back with payload_len bytes of payload. */
void udp_reply_in_place(struct stack *s, struct datagram *d, uint32_t payload_len);
/* Sets to->mac by route, and to->local. The caller has set ip and port. False: the MAC is not known
 * yet, and is solicited within the limits; try again. Called between stack_input() and
 * stack_output(). */
bool udp_resolve(struct stack *s, struct udp_peer *to);
/* Begins a datagram in a fresh frame, with room for *room bytes of payload; NULL: no room. */
uint8_t *udp_begin(struct stack *s, const struct udp_peer *to, uint32_t *room);
/* Sends the datagram that was begun last. 0 bytes: discards it. */
void udp_commit(struct stack *s, uint32_t payload_len);

/* A header template for many datagrams from one port to one peer over IPv4. */
#define UDP_FLOW_HEADERS 42u
struct udp_flow {
	uint8_t headers[UDP_FLOW_HEADERS]; /* lengths and checksums are zero */
	/* Sums of the headers, and of the pseudo header and ports. */
	uint64_t ip_sum, udp_sum;
};
/* Makes the template. to: a resolved peer. from: one of our UDP ports. */
void udp_flow_make(const struct stack *s, const struct udp_peer *to, uint16_t from,
		   struct udp_flow *flow);
/* Returns how many datagrams may be begun now. */
uint32_t udp_flow_room(const struct stack *s);
/* Returns the place for the next payload, with room for the longest datagram over IPv4. Not NULL
 * while udp_flow_room() is not 0. */
uint8_t *udp_flow_begin(struct stack *s);
void udp_flow_commit(struct stack *s, const struct udp_flow *flow, uint32_t payload_len);

#endif
