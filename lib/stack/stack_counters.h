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
	X(DROP_IP_FRAGMENT, "fragments: we do not reassemble")                                     \
	X(DROP_IP_NOT_OURS, "addressed to another IPv4 address")                                   \
	X(DROP_IP_SOURCE, "from an address nobody can have: zero, loopback, group, ours")          \
	X(DROP_IP_PROTOCOL, "neither TCP, UDP nor ICMP")                                           \
	X(DROP_UDP_CUT, "shorter than a UDP header")                                               \
	X(DROP_UDP_LEN, "a UDP length that cannot be")                                             \
	X(DROP_UDP_CKSUM, "a wrong UDP checksum")                                                  \
	X(DROP_UDP_PORT, "to a UDP port nobody serves")                                            \
	X(DROP_UDP_SOURCE, "from UDP port 0: nobody to answer")                                    \
	X(DROP_TCP_CUT, "shorter than a TCP header")                                               \
	X(DROP_TCP_CKSUM, "a wrong TCP checksum")                                                  \
	X(DROP_ICMP_CUT, "shorter than an ICMP header")                                            \
	X(DROP_ICMP_CKSUM, "a wrong ICMP checksum")                                                \
	X(DROP_ICMP_TYPE, "ICMP messages other than echo")                                         \
	X(DROP_ICMP_SIZE, "echoes longer than our MTU")                                            \
	X(DROP_ARP_CUT, "shorter than an ARP packet")                                              \
	X(DROP_ARP_FORMAT, "ARP that is not IPv4 over Ethernet")                                   \
	X(DROP_ARP_SENDER, "ARP from a MAC nobody can have, or from our own")                      \
	X(ARP_ANSWERED, "ARP requests answered")                                                   \
	X(ARP_ASKED, "ARP requests sent")                                                          \
	X(ARP_LEARNED, "ARP entries made or refreshed")                                            \
	X(ARP_CONFLICT, "ARP from another station with our address")                               \
	X(ICMP_ECHOED, "echoes answered")                                                          \
	X(UDP_RECEIVED, "datagrams for the service")                                               \
	X(UDP_ANSWERED, "datagrams answered in the frame they came in")                            \
	X(UDP_SENT, "datagrams sent in a fresh frame")

enum stack_counter { STACK_COUNTERS(COUNTER_SYMBOL) STACK_COUNTER_COUNT };

#endif
