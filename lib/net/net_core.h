/*
 * net_core.h - struct net, and the functions for the transport above it (lib/tcp) and lib/stack.
 *
 * A net checks TCP's checksums and sorts TCP frames into tcp[], for the transport. Path MTU reports
 * that quote TCP are put into `pmtu_reports`, which the transport empties each turn.
 *
 * Shape:  a transport embeds its net as the first member, so that one pointer serves for both, and
 *         counts in the same array, from NET_COUNTER_COUNT on.
 * Owner:  a frame is in exactly one place: the burst being classified, the datagram backlog, the
 *         transmit queue, the frame cache, the deferred-free list, or a connection's receive queue.
 * Thread: core-local, except *_mt.
 * Bounds: a received frame that may be sent back as its reply has a transmit credit, so that the
 *         transmit queue has a slot for it.
 */
#ifndef CLOCKOO_NET_CORE_H
#define CLOCKOO_NET_CORE_H

#include "net.h"
#include "net_counters.h"
#include "pmtu_reports.h"
#include "rate_limit.h"
#include "base/check.h"
#include "base/prefetch.h"
#include "base/region.h"
#include "base/vec16.h"
#include "wire/inet_cksum.h"
#include "wire/udp_wire.h"

/* Frames to send, oldest first. Frame i is at place i % BURST_MAX of burst[i / BURST_MAX], so that
 * the port gets complete bursts. Frames that the port refuses move to the front. */
#define TX_QUEUE_BURSTS (TX_QUEUE_MAX / BURST_MAX)

struct tx_queue {
	/* The burst of the next frame; if the queue is full, the one after the last. */
	struct burst *open;
	uint32_t count;
	struct burst burst[TX_QUEUE_BURSTS];
};

/* Free frames for packets that are not sent in place. At the start of a turn the cache is refilled
 * from the port to FRAME_CACHE_TARGET; at its end freed received frames fill it to FRAME_CACHE_MAX.
 * It is a stack, since the last frame put in is most likely in the CPU's cache. */
#define FRAME_CACHE_TARGET TX_QUEUE_MAX

struct frame_cache {
	uint32_t count;
	uint8_t *data[FRAME_CACHE_MAX];
	struct frame *frame[FRAME_CACHE_MAX];
};

/* The handler of a frame of other[]. */
enum other_kind {
	OTHER_ARP,
	OTHER_ICMP,
	OTHER_ICMP6,
	OTHER_FRAGMENT,
	OTHER_ECHO_FRAGMENT,
};

#define UDP4_TEMPLATE_BYTES 32u
/* Slots of the transmit queue that transmit credits never take: for the transport, and for ARP and
 * ND requests. */
#define TX_QUEUE_RESERVE           64u
#define NET_TRANSPORT_COUNTERS_MAX 128u

/* A walk through our groups, which begins at number LOCAL_LINK6 of each link. */
struct mld_walk {
	uint32_t link, at; /* at: number of the address whose group is next */
	uint32_t looks;    /* numbers that may still be examined in this turn */
	bool is_change;    /* joined and left groups are reported, not the present ones */
};

/* Pending queries of one link; times are 0 if there is none. */
struct mld_link {
	/* Times of the answer about all groups, and of the answer about the group of one
	 * address. */
	uint64_t all_at_ns, one_at_ns;
	uint32_t all_next;       /* number at which that answer continues */
	uint16_t one;            /* the number of that address */
	struct rate_limit limit; /* limit of answers */
};

struct mld {
	uint64_t due_ns; /* time of the next answer; UINT64_MAX: none */
	struct mld_walk change;
	struct mld_link link[2 * LINKS_MAX];
};

struct neigh_table;
struct reasm; /* see reasm.h */
struct kernel_lane;

/* The headers of an expected frame, compared under a mask in one step (classify.c); words in memory
 * order. */
#define FAST_HIGH_OFFSET 18u /* first byte after IPv4's total length */

struct fast_match {
	vec16 low, low_mask; /* Ethernet, and the IPv4 version and IHL */
	vec16 high, high_mask;
	uint64_t mac;       /* our MAC, in the low six bytes */
	uint32_t ip;        /* our address */
	uint32_t broadcast; /* broadcast address of our subnet; without a subnet, our address */
	uint32_t udp_port;  /* UINT32_MAX unless there is exactly one port */
	/* Headers of sent frames from byte 8 and from byte 16, without length. */
	uint64_t out_8, out_16;
	uint32_t len_min; /* UINT32_MAX with VLAN tags: no fast path */
};

struct net {
	struct net_config cfg;
	struct port *port;
	struct neigh_table *neigh;
	uint64_t now_ns;                  /* time of this turn */
	uint32_t now_us;                  /* modulo 2^32, for the scoreboard */
	uint32_t now_ms;                  /* modulo 2^32, for timestamps */
	struct reasm *reasm, *echo_reasm; /* for UDP, and for echo requests; NULL without UDP */
	const struct access_list *access; /* NULL: every source is allowed */
	struct kernel_lane *kernel;       /* NULL: the kernel has no share of the port */
	/* Lowest of the local ports for connections that we open. */
	uint32_t own_port_min;

	uint32_t ip_ol_flags;  /* FRAME_IP_CKSUM_FILL if the port fills the checksum, otherwise 0 */
	uint32_t udp_ol_flags; /* FRAME_L4_CKSUM_FILL if the port fills the checksum, otherwise 0 */
	uint32_t tcp_ol_flags; /* udp_ol_flags, with FRAME_L4_IS_TCP */
	/* Sum of our IPv4 header without protocol, length and addresses; and the same sum with our
	 * first address. */
	uint64_t ip_sum_any, ip_sum;
	/* The headers of our IPv4 datagrams from the source MAC on, without lengths, destination
	 * and checksums; and the sum of the pseudo header without length and destination. */
	uint8_t udp4_template[UDP4_TEMPLATE_BYTES];
	uint64_t udp4_pseudo_sum;
	uint16_t udp_span; /* number of our UDP ports */
	/* As datagram_max, for the smallest MTU of the port and of all routes. */
	uint16_t reply_max;
	uint32_t datagram_max; /* bytes of UDP payload in one frame of the port, over IPv4 */

	const struct local_addrs *addrs; /* the table in use; net_addrs_set() */
	const struct ip_addr *ip;        /* addrs->ip: our addresses by number */
	uint32_t ipv4;                   /* the address of number LOCAL_V4; 0: none */
	bool ipv6_enabled;               /* the MTU is at least the minimum of IPv6 */
	bool many4;                      /* more than one IPv4 address: classify.c */
	bool tagged;                     /* at least one link is a VLAN */
	uint16_t begun_local;            /* source of the packet that ip_begin() began */
	uint32_t fast_ether_type;        /* type of IPv4; UINT32_MAX if the first link is a VLAN */
	struct fast_match fast;

	uint32_t announce_round; /* last round of announcements that this core has seen */
	/* Announcements of that round that are left, if this core makes them. */
	uint32_t announces_left;
	uint32_t announce_next;  /* the number of the address to announce next */
	uint64_t announce_at_ns; /* time of the next announcement */
	struct rate_limit echo_limit, echo_fragment_limit, neigh_limit[NEIGH_LIMITS];
	struct classified *in;   /* the frames of this turn */
	bool rx_backlog;         /* the burst was full, so the port may have more frames */
	uint32_t tx_credits;     /* received frames that may still be sent back as replies */
	uint32_t datagram_first; /* index in datagrams[] of this turn's first datagram */
	uint32_t datagram_count;
	uint32_t backlog_count; /* datagrams of this turn that were kept from earlier turns */
	/* Kept datagrams, the last ones, that the service does not see in this turn. */
	uint32_t datagrams_withheld;
	/* Datagrams that it sees, the last ones, that are deferred to the next turn. */
	uint32_t datagrams_unread;
	uint16_t backlog_by_source[2][UDP_SOURCES]; /* numbers of kept datagrams by backlog_cell():
						       whole ones, reassembled ones */
	/* Kept datagrams of networks that are not read first. */
	uint32_t backlog_far;
	const uint64_t *sources_waiting; /* the service's bitmap, or NULL */
	bool backlog_first_stays;        /* the first datagram must keep its place */

	/* The deferred-free list. to_free_max counts every received frame that this core can own,
	 * so the list always has room. */
	uint32_t to_free_count, to_free_max;
	struct frame **to_free;
	uint8_t **to_free_start;

	struct pmtu_inbox pmtu_reports; /* read and emptied by the transport each turn */
	struct tx_queue out;
	struct frame_cache frame_cache;
	/* The backlog is moved to the front only when it begins in the second half. */
	struct datagram datagrams[2 * UDP_BACKLOG_MAX + BURST_MAX];
	struct mld mld;
	_Alignas(CACHE_LINE_BYTES) struct counter
		counters[NET_COUNTER_COUNT + NET_TRANSPORT_COUNTERS_MAX];
};

/* Returns the net of a handle, which is its first member. */
static inline struct net *
stack_net(const struct stack *s)
{
	return (struct net *)(void *)s;
}

/* True for our UDP ports. A server has one port, or one for each core. A client has several, so
 * that RSS spreads the replies to it. */
static inline bool
udp_port_is_ours(const struct net *net, uint16_t port)
{
	return (uint16_t)(port - net->cfg.udp_port) < net->udp_span;
}

/* True if a source port is one of ours: after a spoofed datagram two caches would answer each other
 * for ever. */
static inline bool
udp_source_is_bad(const struct net *net, const struct udp *udp)
{
	return udp->src_port == 0 || udp_port_is_ours(net, udp->src_port);
}

static inline void
net_count(struct net *net, enum net_counter which)
{
	counter_add(&net->counters[which], 1);
}

/* ---- for the transport ---- */

/* True if the transmit queue has a slot, and there is a frame for it. */
static inline bool
tx_queue_has_room(const struct net *net)
{
	return net->out.count + net->tx_credits < TX_QUEUE_MAX && net->frame_cache.count != 0;
}

/* Destination of a packet, and number of the address that is its source. */
struct ip_dest {
	const struct ip_addr *dst;
	uint16_t local;
	uint8_t protocol;
};

/* Returns the bytes of the IP header of packets from a local address. */
static inline uint32_t
ip_header_bytes(uint32_t local)
{
	return local_is_v4(local) ? 20 : 40;
}

/* Begins an IP packet to mac in a fresh frame at the end of the transmit queue. Returns where its
 * L4 header goes; NULL: no slot or no frame. */
uint8_t *ip_begin(struct net *net, const uint8_t mac[6], struct ip_dest dest);
/* Finishes the packet: IP length and checksum, and the L4 checksum over l4_len bytes, in software
 * or by the port. cksum_at: offset of that checksum in the L4 header. A packet without a commit is
 * not sent. */
void ip_commit(struct net *net, uint32_t l4_len, uint32_t cksum_at);
/* Does as ip_commit() for a TCP segment whose last bytes are a loan of the frame (pkt/port.h). The
 * port fills the checksum. */
void ip_commit_lent(struct net *net, uint32_t l4_len, uint32_t cksum_at, uint32_t lent);

/* Returns the MAC of the next hop (on-link or a gateway) from a local address. If the neighbour
 * table does not have it, it is solicited, and `fallback` is used: the MAC that the peer's frames
 * come from. The fallback is also used if the link of the local address has no route. */
void next_hop_mac(struct net *net, struct ip_dest to, const uint8_t fallback[6], uint8_t mac[6]);

/* Returns the MAC of the next hop if it is reachable, and how long it is, as long as the table's
 * generation stays the same (neigh_generation_mt). */
bool next_hop_reachable(const struct net *net, struct ip_dest to, uint8_t mac[6],
			uint64_t *until_ns);
void next_hop_doubt(struct net *net,
		    struct ip_dest to); /* solicits a next hop from which no reply came */
/* Returns the MTU towards dst: that of the port or of the route. */
uint32_t route_mtu(const struct net *net, const struct ip_addr *dst);

/* Puts a received frame on the deferred-free list. start: its first byte as classify.c left it. */
void frame_defer_free(struct net *net, struct frame *f, uint8_t *start);

/* Selects a source address (RFC 6724). Returns the number of ours; LOCAL_NONE: we have none of the
 * family. */
uint16_t local_addr_select(const struct net *net, const struct ip_addr *dst);

/* Returns how many fresh frames may be sent: free slots of the transmit queue, without those for
 * transmit credits, but at most the frames in the cache. */
uint32_t tx_queue_room(const struct net *net);
/* Frames with all headers, which tx_queue_push() sends (tx_queue.h). */
uint8_t *tx_queue_begin(struct net *net); /* a fresh frame; NULL: no slot or no frame */
uint8_t *tx_queue_begun(struct net *net); /* the same frame again */

/* ---- the stages, for lib/stack ---- */

size_t net_bytes(const struct net_config *cfg);
/* Initializes *net, which must be zero. */
void net_create(struct net *net, struct region *region, const struct net_config *cfg,
		struct port *port, struct neigh_table *neigh);
/* Changes to another table, which was made after the one in use. Called between net_input() and
 * net_tick(). */
void net_addrs_set(struct net *net, const struct local_addrs *addrs);
uint32_t net_rx_budget(const struct net *net);
void net_classify(struct net *net, struct classified *in);
/* Takes ownership of the frames of in->other and in->udp. */
void net_input(struct net *net, const struct classified *in);
void net_release(struct net *net);
void net_tick(struct net *net);
uint32_t net_tx(struct net *net);
/* Gives the free frames and the unsent ones back to the port. Called between two turns. */
void net_end(struct net *net);
/* Returns the time of the next announcement or report of groups; UINT64_MAX: there is none. */
uint64_t neigh_next(const struct net *net);
bool net_has_work(const struct net *net);

#endif
