/*
 * reasm.h - reassembly of fragmented UDP datagrams and echo requests (RFC 791, RFC 8200 section
 * 4.5).
 *
 * Shape:  a context for each datagram: REASM_CONTEXTS for UDP, and separate REASM_ECHO_CONTEXTS for
 *         echo requests, so that these evict no datagram of a client. A keyed hash of addresses and
 *         identification finds them. Fragments are copied to their offset; a bitmap has a bit for
 *         every 8 bytes received. If no context is free, a new datagram takes the one that has
 *         waited longest for a fragment. There are no shares for sources, since sources may be
 *         forged.
 * Units:  bytes of IP payload, which includes the header of UDP or ICMP; times in ns.
 * Owner:  contexts own their bytes. A delivered datagram is valid until reasm_release().
 * Thread: core-local.
 * Errors: counters DROP_FRAG_*.
 * Bounds: the constants; all memory is taken at start.
 */
#ifndef CLOCKOO_REASM_H
#define CLOCKOO_REASM_H

#include "net_inside.h"

#define REASM_CONTEXTS      64u
#define REASM_ECHO_CONTEXTS 4u
#define REASM_BYTES         16384u
/* Most fragments of a datagram: REASM_BYTES over an MTU of 576. */
#define REASM_FRAGMENTS_MAX 32u
#define REASM_NS            (1500ull * 1000000) /* lifetime from the first fragment */
#define REASM_SWEEP_NS      (100ull * 1000000)  /* time between sweeps of expired contexts */

size_t reasm_bytes(uint32_t contexts);
struct reasm *reasm_create(struct region *region, uint32_t contexts);

/* A complete datagram, from the header of its protocol on. */
struct reassembled {
	uint8_t *bytes; /* NULL: the datagram is incomplete, or was dropped and counted */
	uint32_t len, id;
};

/* Adds the fragment in received frame rx_index by copying its bytes. r: net->reasm for UDP, whose
 * checks are made here, or net->echo_reasm. */
struct reassembled reasm_insert(struct net *net, struct reasm *r, uint32_t rx_index);
/* Drops contexts older than REASM_NS. */
void reasm_tick(struct reasm *r, struct net *net);
/* Frees delivered contexts, except those of the datagrams kept. */
void reasm_release(struct reasm *r, const struct datagram *kept, uint32_t kept_count);
/* True if the datagram was reassembled. */
bool reasm_holds(struct reasm *r, const struct datagram *d);

#endif
