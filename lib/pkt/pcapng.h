/*
 * pcapng.h - frames as a file that Wireshark and tcpdump read: blocks of pcapng.
 *
 * draft-ietf-opsawg-pcapng: a section header, one interface, a block a frame with its direction and
 * its queue, and statistics of the interface at the end. A file that ends behind any block is
 * whole.
 *
 * Shape:  each function writes one block and returns its bytes.
 * Units:  times in ns since 1970.
 * Thread: pure functions.
 * Errors: 0: no room; nothing is written.
 * Bounds: texts of PCAPNG_TEXT_MAX bytes, what is longer is cut; a frame of kept bytes takes
 *         PCAPNG_FRAME_BYTES more.
 */
#ifndef CLOCKOO_PCAPNG_H
#define CLOCKOO_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCAPNG_TEXT_MAX    256u
#define PCAPNG_FRAME_BYTES 64u   /* its block beside the frame: 56, and what pads it */
#define PCAPNG_HEAD_BYTES  1024u /* the section header with the interface, at most */
#define PCAPNG_STATS_BYTES 96u

struct pcapng_about {
	const char *program;   /* that captured: name and version */
	const char *interface; /* its name */
	const char *filter;    /* NULL: none */
	const uint8_t *mac;    /* 6 bytes */
	uint32_t snap;
};

struct pcapng_frame {
	uint64_t at_ns;
	uint32_t len, kept; /* on the wire; at data */
	uint32_t queue;
	bool sent;
	const uint8_t *data;
};

struct pcapng_stats {
	uint64_t begin_ns, end_ns;
	uint64_t received; /* frames that the filter let through, both directions */
	uint64_t dropped;  /* of them */
};

size_t pcapng_head(uint8_t *to, size_t room, const struct pcapng_about *about);
/* *data: where the frame's bytes are in the block, to be changed. */
size_t pcapng_frame(uint8_t *to, size_t room, const struct pcapng_frame *frame, uint8_t **data);
size_t pcapng_stats(uint8_t *to, size_t room, const struct pcapng_stats *stats);

#endif
