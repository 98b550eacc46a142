/*
 * sim_frame.h - makes and reads a peer's frames: Ethernet, IPv4 and TCP in one step.
 *
 * Units:  addresses and ports in host order; lengths in bytes.
 * Owner:  the caller's bytes; nothing is kept.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_SIM_FRAME_H
#define CLOCKOO_SIM_FRAME_H

#include "mem_port.h"
#include "base/ip_addr.h"
#include "wire/ip_ecn.h"
#include "wire/tcp_wire.h"

#define SIM_ROUTER 0x0a0000feu /* 10.0.0.254: the router that reports a packet too big */
/* Offset of the segment, after Ethernet and an IP header without options. */
#define SIM_TCP_AT    34u
#define SIM_TCP_AT_V6 54u

struct sim_segment {
	uint32_t src_ip, dst_ip;
	bool ipv6;          /* from sim_ip6(src_ip) to sim_ip6(dst_ip) */
	struct tcp_seg tcp; /* with the payload */
};

/* Returns the IPv6 address of the station with this IPv4 address: 2001:db8::a.b.c.d. */
struct ip_addr sim_ip6(uint32_t ip);

/* Recomputes the checksum after the segment's bytes were changed. */
void sim_cksum_segment(uint8_t *frame, uint32_t len, const struct sim_segment *seg);

/* Writes the frame with correct checksums, at most MEM_FRAME_BYTES; returns its length. */
uint32_t sim_write_segment(uint8_t *frame, const uint8_t dst_mac[6], const uint8_t src_mac[6],
			   const struct sim_segment *seg);

/* Feeds the segment to a port. False: the port has no room. */
bool sim_feed_segment(struct mem_port *p, const uint8_t dst_mac[6], const uint8_t src_mac[6],
		      const struct sim_segment *seg);

/* Sets the ECN field of an IP packet. */
void sim_frame_ecn(uint8_t *frame, enum ip_ecn ecn);

/* Writes a router's answer to a packet that is longer than mtu: fragmentation needed (RFC 792, RFC
 * 1191), or packet too big (RFC 4443 section 3.2). Returns 0 if the frame is no IP packet. */
uint32_t sim_write_too_big(uint8_t *frame, const uint8_t *packet_frame, uint32_t len, uint16_t mtu);

/* Parses a frame. False: not TCP over plain IP, or corrupt. */
bool sim_parse_segment(struct sim_segment *seg, const uint8_t *frame, uint32_t len);

/* Parses a frame that was not changed on the way: a wrong length or checksum stops the process. */
bool sim_read_segment(struct sim_segment *seg, const uint8_t *frame, uint32_t len);

#endif
