/*
 * net_frames.h - frames for tests, written field by field without the code under test, and the
 * small network they live in.
 */
#ifndef CLOCKOO_NET_FRAMES_H
#define CLOCKOO_NET_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define OUR_IP     0x0a630001u /* 10.99.0.1/24 */
#define PEER_IP    0x0a630002u
#define GATEWAY_IP 0x0a6300feu
#define FAR_IP     0xc0000207u /* 192.0.2.7 */
#define UDP_PORT   11211u
#define PEER_PORT  40000u

extern const uint8_t our_mac[6], peer_mac[6], gateway_mac[6], other_mac[6], all_mac[6];

/* Offsets into a frame with a plain IPv4 header. */
enum frame_at {
	AT_ETH_DST = 0,
	AT_ETH_SRC = 6,
	AT_ETH_TYPE = 12,
	AT_IP = 14,
	AT_IP_TOTAL_LEN = 16,
	AT_IP_ID = 18,
	AT_IP_FRAGMENT = 20,
	AT_IP_TTL = 22,
	AT_IP_PROTOCOL = 23,
	AT_IP_CKSUM = 24,
	AT_IP_SRC = 26,
	AT_IP_DST = 30,
	AT_L4 = 34,
	AT_UDP_SRC = 34,
	AT_UDP_DST = 36,
	AT_UDP_LEN = 38,
	AT_UDP_CKSUM = 40,
	AT_UDP_PAYLOAD = 42,
	AT_ICMP_CKSUM = 36,
	AT_TCP_CKSUM = 50,
	AT_ARP_OP = 20,
	AT_ARP_SENDER_MAC = 22,
	AT_ARP_SENDER_IP = 28,
	AT_ARP_TARGET_MAC = 32,
	AT_ARP_TARGET_IP = 38,
};

uint16_t get16(const uint8_t *p);
uint32_t get32(const uint8_t *p);
void put16(uint8_t *p, uint16_t v);
void put32(uint8_t *p, uint32_t v);

/* Each frame function returns the frame's length. options: bytes of NOP options
 * after the IPv4 header. */
uint32_t frame_udp(uint8_t *p, const void *payload, uint32_t len, uint32_t options);
uint32_t frame_tcp(uint8_t *p, const void *payload, uint32_t len);
uint32_t frame_echo(uint8_t *p, const void *payload, uint32_t len, uint32_t options);
uint32_t frame_arp(uint8_t *p, uint16_t op, uint32_t sender_ip, const uint8_t sender_mac[6],
		   uint32_t target_ip, const uint8_t dst_mac[6]);

/* Returns the checksum of RFC 1071, summed 16 bits at a time. */
uint16_t slow_cksum(const uint8_t *p, uint32_t len, uint32_t sum);
/* Set the IPv4 header checksum, or that and the L4 checksum, as far as the lengths are valid. */
void frame_fix_ip(uint8_t *p);
void frame_fix(uint8_t *p, uint32_t len);
/* True if the IPv4 header's checksum and that of UDP, TCP or ICMP are right. */
bool frame_good(const uint8_t *p, uint32_t len);
/* Fills in the checksums that a device fills in at tx
 * (FRAME_IP_CKSUM_FILL, FRAME_L4_CKSUM_FILL). */
void frame_fill_cksums(uint8_t *p, uint32_t ol_flags);

#endif
