/*
 * capture_wire.h - messages between `clockoo capture` and a running appliance.
 *
 * They pass over the command's socket (command_socket.h). The client sends one request, then the
 * server sends messages: a byte of enum capture_word and its contents. A client shuts its side down
 * to ask for the end.
 *
 * Units:  seconds, bytes of the file, bytes of a frame.
 * Errors: a request that is not of this shape is refused in one line.
 * Bounds: below; messages of CAPTURE_MESSAGE_BYTES.
 */
#ifndef CLOCKOO_CAPTURE_WIRE_H
#define CLOCKOO_CAPTURE_WIRE_H

#include "command_socket.h"

#include <stddef.h>
#include <string.h>

#define CAPTURE_COMMAND       "capture"
#define CAPTURE_MAGIC         0x636c6b32u /* differs for each form of struct capture_request */
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
	uint32_t snap, seconds;
	uint32_t insn_count;               /* 0: every frame matches */
	uint64_t count;                    /* frames; 0: no limit */
	uint64_t size;                     /* of the file */
	char filter[CAPTURE_FILTER_BYTES]; /* the filter's text, for the file; NUL-terminated */
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
	CAPTURE_BY_STOP, /* of the appliance */
};

struct capture_summary {
	uint64_t frames, dropped, ns;
	uint32_t reason; /* enum capture_reason */
	uint32_t unused;
};

static inline size_t
capture_request_bytes(uint32_t insn_count)
{
	return offsetof(struct capture_request, insns) + insn_count * sizeof(struct capture_insn);
}

/* True if the first `bytes` of r are a request within all limits. capture_filter.h checks its
 * instructions. */
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
