/*
 * pcapng.h - writes frames in pcapng, the file format that Wireshark and tcpdump read.
 *
 * A file (draft-ietf-opsawg-pcapng) has a section header, one interface, a block for each frame
 * with its direction and queue, and at the end statistics of the interface. A file that ends after
 * any block is valid.
 *
 * Shape:  each function writes one block and returns its bytes.
 * Units:  times in ns since 1970.
 * Thread: pure functions.
 * Errors: 0: no room; nothing is written.
 * Bounds: texts longer than PCAPNG_TEXT_MAX bytes are cut. The block of a frame needs at most
 *         kept + PCAPNG_FRAME_BYTES bytes.
 */
#ifndef CLOCKOO_PCAPNG_H
#define CLOCKOO_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCAPNG_TEXT_MAX    256u
#define PCAPNG_FRAME_BYTES 64u   /* bytes of a block without its frame: 56, and padding */
#define PCAPNG_HEAD_BYTES  1024u /* most bytes of section header and interface together */
#define PCAPNG_STATS_BYTES 96u

struct pcapng_about {
	const char *program;   /* the capturing program's name and version */
	const char *interface; /* its name */
	const char *filter;    /* NULL: none */
	const uint8_t *mac;    /* 6 bytes */
	uint32_t snap;
};

struct pcapng_frame {
	uint64_t at_ns;
	uint32_t len, kept; /* bytes on the wire; bytes at data */
	uint32_t queue;
	bool sent;
	const uint8_t *data;
};

struct pcapng_stats {
	uint64_t begin_ns, end_ns;
	uint64_t received; /* frames that matched the filter, in both directions */
	uint64_t dropped;  /* those of them that were dropped */
};

size_t pcapng_head(uint8_t *to, size_t room, const struct pcapng_about *about);
/* Writes the block of a frame. *data: the frame's bytes in the block, which the caller may
 * change. */
size_t pcapng_frame(uint8_t *to, size_t room, const struct pcapng_frame *frame, uint8_t **data);
size_t pcapng_stats(uint8_t *to, size_t room, const struct pcapng_stats *stats);

#endif
