/*
 * capture_wire.h - messages between `clockoo capture` and a running appliance.
 *
 * Messages pass over the command's socket (command_socket.h). The client sends one request. The
 * server then sends messages: each is a byte of enum capture_word and its contents. The client asks
 * for the end by shutting its side down.
 *
 * Units:  bytes of the file or of a frame; seconds.
 * Errors: the server refuses a malformed request in one line.
 * Bounds: the limits below; a message has CAPTURE_MESSAGE_BYTES at most.
 */
#ifndef CLOCKOO_CAPTURE_WIRE_H
#define CLOCKOO_CAPTURE_WIRE_H

#include "command_socket.h"

#include <stddef.h>
#include <string.h>

#define CAPTURE_COMMAND       "capture"
#define CAPTURE_MAGIC         0x636c6b32u /* changes with struct capture_request */
#define CAPTURE_MESSAGE_BYTES (64u << 10)
#define CAPTURE_INSNS_MAX     512u
#define CAPTURE_FILTER_BYTES  256u
#define CAPTURE_SECONDS_MAX   86400u
#define CAPTURE_SECONDS       60u /* by default */
#define CAPTURE_SIZE_MIN      4096u
#define CAPTURE_SIZE_MAX      (1ull << 40)
#define CAPTURE_SIZE          (100ull << 20)
#define CAPTURE_SNAP_MIN      14u /* an Ethernet header */
#define CAPTURE_SNAP_MAX      16384u

/* An instruction of a filter: struct bpf_insn of libpcap. */
struct capture_insn {
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};

struct capture_request {
	uint32_t magic;
	uint32_t snap; /* bytes kept of each frame */
	uint32_t seconds;
	uint32_t insn_count; /* 0: every frame passes */
	uint64_t count;      /* frames; 0: no limit */
	uint64_t size;       /* bytes of the file at most */
	/* Text of the filter, written to the file; ends with a zero byte. */
	char filter[CAPTURE_FILTER_BYTES];
	struct capture_insn insns[CAPTURE_INSNS_MAX]; /* only insn_count of them are sent */
};

enum capture_word {
	CAPTURE_BEGUN = 'B',
	CAPTURE_BLOCKS = 'D',              /* whole blocks of pcapng */
	CAPTURE_REFUSED = COMMAND_REFUSED, /* a line of text */
	CAPTURE_OVER = 'Z',                /* struct capture_summary */
};

enum capture_reason {
	CAPTURE_BY_COUNT,
	CAPTURE_BY_SECONDS,
	CAPTURE_BY_SIZE,
	CAPTURE_BY_CLIENT,
	CAPTURE_BY_STOP, /* the appliance stops */
};

struct capture_summary {
	uint64_t frames, dropped;
	uint64_t ns;     /* length of the capture */
	uint32_t reason; /* enum capture_reason */
	uint32_t unused;
};

static inline size_t
capture_request_bytes(uint32_t insn_count)
{
	return offsetof(struct capture_request, insns) + insn_count * sizeof(struct capture_insn);
}

/* True if r, received with this number of bytes, is within all limits. Its instructions need
 * capture_filter_is_valid(), too. */
static inline bool
capture_request_is_good(const struct capture_request *r, size_t bytes)
{
	return bytes >= capture_request_bytes(0) && r->magic == CAPTURE_MAGIC &&
	       r->insn_count <= CAPTURE_INSNS_MAX &&
	       bytes == capture_request_bytes(r->insn_count) && r->snap >= CAPTURE_SNAP_MIN &&
	       r->snap <= CAPTURE_SNAP_MAX && r->seconds >= 1 &&
	       r->seconds <= CAPTURE_SECONDS_MAX && r->size >= CAPTURE_SIZE_MIN &&
	       r->size <= CAPTURE_SIZE_MAX && memchr(r->filter, 0, sizeof r->filter) != NULL;
}

#endif
