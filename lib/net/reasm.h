/*
 * reasm.h - reassembly of fragmented UDP datagrams (RFC 791, RFC 8200 section 4.5).
 *
 * Shape:  REASM_SETS sets of REASM_WAYS contexts, one a datagram. A keyed hash of addresses and
 *         identification selects the set. Fragments are copied to their offset; a bitmap has a
 *         bit for every 8 bytes received.
 * Units:  bytes of IP payload: UDP header and payload; times in ns.
 * Owner:  contexts own their bytes. A delivered datagram is valid until reasm_release().
 * Thread: core-local.
 * Errors: counters DROP_FRAG_*.
 * Bounds: the constants; all memory is taken at start. A full set replaces its oldest context.
 */
#ifndef CLOCKOO_REASM_H
#define CLOCKOO_REASM_H

#include "net_core.h"

#define REASM_SETS          16u
#define REASM_WAYS          4u
#define REASM_BYTES         16384u
#define REASM_FRAGMENTS_MAX 32u /* of one datagram: REASM_BYTES over a path of 576 bytes */
#define REASM_NS            (1500ull * 1000000) /* from the first fragment */
#define REASM_SWEEP_NS      (100ull * 1000000)  /* between sweeps of expired contexts */

size_t reasm_bytes(void);
struct reasm *reasm_create(struct region *region);

/* Adds the fragment in received frame rx_index, whose bytes are copied. Returns the datagram, from
 * its UDP header on, if it is complete now; NULL: it is not, or was dropped and counted. */
const uint8_t *reasm_insert(struct net *net, uint32_t rx_index);
/* Drops contexts older than REASM_NS. */
void reasm_tick(struct reasm *r, struct net *net);
/* Frees delivered contexts, except those of the datagrams kept. */
void reasm_release(struct reasm *r, const struct datagram *kept, uint32_t kept_count);
/* Was the datagram reassembled? */
bool reasm_holds(struct reasm *r, const struct datagram *d);

#endif
