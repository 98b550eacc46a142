/*
 * stack.h - one core's network stack: IPv4 and IPv6, neighbours, ICMP, UDP, TCP. Knows bytes, not
 * requests.
 *
 * The core drives it stage by stage (core_turn); the service reads and writes byte streams
 * and datagrams between stack_input() and stack_output().
 *
 * Shape:  everything a core touches per packet is its own; only the ARP table is shared.
 * Units:  addresses are struct ip_addr, an IPv4 one of our own a number in host order, as ports
 *         are; times in ns on the caller's clock.
 * Owner:  between sort and the end of answer the stack owns the received frames; views into them
 *         (conn_peek, datagram payload) are valid until stack_release().
 * Thread: core-local, but for neigh_table (see neigh_table.h).
 * Errors: bad frames are dropped and counted by reason (STACK_COUNTERS).
 * Bounds: TX_QUEUE_MAX frames out a turn; UDP_BACKLOG_MAX datagrams kept over turns; conns_max
 *         connections; chunks * CHUNK_BYTES unsent or unacknowledged bytes; rx_frames_max frames
 *         held by connections.
 */
#ifndef CLOCKOO_STACK_H
#define CLOCKOO_STACK_H

#include "base/bytes.h"
#include "base/counter.h"
#include "base/ip_addr.h"
#include "base/prf.h"
#include "base/region.h"
#include "pkt/port.h"

#include "stack_counters.h"

#define TX_QUEUE_MAX 256u

/* Empty frames in its frame cache: one for each place on the transmit queue, and a burst that was
 * received and is to be freed. */
#define FRAME_CACHE_MAX (TX_QUEUE_MAX + BURST_MAX)
/* Frames of the port that a stack may own at once, besides cfg->rx_frames_max: its frame cache, its
 * transmit queue, and the burst it works on. For whoever sizes the port's pool. */
#define STACK_FRAMES_MAX (FRAME_CACHE_MAX + TX_QUEUE_MAX + BURST_MAX)
/* Datagrams kept for later turns at most, and with UDP so many frames more: twenty bursts of which
 * a turn reads a fifth. */
#define UDP_BACKLOG_MAX 1024u

struct neigh_table;
struct conn;
struct conn_sources;
struct stack;

enum congestion {
	CC_CUBIC,   /* RFC 9438 */
	CC_NEWRENO, /* RFC 5681, RFC 6582 */
};

struct stack_config {
	uint32_t ipv4;       /* our address */
	uint32_t prefix_len; /* 0..32 */
	uint32_t gateway;    /* 0 = none */
	/* IPv6: the address of the link is made from the port's MAC; this is one more. */
	struct ip_addr ipv6;     /* zero = none */
	uint32_t prefix6_len;    /* 0..128 */
	struct ip_addr gateway6; /* zero = none */
	uint16_t vlan;           /* 802.1Q tag on every frame, in and out; 0 = none */
	uint8_t vlan_priority;   /* of what we send, 0..7 */
	uint16_t tcp_port;       /* 0 = off */
	uint16_t udp_port;       /* 0 = off */
	uint16_t udp_ports;      /* so many from udp_port on; 0 is one */
	uint32_t conns_max;
	uint32_t chunks;        /* send chunks of this core */
	uint32_t rx_frames_max; /* received frames that connections may hold, together */
	enum congestion congestion;
	uint64_t keepalive_idle_ns;
	bool timestamps;                   /* RFC 7323, with peers that offer them */
	uint64_t seed;                     /* flow hash */
	uint32_t conns_per_source;         /* 0 = any number */
	struct conn_sources *sources;      /* of all cores; NULL if any number */
	struct pmtu_reports *pmtu_reports; /* of all cores; NULL with one */
	uint32_t syn_lines;    /* of syn_history.h, a power of two; 0 = every SYN is answered */
	struct prf_key secret; /* sequence numbers, cookies, ports */
};

/* Why conn_connect() came to nothing. */
enum conn_failure {
	CONNECT_REFUSED,     /* the peer reset it */
	CONNECT_TIMED_OUT,   /* no answer */
	CONNECT_UNREACHABLE, /* the next hop does not answer */
	CONNECT_STOPPED,     /* we are stopping */
};

/* What the stack tells the service. */
struct stack_user {
	void *arg;
	void (*opened)(void *arg, struct conn *c); /* handshake complete */
	void (*gone)(void *arg, struct conn *c);   /* forget everything about it now */
	/* Instead of opened(), for whoever calls conn_connect(); else NULL will do. */
	void (*failed)(void *arg, struct conn *c, enum conn_failure why);
};

size_t stack_bytes(const struct stack_config *cfg);
struct stack *stack_create(struct region *region, const struct stack_config *cfg, struct port *port,
			   struct neigh_table *neigh);
void stack_attach(struct stack *s, const struct stack_user *user);

/* ---- the stages, in order; called by core_turn only ---- */

/* Our addresses: an answer leaves from the one that was asked. */
enum local {
	LOCAL_V4,
	LOCAL_LINK6,
	LOCAL_GLOBAL6,
	LOCAL_COUNT,
};

/* Received frames sorted by what handles them; indices into the burst. */
struct classified {
	uint32_t udp_count, tcp_count, other_count;
	uint8_t udp[BURST_MAX], tcp[BURST_MAX], other[BURST_MAX];
	struct burst rx; /* stage 1 puts the frames here */
	struct l3_info {
		_Alignas(8) struct ip_addr src_ip; /* so that a row is 24 bytes */
		uint16_t l4_offset;                /* bytes from the frame's start */
		uint16_t l4_len; /* header and payload, from the IP total length */
		uint8_t local;   /* enum local: which of our addresses it was sent to */
		uint8_t kind;    /* of other[]: enum other_kind, the stack's */
	} l3[BURST_MAX];
	struct conn *conn[BURST_MAX]; /* after match: most likely; NULL = no such flow */
};

/* Frames this stack can answer now: the bound of stage 1, which asks for no less: a turn that got
 * as many as this is taken for one behind which more are waiting. */
uint32_t stack_rx_budget(const struct stack *s);
void stack_classify(struct stack *s, struct classified *in);               /* 2 */
void stack_match(struct stack *s, struct classified *in);                  /* 3 */
void stack_input(struct stack *s, struct classified *in, uint64_t now_ns); /* 4 */
void stack_release(struct stack *s); /* end of 7: give back frames nobody needs any more */
void stack_tick(struct stack *s, uint64_t now_ns);   /* 8 */
void stack_output(struct stack *s, uint64_t now_ns); /* 9 */
/* 10; what the port refuses waits on the transmit queue. Returns frames sent. */
uint32_t stack_tx(struct stack *s);

/* When the next timer is due (ns), UINT64_MAX if none: for cores that may sleep and for the
 * simulator's clock. */
uint64_t stack_next_timer(const struct stack *s);
/* After a turn: has the next one work that neither a frame nor a timer brings? A connection is to
 * be read again, datagrams were kept, or frames that the port refused are to be offered again. */
bool stack_has_work(const struct stack *s);

/* Stop: refuse new connections, FIN on all others; true once none is left. */
bool stack_drain(struct stack *s, uint64_t now_ns);

/* ---- byte streams, for the service ---- */

#define CHUNK_BYTES      2048u
#define CONN_RESERVE_MAX 1984u /* contiguous bytes one conn_reserve can ask for */
#define CONN_SENDQ_BYTES                                                                           \
	(256u * 1024u) /* a connection with more than this queued is not writable                  \
			*/

/* Connections with something to read (or end of stream, or writable again after being refused
 * room), oldest first. A popped connection comes back only by a new event or conn_requeue(). */
struct conn *stack_pop_ready(struct stack *s);
void conn_requeue(struct stack *s, struct conn *c);

uint32_t conn_slot(const struct conn *c); /* 0..conns_max-1, stable for its life */
/* Who is at the other end, from opened() to gone(). */
void conn_peer(const struct conn *c, struct ip_addr *ip, uint16_t *port);
/* Which of our addresses it was opened to: enum local. */
uint8_t conn_local(const struct conn *c);

/* Open a connection (RFC 9293 section 3.10.1, active). Between stack_input() and stack_output();
 * opened() or failed() follows, unless it is closed or aborted before; until then nothing may be
 * read or written. NULL: refused at once, and counted why. */
struct conn_target {
	struct ip_addr ip;
	uint16_t port;
	uint16_t local_port; /* 0: one that nobody can guess (RFC 6056) */
};
struct conn *conn_connect(struct stack *s, const struct conn_target *to);

/* The contiguous bytes at the read position; len 0: nothing more now. */
struct view conn_peek(const struct conn *c);
/* Move the read position; bytes stay valid until stack_release(). n <= conn_peek().len. */
void conn_advance(struct stack *s, struct conn *c, uint32_t n);
bool conn_eof(const struct conn *c); /* all bytes before the peer's FIN were read */

/* Is there room to queue a few replies? If not, the connection becomes ready again when
 * there is. Covers `replies` reservations of CONN_RESERVE_MAX bytes. */
bool conn_writable(struct stack *s, struct conn *c, uint32_t replies);
/* The same for who has many to come: so many of them as there is room for, 0 if there is none. */
uint32_t conn_credit_take(struct stack *s, struct conn *c, uint32_t replies);
/* So many of what was promised this turn will not be asked for. */
void conn_credit_return(struct stack *s, uint32_t replies);
/* Contiguous room at the end of the send queue; never NULL after conn_writable. */
uint8_t *conn_reserve(struct stack *s, struct conn *c, uint32_t bytes);
/* The same, and how much there is, for replies that are committed as one. */
uint8_t *conn_reserve_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t *room);
void conn_commit(struct stack *s, struct conn *c, uint32_t bytes);
/* Queue bytes that lie elsewhere and stay there until release(arg) is called (they were
 * acknowledged, or the connection is gone). False: no piece left, nothing queued. */
bool conn_write_external(struct stack *s, struct conn *c, const uint8_t *data, uint32_t len,
			 void (*release)(const void *arg), const void *arg);

void conn_close(struct stack *s, struct conn *c); /* send what is queued, then FIN */
/* The same, and nothing more is to be heard of it: gone() is called before it returns. */
void conn_close_detach(struct stack *s, struct conn *c);
void conn_abort(struct stack *s, struct conn *c); /* RST; gone() is called before it returns */

/* What queued bytes keep in place (conn_write_external) is needed elsewhere: from now on, for some
 * seconds, who does not acknowledge them is reset. */
void stack_memory_pressure(struct stack *s);

/* Private scratch of one chunk for the service (a command line cut by a segment). */
uint8_t *stack_chunk_get(struct stack *s); /* CHUNK_BYTES; NULL when none is free */
/* The same instead of a reservation that conn_writable vouched for this turn; never NULL. */
uint8_t *stack_chunk_get_credited(struct stack *s);
void stack_chunk_put(struct stack *s, uint8_t *chunk);

/* ---- datagrams, for the service ---- */

/* Where an answer goes: back the way the request came. */
struct udp_peer {
	uint8_t mac[6];
	uint16_t our_port; /* which of ours was asked: where the answer comes from */
	uint16_t port;
	struct ip_addr ip;
	uint8_t local; /* enum local: where the answer comes from, again */
};

struct datagram {
	struct udp_peer from;
	struct view payload;
	/* The stack's: the frame it came in, or the last one of those that it came in. */
	struct frame *frame;
	uint8_t *start;
	uint16_t l4_offset; /* bytes from start */
	uint16_t cell;      /* of those kept: its source's */
	bool answered;
};

/* The datagrams of this turn, oldest first: those kept in the last one, then those that came. */
struct datagram *stack_datagrams(struct stack *s, uint32_t *count);
/* Those from number `first` on are for the next turn: where their bytes lie they stay. The last
 * call in a turn counts; without one all are done with. Beyond UDP_BACKLOG_MAX the youngest are
 * dropped, and before that those of a source that has most of them. */
void stack_datagrams_defer(struct stack *s, uint32_t first);
/* Where an in-place answer is written (over the request) and how long it may be. */
uint8_t *udp_reply_buffer(struct stack *s, struct datagram *d, uint32_t *room);
/* Send the request's frame back with payload_len bytes of payload. */
void udp_reply_in_place(struct stack *s, struct datagram *d, uint32_t payload_len);
/* A peer we speak to first: ip, port and local are set; finds its MAC by route. False: it is not
 * known yet, and has been asked for as far as the ARP table's rules allow; come again. Between
 * stack_input() and stack_output(). */
bool udp_resolve(struct stack *s, struct udp_peer *to);
/* A fresh datagram on the transmit queue: room for *room payload bytes; NULL: the transmit queue is
 * full. */
uint8_t *udp_begin(struct stack *s, const struct udp_peer *to, uint32_t *room);
void udp_commit(struct stack *s, uint32_t payload_len); /* the one begun last; 0 takes it back */

/* Many datagrams from one of our ports to one peer: headers made once, a checksum finished for each
 * (IPv4). */
#define UDP_FLOW_HEADERS 42u
struct udp_flow {
	uint8_t headers[UDP_FLOW_HEADERS]; /* lengths and checksums zero */
	uint64_t ip_sum, udp_sum;          /* of the headers, of the pseudo header and ports */
};
/* to: as udp_resolve() left it; from: udp_port, or one of udp_ports. */
void udp_flow_make(const struct stack *s, const struct udp_peer *to, uint16_t from,
		   struct udp_flow *flow);
/* How many may be begun now. */
uint32_t udp_flow_room(const struct stack *s);
/* Where the next one's payload goes, of which there is room for stack_datagram_max(); not NULL
 * while udp_flow_room() says so. */
uint8_t *udp_flow_begin(struct stack *s);
void udp_flow_commit(struct stack *s, const struct udp_flow *flow, uint32_t payload_len);
uint32_t stack_datagram_max(const struct stack *s);

/* ---- telemetry ---- */

struct stack_usage {
	uint32_t conns, conns_max, chunks_used, chunks, rx_frames_held;
	uint32_t conns_open; /* those the service knows: opened() and not gone() */
};
void stack_usage_mt(const struct stack *s, struct stack_usage *out);
const struct counter *stack_counters(const struct stack *s); /* STACK_COUNTER_COUNT of them */
extern const struct counter_name stack_counter_names[STACK_COUNTER_COUNT];

#endif
