/*
 * front_peers.h - notifies the other fronts of a fleet of written keys, best effort.
 *
 * Private to lib/front.
 *
 * Shape:  after a write, a word with its key is added to a datagram, which goes to each peer at
 *         the end of the turn. A front that receives a word begins and ends a write of that key
 *         without a server, which removes its copy or lease.
 * Units:  words; ns of the front's turns.
 * Owner:  the front owns its peers.
 * Thread: core-local; versions and store are shared, so any core receives for all.
 * Errors: if a word is lost, its key's readers see the old value for at most front.ttl, as
 *         without peers. A word is lost and counted if no datagram is free, if a peer's link
 *         address is not known within FRONT_PEER_WAIT_NS, or if the key does not fit.
 * Bounds: FRONT_PEERS_MAX peers; FRONT_PEER_DATAGRAMS pending, FRONT_PEER_SENDS sent a turn.
 *         FRONT_PEER_WORDS_MAX words are accepted a second, FRONT_PEER_FLUSHES of them for all
 *         keys.
 * Source: COHERENCE.md 3, P1 to P5.
 */
#ifndef CLOCKOO_FRONT_PEERS_H
#define CLOCKOO_FRONT_PEERS_H

#include "front_core.h"

#define FRONT_PEER_DATAGRAMS 64u /* pending ones; a power of two */
#define FRONT_PEER_SENDS     16u
#define FRONT_PEER_WORDS_MAX 100000u
#define FRONT_PEER_FLUSHES   10u
#define FRONT_PEER_WAIT_NS   10000000ull

size_t front_peers_bytes(const struct front_settings *settings);
/* Returns NULL if there are no peers. */
struct front_peers *front_peers_create(struct region *region,
				       const struct front_settings *settings);

/* Announces a write that has ended with any result. */
void front_peers_notify(struct front *f, const struct front_request *request);
void front_peers_notify_all(struct front *f);
/* Sends pending datagrams; called in poll(), after all that ends writes. */
void front_peers_send(struct front *f);
/* Returns when there is more to send; or FRONT_NEVER. */
uint64_t front_peers_next_ns(const struct front *f);

/* Handles a request of a peer, which gets no reply. False: it is not such a request. */
bool front_peers_receive(void *arg, const struct udp_peer *from, struct view request);

#endif
