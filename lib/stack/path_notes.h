/*
 * path_notes.h - what routers said about the paths of connections, for whichever core has them.
 *
 * A router's ICMP message has the router's address, so the NIC's hash brings it to a core of its
 * own choice and seldom to the connection's. That core notes here what it says; every core looks
 * whether there is something new, and the one that has the connection judges it.
 *
 * Shape:  a ring of PATH_NOTES notes, each under a version of its own; every core reads all.
 * Units:  mtu in bytes as the router said it; seq as it was quoted.
 * Thread: path_notes_*_mt by any core; a cursor is its core's own.
 * Errors: none that matter. A reader that is PATH_NOTES behind misses the oldest, and two writers
 *         that meet in one place leave one note: the path says it again.
 * Bounds: PATH_NOTES notes; path_notes_next_mt returns at most that many in a row.
 */
#ifndef CLOCKOO_PATH_NOTES_H
#define CLOCKOO_PATH_NOTES_H

#include "base/ip_addr.h"
#include "base/region.h"

#include <stdbool.h>

#define PATH_NOTES 64u /* a power of two */

struct path_notes;

struct path_note {
	struct ip_addr peer;
	uint16_t peer_port, local_port;
	uint8_t local; /* enum local */
	uint32_t seq, mtu;
};

size_t path_notes_bytes(void);
struct path_notes *path_notes_create(struct region *region);

void path_notes_add_mt(struct path_notes *pn, const struct path_note *note);

/* The next note after *cursor, which moves; false: nothing new. */
bool path_notes_next_mt(const struct path_notes *pn, uint64_t *cursor, struct path_note *note);

#endif
