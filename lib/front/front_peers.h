/*
 * front_peers.h - fronts of one fleet tell each other which keys were written, best effort.
 *
 * Private to lib/front.
 *
 * Shape:  a word of a key is kept behind its write, in datagrams that wait for this turn's end, and
 *         goes to each peer. Who hears one begins and ends a write of that key without asking a
 *         server: so what is here of it goes, a placeholder, too.
 * Units:  words; ns of the front's turns.
 * Owner:  the front.
 * Thread: core-local; cells and store are shared, so any core hears for all.
 * Errors: a word that is lost costs its key's readers front.ttl at most, as without peers. Lost and
 *         counted: no datagram is free, a peer's link address is not known within
 *         FRONT_PEER_WAIT_NS, or it is not told at all.
 * Bounds: FRONT_PEERS_MAX peers; FRONT_PEER_DATAGRAMS wait, FRONT_PEER_SENDS go out a turn.
 *         FRONT_PEER_WORDS_MAX words are heard a second, FRONT_PEER_FLUSHES of them of all keys.
 * Source: FRONT.md 4, P1 to P5.
 */
#ifndef CLOCKOO_FRONT_PEERS_H
#define CLOCKOO_FRONT_PEERS_H

#include "front_core.h"

#define FRONT_PEER_DATAGRAMS 64u /* that wait: a power of two */
#define FRONT_PEER_SENDS     16u
#define FRONT_PEER_WORDS_MAX 100000u
#define FRONT_PEER_FLUSHES   10u
#define FRONT_PEER_WAIT_NS   10000000ull

size_t front_peers_bytes(const struct front_settings *settings);
/* NULL: there are none. */
struct front_peers *front_peers_create(struct region *region,
				       const struct front_settings *settings);

/* Its write is over, whatever came of it. */
void front_peers_tell(struct front *f, const struct front_key *key);
void front_peers_tell_all(struct front *f);
/* In poll(), behind all that ends writes. */
void front_peers_send(struct front *f);
/* When there is more to send; FRONT_NEVER. */
uint64_t front_peers_next_ns(const struct front *f);

/* False: this request is none of theirs. Else it has no reply. */
bool front_peers_hear(void *arg, const struct udp_peer *from, struct view request);

#endif
