/*
 * mc_udp.h - the 8-byte frame in front of every memcached datagram.
 *
 * Thread: pure functions.
 * Source: memcached doc/protocol.txt, "UDP protocol". A request is one datagram; its sequence
 * number and reserved field are ignored, as in memcached.
 */
#ifndef CLOCKOO_MC_UDP_H
#define CLOCKOO_MC_UDP_H

#include "base/bytes.h"
#include "base/check.h"

#define MC_UDP_PAYLOAD_MAX 1400u /* bytes of a reply datagram, the frame header included */

struct mc_udp_frame {
	struct be16 id;
	struct be16 sequence; /* 0..total-1 */
	struct be16 total;    /* number of datagrams of this message */
	struct be16 reserved; /* 0 */
};
static_assert(sizeof(struct mc_udp_frame) == 8, "wire format");

#define MC_UDP_FRAME_BYTES ((uint32_t)sizeof(struct mc_udp_frame))
/* Bytes of a message that one reply datagram carries. */
#define MC_UDP_DATAGRAM_DATA_MAX (MC_UDP_PAYLOAD_MAX - MC_UDP_FRAME_BYTES)
/* The total is 16 bits wide: a longer message cannot be sent. */
#define MC_UDP_DATAGRAMS_MAX 65535u

enum mc_udp_status {
	MC_UDP_OK,    /* *id and *text are set */
	MC_UDP_SHORT, /* no byte follows the frame */
	MC_UDP_MULTI, /* claims to have more than one datagram */
};

static inline enum mc_udp_status
mc_udp_parse(struct view datagram, uint16_t *id, struct view *text)
{
	struct mc_udp_frame frame;

	if (datagram.len <= sizeof frame)
		return MC_UDP_SHORT;
	memcpy(&frame, datagram.data, sizeof frame);
	if (be16_get(frame.total) != 1)
		return MC_UDP_MULTI;
	*id = be16_get(frame.id);
	*text = (struct view){datagram.data + sizeof frame, datagram.len - sizeof frame};
	return MC_UDP_OK;
}

/* Returns the datagrams for a message of len bytes; an empty message is one datagram. */
static inline uint32_t
mc_udp_datagrams(uint32_t len)
{
	return len == 0 ? 1
			: len / MC_UDP_DATAGRAM_DATA_MAX + (len % MC_UDP_DATAGRAM_DATA_MAX != 0);
}

static inline uint8_t *
mc_udp_put(uint8_t *at, uint16_t id, uint16_t sequence, uint16_t total)
{
	/* Assembled as one word: field by field it would take as many steps. */
	const uint64_t frame = (uint64_t)__builtin_bswap16(id) |
			       (uint64_t)__builtin_bswap16(sequence) << 16 |
			       (uint64_t)__builtin_bswap16(total) << 32;

	memcpy(at, &frame, sizeof frame);
	return at + sizeof frame;
}

#endif
