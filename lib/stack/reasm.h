/*
 * reasm.h - datagrams that arrive in IP fragments are reassembled (RFC 791, RFC 8200 section 4.5).
 *
 * Shape:  REASM_SETS sets of REASM_WAYS contexts, a context a datagram; the set is a keyed hash of
 *         addresses and identification, so nobody aims at a set. Bytes are copied to their place
 *         when they come; a bit for every 8 of them says which are there.
 * Units:  bytes of IP payload: the UDP header and what it carries; times in ns.
 * Owner:  contexts own their bytes. A datagram delivered lies in its context until reasm_release.
 * Thread: core-local.
 * Errors: counters DROP_FRAG_*.
 * Bounds: the constants; all memory is taken at start. Who fills all contexts pushes the oldest of
 *         a set out; nothing else of us waits for fragments.
 */
#ifndef CLOCKOO_REASM_H
#define CLOCKOO_REASM_H

#include "stack_core.h"

#define REASM_SETS          16u
#define REASM_WAYS          4u
#define REASM_BYTES         16384u
#define REASM_FRAGMENTS_MAX 32u /* of one datagram: REASM_BYTES over a path of 576 bytes */
#define REASM_NS            (1500ull * 1000000) /* from the first fragment; a LAN's take microseconds */
#define REASM_SWEEP_NS      (100ull * 1000000) /* between looks for those that came to nothing */

size_t reasm_bytes(void);
struct reasm *reasm_create(struct region *region);

/* Adds the fragment in received frame rx_index, whose bytes are copied. Returns the datagram, from
 * its UDP header on, if it is complete now; NULL: it is not, or was dropped and counted. */
const uint8_t *reasm_insert(struct stack *s, uint32_t rx_index);
/* Drops contexts older than REASM_NS. */
void reasm_tick(struct reasm *r, struct stack *s);
/* What was delivered has been read, but for what lies in the datagrams kept. */
void reasm_release(struct reasm *r, const struct datagram *kept, uint32_t kept_count);
/* Does it lie in a context? */
bool reasm_holds(struct reasm *r, const struct datagram *d);

#endif
