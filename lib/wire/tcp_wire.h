/*
 * tcp_wire.h - a TCP segment's header and options (RFC 9293 section 3.1).
 *
 * Shape:  tcp_parse reads a header from len bytes, tcp_emit writes one; both use struct tcp_seg.
 *         Ports, numbers and the window are in host order; SACK blocks stay in wire format, since
 *         those of most segments are never used.
 * Units:  header_len in bytes, options included; window as on the wire, unscaled.
 * Owner:  payload and opt.sack are views of the parsed bytes, or of the bytes to emit.
 * Thread: pure functions.
 * Errors: enum tcp_parse_result. Unless it is TCP_WIRE_OK, *seg is unspecified. The caller computes
 *         checksums (inet_cksum.h).
 * Bounds: TCP_OPTIONS_MAX bytes of options; every iteration of the option loop takes at least
 *         one.
 */
#ifndef CLOCKOO_TCP_WIRE_H
#define CLOCKOO_TCP_WIRE_H

#include "base/bytes.h"
#include "base/check.h"

#define TCP_HEADER_BYTES     20u
#define TCP_OPTIONS_MAX      40u
#define TCP_HEADER_MAX       (TCP_HEADER_BYTES + TCP_OPTIONS_MAX)
#define TCP_CKSUM_OFFSET     16u   /* offset of the checksum in the header */
#define TCP_WSCALE_MAX       14u   /* RFC 7323 section 2.3 */
#define TCP_MSS_DEFAULT      536u  /* RFC 9293 MUST-15: the MSS without an option */
#define TCP_MSS_DEFAULT_V6   1220u /* as above, over IPv6 */
#define TCP_TIMESTAMPS_BYTES 12u   /* in each segment, padded (RFC 7323 appendix A) */
#define TCP_SACK_MAX         4u    /* blocks in one segment; with timestamps 3 (RFC 2018 3) */

struct tcp_header {
	struct be16 src_port, dst_port;
	struct be32 seq, ack;
	uint8_t data_offset; /* header length in 32-bit words, in the high four bits */
	uint8_t flags;       /* enum tcp_flag */
	struct be16 window, cksum, urgent;
};
static_assert(sizeof(struct tcp_header) == TCP_HEADER_BYTES, "RFC 9293 figure 1");
static_assert(offsetof(struct tcp_header, cksum) == TCP_CKSUM_OFFSET, "RFC 9293 figure 1");

enum tcp_flag {
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_PSH = 0x08,
	TCP_ACK = 0x10,
	TCP_URG = 0x20,
	TCP_ECE = 0x40,
	TCP_CWR = 0x80,
};

/* Bits for the members of struct tcp_options that are set. */
enum tcp_option_seen {
	TCP_HAS_MSS = 1u << 0,
	TCP_HAS_WSCALE = 1u << 1,
	TCP_HAS_SACK_PERMITTED = 1u << 2,
	TCP_HAS_TIMESTAMPS = 1u << 3,
	TCP_HAS_SACK = 1u << 4,
	TCP_HAS_MALFORMED =
		1u << 5, /* an option without a length, too short, too long, of a wrong size */
};

/* A SACK block (RFC 2018 section 3): bytes received beyond the acknowledgment; end is one past
 * the last. */
struct tcp_sack_block {
	struct be32 begin, end;
};
static_assert(sizeof(struct tcp_sack_block) == 8, "RFC 2018 section 3");

struct tcp_options {
	uint8_t seen;   /* enum tcp_option_seen */
	uint8_t wscale; /* at most TCP_WSCALE_MAX */
	uint16_t mss;
	uint32_t ts_value, ts_echo;
	uint32_t sack_count;               /* 1..TCP_SACK_MAX, if TCP_HAS_SACK is set */
	const struct tcp_sack_block *sack; /* as received, unchecked */
};

struct tcp_seg {
	uint16_t src_port, dst_port;
	uint32_t seq, ack;
	uint16_t window;
	uint8_t flags; /* enum tcp_flag */
	uint8_t header_len;
	struct tcp_options opt;
	struct view payload; /* parse only */
};

enum tcp_parse_result {
	TCP_WIRE_OK,
	TCP_WIRE_TRUNCATED,  /* fewer than 20 bytes */
	TCP_WIRE_BAD_OFFSET, /* data offset below 5 words, or past the end */
};

/* Parses a segment, header and payload, of len bytes at p; len follows from the IP total length. */
enum tcp_parse_result tcp_parse(struct tcp_seg *seg, const uint8_t *p, uint32_t len);

/* Writes the header with the options in opt.seen, each padded to words; checksum and urgent pointer
 * are zero. SACK blocks for which there is no room beside the other options are dropped, the last
 * one first. Returns the header's length, at most TCP_HEADER_MAX. */
uint32_t tcp_emit(uint8_t *p, const struct tcp_seg *seg);

#endif
