/*
 * tcp_counters.h - the events that TCP counts, with every reason to drop.
 *
 * The numbers continue those of the net: both count in one array (net_core.h).
 */
#ifndef CLOCKOO_TCP_COUNTERS_H
#define CLOCKOO_TCP_COUNTERS_H

#include "net/net_counters.h"

#define TCP_COUNTERS(X)                                                                            \
	X(TCP_SYNS, "connections in SYN-RECEIVED opened by a SYN")                                 \
	X(TCP_OPENED, "handshakes completed")                                                      \
	X(TCP_CONNECTS, "active opens")                                                            \
	X(TCP_CONNECT_REFUSED, "active opens refused by a RST")                                    \
	X(TCP_CONNECT_TIMEOUT, "active opens timed out")                                           \
	X(TCP_CONNECT_UNREACHABLE, "active opens failed: next hop unreachable")                    \
	X(TCP_CONNECT_NO_ADDRESS, "active opens refused: no local address of that family")         \
	X(TCP_CONNECT_NO_PORT, "active opens refused: flow or local ports in use")                 \
	X(TCP_CONNECT_NO_SLOT, "active opens refused: connection limit")                           \
	X(TCP_CONNECT_OTHER_CORE, "replies to active opens of another core")                       \
	X(TCP_SIMULTANEOUS_OPEN, "simultaneous opens")                                             \
	X(TCP_DROP_RST_BLIND, "resets in SYN-SENT without an acceptable ACK")                      \
	X(TCP_CLOSED, "connections closed by FIN, the peer first")                                 \
	X(TCP_ABORTED, "connections aborted by the service")                                       \
	X(TCP_RESET_BY_PEER, "connections reset by the peer")                                      \
	X(TCP_RESET_DATA_AFTER_CLOSE, "connections reset: data after close")                       \
	X(TCP_TIMEOUT, "connections reset: retransmission timeout limit")                          \
	X(TCP_TIMEOUT_SYN, "half-open connections timed out")                                      \
	X(TCP_TIMEOUT_FIN_WAIT, "FIN-WAIT-2 timeouts")                                             \
	X(TCP_TIMEOUT_KEEPALIVE, "connections reset: keepalive timeout")                           \
	X(TCP_HALF_OPEN_DROPPED, "oldest half-open connections dropped for new ones")              \
	X(TCP_COOKIES_SENT, "SYNs answered with a cookie: too many half-open connections")         \
	X(TCP_SYNS_DEFERRED, "SYNs deferred to their retransmission: SYN flood")                   \
	X(TCP_COOKIES_OPENED, "connections opened from a SYN cookie")                              \
	X(TCP_COOKIES_BAD, "ACKs with an invalid SYN cookie")                                      \
	X(TCP_HALF_OPEN_SYN, "half-open connections dropped: another SYN in the window")           \
	X(TCP_TIME_WAIT_RECYCLED, "TIME-WAIT connections recycled for new ones")                   \
	X(TCP_FIN_WAIT_RECYCLED, "FIN-WAIT-2 connections recycled for new ones")                   \
	X(TCP_LEAVING_RECYCLED, "closed connections whose peer does not read, reset for new ones") \
	X(TCP_TIME_WAIT_REUSED, "TIME-WAIT flows reopened by a SYN")                               \
	X(TCP_REFUSED_CONNS_MAX, "SYNs refused: connection limit")                                 \
	X(TCP_REFUSED_SOURCE, "refused: connections-per-source limit")                             \
	X(TCP_REFUSED_SOURCES_FULL, "refused: per-source table full")                              \
	X(TCP_REFUSED_TABLE, "SYNs refused: flow table full")                                      \
	X(TCP_REFUSED_DRAINING, "SYNs reset: shutting down")                                       \
	X(TCP_DROP_HEADER, "invalid TCP data offset")                                              \
	X(TCP_BAD_OPTIONS, "segments with a malformed option, which was skipped")                  \
	X(TCP_DROP_PORT, "no service on the TCP port")                                             \
	X(TCP_DROP_NO_CONN, "ACKs of no connection")                                               \
	X(TCP_DROP_RST_NO_CONN, "resets of no connection")                                         \
	X(TCP_DROP_NO_SYN, "first segments without a valid SYN")                                   \
	X(TCP_DROP_DENIED, "segments of no connection, from sources that are not let in")          \
	X(TCP_LEFT, "connections reset: a reload removed our address")                             \
	X(TCP_DENIED, "connections reset: a reload lets their source in no longer")                \
	X(TCP_DROP_OUT_OF_WINDOW, "segments outside the receive window")                           \
	X(TCP_DROP_NO_ACK, "segments without an acknowledgment")                                   \
	X(TCP_DROP_ACK_OF_SYN, "handshakes with an unacceptable ACK")                              \
	X(TCP_DROP_PAWS, "segments rejected by PAWS")                                              \
	X(TCP_DROP_DATA_DUPLICATE, "duplicate data, or data beyond the window")                    \
	X(TCP_DROP_DATA_AFTER_CLOSE, "data after the service closed the connection")               \
	X(TCP_DROP_RX_FRAMES_MAX, "data dropped: frame limit of all connections")                  \
	X(TCP_DROP_OOO_FULL, "out-of-order data dropped: limit")                                   \
	X(TCP_DROP_OOO_PRUNED, "out-of-order data pruned for in-order data")                       \
	X(TCP_OOO_EVICTED, "connections whose out-of-order queue was evicted")                     \
	X(TCP_PMTU_LOWERED, "path MTUs lowered by an ICMP report")                                 \
	X(TCP_PMTU_IGNORED, "path MTU reports ignored: not lower, or invalid")                     \
	X(TCP_PMTU_STRAY, "path MTU reports about no data in flight (RFC 5927)")                   \
	X(TCP_PMTU_BLACK_HOLES, "path MTUs lowered: black hole detected")                          \
	X(TCP_PMTU_RAISED, "path MTUs raised again")                                               \
	X(TCP_OUT_OF_ORDER, "segments queued out of order")                                        \
	X(TCP_NO_TIMESTAMP, "segments without the negotiated timestamp, taken all the same")       \
	X(TCP_CHALLENGED_RST, "in-window resets challenged (RFC 5961)")                            \
	X(TCP_CHALLENGED_SYN, "SYNs on an open connection challenged (RFC 5961)")                  \
	X(TCP_CHALLENGED_ACK, "unacceptable ACKs challenged (RFC 5961)")                           \
	X(TCP_CHALLENGES_RATE_LIMITED, "challenge ACKs not sent: rate limit")                      \
	X(TCP_RESETS_RATE_LIMITED, "resets not sent: rate limit")                                  \
	X(TCP_TX_SEGMENTS, "segments sent on connections")                                         \
	X(TCP_TX_LENT, "segments whose data the port read in place")                               \
	X(TCP_TX_RESETS, "resets sent")                                                            \
	X(TCP_TX_NO_ROOM, "segments deferred: transmit queue full")                                \
	X(TCP_RETRANSMITS, "segments retransmitted")                                               \
	X(TCP_FAST_RECOVERIES, "fast recoveries entered")                                          \
	X(TCP_RECOVERIES_SPURIOUS, "spurious recoveries undone")                                   \
	X(TCP_TIMEOUTS_RETRANSMIT, "retransmission timeouts")                                      \
	X(TCP_TIMEOUTS_SPURIOUS, "spurious timeouts undone")                                       \
	X(TCP_LOSS_PROBES, "tail loss probes sent (RFC 8985)")                                     \
	X(TCP_LOSS_PROBES_RECOVERED, "tail loss probes that repaired a loss")                      \
	X(TCP_LOSS_PROBES_SPURIOUS, "tail loss probes that were spurious")                         \
	X(TCP_ECN_OPENED, "handshakes completed with ECN")                                         \
	X(TCP_ECN_MARKS, "data segments received with a congestion mark (CE)")                     \
	X(TCP_ECN_REDUCTIONS, "windows reduced by an echoed mark (ECE)")                           \
	X(TCP_ECN_STOPPED, "connections that stopped sending ECT: repeated timeouts")              \
	X(TCP_SACK_INVALID, "invalid SACK blocks")                                                 \
	X(TCP_SACK_RENEGED, "SACK reneging by the peer")                                           \
	X(TCP_SCOREBOARD_NO_NODE, "scoreboard out of nodes: ranges merged")                        \
	X(TCP_WINDOW_PROBES, "zero-window probes")                                                 \
	X(TCP_KEEPALIVES, "keepalive probes")                                                      \
	X(TCP_ACKS_DELAYED, "delayed ACKs sent by the timer")                                      \
	X(TCP_ACKS_EXTRA, "extra ACKs of a burst in quickack mode")                                \
	X(TCP_MEMORY_PRESSURE, "times memory pressure began")                                      \
	X(TCP_EVICTED_SLOW_READER, "slow readers reset under memory pressure")                     \
	X(TCP_EVICTED_SLOW_WRITER, "slow writers reset under memory pressure")                     \
	X(TCP_WRITE_BLOCKED_SENDQ, "writers blocked: send queue limit of the connection")          \
	X(TCP_WRITE_BLOCKED_MEMORY, "writers blocked: no free chunk")

enum tcp_counter {
	TCP_COUNTER_BEFORE = NET_COUNTER_COUNT - 1,
	TCP_COUNTERS(COUNTER_SYMBOL) STACK_COUNTER_COUNT
};

#endif
