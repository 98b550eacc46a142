/*
 * access_list.h - a table of the networks whose sources are allowed or denied.
 *
 * The longest prefix that contains an address decides. An address in no network is denied if the
 * list allows any network, of either family; otherwise it is allowed. Sources that no host can have
 * (RFC 1122 section 3.2.1.3) are always denied.
 *
 * Shape:  IPv4: a lookup makes two loads, by bits 31-16 and 15-8, and a third by bits 7-0 if a
 *         network there is longer than /24. IPv6: the starts of ranges, in order; every second
 *         range is denied.
 * Owner:  the caller of access_list_make keeps the region; nothing changes afterwards.
 * Thread: made by one thread, then read by any.
 * Errors: none: the networks are sorted, and no two are the same.
 * Bounds: ACCESS_NETS_MAX networks; access_list_bytes() of memory.
 */
#ifndef CLOCKOO_ACCESS_LIST_H
#define CLOCKOO_ACCESS_LIST_H

#include "ip_position.h"
#include "base/region.h"

#define ACCESS_NETS_MAX 65536u

struct access_net {
	struct ip_addr ip;  /* no bit after the prefix is set */
	uint8_t prefix_len; /* bits of the 128 of an ip_addr.h address */
	bool allow;
};

/* The words: a row of 256 entries for networks that are allowed, a row for those that are denied,
 * the roots, then further rows and bits. A root is the index of its row. An entry of a row is 0
 * (allowed), 1 (denied), or the index of the bits of its 256 addresses. A set bit means denied. */
#define ACCESS_ROW_WORDS   256u
#define ACCESS_BITS_WORDS  8u
#define ACCESS_ALLOWED_ROW 0u
#define ACCESS_DENIED_ROW  ACCESS_ROW_WORDS
#define ACCESS_ROOTS       (2 * ACCESS_ROW_WORDS)
#define ACCESS_ROOT_WORDS  65536u

struct access_list {
	const uint32_t *words;
	const struct ip_position *starts; /* starts of ranges of IPv6 addresses */
	uint32_t start_count;
	bool denies_first; /* IPv6 addresses below starts[0] are denied */
	uint32_t count;    /* number of networks */
	size_t bytes;
};

/* Sorts by address, then by length, so that a network precedes those within it. */
void access_nets_sort(struct access_net *nets, uint32_t count);
/* Returns the index of the first network that equals the one before it; count: none. */
uint32_t access_nets_same(const struct access_net *nets, uint32_t count);

/* Returns the memory for sorted networks, no two of which are equal. */
size_t access_list_bytes(const struct access_net *nets, uint32_t count);
const struct access_list *access_list_make(struct region *region, const struct access_net *nets,
					   uint32_t count);

/* Returns the entry of a /24 network for an address on the wire; 0: allowed. */
static inline uint32_t
access_row_entry(const uint32_t *words, const uint8_t ip[4])
{
	return words[words[ACCESS_ROOTS + load_u16(ip)] + ip[2]];
}

static inline bool
access_bit_allows(const uint32_t *words, uint32_t entry, const uint8_t ip[4])
{
	return entry > 1 && (words[entry + ip[3] / 32] >> ip[3] % 32 & 1) == 0;
}

bool access_allows(const struct access_list *list, const struct ip_addr *ip);

#endif
