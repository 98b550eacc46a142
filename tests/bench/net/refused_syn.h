/*
 * refused_syn.h - a SYN to a port of the kernel beside the cache, one of a flood.
 *
 * Shape:  a frame of the least length, IPv4, from one of many sources; both checksums are zero, so
 *         the port must say that the NIC has verified them.
 * Units:  addresses in host order.
 */
#ifndef CLOCKOO_REFUSED_SYN_H
#define CLOCKOO_REFUSED_SYN_H

#include <stdint.h>
#include <string.h>

#define REFUSED_SYN_BYTES 60u
#define REFUSED_SYN_HOSTS 16384u
#define REFUSED_SYN_PORT  22u

static inline void
refused_syn_write(uint8_t p[REFUSED_SYN_BYTES], const uint8_t to[6], const uint8_t from[6],
		  uint32_t to_ip, uint32_t number)
{
	static const uint8_t like[REFUSED_SYN_BYTES] = {
		[12] = 0x08, [14] = 0x45, [17] = 40,   [22] = 64,
		[23] = 6,    [26] = 10,   [34] = 0x80, [37] = REFUSED_SYN_PORT,
		[46] = 0x50, [47] = 0x02, [48] = 0x20,
	};
	const uint32_t host = number % REFUSED_SYN_HOSTS;

	memcpy(p, like, REFUSED_SYN_BYTES);
	memcpy(p, to, 6);
	memcpy(p + 6, from, 6);
	p[28] = (uint8_t)(1 + host / 256);
	p[29] = (uint8_t)host;
	for (uint32_t i = 0; i < 4; i++)
		p[30 + i] = (uint8_t)(to_ip >> (24 - 8 * i));
	p[41] = (uint8_t)number;
}

#endif
