/*
 * stack_counters.h - every reason for which the stack drops or notes something.
 *
 * One table; the enum and the names derive from it (counter.h).
 */
#ifndef CLOCKOO_STACK_COUNTERS_H
#define CLOCKOO_STACK_COUNTERS_H

#include "base/counter.h"

#define STACK_COUNTERS(X)                                                                          \
	X(RX_FRAMES, "frames received")                                                            \
	X(RX_BYTES, "bytes received")                                                              \
	X(TX_FRAMES, "frames sent")                                                                \
	X(TX_BYTES, "bytes sent")                                                                  \
	X(TX_REFUSED, "frames that the port did not take at once")                                 \
	X(TX_NO_FRAME, "turns in which the port had no free frame")                                \
	X(DROP_ETH_TRUNCATED, "truncated Ethernet header")                                         \
	X(DROP_ETH_TYPE, "unsupported EtherType")                                                  \
	X(DROP_ETH_NOT_OURS, "not for our MAC address")                                            \
	X(DROP_ETH_SOURCE, "multicast source MAC, or our own")                                     \
	X(DROP_IP_TRUNCATED, "truncated IPv4 packet")                                              \
	X(DROP_IP_VERSION, "IP version is not 4")                                                  \
	X(DROP_IP_HEADER, "invalid IPv4 header length")                                            \
	X(DROP_IP_CKSUM, "bad IPv4 header checksum")                                               \
	X(DROP_IP_NOT_OURS, "not for our IPv4 address")                                            \
	X(DROP_IP_SOURCE, "martian IPv4 source: zero, loopback, multicast, ours")                  \
	X(DROP_IP_PROTOCOL, "unsupported IP protocol")                                             \
	X(DROP_VLAN_TRUNCATED, "truncated VLAN tag")                                               \
	X(DROP_VLAN_OTHER, "tagged for another VLAN")                                              \
	X(DROP_VLAN_UNTAGGED, "without our VLAN tag")                                              \
	X(DROP_IP6_TRUNCATED, "truncated IPv6 packet")                                             \
	X(DROP_IP6_VERSION, "IP version is not 6")                                                 \
	X(DROP_IP6_EXT_HEADERS, "IPv6 extension headers malformed, too many or too long")          \
	X(DROP_IP6_OPTION, "unknown IPv6 option with action discard")                              \
	X(DROP_IP6_ROUTING, "IPv6 routing header with segments left")                              \
	X(DROP_IP6_NEXT, "unsupported IPv6 next header")                                           \
	X(DROP_IP6_NOT_OURS, "not for our IPv6 addresses or groups")                               \
	X(DROP_IP6_SOURCE, "martian IPv6 source: zero, multicast, mapped, ours")                   \
	X(DROP_FRAG_PROTOCOL, "fragments of an unsupported protocol")                              \
	X(DROP_FRAG_TCP, "TCP fragments: not reassembled")                                         \
	X(DROP_FRAG_UDP_OFF, "fragments while UDP is off")                                         \
	X(DROP_FRAG_LEN, "fragments with an invalid length or offset")                             \
	X(DROP_FRAG_TOO_LONG, "reassembly dropped: datagram too long")                             \
	X(DROP_FRAG_TOO_MANY, "reassembly dropped: too many fragments")                            \
	X(DROP_FRAG_OVERLAP, "reassembly dropped: overlapping fragments")                          \
	X(DROP_FRAG_DUPLICATE, "duplicate fragments")                                              \
	X(DROP_FRAG_LATE, "fragments of a dropped datagram")                                       \
	X(DROP_FRAG_TIMEOUT, "reassembly timeouts")                                                \
	X(DROP_FRAG_EVICTED, "reassembly dropped: evicted for a newer datagram")                   \
	X(DROP_FRAG_NO_CONTEXT, "fragments dropped: no free reassembly context")                   \
	X(FRAG_RECEIVED, "fragments received")                                                     \
	X(FRAG_REASSEMBLED, "datagrams reassembled")                                               \
	X(DROP_UDP_TRUNCATED, "truncated UDP header")                                              \
	X(DROP_UDP_LEN, "invalid UDP length")                                                      \
	X(DROP_UDP_CKSUM, "bad UDP checksum")                                                      \
	X(DROP_UDP_PORT, "no service on the UDP port")                                             \
	X(DROP_UDP_SOURCE, "UDP source port 0, or one of our own")                                 \
	X(DROP_UDP_NO_CKSUM, "UDP over IPv6 without a checksum")                                   \
	X(DROP_UDP_BACKLOG, "UDP backlog full, or the source's share of it")                       \
	X(DROP_TCP_TRUNCATED, "truncated TCP header")                                              \
	X(DROP_TCP_CKSUM, "bad TCP checksum")                                                      \
	X(DROP_ICMP_TRUNCATED, "truncated ICMP message")                                           \
	X(DROP_ICMP_CKSUM, "bad ICMP checksum")                                                    \
	X(DROP_ICMP_TYPE, "ICMP types not handled")                                                \
	X(DROP_ICMP_SIZE, "echo requests longer than our MTU")                                     \
	X(DROP_ARP_TRUNCATED, "truncated ARP packet")                                              \
	X(DROP_ARP_FORMAT, "ARP not for IPv4 over Ethernet")                                       \
	X(DROP_ARP_SENDER, "ARP with an invalid sender MAC, or our own")                           \
	X(DROP_ICMP_RATE_LIMIT, "echo requests not answered: rate limit")                          \
	X(DROP_ND_HOP_LIMIT, "neighbour discovery with a hop limit below 255")                     \
	X(DROP_ND_FORMAT, "malformed neighbour discovery")                                         \
	X(DROP_ND_SENDER, "neighbour discovery with an invalid MAC, or our own")                   \
	X(DROP_ND_TARGET, "solicitations for another address")                                     \
	X(DROP_ND_UNSOLICITED, "unsolicited neighbour advertisements")                             \
	X(DROP_ND_ROUTER, "router messages and redirects, ignored: routes are configured")         \
	X(DROP_NEIGH_RATE_LIMIT, "ARP requests and solicitations not answered: rate limit")        \
	X(ND_ADVERTS_SENT, "neighbour advertisements sent in answer")                              \
	X(ND_SOLICITS_SENT, "neighbour solicitations and unsolicited advertisements sent")         \
	X(ND_LEARNED, "IPv6 neighbour entries added or refreshed")                                 \
	X(ND_CONFLICT, "IPv6 address conflicts")                                                   \
	X(ICMP_TOO_BIG, "path MTU reports from routers, passed to TCP")                            \
	X(ICMP_PMTU_SHARED, "path MTU reports shared with other cores")                            \
	X(ICMP_STRAY, "ICMP errors that quote no packet of ours")                                  \
	X(ICMP_ERRORS, "other ICMP errors")                                                        \
	X(ARP_REPLIES_SENT, "ARP replies sent")                                                    \
	X(ARP_REQUESTS_SENT, "ARP requests sent")                                                  \
	X(ARP_LEARNED, "ARP entries added or refreshed")                                           \
	X(ARP_CONFLICT, "ARP address conflicts")                                                   \
	X(ICMP_ECHO_REPLIES, "echo replies sent")                                                  \
	X(UDP_RECEIVED, "datagrams received for the service")                                      \
	X(UDP_ANSWERED, "datagrams answered in the received frame")                                \
	X(UDP_SENT, "datagrams sent in a fresh frame")                                             \
	X(TCP_SYNS, "connections in SYN-RECEIVED opened by a SYN")                                 \
	X(TCP_OPENED, "handshakes completed")                                                      \
	X(TCP_CONNECTS, "active opens")                                                            \
	X(TCP_CONNECT_REFUSED, "active opens refused by a RST")                                    \
	X(TCP_CONNECT_TIMEOUT, "active opens timed out")                                           \
	X(TCP_CONNECT_UNREACHABLE, "active opens failed: next hop unreachable")                    \
	X(TCP_CONNECT_NO_ADDRESS, "active opens refused: no local address of that family")         \
	X(TCP_CONNECT_NO_PORT, "active opens refused: flow or local ports in use")                 \
	X(TCP_CONNECT_NO_SLOT, "active opens refused: connection limit")                           \
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
	X(TCP_TIME_WAIT_REUSED, "TIME-WAIT flows reopened by a SYN")                               \
	X(TCP_REFUSED_CONNS_MAX, "SYNs refused: connection limit")                                 \
	X(TCP_REFUSED_SOURCE, "refused: connections-per-source limit")                             \
	X(TCP_REFUSED_SOURCES_FULL, "refused: per-source table full")                              \
	X(TCP_REFUSED_TABLE, "SYNs refused: flow table full")                                      \
	X(TCP_REFUSED_DRAINING, "SYNs reset: shutting down")                                       \
	X(TCP_DROP_HEADER, "invalid TCP data offset or options")                                   \
	X(TCP_DROP_PORT, "no service on the TCP port")                                             \
	X(TCP_DROP_NO_CONN, "ACKs of no connection")                                               \
	X(TCP_DROP_RST_NO_CONN, "resets of no connection")                                         \
	X(TCP_DROP_NO_SYN, "first segments without a valid SYN")                                   \
	X(TCP_DROP_OUT_OF_WINDOW, "segments outside the receive window")                           \
	X(TCP_DROP_NO_ACK, "segments without an acknowledgment")                                   \
	X(TCP_DROP_ACK_OF_SYN, "handshakes with an unacceptable ACK")                              \
	X(TCP_DROP_NO_TIMESTAMP, "segments without negotiated timestamps")                         \
	X(TCP_DROP_PAWS, "segments rejected by PAWS")                                              \
	X(TCP_DROP_DATA_DUPLICATE, "duplicate data, or data beyond the window")                    \
	X(TCP_DROP_DATA_AFTER_CLOSE, "data after the service closed the connection")               \
	X(TCP_DROP_RX_CONN_FULL, "data dropped: frame limit of the connection")                    \
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
	X(TCP_CHALLENGED_RST, "in-window resets challenged (RFC 5961)")                            \
	X(TCP_CHALLENGED_SYN, "SYNs on an open connection challenged (RFC 5961)")                  \
	X(TCP_CHALLENGED_ACK, "unacceptable ACKs challenged (RFC 5961)")                           \
	X(TCP_CHALLENGES_RATE_LIMITED, "challenge ACKs not sent: rate limit")                      \
	X(TCP_RESETS_RATE_LIMITED, "resets not sent: rate limit")                                  \
	X(TCP_TX_SEGMENTS, "segments sent on connections")                                         \
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

enum stack_counter { STACK_COUNTERS(COUNTER_SYMBOL) STACK_COUNTER_COUNT };

#endif
