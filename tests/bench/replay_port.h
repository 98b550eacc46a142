/*
 * replay_port.h - a port that plays prepared frames to a core and takes its answers.
 *
 * It replaces a NIC with checksum offload: received frames are marked as verified, and checksums
 * that the core leaves to the NIC are not computed. Frames are prepared before the turn
 * (replay_load), as a NIC's DMA would, so a turn pays only for its own work.
 *
 * The port reads a loan where the other end takes the frame (replay_gather): outside of the turn,
 * as DMA would.
 *
 * Shape:  a stack of fixed frames; the loaded ones wait in order.
 * Owner:  as port.h says; the last burst sent stays readable until the next replay_load.
 * Thread: core-local.
 * Bounds: REPLAY_FRAMES frames; at most BURST_MAX loaded.
 */
#ifndef CLOCKOO_REPLAY_PORT_H
#define CLOCKOO_REPLAY_PORT_H

#include "pkt/port.h"

#define REPLAY_FRAMES      2048u
#define REPLAY_FRAME_BYTES 2048u

struct replay_port {
	struct port port;
	uint8_t *memory;
	uint32_t free_count;
	uint8_t *free[REPLAY_FRAMES];
	struct burst loaded; /* the next rx delivers these */
	uint32_t sent_count; /* since replay_load */
	uint8_t *sent[REPLAY_FRAMES];
	uint32_t sent_len[REPLAY_FRAMES];
	struct port_loan loan[REPLAY_FRAMES]; /* of each frame; len 0: none */
};

/* Initializes the port. memory has REPLAY_FRAMES * REPLAY_FRAME_BYTES bytes. */
void replay_init(struct replay_port *rp, uint8_t *memory, const uint8_t mac[6]);

/* Copies the loan of sent frame i behind the frame's own bytes. */
void replay_gather(struct replay_port *rp, uint32_t i);

/* replay_recycle takes back the sent frames; replay_load prepares one more frame to receive. */
void replay_recycle(struct replay_port *rp);
void replay_load(struct replay_port *rp, const uint8_t *image, uint32_t len);

#endif
