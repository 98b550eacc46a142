/*
 * tcp_conn.h - one TCP connection: the transmission control block of RFC 9293 section 3.3.1.
 *
 * Shape:  hot fields first: the first lines are what every segment touches, timers and
 *         congestion control come last.
 * Units:  sequence numbers wrap (seq_before and friends); windows in bytes, unscaled; times in
 *         ns, round trips in us.
 * Owner:  a connection holds received frames through rx, queued bytes through tx.
 * Thread: core-local.
 * Bounds: the constants below.
 */
#ifndef CLOCKOO_TCP_CONN_H
#define CLOCKOO_TCP_CONN_H

#include "stack_core.h"
#include "tcp_sent.h"
#include "txq.h"
#include "wheel.h"

#include "base/check.h"
#include "base/list.h"

#define NS_PER_MS 1000000ull

/* Receiving: an unread byte costs its whole frame, so both are bounded. */
#define RX_WINDOW_BYTES    131072u
#define RX_WSCALE          2u
#define CONN_RX_FRAMES_MAX 96u /* in order and out of order together */
#define CONN_RX_HOLES_MAX  48u /* frames out of order */
/* A connection queues no more than this part of what is left, a chunk for each connection aside. */
#define CONN_TXQ_PART 32u

/* Sending. */
#define CONN_MSS_MIN      64u /* a smaller MSS is a way to make us work (CVE-2019-11479) */
#define DUP_ACKS_RESEND   3u  /* RFC 5681 section 3.2 */
#define INITIAL_CWND_SEGS 10u /* RFC 6928 */

/* Timers. RFC 6298 asks for a least RTO of 1 s; like Linux we take 200 ms: the peer is in the
 * same data centre, and a cache that answers after a second has not answered. */
#define RTO_MIN_US     200000u
#define RTO_MAX_US     60000000u
#define RTO_INITIAL_US 1000000u
#define RETRIES_MAX    10u /* about 160 s from RTO_MIN; R2 of RFC 9293 section 3.8.3 is 100 s */
#define SYN_RETRIES    5u
#define CONNECT_TRIES  7u /* of our own SYN: about 3 minutes (RFC 9293 section 3.8.3, MUST-23) */
#define RESOLVE_NS     (20 * NS_PER_MS) /* until our SYN looks for the next hop's MAC again */
#define RESOLVE_TRIES  150u
#define ACK_DELAY_NS   (40 * NS_PER_MS) /* RFC 9293 section 3.8.6.3: at most 500 ms */
#define TIME_WAIT_NS   (1000 * NS_PER_MS)
#define FIN_WAIT_NS    (60000 * NS_PER_MS) /* for the peer's FIN after ours was acknowledged */
#define KEEP_PROBES    9u
#define KEEP_PROBE_NS  (75000 * NS_PER_MS)
#define CHALLENGE_NS   (100 * NS_PER_MS) /* RFC 5961 section 7: between challenge ACKs */
#define NEVER          WHEEL_NEVER

/* LISTEN is not a connection. In the order of the RFC's figure: what stands before ESTABLISHED has
 * no user yet. */
enum conn_state {
	CONN_CLOSED,
	CONN_SYN_SENT,
	CONN_SYN_RCVD,
	CONN_ESTABLISHED,
	CONN_FIN_WAIT_1,
	CONN_FIN_WAIT_2,
	CONN_CLOSE_WAIT,
	CONN_CLOSING,
	CONN_LAST_ACK,
	CONN_TIME_WAIT,
};

enum conn_flag {
	CONN_OPENED = 1u << 0,     /* opened() was called, gone() was not */
	CONN_WSCALE = 1u << 1,     /* both sides scale their windows */
	CONN_ACK_NOW = 1u << 2,    /* an ACK goes out this turn */
	CONN_ACK_LATER = 1u << 3,  /* text is unacknowledged: on a reply, or when ack_at comes */
	CONN_SEND_SYN = 1u << 4,   /* SYN or SYN-ACK goes out this turn */
	CONN_CLOSE = 1u << 5,      /* the user closed: no more bytes in or out of its hands */
	CONN_PEER_FIN = 1u << 6,   /* peer_fin_seq is known */
	CONN_EOF = 1u << 7,        /* all before the peer's FIN was received */
	CONN_WANT_ROOM = 1u << 8,  /* the user was refused room to write */
	CONN_RECOVERY = 1u << 9,   /* fast recovery (RFC 6582) until `recover` is acknowledged */
	CONN_RESEND = 1u << 10,    /* the first unacknowledged segment goes out again this turn */
	CONN_RTT_TIMED = 1u << 11, /* rtt_seq was sent once, at rtt_at_ns */
	CONN_PERSIST = 1u << 12,   /* main_at_ns is the persist timer */
	CONN_PROBE = 1u << 13,     /* a window probe goes out this turn */
	CONN_KEEP_PROBE = 1u << 14,
	CONN_ACTIVE = 1u << 15, /* opened by us: conn_connect() */
};

/* What our SYN offers; the peer's says what remains of it. */
#define CONN_OFFERS CONN_WSCALE

/* A received segment's text, in the frame it came in. */
struct rx_seg {
	struct rx_seg *next;
	struct frame *frame;
	const uint8_t *data;
	uint32_t seq, len;
};

struct rxq {
	struct rx_seg *head, *tail; /* in order, unread */
	struct rx_seg *holes;       /* after a hole: sorted by seq, may overlap */
	uint32_t bytes;             /* in order, unread */
	uint16_t frames, hole_frames;
};

#define CONN_SLOTS_MAX  (1u << 22)
#define CONN_LOCAL_MASK 3u

struct conn {
	/* who, and what was received */
	_Alignas(CACHE_LINE_BYTES) struct ip_addr peer_ip;
	uint16_t peer_port, local_port;
	uint32_t slot : 22, local : 2; /* local: enum local */
	uint32_t state : 8;            /* enum conn_state */
	uint32_t flags;                /* enum conn_flag */
	uint32_t rcv_nxt;
	uint32_t rcv_edge;  /* right edge of the window as the peer knows it */
	uint32_t rcv_acked; /* rcv_nxt as last told to the peer */
	/* what was sent */
	uint32_t snd_una;
	uint32_t snd_nxt; /* next to send; behind snd_max after a timeout */
	uint32_t snd_max; /* one past the highest ever sent */
	uint32_t snd_wnd;
	uint32_t snd_wl1, snd_wl2;

	struct rxq rx;
	struct list ready; /* in tcp->ready */
	struct list out;   /* in tcp->out */

	struct txq tx;
	struct list where; /* free, half open, starved, or in TIME_WAIT */
	uint32_t cwnd, ssthresh, recover;
	uint16_t mss; /* of what we send */
	uint8_t dup_acks;
	uint8_t tries; /* of the main timer without an answer */

	/* deadlines; one wheel node stands for the nearest */
	struct wheel_node timer;
	uint64_t main_at_ns; /* retransmit, persist, FIN-WAIT-2 or TIME-WAIT, by state */
	uint64_t ack_at_ns;
	uint64_t keep_at_ns;
	uint64_t armed_ns; /* what the node is armed for */
	uint64_t heard_ns; /* the last acceptable segment */
	uint64_t challenged_ns;
	uint64_t rtt_at_ns;
	uint32_t rtt_seq;
	uint32_t srtt_us, rttvar_us, rto_us;
	uint32_t iss;
	uint32_t peer_fin_seq;
	uint32_t snd_wnd_max;
	uint8_t snd_wscale;
	uint8_t keep_tries;
	uint8_t backoff;
	uint8_t peer_mac[6];
};
static_assert(LOCAL_COUNT <= CONN_LOCAL_MASK + 1, "a connection knows which of our addresses");
static_assert(offsetof(struct conn, rx) == CACHE_LINE_BYTES, "sequence space: one line");
static_assert(offsetof(struct conn, tx) == 2 * CACHE_LINE_BYTES, "queues and lists: another");
static_assert(offsetof(struct conn, timer) == 3 * CACHE_LINE_BYTES, "sending: the third");
static_assert(sizeof(struct conn) == 5 * CACHE_LINE_BYTES, "timers: the last two");

/* One past the last queued byte: where our FIN stands, if we send one. */
static inline uint32_t
conn_tx_end(const struct conn *c)
{
	return c->snd_una + c->tx.bytes;
}

/* States in which our FIN is still to be sent or acknowledged. */
static inline bool
conn_fin_due(const struct conn *c)
{
	return c->state == CONN_FIN_WAIT_1 || c->state == CONN_CLOSING || c->state == CONN_LAST_ACK;
}

/* States in which the peer may still send text. */
static inline bool
conn_takes_text(const struct conn *c)
{
	return c->state == CONN_ESTABLISHED || c->state == CONN_FIN_WAIT_1 ||
	       c->state == CONN_FIN_WAIT_2;
}

#endif
