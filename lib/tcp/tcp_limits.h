/*
 * tcp_limits.h - constants of one TCP connection: memory, windows, timers. Those of all connections
 * are in tcp.h.
 *
 * Units:  as the names say.
 */
#ifndef CLOCKOO_TCP_LIMITS_H
#define CLOCKOO_TCP_LIMITS_H

#include "timer_wheel.h"

#define NS_PER_MS 1000000ull

/* Receiving: an unread byte costs its whole frame, so both are bounded. */
#define RX_WINDOW_BYTES      131072u /* of every connection */
#define RX_WSCALE            5u
#define RX_WINDOW_MAX        (65535u << RX_WSCALE) /* with autotuning: tcp_rcv_autotune.c */
#define RX_WINDOW_LOW        8192u                 /* with less the peer may wait for more */
#define RX_FRAMES_GUARANTEED 32u                   /* unread, in order, without regard to others */
/* 1/4 of the common frames is for connections that hold no more. */
#define RX_SMALL_HOLDER_PART 4u
#define RX_SHORT_PART        16u  /* with so much left beyond the reserve a shortage begins */
/* It ends with so few of the common frames taken that those who hold their shares keep it up: who is
 * reset and comes again then has its share from the start. */
#define RX_ENOUGH_PART       4u
#define OOO_BLOCKS_MAX       143u /* each ACK and each segment walks them */
#define OOO_LOOKED_AT        16u  /* connections, for one that holds more than its share */
/* Quickack mode lasts longer than the timeout that a lost ACK causes. */
#define QUICKACK_US 1000000u
/* ACKs a burst: with SACK each has all information, so two are enough; without, the peer counts
 * three duplicates of a first one. */
#define BURST_ACKS_SACK 2u
#define BURST_ACKS_MAX  (1 + DUP_ACK_THRESHOLD)
/* Queued in any case: the head of a large value must not wait for its own ACK, and more than a
 * segment is acknowledged at once. */
#define CONN_SENDQ_LEAST CHUNK_BYTES

/* Sending. A shorter MSS is an attack (CVE-2019-11479) and is not obeyed. 216 bytes fit the
 * smallest MTU in use, the 256 of AX.25; FreeBSD has the same limit (net.inet.tcp.minmss). */
#define CONN_MSS_MIN      216u
#define DUP_ACK_THRESHOLD 3u  /* RFC 5681 section 3.2; DupThresh of RFC 8985 */
#define INITIAL_CWND_SEGS 10u /* RFC 6928 */
#define CWND_MAX          (16u * 1024 * 1024)
#define SSTHRESH_NONE     UINT32_MAX

/* Timers. RFC 6298 asks for a least RTO of 1 s; like Linux we take 200 ms: the peer is in the
 * same data centre, and a cache that answers after a second has not answered. */
#define RTO_MIN_US     200000u
#define RTO_MAX_US     60000000u
#define RTO_INITIAL_US 1000000u
/* Of a SYN-ACK (RFC 6298 section 2.1 allows more than 1 s): after the peer's SYN is repeated. With
 * the SYN-ACK to that the peer measures a round trip; with ours alone, a second. */
#define RTO_SYN_ACK_US 1200000u
#define RTT_UNKNOWN    UINT32_MAX
#define RTT_MAX_US     (RTO_MAX_US / 5) /* longer ones count as this: SRTT + 4 RTTVAR fits */
#define RTT_LONG_US    10000u           /* longer ones may include a pause of the process */
/* Loss probes, RFC 8985 section 7.2: at least 8 ms, since a peer may wait that long for a CPU. With
 * less than two segments in flight the peer may delay its ACK: by 40 ms usually; after many
 * spurious probes the RFC's 200 ms is used, until a timeout. */
#define PTO_MIN_US            8000u
#define PEER_DELAY_US         50000u
#define PEER_DELAY_MAX_US     200000u
#define TLP_SPURIOUS_MAX      8u
#define RETRIES_MAX           10u /* about 160 s from RTO_MIN; R2 of RFC 9293 section 3.8.3 is 100 s */
#define SYN_RETRIES           5u
#define SYN_RETRIES_PRESSURE  1u /* while more than half of the half-open table is taken */
#define CONNECT_TRIES         7u /* of our own SYN: about 3 minutes (RFC 9293 section 3.8.3, MUST-23) */
#define RESOLVE_NS            (20 * NS_PER_MS) /* between lookups of the next hop's MAC for our SYN */
#define RESOLVE_TRIES         150u
#define ACK_DELAY_NS          (40 * NS_PER_MS) /* RFC 9293 section 3.8.6.3: at most 500 ms */
#define TIME_WAIT_NS          (1000 * NS_PER_MS)
#define FIN_WAIT_NS           (60000 * NS_PER_MS) /* for the peer's FIN after ours was acknowledged */
#define KEEPALIVE_PROBES_MAX  9u
#define KEEPALIVE_INTERVAL_NS (75000 * NS_PER_MS)
#define CHALLENGE_US          100000u /* RFC 5961 section 7: between challenge ACKs */
#define NEVER                 WHEEL_NEVER

#endif
