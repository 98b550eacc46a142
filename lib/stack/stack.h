/*
 * stack.h - one core's network stack: IPv4 and IPv6, neighbours, ICMP, UDP, TCP. It carries bytes
 * and does not know requests.
 *
 * The core drives it stage by stage (core_turn). The service reads and writes byte streams and
 * datagrams between stack_input() and stack_output().
 *
 * Shape:  one stack a core; only neighbour table, source table and path MTU reports are shared.
 * Units:  peers' addresses are struct ip_addr; our IPv4 address and all ports are in host order;
 *         times are ns on the caller's clock.
 * Owner:  from classify to stack_release() the stack owns the received frames. Views into them
 *         (conn_peek, datagram payload) are valid until stack_release().
 * Thread: core-local, except *_mt.
 * Errors: invalid frames are dropped and counted by reason (STACK_COUNTERS).
 * Bounds: frames sent in a turn: TX_QUEUE_MAX.
 *         Datagrams kept over turns: UDP_BACKLOG_MAX.
 *         Connections: conns_max. Received frames that they hold: rx_frames_max.
 *         Unsent and unacknowledged bytes: chunks * CHUNK_BYTES.
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

/* Free frames in the frame cache: one for each slot of the transmit queue, and a received burst
 * that is freed. */
#define FRAME_CACHE_MAX (TX_QUEUE_MAX + BURST_MAX)
/* Frames that a stack may own at once, besides cfg->rx_frames_max: its frame cache, its transmit
 * queue, and a burst. The port's pool is sized by it. */
#define STACK_FRAMES_MAX (FRAME_CACHE_MAX + TX_QUEUE_MAX + BURST_MAX)
/* Unread datagrams kept for later turns; with UDP a stack owns so many frames more. */
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
	/* IPv6: the link-local address is made from the port's MAC; this is a second one. */
	struct ip_addr ipv6;     /* zero = none */
	uint32_t prefix6_len;    /* 0..128 */
	struct ip_addr gateway6; /* zero = none */
	uint16_t vlan;           /* 802.1Q tag on every frame, in and out; 0 = none */
	uint8_t vlan_priority;   /* of what we send, 0..7 */
	uint16_t tcp_port;       /* 0 = off */
	uint16_t udp_port;       /* 0 = off */
	uint16_t udp_ports;      /* number of ports from udp_port on; 0 is one */
	uint32_t conns_max;
	uint32_t chunks;        /* send chunks of this core */
	uint32_t rx_frames_max; /* received frames that all connections may hold */
	enum congestion congestion;
	uint64_t keepalive_idle_ns;
	bool timestamps;                   /* RFC 7323, with peers that offer them */
	uint64_t seed;                     /* flow hash */
	uint32_t conns_per_source;         /* 0 = any number */
	struct conn_sources *sources;      /* of all cores; NULL without a limit */
	struct pmtu_reports *pmtu_reports; /* of all cores; NULL with one */
	uint32_t syn_lines;    /* of syn_history.h, a power of two; 0 = no SYN is deferred */
	struct prf_key secret; /* sequence numbers, cookies, ports */
};

/* Why an active open failed. */
enum conn_failure {
	CONNECT_REFUSED,     /* the peer reset it */
	CONNECT_TIMED_OUT,   /* no answer */
	CONNECT_UNREACHABLE, /* the next hop does not answer */
	CONNECT_STOPPED,     /* the stack drains */
};

/* Callbacks of the service. */
struct stack_user {
	void *arg;
	void (*opened)(void *arg, struct conn *c); /* handshake complete */
	void (*gone)(void *arg, struct conn *c);   /* c is invalid after this */
	/* Instead of opened(), after conn_connect(). May be NULL if that is never called. */
	void (*failed)(void *arg, struct conn *c, enum conn_failure why);
};

size_t stack_bytes(const struct stack_config *cfg);
struct stack *stack_create(struct region *region, const struct stack_config *cfg, struct port *port,
			   struct neigh_table *neigh);
void stack_attach(struct stack *s, const struct stack_user *user);

/* ---- the stages, in order; called by core_turn only ---- */

/* Local addresses: a reply leaves from the one that the request was sent to. */
enum local {
	LOCAL_V4,
	LOCAL_LINK6,
	LOCAL_GLOBAL6,
	LOCAL_COUNT,
};

/* Received frames by handler: indices into the burst. */
struct classified {
	uint32_t udp_count, tcp_count, other_count;
	uint8_t udp[BURST_MAX], tcp[BURST_MAX], other[BURST_MAX];
	struct burst rx; /* filled by stage 1 */
	struct l3_info {
		_Alignas(8) struct ip_addr src_ip; /* a row is 24 bytes */
		uint16_t l4_offset;                /* bytes from the frame's start */
		uint16_t l4_len; /* header and payload, from the IP total length */
		uint8_t local;   /* enum local: the destination */
		uint8_t kind;    /* of other[]: enum other_kind */
	} l3[BURST_MAX];
	struct conn *conn[BURST_MAX]; /* after match: the likely connection; NULL = none */
};

/* Frames that stage 1 may receive: as many as can be answered. Stage 1 must not ask for fewer,
 * since a turn that received this many counts as one with more frames waiting. */
uint32_t stack_rx_budget(const struct stack *s);
void stack_classify(struct stack *s, struct classified *in);               /* 2 */
void stack_match(struct stack *s, struct classified *in);                  /* 3 */
void stack_input(struct stack *s, struct classified *in, uint64_t now_ns); /* 4 */
void stack_release(struct stack *s);                 /* end of 7: frees frames */
void stack_tick(struct stack *s, uint64_t now_ns);   /* 8 */
void stack_output(struct stack *s, uint64_t now_ns); /* 9 */
/* 10: frames that the port refuses stay in the transmit queue. Returns frames sent. */
uint32_t stack_tx(struct stack *s);

/* When the next timer is due (ns); UINT64_MAX: none. For cores that sleep, and simulators. */
uint64_t stack_next_timer(const struct stack *s);
/* After a turn: is there work without a frame or a timer? Requeued connections, datagrams kept, or
 * frames that the port refused. */
bool stack_has_work(const struct stack *s);

/* Shutdown: refuses new connections and closes all others; true once none is left. */
bool stack_drain(struct stack *s, uint64_t now_ns);

/* ---- byte streams, for the service ---- */

#define CHUNK_BYTES      2048u
#define CONN_RESERVE_MAX 1984u /* contiguous bytes one conn_reserve can ask for */
#define CONN_SENDQ_BYTES                                                                           \
	(256u * 1024u) /* a connection with more than this queued is not writable                  \
			*/

/* Connections that are readable, at end of stream, or writable again after a refusal; oldest first.
 * A popped connection returns only by a new event or conn_requeue(). */
struct conn *stack_pop_ready(struct stack *s);
void conn_requeue(struct stack *s, struct conn *c);

uint32_t conn_slot(const struct conn *c); /* 0..conns_max-1, stable for its life */
/* The peer's address and port; valid from opened() to gone(). */
void conn_peer(const struct conn *c, struct ip_addr *ip, uint16_t *port);
/* The local address: enum local. */
uint8_t conn_local(const struct conn *c);

/* Active open (RFC 9293 section 3.10.1). Call between stack_input() and stack_output(). Either
 * opened() or failed() follows, unless the connection is closed or aborted before; until then it
 * must not be read or written. NULL: refused, and counted by reason. */
struct conn_target {
	struct ip_addr ip;
	uint16_t port;
	uint16_t local_port; /* 0: an unpredictable one (RFC 6056) */
};
struct conn *conn_connect(struct stack *s, const struct conn_target *to);

/* The contiguous bytes at the read position; len 0: none. */
struct view conn_peek(const struct conn *c);
/* Advances the read position by n <= conn_peek().len; the bytes stay valid until stack_release().
 */
void conn_advance(struct stack *s, struct conn *c, uint32_t n);
/* Bytes that wait there, all told. */
uint32_t conn_unread(const struct conn *c);
/* The service reads this connection's data in the turn in which it comes, until it says otherwise:
 * there are frames for it even while others, which wait, hold all they may. */
void conn_expect(struct conn *c, bool expected);
/* Data was dropped for want of frames, and nothing in order has come since: the peer will be silent
 * until its retransmission timer fires. Then the connection becomes ready. */
bool conn_awaits_retransmission(const struct conn *c);
bool conn_eof(const struct conn *c); /* all bytes before the peer's FIN were read */

/* Is there room for `replies` reservations of CONN_RESERVE_MAX bytes? If not, the connection
 * becomes ready again when there is. If so, they are credited until the end of the turn. */
bool conn_writable(struct stack *s, struct conn *c, uint32_t replies);
/* Credits as many of `replies` as there is room for, and returns the number; 0 as conn_writable().
 */
uint32_t conn_credit_take(struct stack *s, struct conn *c, uint32_t replies);
/* Returns credits of this turn that are not needed. */
void conn_credit_return(struct stack *s, uint32_t replies);
/* Contiguous room at the end of the send queue; never NULL with a credit. */
uint8_t *conn_reserve(struct stack *s, struct conn *c, uint32_t bytes);
/* The same, with the size of the room, for several replies in one commit. */
uint8_t *conn_reserve_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t *room);
void conn_commit(struct stack *s, struct conn *c, uint32_t bytes);
/* Queues an external buffer, which must stay valid until release(arg) is called: acknowledged, or
 * the connection is gone. False: no descriptor, nothing queued. */
bool conn_write_external(struct stack *s, struct conn *c, const uint8_t *data, uint32_t len,
			 void (*release)(const void *arg), const void *arg);

void conn_close(struct stack *s, struct conn *c); /* FIN after the queued bytes */
/* The same, without further callbacks: gone() is called before it returns. */
void conn_close_detach(struct stack *s, struct conn *c);
void conn_abort(struct stack *s, struct conn *c); /* RST; gone() is called before it returns */

/* Requests wait unread for memory of the service. For ten seconds, no wide windows are advertised:
 * those that wait next must not be promised more frames than there are. */
void stack_requests_wait(struct stack *s);
/* Memory pressure: the service needs what external buffers pin. For some seconds, connections that
 * do not acknowledge queued bytes are reset. */
void stack_memory_pressure(struct stack *s);

/* A chunk for the service itself: a partial request. */
uint8_t *stack_chunk_get(struct stack *s); /* CHUNK_BYTES; NULL when none is free */
/* The same for one credit; never NULL. */
uint8_t *stack_chunk_get_credited(struct stack *s);
void stack_chunk_put(struct stack *s, uint8_t *chunk);

/* ---- datagrams, for the service ---- */

/* The sender of a datagram, and where the reply goes. */
struct udp_peer {
	uint8_t mac[6];
	uint16_t our_port; /* destination of the request, source of the reply */
	uint16_t port;
	struct ip_addr ip;
	uint8_t local; /* enum local: the same for the address */
};

struct datagram {
	struct udp_peer from;
	struct view payload;
	/* Private to the stack: the frame it came in, or the last fragment's. */
	struct frame *frame;
	uint8_t *start;
	uint16_t l4_offset; /* bytes from start */
	uint16_t cell;      /* of its source, while it is kept */
	bool answered;
};

/* The datagrams of this turn, oldest first: those kept, then those received. */
struct datagram *stack_datagrams(struct stack *s, uint32_t *count);
/* Keeps the datagrams from number `first` on for the next turn, bytes in place. The last call of a
 * turn counts; without one all are freed. Beyond a source's limit or UDP_BACKLOG_MAX the newest are
 * dropped. */
void stack_datagrams_defer(struct stack *s, uint32_t first);
/* Where an in-place reply is written (over the request), and its room. */
uint8_t *udp_reply_buffer(struct stack *s, struct datagram *d, uint32_t *room);
/* Sends the request's frame back with payload_len bytes of payload. */
void udp_reply_in_place(struct stack *s, struct datagram *d, uint32_t payload_len);
/* Resolves to->mac by route; ip, port and local are set. False: not known yet, and solicited as far
 * as the limits allow; try again. Call between stack_input() and stack_output(). */
bool udp_resolve(struct stack *s, struct udp_peer *to);
/* Begins a datagram in a fresh frame, with room for *room bytes of payload; NULL: no room. */
uint8_t *udp_begin(struct stack *s, const struct udp_peer *to, uint32_t *room);
void udp_commit(struct stack *s, uint32_t payload_len); /* the one begun last; 0 discards it */

/* Many datagrams from one port to one peer over IPv4: a header template. */
#define UDP_FLOW_HEADERS 42u
struct udp_flow {
	uint8_t headers[UDP_FLOW_HEADERS]; /* lengths and checksums are zero */
	uint64_t ip_sum, udp_sum;          /* of the headers, of the pseudo header and ports */
};
/* to: resolved; from: one of our UDP ports. */
void udp_flow_make(const struct stack *s, const struct udp_peer *to, uint16_t from,
		   struct udp_flow *flow);
/* Datagrams that may be begun now. */
uint32_t udp_flow_room(const struct stack *s);
/* Where the next payload goes, with room for stack_datagram_max() bytes; not NULL while
 * udp_flow_room() is not 0. */
uint8_t *udp_flow_begin(struct stack *s);
void udp_flow_commit(struct stack *s, const struct udp_flow *flow, uint32_t payload_len);
uint32_t stack_datagram_max(const struct stack *s);

/* ---- telemetry ---- */

struct stack_usage {
	uint32_t conns, conns_max, chunks_used, chunks, rx_frames_held;
	uint32_t conns_open; /* between opened() and gone() */
};
void stack_usage_mt(const struct stack *s, struct stack_usage *out);
const struct counter *stack_counters(const struct stack *s); /* STACK_COUNTER_COUNT of them */
extern const struct counter_name stack_counter_names[STACK_COUNTER_COUNT];

#endif
