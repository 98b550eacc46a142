/*
 * port.h - a network port, which a core reads and writes in bursts.
 *
 * A port moves frames between one NIC queue pair and one core. It is the only
 * interface between our libraries and a device: lib/dpdk builds one over a PMD
 * queue, tests/sim over arrays in memory.
 *
 * Shape:  a burst is parallel arrays; frame i is data[i] .. data[i] + len[i], one
 *         contiguous Ethernet frame without FCS. A port drops and counts what it
 *         cannot present contiguously.
 * Units:  len in bytes. count in frames.
 * Owner:  every frame has one owner: the port, or the core. rx and alloc give frames to the core;
 *         tx and drop give them back. The core may write anywhere in data[i] .. data[i] +
 *         port->frame_bytes of a frame it owns. To take out a VLAN tag, it may let the frame begin
 *         up to PORT_ADJ_MAX bytes later.
 * Thread: core-local.
 * Errors: none, except for a short count, which is always possible.
 * Bounds: BURST_MAX frames in a call.
 */
#ifndef CLOCKOO_PORT_H
#define CLOCKOO_PORT_H

#include <stdbool.h>
#include <stdint.h>

#define BURST_MAX    64u
#define PORT_ADJ_MAX 4u

/* The port's handle of a frame; only the port knows what it refers to. */
struct frame;

/* Flags that a port sets for a received frame (rx), or by which the core asks for work on a sent
 * one (tx). */
enum frame_ol_flag {
	FRAME_IP_CKSUM_GOOD = 1u << 0, /* rx: the header checksum was verified */
	FRAME_IP_CKSUM_BAD = 1u << 1,
	FRAME_L4_CKSUM_GOOD = 1u << 2, /* rx: the TCP or UDP checksum was verified */
	FRAME_L4_CKSUM_BAD = 1u << 3,
	FRAME_IP_CKSUM_FILL = 1u << 4, /* tx: the field is zero, and the port fills it */
	/* Tx: the field has the pseudo header's sum, and the port completes it. */
	FRAME_L4_CKSUM_FILL = 1u << 5,
	FRAME_L4_IS_TCP = 1u << 6, /* tx, with FRAME_L4_CKSUM_FILL: TCP, else UDP */
	FRAME_HAS_LOAN = 1u << 7,  /* tx: the bytes of its loan follow */
};

struct burst {
	uint32_t count;
	uint32_t len[BURST_MAX];
	uint32_t ol_flags[BURST_MAX]; /* enum frame_ol_flag */
	uint8_t *data[BURST_MAX];
	struct frame *frame[BURST_MAX];
};

/* Bytes of the core's memory with which a frame ends. The port may read them until it calls
 * done(lender, owner), once, on the core's thread or while no core turns. */
struct port_loan {
	const uint8_t *data;
	uint32_t len;
	void (*done)(void *lender, const void *owner);
	void *lender;
	const void *owner;
};

struct port;

struct port_ops {
	/* Overwrites *b with at most count next frames, oldest first. */
	void (*rx)(struct port *port, struct burst *b, uint32_t count);

	/* Sends frames 0..count-1. Returns how many of the first the port took. The core still owns
	 * the others, and must keep or drop them. */
	uint32_t (*tx)(struct port *port, const struct burst *b);

	/* Overwrites *b with at most count fresh frames: len 0, ol_flags 0. */
	void (*alloc)(struct port *port, struct burst *b, uint32_t count);

	/* Gives frames back unsent. count may exceed BURST_MAX. */
	void (*drop)(struct port *port, struct frame *const *frames, uint32_t count);

	/* Only with PORT_TX_LOANS: appends a loan to a fresh frame, which the core then sends with
	 * FRAME_HAS_LOAN, or drops. False: the port has no room for it, and nothing has changed. */
	bool (*lend)(struct port *port, struct frame *frame, const struct port_loan *loan);
};

/* Work that the device does in hardware (or the PMD in software). */
enum port_cap {
	PORT_TX_IP_CKSUM = 1u << 0,
	PORT_TX_UDP_CKSUM = 1u << 1,
	PORT_TX_TCP_CKSUM = 1u << 2,
	PORT_TX_LOANS = 1u << 3, /* a frame may end with bytes of the core's memory */
};

/* A port is the first member of each implementation's own struct. It does not change after the
 * start, with one exception: a capture (capture.h) replaces ops by its own. Another thread stores
 * that pointer as a whole, and the core reads it by a plain load, once for each call as it does
 * anyway. An _Atomic read would take 0.6 instructions of a UDP get (callgrind), since the compiler
 * merges nothing across it. */
struct port {
	const struct port_ops *ops;
	struct capture *capture; /* set while ops are those of a capture */
	uint32_t caps;           /* enum port_cap */
	uint32_t frame_bytes;    /* writable bytes from data[i]; at least 18 + mtu */
	uint16_t mtu;            /* bytes of IP packet in one frame */
	uint8_t mac[6];
};

#endif
