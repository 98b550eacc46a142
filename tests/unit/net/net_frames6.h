/*
 * net_frames6.h - IPv6 frames for tests, written byte by byte without the code under test.
 */
#ifndef CLOCKOO_NET_FRAMES6_H
#define CLOCKOO_NET_FRAMES6_H

#include "net_frames.h"

/* Our addresses are 2001:db8::1/64 and the one made from our_mac; the peer's are the same with a
 * 2 at the end. */
extern const uint8_t our_ip6[16], our_link6[16], peer_ip6[16], peer_link6[16], far_ip6[16];
/* The router of --gateway6. */
extern const uint8_t router_link6[16];
extern const uint8_t all_nodes6[16], our_group6[16];

/* Offsets into a frame with a plain IPv6 header. */
enum frame6_at {
	AT6_PAYLOAD_LEN = 18,
	AT6_NEXT = 20,
	AT6_HOP_LIMIT = 21,
	AT6_SRC = 22,
	AT6_DST = 38,
	AT6_L4 = 54,
	AT6_UDP_PAYLOAD = 62,
	AT6_ND_FLAGS = 58,
	AT6_ND_TARGET = 62,
	AT6_ND_OPTION = 78,
};

/* Each function writes a frame from the peer to us, between the global addresses, and returns its
 * length. */
uint32_t frame6(uint8_t *p, uint8_t next, const void *l4, uint32_t len);
uint32_t frame6_udp(uint8_t *p, const void *payload, uint32_t len);
uint32_t frame6_tcp(uint8_t *p, const void *payload, uint32_t len);
uint32_t frame6_echo(uint8_t *p, const void *payload, uint32_t len);
/* type 135 (solicitation of target) or 136 (advertisement of it), with the peer's MAC. A
 * solicitation goes to the solicited-node group, an advertisement to us. */
uint32_t frame6_nd(uint8_t *p, uint8_t type, const uint8_t target[16]);

/* Inserts bytes between the IPv6 header and the headers after it; `next` is the kind of the first
 * inserted header. The last inserted one must name the kind of the header that follows. Returns the
 * new length. */
uint32_t frame6_insert(uint8_t *p, uint32_t frame_len, uint8_t next, const void *bytes,
		       uint32_t len);

/* Sets the checksum behind all extension headers, as far as the lengths are valid. */
void frame6_fix(uint8_t *p, uint32_t len);
/* True if the checksum behind all extension headers is right. */
bool frame6_good(const uint8_t *p, uint32_t len);
/* Fills in the checksum that a device fills in at tx (FRAME_L4_CKSUM_FILL). */
void frame6_fill_cksum(uint8_t *p);

/* Inserts an 802.1Q tag into a frame; returns the new length. */
uint32_t frame_tag(uint8_t *p, uint32_t len, uint16_t tag);

#endif
