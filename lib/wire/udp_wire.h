/*
 * udp_wire.h - the UDP header (RFC 768).
 *
 * Units:  lengths in bytes, header included; ports in host order.
 * Thread: pure functions.
 * Errors: enum udp_parse_result. The caller checks the checksum, which the port may have
 *         verified.
 */
#ifndef CLOCKOO_UDP_WIRE_H
#define CLOCKOO_UDP_WIRE_H

#include "inet_cksum.h"
#include "base/check.h"

#define UDP_HEADER_BYTES 8u
#define UDP_CKSUM_OFFSET 6u /* offset of the checksum in the header */

struct udp_header {
	struct be16 src_port, dst_port, len, cksum;
};
static_assert(sizeof(struct udp_header) == UDP_HEADER_BYTES, "RFC 768, format");
static_assert(offsetof(struct udp_header, cksum) == UDP_CKSUM_OFFSET, "RFC 768, format");

struct udp {
	uint16_t src_port, dst_port;
	uint16_t len;   /* header and payload; bytes after them are padding */
	bool has_cksum; /* false: the field is zero, since the sender computed none */
};

enum udp_parse_result {
	UDP_WIRE_OK,
	UDP_WIRE_TRUNCATED, /* fewer than 8 bytes */
	UDP_WIRE_LEN,       /* the length is below 8, or past the end of the packet */
};

static inline enum udp_parse_result
udp_parse(struct udp *udp, const uint8_t *p, uint32_t len)
{
	const struct udp_header *h = (const struct udp_header *)p;

	if (len < UDP_HEADER_BYTES)
		return UDP_WIRE_TRUNCATED;
	udp->src_port = be16_get(h->src_port);
	udp->dst_port = be16_get(h->dst_port);
	udp->len = be16_get(h->len);
	udp->has_cksum = load_u16(h->cksum.b) != 0;
	return udp->len >= UDP_HEADER_BYTES && udp->len <= len ? UDP_WIRE_OK : UDP_WIRE_LEN;
}

/* Writes the header; checksum zero. */
static inline void
udp_emit(uint8_t *p, uint16_t src_port, uint16_t dst_port, uint16_t len)
{
	struct udp_header *h = (struct udp_header *)p;

	h->src_port = be16_of(src_port);
	h->dst_port = be16_of(dst_port);
	h->len = be16_of(len);
	h->cksum = be16_of(0);
}

/* Returns the checksum field for a sum over everything else. A computed zero is sent as all ones,
 * because zero means "none" (RFC 768). */
static inline struct be16
udp_cksum(uint64_t sum)
{
	const struct be16 cksum = inet_cksum(sum);

	return load_u16(cksum.b) != 0 ? cksum : be16_of(0xffff);
}

#endif
