/*
 * net_counters.h - the events that the net counts, with every reason to drop.
 *
 * The enum and the names are made from one table (counter.h).
 */
#ifndef CLOCKOO_NET_COUNTERS_H
#define CLOCKOO_NET_COUNTERS_H

#include "base/counter.h"

#define NET_COUNTERS(X)                                                                            \
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
	X(DROP_UDP_DENIED, "UDP from sources that network.allow and deny do not let in")           \
	X(DROP_TCP_TRUNCATED, "truncated TCP header")                                              \
	X(DROP_TCP_CKSUM, "bad TCP checksum")                                                      \
	X(DROP_ICMP_TRUNCATED, "truncated ICMP message")                                           \
	X(DROP_ICMP_CKSUM, "bad ICMP checksum")                                                    \
	X(DROP_ICMP_TYPE, "ICMP types not handled")                                                \
	X(DROP_ICMP_DENIED, "echo requests from sources that are not let in")                      \
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
	X(DROP_ND_ROUTER, "router messages that were not asked for, and redirects")                \
	X(ND_ROUTER_NOTED, "router advertisements noted (gateway6: auto)")                         \
	X(DROP_NEIGH_RATE_LIMIT, "ARP requests and solicitations not answered: rate limit")        \
	X(DROP_MLD_SENDER, "MLD queries from no querier of the link")                              \
	X(DROP_MLD_FORMAT, "malformed MLD queries")                                                \
	X(DROP_MLD_RATE_LIMIT, "MLD queries not answered: rate limit")                             \
	X(MLD_QUERIES, "MLD queries received")                                                     \
	X(MLD_REPORTS_SENT, "MLD reports sent")                                                    \
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
	X(ADDRESS_DEFENDED, "announcements in defence of an address that others use")              \
	X(ADDRESS_PROBES, "questions whether others use our addresses, after link-up")             \
	X(ICMP_ECHO_REPLIES, "echo replies sent")                                                  \
	X(UDP_RECEIVED, "datagrams received for the service")                                      \
	X(UDP_ANSWERED, "datagrams answered in the received frame")                                \
	X(UDP_SENT, "datagrams sent in a fresh frame")                                             \
	X(KERNEL_GIVEN, "frames given to the kernel, those of both included")                      \
	X(KERNEL_DROP_RATE, "frames of the kernel dropped: above its rate")                        \
	X(KERNEL_DROP_FULL, "frames of the kernel dropped: it is late")                            \
	X(KERNEL_DROP_LENGTH, "frames of the kernel dropped: too short or too long")               \
	X(KERNEL_SENT, "frames sent for the kernel")                                               \
	X(KERNEL_SILENCED, "frames from the kernel dropped: an answer that is ours to give")

enum net_counter { NET_COUNTERS(COUNTER_SYMBOL) NET_COUNTER_COUNT };

#endif
