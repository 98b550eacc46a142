/*
 * tcp_limits.h - constants of one TCP connection: memory, windows, timers. Those of all connections
 * are in tcp.h.
 *
 * Units:  as the names say.
 */
#ifndef CLOCKOO_TCP_LIMITS_H
#define CLOCKOO_TCP_LIMITS_H

#include "timer_wheel.h"

#include "base/time_units.h"

/* Receiving. An unread byte costs its whole frame, so bytes and frames are both bounded. */
#define RX_WINDOW_BYTES 131072u /* every connection may advertise this much */
/* With autotuning (tcp_rcv_autotune.c): 10 Gbit/s over 20 ms, and more. */
#define RX_WINDOW_MAX (65535u << RX_WSCALE_MAX)
/* The scale is the least that covers what one connection may get, since windows are rounded. */
#define RX_WSCALE_MIN 5u
#define RX_WSCALE_MAX 9u
/* With a narrower window the peer may wait for more. */
#define RX_WINDOW_LOW 8192u
/* Frames of unread in-order data that a connection may hold in any case. */
#define RX_FRAMES_GUARANTEED 32u
/* A quarter of the common frames is reserved for connections that hold at most
 * RX_FRAMES_GUARANTEED. */
#define RX_SMALL_HOLDER_PART 4u
/* A shortage begins when 1/part of the frames is left beyond the reserve. */
#define RX_SHORT_PART 16u
/* A shortage ends when 1/part of the common frames is held. Connections that hold their shares keep
 * it up, so that a peer that is reset and returns has its share from the start. */
#define RX_ENOUGH_PART 4u
#define OOO_BLOCKS_MAX 143u /* bound of the walk of each ACK and each segment */
#define OOO_LOOKED_AT  16u  /* connections examined for one that holds more than its share */
/* Quickack mode lasts longer than the timeout that a lost ACK causes. */
#define QUICKACK_US 1000000u
/* ACKs for a burst. With SACK each has all information, so two are enough. Without SACK the peer
 * counts three duplicates of a first ACK. */
#define BURST_ACKS_SACK 2u
#define BURST_ACKS_MAX  (1 + DUP_ACK_THRESHOLD)
/* A connection may queue this much in any case. The head of a large value must not wait for its own
 * ACK, and a peer may delay the ACK of less than two full segments (RFC 9293 section 3.8.6.3). */
#define CONN_SENDQ_LEAST (2 * 1460u)
/* While chunks are short, a peer may hold this many in any case: two segments, and a read buffer.
 */
#define CHUNKS_LEAST 3u

/* Sending. A shorter MSS is an attack (CVE-2019-11479) and is not obeyed. 216 bytes fit the
 * smallest MTU in use, the 256 of AX.25; FreeBSD has the same limit (net.inet.tcp.minmss). */
#define CONN_MSS_MIN      216u
#define DUP_ACK_THRESHOLD 3u                      /* RFC 5681 section 3.2; DupThresh of RFC 8985 */
#define INITIAL_CWND_SEGS 10u                     /* RFC 6928 */
#define CWND_MAX          (64u * 1024 * 1024 - 1) /* tcp_cubic.h */
#define SSTHRESH_NONE     UINT32_MAX

/* Timers. RFC 6298 asks for a least RTO of 1 s; like Linux we take 200 ms: the peer is in the
 * same data centre, and a cache that answers after a second has not answered. */
#define RTO_MIN_US     200000u
#define RTO_MAX_US     60000000u
#define BACKOFF_MAX    15u /* doublings of the RTO; fewer reach RTO_MAX_US */
#define RTO_INITIAL_US 1000000u
/*
 * RTO of a SYN-ACK (RFC 6298 section 2.1 allows more than 1 s). It is longer than the peer's, so
 * that the peer's SYN is repeated first. From the answer to that SYN the peer measures a round
 * trip; from our repetition alone it would measure a second.
 */
#define RTO_SYN_ACK_US 1200000u
#define RTT_UNKNOWN    UINT32_MAX
#define RTT_MAX_US     (RTO_MAX_US / 5) /* longer ones count as this: SRTT + 4 RTTVAR fits */
#define RTT_LONG_US    10000u           /* longer ones may include a pause of the process */
/*
 * Loss probes, RFC 8985 section 7.2: after at least 8 ms, since a peer may wait that long for a
 * CPU. With less than two segments in flight the peer may delay its ACK, usually by 40 ms. After
 * many spurious probes the RFC's 200 ms is used, until a timeout.
 */
#define PTO_MIN_US           8000u
#define PEER_DELAY_US        50000u
#define PEER_DELAY_MAX_US    200000u
#define TLP_SPURIOUS_MAX     8u
#define RETRIES_MAX          10u /* about 160 s from RTO_MIN; R2 of RFC 9293 section 3.8.3 is 100 s */
#define SYN_RETRIES          5u
#define SYN_RETRIES_PRESSURE 1u /* tries while more than half of the half-open table is taken */
/* Tries of our own SYN: about 3 minutes (RFC 9293 section 3.8.3, MUST-23). */
#define CONNECT_TRIES 7u
/* Between lookups of the next hop's MAC for our SYN. */
#define RESOLVE_NS    (20 * NS_PER_MS)
#define RESOLVE_TRIES 150u
#define ACK_DELAY_NS  (40 * NS_PER_MS) /* RFC 9293 section 3.8.6.3: at most 500 ms */
#define TIME_WAIT_NS  (1000 * NS_PER_MS)
/* Wait for the peer's FIN after ours was acknowledged. */
#define FIN_WAIT_NS          (60000 * NS_PER_MS)
#define KEEPALIVE_PROBES_MAX 9u
/* Between probes; the idle time before the first one, if that is shorter. */
#define KEEPALIVE_INTERVAL_NS (75000 * NS_PER_MS)
#define CHALLENGE_US          100000u /* RFC 5961 section 7: between challenge ACKs */
#define NEVER                 WHEEL_NEVER

#endif
