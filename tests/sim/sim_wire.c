#include "sim_wire.h"

#include "zeroed.h"

#include "sim_frame.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "wire/eth_wire.h"
#include "wire/inet_cksum.h"
#include "wire/ipv4_wire.h"
#include "wire/tcp_wire.h"

#include <stdlib.h>
#include <string.h>

struct sim_wire *
sim_wire_create(struct mem_port *a, struct mem_port *b, const struct sim_faults *faults,
		uint64_t seed)
{
	struct sim_wire *w = calloc(1, sizeof *w);

	ensure(w != NULL);
	w->room = faults->flights != 0 ? faults->flights : WIRE_FLIGHTS;
	w->flights = zeroed_memory(w->room * sizeof *w->flights);
	w->heap = calloc(w->room, sizeof(struct sim_flight *));
	ensure(w->heap != NULL);
	w->end[0] = a;
	w->end[1] = b;
	w->faults = *faults;
	w->rng.state = seed;
	for (uint32_t i = 0; i < w->room; i++)
		w->heap[i] = &w->flights[i];
	return w;
}

void
sim_wire_destroy(struct sim_wire *w)
{
	zeroed_free(w->flights, w->room * sizeof *w->flights);
	free(w->heap);
	free(w);
}

/* ---- the heap of frames in flight ---- */

static bool
earlier(const struct sim_flight *a, const struct sim_flight *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static void
swap(struct sim_wire *w, uint32_t i, uint32_t k)
{
	struct sim_flight *f = w->heap[i];

	w->heap[i] = w->heap[k];
	w->heap[k] = f;
}

/* Moves the last flight of the heap to its place. */
static void
heap_rise(struct sim_wire *w)
{
	for (uint32_t i = w->count - 1; i > 0 && earlier(w->heap[i], w->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(w, i, (i - 1) / 2);
}

/* Removes the earliest flight from the heap; its pointer is then just behind the heap. */
static struct sim_flight *
heap_take(struct sim_wire *w)
{
	const uint32_t n = --w->count;
	uint32_t i = 0;

	swap(w, 0, n);
	for (;;) {
		uint32_t least = 2 * i + 1;

		if (least + 1 < n && earlier(w->heap[least + 1], w->heap[least]))
			least++;
		if (least >= n || earlier(w->heap[i], w->heap[least]))
			return w->heap[n];
		swap(w, i, least);
		i = least;
	}
}

static struct sim_flight *
fly(struct sim_wire *w, struct mem_port *to, const uint8_t *bytes, uint32_t len, uint64_t at_ns)
{
	struct sim_flight *f;

	if (w->count == w->room) {
		w->counts.lost++;
		return NULL;
	}
	f = w->heap[w->count++];
	f->at_ns = at_ns;
	f->number = w->counts.sent++;
	f->to = to;
	f->len = len;
	memcpy(f->bytes, bytes, len);
	heap_rise(w);
	return f;
}

/* ---- faults ---- */

/* Changes one byte of the IP packet, never of the Ethernet header or of ARP. A corrupted frame
 * on a cable is found by the frame check sequence; a router that corrupts a packet computes a
 * new one. */
static void
corrupt(struct sim_wire *w, struct sim_flight *f)
{
	const struct eth_header *eth = (const void *)f->bytes;
	const uint32_t tag = be16_get(eth->type) == ETH_TYPE_VLAN ? ETH_TAG_BYTES : 0;
	const uint32_t before = ETH_HEADER_BYTES + tag;
	const uint32_t at = before + sim_below(&w->rng, f->len - before);
	const uint8_t *type = f->bytes + before - 2;

	if (type[0] << 8 == (ETH_TYPE_ARP & 0xff00) && type[1] == (ETH_TYPE_ARP & 0xff))
		return;
	f->bytes[at] ^= (uint8_t)(1 + sim_below(&w->rng, 255));
	w->counts.corrupted++;
}

static bool
too_big(struct sim_wire *w, struct mem_port *from, const uint8_t *bytes, uint32_t len,
	uint64_t now_ns)
{
	uint8_t answer[MEM_FRAME_BYTES];
	uint32_t n;

	if (w->router.mtu == 0 || len <= w->router.mtu + ETH_HEADER_BYTES)
		return false;
	w->counts.too_big++;
	n = w->router.silent ? 0 : sim_write_too_big(answer, bytes, len, (uint16_t)w->router.mtu);
	if (n > 0) {
		w->counts.reported++;
		fly(w, from, answer, n, now_ns + w->faults.delay_ns);
	}
	return true;
}

/* Marks an ECT packet, as a router with a queue does (RFC 3168 section 5), or clears its ECN field,
 * as some routers do. */
static void
ecn_set(struct sim_wire *w, struct sim_flight *f, enum ip_ecn now)
{
	const uint16_t type = be16_get(((const struct eth_header *)(const void *)f->bytes)->type);
	const enum ip_ecn was = ip_ecn_of_frame(f->bytes, type == ETH_TYPE_IPV4);

	if ((type != ETH_TYPE_IPV4 && type != ETH_TYPE_IPV6) || was == IP_ECN_NOT_ECT ||
	    was == IP_ECN_CE)
		return;
	w->counts.marked += now == IP_ECN_CE;
	sim_frame_ecn(f->bytes, now);
}

/* Computes when the last byte of a frame has been sent. False: the queue is full. */
static bool
leave(struct sim_wire *w, uint64_t *free_ns, uint32_t len, uint64_t now_ns)
{
	const struct sim_faults *f = &w->faults;

	if (*free_ns < now_ns)
		*free_ns = now_ns;
	if (f->rate == 0)
		return true;
	if (*free_ns - now_ns > f->queue_ns) {
		w->counts.queue_full++;
		return false;
	}
	*free_ns += len * NS_PER_S / f->rate;
	return true;
}

static void
send_on(struct sim_wire *w, uint32_t end, const uint8_t *bytes, uint32_t len, uint64_t now_ns)
{
	const struct sim_faults *f = &w->faults;
	const bool late = sim_chance(&w->rng, f->late);
	const uint64_t extra = late ? sim_random(&w->rng) % (f->jitter_ns + 1) : 0;
	const bool lost = sim_chance(&w->rng, f->lose);
	struct sim_flight *flight;
	bool marked;

	w->counts.late += late;
	marked = f->mark_ns != 0 && w->free_ns[end] > now_ns + f->mark_ns;
	if (lost || !leave(w, &w->free_ns[end], len, now_ns)) {
		w->counts.lost++;
		return;
	}
	flight = fly(w, w->end[!end], bytes, len, w->free_ns[end] + f->delay_ns + extra);
	if (flight != NULL && (marked || (f->mark != 0 && sim_chance(&w->rng, f->mark))))
		ecn_set(w, flight, IP_ECN_CE);
	if (flight != NULL && f->clears)
		ecn_set(w, flight, IP_ECN_NOT_ECT);
	if (flight != NULL && f->corrupt != 0 && sim_chance(&w->rng, f->corrupt))
		corrupt(w, flight);
}

static void
remember(struct sim_wire *w, uint32_t end, const uint8_t *bytes, uint32_t len, uint64_t now_ns)
{
	w->hash = hash_bytes(bytes, len, w->hash ^ (now_ns << 1 | end));
}

static void
take_sent(struct sim_wire *w, uint32_t end, uint64_t now_ns)
{
	struct mem_port *from = w->end[end];
	const uint8_t *bytes;
	uint32_t len;

	while ((bytes = mem_port_sent(from, &len)) != NULL) {
		const uint32_t copies = 1 + sim_chance(&w->rng, w->faults.twice);

		remember(w, end, bytes, len, now_ns);
		w->counts.twice += copies - 1;
		for (uint32_t i = 0; i < copies && !too_big(w, from, bytes, len, now_ns); i++)
			send_on(w, end, bytes, len, now_ns);
		mem_port_done(from);
	}
}

/* Updates a checksum for a changed address (RFC 1624). */
static struct be16
cksum_moved(struct be16 cksum, struct be32 from, struct be32 to)
{
	const uint64_t sum = (uint64_t)(uint16_t)~load_u16(cksum.b) + (uint32_t)~load_u32(from.b);

	return inet_cksum(sum + load_u32(to.b));
}

/* Translates the address of end[0] in a TCP segment, in either direction. */
static void
translate(const struct sim_wire *w, struct sim_flight *f)
{
	const struct eth_header *eth = (const void *)f->bytes;
	struct ipv4_header *ip = (void *)(f->bytes + ETH_HEADER_BYTES);
	struct tcp_header *tcp = (void *)(f->bytes + ETH_HEADER_BYTES + IPV4_HEADER_BYTES);
	const bool out = f->to == w->end[1];
	struct be32 *field = out ? &ip->src : &ip->dst;
	struct be32 to;

	if (w->nat.address_of == NULL || be16_get(eth->type) != ETH_TYPE_IPV4 ||
	    ip->version_ihl != 0x45 || ip->protocol != IPV4_TCP)
		return;
	to = be32_of(out ? w->nat.address_of(w->nat.arg, be16_get(tcp->src_port)) : w->nat.inside);
	ip->cksum = cksum_moved(ip->cksum, *field, to);
	tcp->cksum = cksum_moved(tcp->cksum, *field, to);
	*field = to;
}

static void
hand_over(struct sim_wire *w, uint64_t now_ns)
{
	while (w->count > 0 && w->heap[0]->at_ns <= now_ns) {
		struct sim_flight *f = heap_take(w);
		uint8_t *to = mem_port_feed(f->to, f->len, 0);

		translate(w, f);
		if (to != NULL)
			memcpy(to, f->bytes, f->len);
		else
			w->counts.lost++;
	}
}

void
sim_wire_turn(struct sim_wire *w, uint64_t now_ns)
{
	take_sent(w, 0, now_ns);
	take_sent(w, 1, now_ns);
	hand_over(w, now_ns);
}

uint64_t
sim_wire_next(const struct sim_wire *w)
{
	return w->count > 0 ? w->heap[0]->at_ns : UINT64_MAX;
}
