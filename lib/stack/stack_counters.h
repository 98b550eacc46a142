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
	X(TX_REFUSED, "frames the port could not take at once; they waited")                       \
	X(TX_NO_FRAME, "turns in which the port had no empty frame for us")                        \
	X(DROP_ETH_CUT, "shorter than an Ethernet header")                                         \
	X(DROP_ETH_TYPE, "an Ethernet type we do not speak")                                       \
	X(DROP_ETH_NOT_OURS, "addressed to another MAC")                                           \
	X(DROP_ETH_SOURCE, "from a group address, or from our own")                                \
	X(DROP_IP_CUT, "shorter than an IPv4 header or than its total length")                     \
	X(DROP_IP_VERSION, "not version 4")                                                        \
	X(DROP_IP_HEADER, "an IPv4 header length that cannot be")                                  \
	X(DROP_IP_CKSUM, "a wrong IPv4 header checksum")                                           \
	X(DROP_IP_NOT_OURS, "addressed to another IPv4 address")                                   \
	X(DROP_IP_SOURCE, "from an address nobody can have: zero, loopback, group, ours")          \
	X(DROP_IP_PROTOCOL, "neither TCP, UDP nor ICMP")                                           \
	X(DROP_VLAN_CUT, "shorter than a VLAN tag")                                                \
	X(DROP_VLAN_OTHER, "tagged for a VLAN that is not ours")                                   \
	X(DROP_VLAN_UNTAGGED, "without the tag of our VLAN")                                       \
	X(DROP_IP6_CUT, "shorter than an IPv6 header or than its payload length")                  \
	X(DROP_IP6_VERSION, "not version 6")                                                       \
	X(DROP_IP6_CHAIN, "IPv6 extension headers cut, out of order, too many or too long")        \
	X(DROP_IP6_OPTION, "an IPv6 option we do not know that says: discard")                     \
	X(DROP_IP6_ROUTING, "an IPv6 routing header with segments left")                           \
	X(DROP_IP6_NEXT, "an IPv6 next header we do not speak")                                    \
	X(DROP_IP6_NOT_OURS, "addressed to another IPv6 address or to a group")                    \
	X(DROP_IP6_SOURCE, "from an IPv6 address nobody can have: zero, group, mapped, ours")      \
	X(DROP_FRAG_PROTOCOL, "fragments of neither UDP nor TCP")                                  \
	X(DROP_FRAG_TCP, "fragments of TCP: segments fit the path")                                \
	X(DROP_FRAG_OFF, "fragments while UDP is off")                                             \
	X(DROP_FRAG_LEN, "fragments of a length or at an offset that cannot be")                   \
	X(DROP_FRAG_LARGE, "datagrams given up: longer than we put together")                      \
	X(DROP_FRAG_PIECES, "datagrams given up: in too many fragments")                           \
	X(DROP_FRAG_OVERLAP, "datagrams given up: fragments overlap")                              \
	X(DROP_FRAG_TWICE, "fragments that came twice")                                            \
	X(DROP_FRAG_LATE, "fragments of a datagram that was given up")                             \
	X(DROP_FRAG_TIMEOUT, "datagrams given up: not all fragments came in time")                 \
	X(DROP_FRAG_MADE_ROOM, "datagrams given up for a newer one")                               \
	X(DROP_FRAG_BUSY, "fragments dropped: all room is in use this turn")                       \
	X(FRAG_RECEIVED, "fragments of datagrams")                                                 \
	X(FRAG_WHOLE, "datagrams put together")                                                    \
	X(DROP_UDP_CUT, "shorter than a UDP header")                                               \
	X(DROP_UDP_LEN, "a UDP length that cannot be")                                             \
	X(DROP_UDP_CKSUM, "a wrong UDP checksum")                                                  \
	X(DROP_UDP_PORT, "to a UDP port nobody serves")                                            \
	X(DROP_UDP_SOURCE, "from UDP port 0, or from our own: nobody to answer")                   \
	X(DROP_UDP_NO_CKSUM, "UDP over IPv6 without a checksum")                                   \
	X(DROP_UDP_BACKLOG, "datagrams behind too many others, or of their source")                \
	X(DROP_TCP_CUT, "shorter than a TCP header")                                               \
	X(DROP_TCP_CKSUM, "a wrong TCP checksum")                                                  \
	X(DROP_ICMP_CUT, "shorter than an ICMP header")                                            \
	X(DROP_ICMP_CKSUM, "a wrong ICMP checksum")                                                \
	X(DROP_ICMP_TYPE, "ICMP messages we do nothing about")                                     \
	X(DROP_ICMP_SIZE, "echoes longer than our MTU")                                            \
	X(DROP_ARP_CUT, "shorter than an ARP packet")                                              \
	X(DROP_ARP_FORMAT, "ARP that is not IPv4 over Ethernet")                                   \
	X(DROP_ARP_SENDER, "ARP from a MAC nobody can have, or from our own")                      \
	X(DROP_ICMP_RATION, "echoes not answered: too many already")                               \
	X(DROP_ND_HOP_LIMIT, "neighbour discovery from beyond a router")                           \
	X(DROP_ND_FORMAT, "neighbour discovery that cannot be")                                    \
	X(DROP_ND_SENDER, "neighbour discovery from a MAC nobody can have, or from our own")       \
	X(DROP_ND_TARGET, "questions for another's address")                                       \
	X(DROP_ND_UNASKED, "advertisements of neighbours we did not ask for")                      \
	X(DROP_ND_ROUTER, "router messages and redirects: routes are configured")                  \
	X(DROP_NEIGH_RATION, "questions of neighbours not answered: too many already")             \
	X(ND_ANSWERED, "neighbour solicitations answered")                                         \
	X(ND_ASKED, "neighbour solicitations and announcements sent")                              \
	X(ND_LEARNED, "IPv6 neighbours made or refreshed")                                         \
	X(ND_CONFLICT, "another station has or wants our IPv6 address")                            \
	X(ICMP_TOO_BIG, "path MTUs told by routers and handed to TCP")                             \
	X(ICMP_TOLD_OTHERS, "path MTUs of connections that another core may have")                 \
	X(ICMP_STRAY, "ICMP errors about what we did not send")                                    \
	X(ICMP_ERRORS, "other ICMP errors about what we may have sent")                            \
	X(ARP_ANSWERED, "ARP requests answered")                                                   \
	X(ARP_ASKED, "ARP requests sent")                                                          \
	X(ARP_LEARNED, "ARP entries made or refreshed")                                            \
	X(ARP_CONFLICT, "ARP from another station with our address")                               \
	X(ICMP_ECHOED, "echoes answered")                                                          \
	X(UDP_RECEIVED, "datagrams for the service")                                               \
	X(UDP_ANSWERED, "datagrams answered in the frame they came in")                            \
	X(UDP_SENT, "datagrams sent in a fresh frame")                                             \
	X(TCP_SYNS, "connections begun by a SYN")                                                  \
	X(TCP_OPENED, "handshakes completed")                                                      \
	X(TCP_CONNECTS, "connections begun by us")                                                 \
	X(TCP_CONNECT_REFUSED, "of those, reset by the peer before they were open")                \
	X(TCP_CONNECT_TIMEOUT, "of those, given up: no answer to our SYN")                         \
	X(TCP_CONNECT_UNREACHABLE, "of those, given up: no MAC for the next hop")                  \
	X(TCP_CONNECT_NO_ADDRESS, "connections not begun: we have no address of that family")      \
	X(TCP_CONNECT_NO_PORT, "connects refused: the flow, or every local port, is in use")       \
	X(TCP_CONNECT_NO_SLOT, "connects refused: every connection slot is taken")                 \
	X(TCP_CONNECT_CROSSED, "opens from both sides at once")                                    \
	X(TCP_DROP_RST_BLIND, "resets of our SYN that do not acknowledge it")                      \
	X(TCP_CLOSED_BY_BOTH, "connections closed in order, the peer first")                       \
	X(TCP_ABORTED, "connections reset because the service asked for it")                       \
	X(TCP_RESET_BY_PEER, "connections reset by the peer")                                      \
	X(TCP_RESET_TEXT_CLOSED, "connections reset: text after both had done with it")            \
	X(TCP_TIMEOUT, "connections reset: no answer to any retransmission")                       \
	X(TCP_TIMEOUT_SYN, "half-open connections dropped: no answer")                             \
	X(TCP_TIMEOUT_FIN_WAIT, "connections dropped: the peer never closed")                      \
	X(TCP_TIMEOUT_KEEPALIVE, "connections reset: no answer to any keepalive")                  \
	X(TCP_HALF_OPEN_DROPPED, "oldest half-open connections dropped for new ones")              \
	X(TCP_COOKIES_SENT, "SYNs answered with a cookie: too many half-open connections")         \
	X(TCP_SYNS_PUT_OFF, "SYNs of a flood left for their peers to send again")                  \
	X(TCP_COOKIES_OPENED, "of those, connections opened by what came back")                    \
	X(TCP_COOKIES_BAD, "acknowledgments that hold no cookie of ours, soon after we sent some") \
	X(TCP_HALF_OPEN_SYN, "half-open connections dropped: another SYN in the window")           \
	X(TCP_TIME_WAIT_RECYCLED, "oldest in TIME-WAIT dropped for new connections")               \
	X(TCP_FIN_WAIT_RECYCLED, "oldest whose peer does not close dropped for new connections")   \
	X(TCP_TIME_WAIT_REUSED, "flows in TIME-WAIT opened anew by a SYN")                         \
	X(TCP_REFUSED_CONNS_MAX, "SYNs dropped: every connection slot is taken")                   \
	X(TCP_REFUSED_SOURCE, "refused: their source has as many connections as it may")           \
	X(TCP_REFUSED_SOURCES_FULL, "refused: no place to count their source in")                  \
	X(TCP_REFUSED_TABLE, "SYNs dropped: both buckets of the flow are full")                    \
	X(TCP_REFUSED_DRAINING, "SYNs reset: we are stopping")                                     \
	X(TCP_DROP_HEADER, "a data offset or options that cannot be")                              \
	X(TCP_DROP_PORT, "to a TCP port nobody serves")                                            \
	X(TCP_DROP_UNKNOWN, "acknowledgments of a connection we do not have")                      \
	X(TCP_DROP_RST_UNKNOWN, "resets of a connection we do not have")                           \
	X(TCP_DROP_NO_SYN, "first segments that are no SYN, or a SYN with FIN, or from port 0")    \
	X(TCP_DROP_OUT_OF_WINDOW, "segments outside the receive window")                           \
	X(TCP_DROP_NO_ACK, "segments without an acknowledgment")                                   \
	X(TCP_DROP_ACK_OF_SYN, "handshakes that acknowledge what we did not send")                 \
	X(TCP_DROP_NO_TIMESTAMP, "segments without the timestamps that were agreed on")            \
	X(TCP_DROP_PAWS, "segments older than the last by their timestamps (PAWS)")                \
	X(TCP_DROP_TEXT_OLD, "text received before, or beyond the window")                         \
	X(TCP_DROP_TEXT_CLOSED, "text for a connection that the service has closed")               \
	X(TCP_DROP_RX_CONN_FULL, "text dropped: the connection holds too many frames")             \
	X(TCP_DROP_RX_FRAMES_MAX, "text dropped: all connections together hold too many frames")   \
	X(TCP_DROP_HOLES_FULL, "text after a hole dropped: too much of it is held")                \
	X(TCP_DROP_HOLE_MADE_ROOM, "text after a hole given up for text in order")                 \
	X(TCP_HOLES_EVICTED, "connections whose text after a stale hole made room for others'")    \
	X(TCP_MTU_LOWERED, "path MTUs lowered because a router said so")                           \
	X(TCP_MTU_NO_NEWS, "reports of a path MTU that is not below ours, or absurd")              \
	X(TCP_MTU_STRAY, "reports of a path MTU about nothing on its way (RFC 5927)")              \
	X(TCP_MTU_BLACK_HOLES, "path MTUs lowered because full segments time out")                 \
	X(TCP_MTU_RAISED, "path MTUs tried again at full length")                                  \
	X(TCP_OUT_OF_ORDER, "segments kept until the hole before them is filled")                  \
	X(TCP_CHALLENGED_RST, "resets in the window but not at its edge (RFC 5961)")               \
	X(TCP_CHALLENGED_SYN, "SYNs on an open connection (RFC 5961)")                             \
	X(TCP_CHALLENGED_ACK, "acknowledgments of what was never sent (RFC 5961)")                 \
	X(TCP_CHALLENGES_RATIONED, "challenge ACKs not sent: too soon after the last")             \
	X(TCP_RESETS_RATIONED, "resets not sent: too many already")                                \
	X(TCP_TX_SEGMENTS, "segments sent on connections")                                         \
	X(TCP_TX_RESETS, "resets sent")                                                            \
	X(TCP_TX_NO_ROOM, "segments put off: no room in the outbox")                               \
	X(TCP_RETRANSMITS, "segments sent again")                                                  \
	X(TCP_FAST_RETRANSMITS, "recoveries begun: losses seen by what arrived after them")        \
	X(TCP_RECOVERIES_SPURIOUS, "recoveries taken back: nothing had been lost")                 \
	X(TCP_TIMEOUTS_RETRANSMIT, "retransmission timeouts")                                      \
	X(TCP_TIMEOUTS_SPURIOUS, "timeouts taken back: nothing had been lost")                     \
	X(TCP_LOSS_PROBES, "segments sent to ask whether the last ones arrived (RFC 8985)")        \
	X(TCP_LOSS_PROBES_REPAIRED, "of those, sent again and needed")                             \
	X(TCP_LOSS_PROBES_VAIN, "of those, sent again and not needed")                             \
	X(TCP_SACK_NONSENSE, "SACK blocks of what was never sent")                                 \
	X(TCP_SACK_FORGOTTEN, "timeouts after which what was SACKed no longer counted")            \
	X(TCP_SENT_RUNS_SHORT, "losses of precision: no node for the scoreboard")                  \
	X(TCP_WINDOW_PROBES, "probes of a shut window")                                            \
	X(TCP_KEEPALIVES, "keepalive probes")                                                      \
	X(TCP_ACKS_DELAYED, "acknowledgments that waited for the delayed ACK timer")               \
	X(TCP_ACKS_REPEATED, "further acknowledgments of a burst, after holes or repetitions")     \
	X(TCP_MEMORY_SHORT, "times chunks, pieces or received frames began to run short")          \
	X(TCP_EVICTED_SLOW_READER, "of those who did not acknowledge meanwhile: reset")            \
	X(TCP_EVICTED_SLOW_WRITER, "of those who did not fill a hole meanwhile: reset")            \
	X(TCP_WRITER_AHEAD, "writers put off: too much is queued on the connection")               \
	X(TCP_WRITER_STARVED, "writers put off: no chunk is free")

enum stack_counter { STACK_COUNTERS(COUNTER_SYMBOL) STACK_COUNTER_COUNT };

#endif
