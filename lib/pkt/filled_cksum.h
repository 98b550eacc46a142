/*
 * filled_cksum.h - fills in a copy the checksums that the port fills in a frame it sends.
 *
 * Thread: pure.
 * Errors: a packet that is cut, or none of ours, stays as it is.
 */
#ifndef CLOCKOO_FILLED_CKSUM_H
#define CLOCKOO_FILLED_CKSUM_H

#include <stdint.h>

/* ol_flags: enum frame_ol_flag. data: the whole frame. */
void filled_cksum(uint8_t *data, uint32_t len, uint32_t ol_flags);

#endif
