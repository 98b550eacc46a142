/*
 * script_frame.h - a segment in the fields of a script, and as bytes of a frame.
 *
 * Segments are written and read without lib/wire's TCP code, so that a script checks that code.
 *
 * Units:  seq, ack, TSval and TSecr as on the wire; len in bytes of text.
 * Thread: pure functions.
 * Errors: false: not TCP over IP. A wrong length, checksum or option of our own is named in words.
 * Bounds: SCRIPT_SACKS_MAX blocks, SCRIPT_OPTION_BYTES bytes of options (RFC 9293 section 3.1).
 */
#ifndef CLOCKOO_SCRIPT_FRAME_H
#define CLOCKOO_SCRIPT_FRAME_H

#include "mem_port.h"

#include "base/ip_addr.h"
#include "wire/ip_ecn.h"

#include <stdbool.h>
#include <stdint.h>

#define SCRIPT_SACKS_MAX    4u
#define SCRIPT_OPTION_BYTES 40u

enum script_flag {
	FLAG_FIN = 1,
	FLAG_SYN = 2,
	FLAG_RST = 4,
	FLAG_PSH = 8,
	FLAG_ACK = 16,
	FLAG_URG = 32,
	FLAG_ECE = 64,
	FLAG_CWR = 128,
	FLAG_AE = 256, /* RFC 9768 */
};

enum script_option {
	OPT_MSS = 1u << 0,
	OPT_WSCALE = 1u << 1,
	OPT_SACK_PERMITTED = 1u << 2,
	OPT_TIMESTAMPS = 1u << 3,
	OPT_SACK = 1u << 4,
	OPT_RAW = 1u << 5, /* in only: the options are these bytes */
};

struct script_options {
	uint32_t seen; /* enum script_option */
	bool given;    /* the script states the options; otherwise any are right */
	bool any_value, any_echo;
	uint16_t mss;
	uint8_t wscale;
	uint8_t sacks, raw_len;
	uint32_t ts_value, ts_echo;
	uint32_t sack[SCRIPT_SACKS_MAX][2];
	uint8_t raw[SCRIPT_OPTION_BYTES];
};

struct script_seg {
	uint32_t seq, ack, len;
	uint16_t src_port, dst_port, window;
	uint16_t flags; /* enum script_flag */
	uint8_t ecn;    /* enum ip_ecn */
	bool window_given;
	bool bad_cksum;      /* in: the checksum is wrong */
	bool other_text;     /* in: not the bytes of the stream */
	const uint8_t *text; /* text of a frame that was read */
	struct script_options opt;
};

/* Addresses of one family. */
struct script_ends {
	struct ip_addr src, dst;
};

struct script_icmp {
	struct ip_addr router;
	uint8_t type, code;
	uint32_t mtu;
};

/* Writes the frame; returns its length. */
uint32_t script_frame_write(uint8_t *frame, const struct script_ends *ends,
			    const struct script_seg *seg, const uint8_t *text);

/* Writes a router's answer to a segment of ours (ends are the peer's), with its IP header and
 * eight bytes (RFC 792, RFC 4443). Returns its length. */
uint32_t script_frame_icmp(uint8_t *frame, const struct script_ends *ends,
			   const struct script_icmp *what, const struct script_seg *quoted);

/* Writes the peer's request for our MAC, which shows its own: ARP, or neighbour discovery.
 * Returns its length. */
uint32_t script_frame_ask(uint8_t *frame, const struct script_ends *ends);

/* Reads a frame that the stack sent. *wrong names an error of it, or is NULL. */
bool script_frame_read(struct script_seg *seg, struct script_ends *ends, const uint8_t *frame,
		       uint32_t len, const char **wrong);

#endif
