/*
 * tcp_conn.h - one TCP connection: the transmission control block of RFC 9293 section 3.3.1.
 *
 * Shape:  hot fields first: the first lines are what every segment touches, timers and
 *         congestion control come last.
 * Units:  sequence numbers wrap (seq_before and friends); windows in bytes, unscaled; times in
 *         ns, round trips in us.
 * Owner:  a connection holds received frames through rx, queued bytes through tx.
 * Thread: core-local.
 * Bounds: tcp_limits.h.
 */
#ifndef CLOCKOO_TCP_CONN_H
#define CLOCKOO_TCP_CONN_H

#include "cc_state.h"
#include "net/net_core.h"
#include "tcp_counters.h"
#include "tcp_limits.h"
#include "tcp_rxq.h"
#include "tcp_scoreboard.h"
#include "sendq.h"
#include "timer_wheel.h"

#include "base/check.h"
#include "base/list.h"

/* Result of a step of 3.10.7.4: run the next step, or stop because the segment (and perhaps the
 * connection) is done. */
enum step {
	STEP_CONTINUE,
	STEP_DONE,
};

/* States in the order of the RFC's figure. The service does not know a connection before
 * ESTABLISHED. LISTEN is not a state of a connection. */
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
	CONN_STATE_COUNT,
};

enum conn_flag {
	CONN_OPENED = 1u << 0,  /* opened() was called, and gone() was not */
	CONN_WSCALE = 1u << 1,  /* both sides scale their windows */
	CONN_ACK_NOW = 1u << 2, /* an ACK goes out this turn */
	/* Received data is unacknowledged: ACK with a reply, or at ack_at. */
	CONN_ACK_DELAYED = 1u << 3,
	CONN_SEND_SYN = 1u << 4,   /* SYN or SYN-ACK goes out this turn */
	CONN_CLOSE = 1u << 5,      /* the service has closed, and no longer reads or writes */
	CONN_PEER_FIN = 1u << 6,   /* peer_fin_seq is known */
	CONN_EOF = 1u << 7,        /* everything before the peer's FIN was received */
	CONN_WANT_WRITE = 1u << 8, /* the service was refused room to write */
	CONN_RECOVERY = 1u << 9,   /* fast recovery, until `recover` is acknowledged */
	/* Loss recovery after a timeout, until `recover` is acknowledged. */
	CONN_LOSS = 1u << 10,
	CONN_ECE = 1u << 11,          /* ACKs echo a mark (RFC 3168); with DCTCP: DCTCP.CE */
	CONN_PERSIST = 1u << 12,      /* main_at_ns is the persist timer */
	CONN_WINDOW_PROBE = 1u << 13, /* a window probe goes out this turn */
	CONN_KEEPALIVE_PROBE = 1u << 14,
	CONN_ACTIVE = 1u << 15, /* opened by us: conn_connect() */
	CONN_TS = 1u << 16,     /* both sides send timestamps (RFC 7323) */
	CONN_SACK = 1u << 17,   /* both sides send SACK blocks (RFC 2018) */
	CONN_DSACK = 1u << 18,  /* the next ACK reports dsack_begin .. dsack_end as duplicate */
	CONN_PMTU_REDUCED =
		1u << 19, /* path_mss is less than our MTU allows, until pmtu_raise_at_s */
	CONN_PMTU_BLACK_HOLE =
		1u << 20,         /* reduced because of timeouts, until something is acknowledged */
	CONN_DISORDER = 1u << 21, /* data in flight is SACKed, lost or retransmitted: tcp_loss.c */
	CONN_CWND_LIMITED = 1u << 22,     /* cwnd held data back */
	CONN_PTO = 1u << 23,              /* main_at_ns is for a loss probe */
	CONN_REO = 1u << 24,              /* main_at_ns is the end of the reordering window */
	CONN_TLP_DUE = 1u << 25,          /* a loss probe goes out this turn */
	CONN_TLP = 1u << 26,              /* a loss probe is in flight, up to loss.tlp_end */
	CONN_ECN = 1u << 27,              /* both sides use ECN; before the handshake: offered */
	CONN_ECT = 1u << 28,              /* new data is sent as ECT(0) */
	CONN_CWR = 1u << 29,              /* the next new data carries CWR */
	CONN_PEER_DELAYS_ACKS = 1u << 30, /* the peer delays its ACKs by more than PEER_DELAY_US */
	CONN_QUICKACK = 1u << 31,         /* quickack mode, since quickack_us */
};

/* Options offered in our SYN; cleared unless the peer offers them too. */
#define CONN_OFFERS (CONN_WSCALE | CONN_TS | CONN_SACK)

/* Loss recovery, touched only in CONN_DISORDER. The names are those of the RFCs. */
struct loss {
	/* RFC 8985; with CONN_DISORDER */
	uint32_t rack_xmit_us, rack_end; /* from the delivered data that was sent last */
	uint32_t rack_rtt_us;
	uint32_t rack_fack; /* one past the highest delivered byte */
	/* With dsack_waits: no other D-SACK counts until this number is acknowledged. */
	uint32_t dsack_round;
	uint32_t tlp_end;
	/* RFC 9937 */
	uint32_t prr_delivered, prr_out, recover_fs;
	/* state before the reduction */
	uint32_t undo_cwnd, undo_ssthresh, undo_w_max;
	uint32_t undo_retrans; /* retransmissions since then that are not known to be spurious */
	uint8_t reo_mult, reo_persist;
	uint8_t tlp_spurious; /* spurious probes minus useful ones */
	bool dsack_waits : 1;
	bool reo_seen : 1;    /* data was reordered without a loss */
	bool tlp_retrans : 1; /* the loss probe of CONN_TLP is a retransmission */
	bool undo : 1;        /* undo_* is valid */
};

/* Lengths delivered over the path (tcp_pmtu.c). Times in ticks of 2^PMTU_TICK_SHIFT ns. */
struct pmtu_state {
	uint32_t sample_end; /* end of the sampled segment */
	uint16_t sample_len; /* data bytes of the sampled segment; 0: none is sampled */
	uint16_t sampled_tick;
	uint16_t delivered_len; /* length of the last sample delivered; 0: none */
	uint16_t delivered_tick;
	uint16_t lost_len; /* with pmtu_reductions: the length that was lost */
	uint16_t prev_mss; /* with CONN_PMTU_BLACK_HOLE: path_mss before the reduction */
};

/* The hop cache: the MAC of the next hop, valid until the neighbour table's generation or the time
 * says otherwise (conn_hop_valid). */
struct conn_hop {
	uint64_t first; /* first 8 bytes of a frame: the hop's MAC and 2 bytes of ours */
	uint32_t generation;
	uint32_t until; /* tick of 2^PMTU_TICK_SHIFT ns; 0: empty */
};

#define PMTU_TICK_SHIFT 30u
#define PMTU_SAMPLE_MIN 500u /* shorter segments are never reduced */

#define CONN_SLOTS_MAX (1u << 24)

struct conn {
	/* flow, and receive state */
	_Alignas(CACHE_LINE_BYTES) struct ip_addr peer_ip;
	/* The peer's port and ours, as in its segments: tcp_ports(). */
	uint32_t ports;
	uint32_t slot : 24;
	uint32_t expected : 1;    /* conn_expect() */
	uint32_t rx_dropped : 1;  /* conn_awaits_retransmission() */
	uint32_t other_local : 1; /* local is not LOCAL_V4 */
	uint32_t syn_timed : 1;   /* our SYN was sent once, at rtt_at_us */
	uint32_t state : 4;       /* enum conn_state */
	uint32_t flags;           /* enum conn_flag */
	uint32_t rcv_nxt;
	uint32_t rcv_edge;      /* advertised right edge of the window */
	uint32_t last_ack_sent; /* rcv_nxt as last sent to the peer */
	/* send state */
	uint32_t snd_una;
	uint32_t snd_nxt; /* next to send; behind snd_max after a window probe */
	uint32_t snd_max; /* one past the highest ever sent */
	uint32_t snd_wnd;
	uint32_t snd_wl1, snd_wl2;

	struct rxq rx;
	struct list ready; /* in tcp->ready */
	struct list out;   /* in tcp->out */

	struct sendq tx;
	uint32_t cwnd, ssthresh;
	uint16_t mss; /* of the segments we send */
	uint8_t dup_acks;
	uint8_t tries;       /* main timer expiries in a row without progress */
	uint32_t min_rtt_us; /* RTT_UNKNOWN until the first sample */

	struct scoreboard scoreboard; /* covers [snd_una, snd_nxt) */
	struct list
		/* In the list of free, half-open, blocked, FIN_WAIT_2 or TIME_WAIT connections. */
		state_list;

	/* deadlines; one wheel node is armed for the nearest */
	struct wheel_node timer;
	/* The main timer serves four states: data or a SYN in flight (with CONN_PTO or CONN_REO for
	 * RACK-TLP), a closed window (CONN_PERSIST), FIN-WAIT-2, TIME-WAIT. */
	uint64_t main_at_ns;
	uint64_t ack_at_ns;
	uint64_t keepalive_at_ns;
	uint64_t armed_ns;   /* deadline the node is armed for; NEVER: it is not armed */
	uint64_t last_rx_ns; /* time of the last acceptable segment */
	uint32_t ts_recent;  /* RFC 7323 section 4.3: the peer's clock as we echo it */
	uint32_t ts_offset;  /* offset of our timestamps */
	uint32_t srtt_us, rttvar_us, rto_us;
	uint32_t snd_wnd_max;
	struct conn_hop hop;
	uint16_t local; /* number of our address (net/local_addrs.h) */
	uint8_t snd_wscale;
	uint8_t backoff : 4, keepalive_tries : 4;
	uint8_t peer_mac[6];
	uint16_t rcv_mss; /* estimate of the peer's segment length */
	uint16_t
		/* Tick in which a segment was sampled; one in each tick is enough. */
		pmtu_sample_tick;
	uint16_t near_limit; /* of rcv_limit, minus one segment: rx_window_near_limit() */

	/* losses, attacks and changes of the path */
	struct rx_seg *ooo_last;
	struct list ooo_list;     /* in tcp->ooo_list */
	uint32_t ooo_progress_us; /* when a hole was last opened or filled */
	uint32_t quickack_us;     /* with CONN_QUICKACK */
	uint32_t challenged_us;
	uint32_t rcv_limit;       /* limit of our window: tcp_rcv_autotune.c */
	uint32_t ooo_bytes;       /* in the out-of-order blocks */
	uint32_t pmtu_raise_at_s; /* with CONN_PMTU_REDUCED: when full length is tried again */
	uint32_t dsack_begin, dsack_end; /* with CONN_DSACK */
	uint16_t ooo_clock;
	uint16_t peer_mss; /* MSS option of the peer */
	uint16_t path_mss; /* bytes of data and options that the path takes */
	/* Reductions after timeouts, since a segment as long as those was delivered. */
	uint8_t pmtu_reductions;
	/* With CONN_QUICKACK: segments of this turn that each ask for an ACK. */
	uint8_t acks_due : 5;
	uint8_t body_waits : 1; /* conn_body_waits() */
	uint8_t uploads : 1; /* the last body that waited or was expected is over RX_WINDOW_BYTES */
	uint8_t expects_more : 1; /* more than RX_WINDOW_BODY of the body is still to arrive */

	/* losses and growth */
	uint32_t recover;
	struct loss loss;
	struct cc_state cc;
	struct pmtu_state pmtu;

	/* first and last segments */
	union {
		uint32_t rtt_at_us; /* until the connection is open: when our SYN was sent */
		/* Afterwards: start of the interval in which read data is counted
		 * (tcp_rcv_autotune.c). */
		uint32_t epoch_us;
	};
	uint32_t epoch_seq; /* afterwards: the read position at epoch_us */
	uint32_t ecn_end;   /* snd_nxt when the window was reduced last (tcp_ecn.h) */
	union {
		uint32_t iss; /* until the peer's FIN arrives */
		uint32_t peer_fin_seq;
	};
};
static_assert(offsetof(struct conn, rx) == CACHE_LINE_BYTES, "sequence space: one line");
static_assert(offsetof(struct conn, tx) == 2 * CACHE_LINE_BYTES, "queues and lists: another");
static_assert(offsetof(struct conn, scoreboard) == 3 * CACHE_LINE_BYTES, "sending: two");
static_assert(offsetof(struct conn, timer) == 4 * CACHE_LINE_BYTES, "timers: two");
static_assert(offsetof(struct conn, ooo_last) == 6 * CACHE_LINE_BYTES, "timers: two");
static_assert(sizeof(struct conn) == 9 * CACHE_LINE_BYTES, "the last are for losses");

/* Returns the number one past the last queued byte. Our FIN has that number. */
static inline uint32_t
conn_tx_end(const struct conn *c)
{
	return c->snd_una + c->tx.bytes;
}

/* Returns how many bytes may be in flight, or may wait in a pipe. */
static inline uint32_t
conn_sendable_max(const struct conn *c)
{
	return c->cwnd != 0 && c->cwnd < c->snd_wnd ? c->cwnd : c->snd_wnd;
}

/* Returns the bytes in flight. Without SACK each duplicate ACK counts as one segment that
 * arrived. */
static inline uint32_t
conn_pipe(const struct conn *c)
{
	const uint32_t pipe = scoreboard_pipe(&c->scoreboard, c->snd_nxt - c->snd_una);

	if (likely(c->dup_acks == 0) || c->flags & CONN_SACK)
		return pipe;
	return pipe - min_u32((uint32_t)c->dup_acks * c->mss, pipe);
}

/* True in states in which our FIN is still to be sent or acknowledged. */
static inline bool
conn_fin_due(const struct conn *c)
{
	return 1u << c->state & (1u << CONN_FIN_WAIT_1 | 1u << CONN_CLOSING | 1u << CONN_LAST_ACK);
}

static inline bool
conn_has_unsent(const struct conn *c)
{
	return c->snd_nxt - c->snd_una < c->tx.bytes || conn_fin_due(c);
}

/* True in states in which the peer may still send data. */
static inline bool
conn_receives_data(const struct conn *c)
{
	return c->state == CONN_ESTABLISHED || c->state == CONN_FIN_WAIT_1 ||
	       c->state == CONN_FIN_WAIT_2;
}

#endif
