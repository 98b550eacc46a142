/*
 * filled_cksum.h - fills the checksums in the copy of a frame, as the port fills them in the frame
 * that it sends.
 *
 * Thread: pure.
 * Errors: a truncated packet, or one of another kind, stays unchanged.
 */
#ifndef CLOCKOO_FILLED_CKSUM_H
#define CLOCKOO_FILLED_CKSUM_H

#include <stdint.h>

/* Fills the checksums that ol_flags (enum frame_ol_flag) leaves to the port. data is the whole
 * frame. */
void filled_cksum(uint8_t *data, uint32_t len, uint32_t ol_flags);

#endif
