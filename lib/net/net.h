/*
 * net.h - one core's net: Ethernet, neighbours, IPv4, IPv6, ICMP and UDP. Public: types for all
 * rooms above, and datagrams for the service.
 *
 * lib/stack drives it, and lib/tcp sends through it (net_core.h); it knows neither.
 *
 * Shape:  one net a core; only the neighbour table is shared.
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

/* Free frames in the frame cache: one for each slot of the transmit queue, so that a free slot
 * implies a free frame, plus a received burst that is freed. */
#define FRAME_CACHE_MAX (TX_QUEUE_MAX + BURST_MAX)
/* Frames that a stack may own at once, besides cfg->rx_frames_max: its frame cache, its transmit
 * queue, and a burst. The port's pool is sized by it. */
#define STACK_FRAMES_MAX (FRAME_CACHE_MAX + TX_QUEUE_MAX + BURST_MAX)
/* Unread datagrams kept for later turns. With UDP a stack owns this many more frames. */
#define UDP_BACKLOG_MAX  1024u
#define UDP_SOURCES      1024u /* hashed cells that distinguish the sources of datagrams */
#define UDP_NETWORKS_MAX 16u

struct access_list;
struct kernel_lane;

/* A network whose datagrams are read before those of others. */
struct udp_network {
	struct ip_addr ip;
	uint32_t prefix_len; /* in bits of the 128 */
};

struct net_config {
	uint32_t ipv4;       /* our address */
	uint32_t prefix_len; /* 0..32 */
	uint32_t gateway;    /* 0 = none */
	/* IPv6: the link-local address is made from the port's MAC; ipv6 is a second one. */
	struct ip_addr ipv6; /* zero = none */
	/* No IPv6, not even a link-local address: IPv6 frames are dropped. */
	bool ipv6_off;
	uint32_t prefix6_len;    /* 0..128 */
	struct ip_addr gateway6; /* zero = none */
	/* VLAN of the 802.1Q tag on every frame received and sent; 0 = none. */
	uint16_t vlan;
	uint8_t vlan_priority;            /* priority of frames sent, 0..7 */
	uint16_t udp_port;                /* 0 = off */
	uint16_t udp_ports;               /* number of ports from udp_port on; 0 counts as one */
	uint32_t rx_frames_max;           /* received frames that all connections may hold */
	const struct access_list *access; /* sources that are allowed; NULL: all */
	/* The table of our addresses, links and routes; NULL: one is made of the fields above. */
	const struct local_addrs *addrs;
	struct kernel_lane *kernel; /* the kernel's share of the port; NULL: none */
	/* Networks whose datagrams are read first while some are kept. Without such networks all
	 * are alike. */
	struct udp_network udp_networks[UDP_NETWORKS_MAX];
	uint32_t udp_network_count;
	uint64_t seed; /* seed of hashes of flows, stations and sources */
};

/* Received frames by handler: indices into the burst. */
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
	uint16_t our_port; /* destination port of the request, source port of the reply */
	struct ip_addr ip;
	uint16_t local; /* our address: the destination of the request, the source of the reply */
};

/* Datagrams of near sources are read first: sources in udp_networks, or all sources if there are no
 * such networks. */
enum datagram_kept { DATAGRAM_NEW, DATAGRAM_KEPT_NEAR, DATAGRAM_KEPT_FAR };

struct datagram {
	struct udp_peer from;
	struct view payload;
	/* Private to the stack: the frame of the datagram, or of its last fragment. */
	struct frame *frame;
	uint8_t *start;
	uint16_t l4_offset; /* bytes from start */
	/* Cells of its source, and of the source's network; valid while it is kept. */
	uint16_t cell, network;
	bool answered;
	uint8_t kept;      /* enum datagram_kept: whether it is from an earlier turn */
	uint64_t since_ns; /* turn in which it was received */
};

/* Returns the datagrams of this turn: those kept, then those received. */
struct datagram *stack_datagrams(struct stack *s, uint32_t *count);
/* Keeps the datagrams from number `first` on for the next turn; their bytes stay in place. The last
 * call of a turn counts; without a call all are freed. Beyond a source's limit or UDP_BACKLOG_MAX
 * the newest are dropped. */
void stack_datagrams_defer(struct stack *s, uint32_t first);
/* Returns the number of a peer's source, below UDP_SOURCES: a hash of its IPv4 address, or of the
 * /64 of its IPv6 address. */
uint32_t stack_udp_source(const struct stack *s, const struct udp_peer *from);
/* Makes the end of the turn move up to BURST_MAX kept datagrams to the front, except those whose
 * sources wait. Sources in udp_networks come first; then networks, and sources within them, take
 * turns. Datagrams of one source keep their order. first_stays: the first datagram is not moved.
 * waiting: the caller's bitmap of sources, which is read until the next call. */
void stack_datagrams_pass_over(struct stack *s, const uint64_t *waiting, bool first_stays);
/* Returns where an in-place reply is written (over the request), and its room. */
uint8_t *udp_reply_buffer(struct stack *s, struct datagram *d, uint32_t *room);
/* Sends the request's frame back with payload_len bytes of payload. */
void udp_reply_in_place(struct stack *s, struct datagram *d, uint32_t payload_len);
/* Resolves to->mac by route and chooses to->local. The caller sets ip and port. False: the MAC is
 * not known yet, and is solicited as far as the limits allow; try again. Called between
 * stack_input() and stack_output(). */
bool udp_resolve(struct stack *s, struct udp_peer *to);
/* Begins a datagram in a fresh frame, with room for *room bytes of payload; NULL: no room. */
uint8_t *udp_begin(struct stack *s, const struct udp_peer *to, uint32_t *room);
/* Sends the datagram begun last; 0 discards it. */
void udp_commit(struct stack *s, uint32_t payload_len);

/* A header template for many datagrams from one port to one peer over IPv4. */
#define UDP_FLOW_HEADERS 42u
struct udp_flow {
	uint8_t headers[UDP_FLOW_HEADERS]; /* lengths and checksums are zero */
	/* Sums of the headers, and of the pseudo header and ports. */
	uint64_t ip_sum, udp_sum;
};
/* to: a resolved peer. from: one of our UDP ports. */
void udp_flow_make(const struct stack *s, const struct udp_peer *to, uint16_t from,
		   struct udp_flow *flow);
/* Returns how many datagrams may be begun now. */
uint32_t udp_flow_room(const struct stack *s);
/* Returns where the next payload goes, with room for the longest datagram over IPv4. Not NULL while
 * udp_flow_room() is not 0. */
uint8_t *udp_flow_begin(struct stack *s);
void udp_flow_commit(struct stack *s, const struct udp_flow *flow, uint32_t payload_len);

#endif
