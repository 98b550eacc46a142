/*
 * front_peers.c - collects, sends and receives words of written keys.
 */
#include "front_peers.h"

#include "front_keep.h"
#include "copies/invalidations.h"

#define LOOK_NS 250000ull /* interval of checks whether a link address is known */

struct peer {
	struct udp_peer to;
	uint64_t gives_up_ns; /* a solicitation lasts until then; 0: the address is known */
};

struct front_peers {
	uint32_t count;
	uint32_t next;       /* the peer that the oldest datagram goes to next */
	uint32_t head, tail; /* of the ring of datagrams; the last one may take more words */
	uint32_t received_s; /* the second that the next two count in */
	uint32_t received, flushes;
	struct peer peer[FRONT_PEERS_MAX];
	struct invalidations datagram[FRONT_PEER_DATAGRAMS];
};

/* Counts since the start, and since the last reset of stats. */
static void
peers_count(struct front *f, enum front_peer_count which)
{
	static_assert(FRONT_PEERS_REFUSED - FRONT_PEERS_TOLD == FRONT_PEER_REFUSED, "one order");
	front_count(f, (enum front_counter)(FRONT_PEERS_TOLD + which));
	counter_add(&f->peer_counts.count[which], 1);
}

size_t
front_peers_bytes(const struct front_settings *settings)
{
	return settings->peers.count != 0 ? sizeof(struct front_peers) + CACHE_LINE_BYTES : 0;
}

/* Returns a source port that is not a server's. A stack drops datagrams from one of its own
 * ports, so this one is in the other half of the port numbers. */
static uint16_t
source_port(uint16_t port)
{
	const uint16_t other = port ^ 0x8000;

	return other != 0 ? other : 1;
}

struct front_peers *
front_peers_create(struct region *region, const struct front_settings *settings)
{
	struct front_peers *p;

	if (settings->peers.count == 0)
		return NULL;
	p = region_take(region, sizeof *p, CACHE_LINE_BYTES);
	p->count = settings->peers.count;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct front_address *address = &settings->peers.address[i];

		p->peer[i].to = (struct udp_peer){
			.ip = address->ip,
			.port = address->port,
			.our_port = source_port(address->port),
		};
	}
	return p;
}

/* ---- collecting ---- */

/* Returns a new datagram for a word that finds no room in the last one; NULL: none is free. */
static struct invalidations *
datagram_begin(struct front_peers *p)
{
	struct invalidations *datagram;

	if (p->tail - p->head == FRONT_PEER_DATAGRAMS)
		return NULL;
	datagram = &p->datagram[p->tail++ % FRONT_PEER_DATAGRAMS];
	invalidations_clear(datagram);
	return datagram;
}

/* Returns the datagram that takes more words. One that was sent to a peer is closed. */
static struct invalidations *
datagram_open(struct front_peers *p)
{
	const bool begun = p->tail - p->head == 1 && p->next != 0;

	return p->tail == p->head || begun ? NULL
					   : &p->datagram[(p->tail - 1) % FRONT_PEER_DATAGRAMS];
}

void
front_peers_notify(struct front *f, const struct front_request *request)
{
	const struct view name = front_request_key(request);
	struct invalidations *datagram;

	if (f->peers == NULL)
		return;
	datagram = datagram_open(f->peers);
	if (datagram == NULL || !invalidations_add(datagram, name, request->hash)) {
		datagram = datagram_begin(f->peers);
		if (datagram == NULL || !invalidations_add(datagram, name, request->hash)) {
			peers_count(f, FRONT_PEER_LOST);
			return;
		}
	}
	peers_count(f, FRONT_PEER_TOLD);
}

void
front_peers_notify_all(struct front *f)
{
	struct invalidations *datagram;

	if (f->peers == NULL)
		return;
	datagram = datagram_open(f->peers);
	if (datagram == NULL || !invalidations_add_all(datagram))
		datagram = datagram_begin(f->peers);
	if (datagram != NULL && invalidations_add_all(datagram))
		peers_count(f, FRONT_PEER_TOLD);
	else
		peers_count(f, FRONT_PEER_LOST);
}

/* ---- sending ---- */

enum sending { SENT, LOST, LATER };

/* Resolves a peer's link address. An unknown one is waited for once, and not again until it is
 * known. */
static enum sending
peer_resolve(struct front *f, struct peer *peer)
{
	if (udp_resolve(f->stack, &peer->to)) {
		peer->gives_up_ns = 0;
		return SENT;
	}
	if (peer->gives_up_ns == 0)
		peer->gives_up_ns = f->now_ns + FRONT_PEER_WAIT_NS;
	return f->now_ns < peer->gives_up_ns ? LATER : LOST;
}

static enum sending
peer_send(struct front *f, struct peer *peer, struct view payload)
{
	enum sending known;
	uint32_t room;
	uint8_t *at;

	known = peer_resolve(f, peer);
	if (known != SENT)
		return known;
	at = udp_begin(f->stack, &peer->to, &room);
	if (at == NULL)
		return LATER;
	if (payload.len > room) {
		udp_commit(f->stack, 0);
		return LOST;
	}
	memcpy(at, payload.data, payload.len);
	udp_commit(f->stack, payload.len);
	return SENT;
}

/* Sends a datagram to each peer that has not had it. False: the rest is sent later. */
static bool
datagram_send(struct front *f, struct invalidations *datagram, uint32_t *sends)
{
	struct front_peers *p = f->peers;

	for (; p->next < p->count; p->next++, --*sends) {
		enum sending done;

		if (*sends == 0)
			return false;
		done = datagram->len == 0
			       ? SENT
			       : peer_send(f, &p->peer[p->next], invalidations_end(datagram));
		if (done == LATER)
			return false;
		if (done == LOST)
			peers_count(f, FRONT_PEER_LOST);
	}
	return true;
}

void
front_peers_send(struct front *f)
{
	struct front_peers *p = f->peers;
	uint32_t sends = FRONT_PEER_SENDS;

	while (p->head != p->tail) {
		if (!datagram_send(f, &p->datagram[p->head % FRONT_PEER_DATAGRAMS], &sends))
			return;
		p->next = 0;
		p->head++;
	}
}

uint64_t
front_peers_next_ns(const struct front *f)
{
	const struct front_peers *p = f->peers;

	return p == NULL || p->head == p->tail ? FRONT_NEVER : f->now_ns + LOOK_NS;
}

/* ---- receiving ---- */

static bool
is_peer(const struct front_peers *p, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (ip_addr_equal(&p->peer[i].to.ip, ip))
			return true;
	return false;
}

/* True unless the limit of words in a second is reached. */
static bool
may_receive(struct front *f, bool all)
{
	struct front_peers *p = f->peers;
	const uint32_t now_s = serve_now_s(f->serve);

	if (p->received_s != now_s) {
		p->received_s = now_s;
		p->received = p->flushes = 0;
	}
	if (p->received == FRONT_PEER_WORDS_MAX || (all && p->flushes == FRONT_PEER_FLUSHES))
		return false;
	p->received++;
	p->flushes += all;
	return true;
}

/* Applies a received key: later requests join nothing older, a fill in progress is not kept, and
 * a copy is removed. */
static void
key_receive(struct front *f, struct view name)
{
	const uint64_t hash = store_hash(f->store, name);
	const struct copy_key wanted = {.name = name, .hash = hash};
	uint64_t lease;

	if (copy_write_begin(&f->copies, &wanted, false, &lease))
		version_write_end_mt(f->copies.shared.versions, hash);
	else
		store_delete(f->store, name, hash); /* it has enough writers */
	front_flights_close(f, wanted);
}

static bool
flush_receive(struct front *f)
{
	bool done;

	versions_flush_begin_mt(f->copies.shared.versions);
	done = front_keep_flushed(f);
	versions_flush_end_mt(f->copies.shared.versions);
	return done;
}

bool
front_peers_receive(void *arg, const struct udp_peer *from, struct view request)
{
	uint8_t room[MC_KEY_DECODED_MAX];
	struct front *f = arg;
	enum invalidation_kind word;
	struct view rest, key;

	if (!invalidations_begin(request, &rest))
		return false;
	if (!is_peer(f->peers, &from->ip) || request.len > INVALIDATIONS_BYTES) {
		peers_count(f, FRONT_PEER_REFUSED);
		return true;
	}
	while ((word = invalidations_next(&rest, &key, room)) != INVALIDATION_END) {
		const bool all = word == INVALIDATION_ALL;

		if (!may_receive(f, all) || (all && !flush_receive(f))) {
			peers_count(f, FRONT_PEER_REFUSED);
			continue;
		}
		if (!all)
			key_receive(f, key);
		peers_count(f, FRONT_PEER_HEARD);
	}
	if (rest.len != 0)
		peers_count(f, FRONT_PEER_REFUSED);
	return true;
}
