/*
 * peers.c - collects, sends and receives invalidations.
 */
#include "peers.h"

#include "invalidations.h"

#include "net/net.h"

#define LOOK_NS 250000ull /* interval of checks whether a link address is known */

struct peer {
	struct udp_peer to;
	uint64_t gives_up_ns; /* a solicitation lasts until then; 0: the address is known */
};

struct peers {
	struct peers_core core;
	uint32_t count;
	uint32_t next;       /* the peer that the oldest datagram goes to next */
	uint32_t head, tail; /* of the ring of datagrams; the last one may take more keys */
	uint32_t received_s; /* the second that the next two count in */
	uint32_t received, flushes;
	struct peer peer[PEERS_MAX];
	struct invalidations datagram[PEERS_DATAGRAMS];
};

static void
count(const struct peers *p, enum peers_count which)
{
	p->core.count(p->core.arg, which);
}

size_t
peers_bytes(const struct peers_list *list)
{
	return list->count != 0 ? sizeof(struct peers) + CACHE_LINE_BYTES : 0;
}

/* Returns a source port that is not a server's. A stack drops datagrams from one of its own
 * ports, so this one is in the other half of the port numbers. */
static uint16_t
source_port(uint16_t port)
{
	const uint16_t other = port ^ 0x8000;

	return other != 0 ? other : 1;
}

struct peers *
peers_create(struct region *region, const struct peers_list *list, const struct peers_core *core)
{
	struct peers *p;

	if (list->count == 0)
		return NULL;
	p = region_take(region, sizeof *p, CACHE_LINE_BYTES);
	p->core = *core;
	p->count = list->count;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct peer_address *address = &list->address[i];

		p->peer[i].to = (struct udp_peer){
			.ip = address->ip,
			.port = address->port,
			.our_port = source_port(address->port),
		};
	}
	return p;
}

/* ---- collecting ---- */

/* Returns a new datagram for a key that finds no room in the last one; NULL: none is free. */
static struct invalidations *
datagram_begin(struct peers *p)
{
	struct invalidations *datagram;

	if (p->tail - p->head == PEERS_DATAGRAMS)
		return NULL;
	datagram = &p->datagram[p->tail++ % PEERS_DATAGRAMS];
	invalidations_clear(datagram);
	return datagram;
}

/* Returns the datagram that takes more keys. One that was sent to a peer is closed. */
static struct invalidations *
datagram_open(struct peers *p)
{
	const bool begun = p->tail - p->head == 1 && p->next != 0;

	return p->tail == p->head || begun ? NULL : &p->datagram[(p->tail - 1) % PEERS_DATAGRAMS];
}

/* Adds a key, or all keys. False: the datagram has no room, or is none. */
static bool
add(struct invalidations *datagram, const struct copy_key *key)
{
	if (datagram == NULL)
		return false;
	return key != NULL ? invalidations_add(datagram, key->name, key->hash)
			   : invalidations_add_all(datagram);
}

void
peers_notify(struct peers *p, const struct copy_key *key)
{
	if (p == NULL)
		return;
	count(p,
	      add(datagram_open(p), key) || add(datagram_begin(p), key) ? PEERS_TOLD : PEERS_LOST);
}

/* ---- sending ---- */

enum sending { SENT, LOST, LATER };

/* Resolves a peer's link address. An unknown one is waited for once, and not again until it is
 * known. */
static enum sending
peer_resolve(const struct peers *p, struct peer *peer, uint64_t now_ns)
{
	if (udp_resolve(p->core.stack, &peer->to)) {
		peer->gives_up_ns = 0;
		return SENT;
	}
	if (peer->gives_up_ns == 0)
		peer->gives_up_ns = now_ns + PEERS_WAIT_NS;
	return now_ns < peer->gives_up_ns ? LATER : LOST;
}

static enum sending
peer_send(const struct peers *p, struct peer *peer, struct view payload, uint64_t now_ns)
{
	enum sending known;
	uint32_t room;
	uint8_t *at;

	known = peer_resolve(p, peer, now_ns);
	if (known != SENT)
		return known;
	at = udp_begin(p->core.stack, &peer->to, &room);
	if (at == NULL)
		return LATER;
	if (payload.len > room) {
		udp_commit(p->core.stack, 0);
		return LOST;
	}
	memcpy(at, payload.data, payload.len);
	udp_commit(p->core.stack, payload.len);
	return SENT;
}

/* Sends a datagram to each peer that has not had it. False: the rest is sent later. */
static bool
datagram_send(struct peers *p, struct invalidations *datagram, uint32_t *sends, uint64_t now_ns)
{
	for (; p->next < p->count; p->next++, --*sends) {
		enum sending done;

		if (*sends == 0)
			return false;
		done = datagram->len == 0 ? SENT
					  : peer_send(p, &p->peer[p->next],
						      invalidations_end(datagram), now_ns);
		if (done == LATER)
			return false;
		if (done == LOST)
			count(p, PEERS_LOST);
	}
	return true;
}

void
peers_send(struct peers *p, uint64_t now_ns)
{
	uint32_t sends = PEERS_SENDS;

	while (p->head != p->tail) {
		if (!datagram_send(p, &p->datagram[p->head % PEERS_DATAGRAMS], &sends, now_ns))
			return;
		p->next = 0;
		p->head++;
	}
}

uint64_t
peers_next_ns(const struct peers *p, uint64_t now_ns)
{
	return p == NULL || p->head == p->tail ? UINT64_MAX : now_ns + LOOK_NS;
}

/* ---- receiving ---- */

static bool
is_peer(const struct peers *p, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (ip_addr_equal(&p->peer[i].to.ip, ip))
			return true;
	return false;
}

/* True unless the limit of a second is reached. */
static bool
may_receive(struct peers *p, bool all, uint32_t now_s)
{
	if (p->received_s != now_s) {
		p->received_s = now_s;
		p->received = p->flushes = 0;
	}
	if (p->received == PEERS_KEYS_MAX || (all && p->flushes == PEERS_FLUSHES))
		return false;
	p->received++;
	p->flushes += all;
	return true;
}

/* Applies an invalidation: the copy ends, and later requests follow nothing older. */
static bool
apply(struct peers *p, struct view name, bool all, uint32_t now_s)
{
	struct copies *copies = p->core.copies;
	struct copy_key key = {.name = name};

	if (!may_receive(p, all, now_s))
		return false;
	if (all)
		return copies_invalidate_all(copies, now_s);
	key.hash = store_hash(copies->store, name);
	copies_invalidate(copies, &key);
	coalesce_close(p->core.coalesce, &key);
	return true;
}

bool
peers_receive(struct peers *p, const struct udp_peer *from, struct view request, uint32_t now_s)
{
	uint8_t room[MC_KEY_DECODED_MAX];
	enum invalidation_kind kind;
	struct view rest, key = {NULL, 0};

	if (!invalidations_begin(request, &rest))
		return false;
	if (!is_peer(p, &from->ip) || request.len > INVALIDATIONS_BYTES) {
		count(p, PEERS_REFUSED);
		return true;
	}
	while ((kind = invalidations_next(&rest, &key, room)) != INVALIDATION_END)
		count(p,
		      apply(p, key, kind == INVALIDATION_ALL, now_s) ? PEERS_HEARD : PEERS_REFUSED);
	if (rest.len != 0)
		count(p, PEERS_REFUSED);
	return true;
}
