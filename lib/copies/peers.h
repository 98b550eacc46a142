/*
 * peers.h - sends the keys that a front has written to the other fronts of its fleet, best effort,
 * and ends the copies of keys that those have written.
 *
 * Shape:  after a write an invalidation of its key is added to a datagram. At the end of the turn
 *         the datagram is sent to each peer.
 * Units:  ns of the front's turns; seconds of the store's clock.
 * Owner:  the caller owns the memory. A struct peers uses its core's copies and stack.
 * Thread: core-local. Versions and store are shared by the cores, so each core receives for all.
 * Errors: if an invalidation is lost, readers of its key see the old value for at most a copy's
 *         life, as they would without peers. It is lost, and counted, if no datagram is free, if a
 *         peer's link address is not found within PEERS_WAIT_NS, or if the key does not fit.
 * Bounds: PEERS_MAX peers. PEERS_DATAGRAMS datagrams are pending; PEERS_SENDS are sent in a turn.
 *         PEERS_KEYS_MAX invalidations are accepted in a second, of which PEERS_FLUSHES may be of
 *         all keys.
 * Source: COHERENCE.md 3, P1 to P5.
 */
#ifndef CLOCKOO_PEERS_H
#define CLOCKOO_PEERS_H

#include "coalesce.h"
#include "peers_list.h"

#include "base/region.h"

#define PEERS_DATAGRAMS 64u /* pending datagrams; a power of two */
#define PEERS_SENDS     16u
#define PEERS_KEYS_MAX  100000u
#define PEERS_FLUSHES   10u
#define PEERS_WAIT_NS   10000000ull

/* Counts of keys that fronts have exchanged. */
enum peers_count {
	PEERS_TOLD,
	PEERS_LOST,
	PEERS_HEARD,
	PEERS_REFUSED,
	PEERS_COUNTS,
};

/* The core that a struct peers belongs to. */
struct peers_core {
	struct stack *stack;
	struct copies *copies;
	struct coalesce *coalesce;
	void (*count)(void *arg, enum peers_count which);
	void *arg;
};

struct peers;

size_t peers_bytes(const struct peers_list *list);
/* Returns NULL if the list is empty; then only notify and next_ns may be called. */
struct peers *peers_create(struct region *region, const struct peers_list *list,
			   const struct peers_core *core);

/* Announces that a write of the key has ended, with any result. NULL: a write of all keys. */
void peers_notify(struct peers *p, const struct copy_key *key);
/* Sends pending datagrams. Called after everything that ends writes. */
void peers_send(struct peers *p, uint64_t now_ns);
/* Returns when there is more to send; UINT64_MAX: there is nothing. */
uint64_t peers_next_ns(const struct peers *p, uint64_t now_ns);

/* Handles a message of a peer, which gets no reply. False: the request is no such message. */
bool peers_receive(struct peers *p, const struct udp_peer *from, struct view request,
		   uint32_t now_s);

#endif
