/*
 * reasm.c - reassembly of datagrams: finds or opens the context, copies the fragment into
 * place, validates the datagram once it is complete.
 */
#include "reasm.h"

#include "base/hash.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/udp_wire.h"

#define UNIT_BYTES    8u
#define UNITS         (REASM_BYTES / UNIT_BYTES)
#define WORD_BITS     64u
#define TOTAL_UNKNOWN 0u /* the last fragment was not received yet */

enum context_state {
	CONTEXT_FREE,
	CONTEXT_OPEN,
	CONTEXT_DROPPED, /* kept so that later fragments of the datagram open no new context */
	CONTEXT_DELIVERED,
};

struct context {
	struct ip_addr src;
	uint32_t id;
	uint8_t local;     /* enum local: the destination, and with it the family */
	uint8_t state;     /* enum context_state */
	uint16_t total;    /* bytes of the whole datagram; TOTAL_UNKNOWN: not known yet */
	uint16_t received; /* bytes received */
	uint16_t reach;    /* end of the furthest fragment received */
	uint32_t fragments;
	uint64_t since_ns;
	uint64_t have[UNITS / WORD_BITS]; /* one bit for each unit of 8 bytes */
	uint8_t bytes[REASM_BYTES];
};

struct reasm {
	uint64_t swept_ns;
	uint32_t sets;
	uint32_t waiting; /* contexts that are open or dropped */
	uint32_t delivered_count;
	struct context *delivered[REASM_SETS * REASM_WAYS];
	struct context set[][REASM_WAYS];
};

/* A fragment as its headers describe it. */
struct fragment {
	const struct ip_addr *src;
	uint32_t id;
	uint32_t at, len; /* position in the datagram */
	bool more;        /* fragments come after this one */
	uint8_t local;
	const uint8_t *data;
};

static size_t
bytes_of(uint32_t sets)
{
	return sizeof(struct reasm) + (size_t)sets * REASM_WAYS * sizeof(struct context);
}

size_t
reasm_bytes(uint32_t sets)
{
	return bytes_of(sets) + CACHE_LINE_BYTES;
}

struct reasm *
reasm_create(struct region *region, uint32_t sets)
{
	struct reasm *r = region_take(region, bytes_of(sets), CACHE_LINE_BYTES);

	ensure(sets <= REASM_SETS);
	r->sets = sets;
	return r;
}

/* Reads the headers of a fragment that classify.c has validated. */
static struct fragment
fragment_of(const struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *frame = net->in->rx.data[rx_index];
	struct fragment p = {
		.src = &l3->src_ip,
		.len = l3->l4_len,
		.local = l3->local,
		.data = frame + l3->l4_offset,
	};

	if (l3->local == LOCAL_V4) {
		const struct ipv4_header *h =
			(const struct ipv4_header *)(frame + ETH_HEADER_BYTES);
		const uint16_t field = be16_get(h->fragment);

		p.id = be16_get(h->id);
		p.at = (field & IPV4_FRAG_OFFSET_MASK) * UNIT_BYTES;
		p.more = (field & IPV4_MF) != 0;
	} else {
		const struct ipv6_fragment *h =
			(const struct ipv6_fragment *)(p.data - IPV6_FRAGMENT_BYTES);
		const uint16_t field = be16_get(h->offset_more);

		p.id = be32_get(h->id);
		p.at = field & IPV6_FRAGMENT_OFFSET_MASK;
		p.more = (field & IPV6_MORE_FRAGMENTS) != 0;
	}
	return p;
}

static struct context *
set_of(const struct net *net, struct reasm *r, const struct fragment *p)
{
	uint8_t key[IP_ADDR_BYTES + sizeof p->id + 1];

	memcpy(key, p->src->b, IP_ADDR_BYTES);
	memcpy(key + IP_ADDR_BYTES, &p->id, sizeof p->id);
	key[sizeof key - 1] = p->local;
	return r->set[hash_bytes(key, sizeof key, net->cfg.seed) % r->sets];
}

static void
context_free(struct reasm *r, struct context *c)
{
	r->waiting -= c->state == CONTEXT_OPEN || c->state == CONTEXT_DROPPED;
	c->state = CONTEXT_FREE;
}

static void
context_drop(struct net *net, struct context *c, enum net_counter reason)
{
	net_count(net, reason);
	c->state = CONTEXT_DROPPED;
}

/* Returns a free context, or else the oldest. NULL: the service is reading them all. */
static struct context *
victim(struct context *set)
{
	struct context *found = NULL;

	for (uint32_t i = 0; i < REASM_WAYS; i++) {
		if (set[i].state == CONTEXT_FREE)
			return &set[i];
		if (set[i].state == CONTEXT_DELIVERED)
			continue;
		if (found == NULL || set[i].since_ns < found->since_ns)
			found = &set[i];
	}
	return found;
}

static bool
context_matches(const struct context *c, const struct fragment *p)
{
	return (c->state == CONTEXT_OPEN || c->state == CONTEXT_DROPPED) && c->id == p->id &&
	       c->local == p->local && ip_addr_equal(&c->src, p->src);
}

/* Returns the context of a fragment, a new one if necessary. */
static struct context *
find_or_open(struct net *net, struct reasm *r, const struct fragment *p)
{
	struct context *set = set_of(net, r, p);
	struct context *c;

	for (uint32_t i = 0; i < REASM_WAYS; i++)
		if (context_matches(&set[i], p) && net->now_ns - set[i].since_ns < REASM_NS)
			return &set[i];
	c = victim(set);
	if (c == NULL)
		return NULL;
	if (c->state == CONTEXT_OPEN)
		net_count(net, net->now_ns - c->since_ns < REASM_NS ? DROP_FRAG_EVICTED
								    : DROP_FRAG_TIMEOUT);
	context_free(r, c);
	c->src = *p->src;
	c->id = p->id;
	c->local = p->local;
	c->state = CONTEXT_OPEN;
	c->total = TOTAL_UNKNOWN;
	c->received = c->reach = 0;
	c->fragments = 0;
	c->since_ns = net->now_ns;
	memset(c->have, 0, sizeof c->have);
	r->waiting++;
	return c;
}

static uint32_t
units_received(const struct context *c, uint32_t from, uint32_t units)
{
	uint32_t here = 0;

	for (uint32_t u = from; u < from + units; u++)
		here += (uint32_t)(c->have[u / WORD_BITS] >> u % WORD_BITS) & 1;
	return here;
}

/* RFC 791: offsets count units of 8 bytes, so only the last fragment may end within a unit. Nothing
 * ends beyond 64 KiB. */
static bool
fragment_valid(const struct fragment *p)
{
	return p->len != 0 && (!p->more || p->len % UNIT_BYTES == 0) &&
	       p->at + p->len <= UINT16_MAX;
}

/* Copies a fragment to its offset. False: it was not taken, and the datagram may have been
 * dropped. */
static bool
fragment_insert(struct net *net, struct context *c, const struct fragment *p)
{
	const uint32_t end = p->at + p->len;
	const uint32_t from = p->at / UNIT_BYTES;
	const uint32_t units = (p->len + UNIT_BYTES - 1) / UNIT_BYTES;
	uint32_t here;

	if (end > REASM_BYTES) {
		context_drop(net, c, DROP_FRAG_TOO_LONG);
		return false;
	}
	here = units_received(c, from, units);
	if (here == units && memcmp(c->bytes + p->at, p->data, p->len) == 0 &&
	    (p->more || end == c->total)) {
		/* Duplicated by the network: RFC 8200 section 4.5. */
		net_count(net, DROP_FRAG_DUPLICATE);
		return false;
	}
	/* RFC 5722, applied to both families: overlaps, or two different ends, drop the
	 * datagram. */
	if (here != 0 || (c->total != TOTAL_UNKNOWN && (!p->more || end > c->total)) ||
	    (!p->more && c->reach > end)) {
		context_drop(net, c, DROP_FRAG_OVERLAP);
		return false;
	}
	if (++c->fragments > REASM_FRAGMENTS_MAX) {
		context_drop(net, c, DROP_FRAG_TOO_MANY);
		return false;
	}
	memcpy(c->bytes + p->at, p->data, p->len);
	for (uint32_t u = from; u < from + units; u++)
		c->have[u / WORD_BITS] |= 1ull << u % WORD_BITS;
	c->received = (uint16_t)(c->received + p->len);
	if (end > c->reach)
		c->reach = (uint16_t)end;
	if (!p->more)
		c->total = (uint16_t)end;
	return true;
}

/* Makes the UDP checks of classify.c for the complete datagram. UDP_RECEIVED: it is valid. */
static enum net_counter
check_reassembled(const struct net *net, const struct context *c)
{
	const struct ip_dest back = {&c->src, c->local, IPV4_UDP};
	struct udp udp;

	switch (udp_parse(&udp, c->bytes, c->total)) {
	case UDP_WIRE_TRUNCATED:
		return DROP_UDP_TRUNCATED;
	case UDP_WIRE_LEN:
		return DROP_UDP_LEN;
	case UDP_WIRE_OK:
		break;
	}
	if (!udp_port_is_ours(net, udp.dst_port))
		return DROP_UDP_PORT;
	if (udp_source_is_bad(net, &udp))
		return DROP_UDP_SOURCE;
	if (!udp.has_cksum)
		return c->local == LOCAL_V4 ? UDP_RECEIVED : DROP_UDP_NO_CKSUM;
	if (!inet_sum_good(inet_sum(ip_pseudo_sum(net, back, udp.len), c->bytes, udp.len)))
		return DROP_UDP_CKSUM;
	return UDP_RECEIVED;
}

/* Returns the complete datagram, valid until reasm_release(). NULL: it is dropped and counted. */
static struct reassembled
context_deliver(struct net *net, struct reasm *r, struct context *c)
{
	const enum net_counter what = r == net->reasm ? check_reassembled(net, c) : UDP_RECEIVED;

	if (what != UDP_RECEIVED) {
		net_count(net, what);
		context_free(r, c);
		return (struct reassembled){NULL, 0, 0};
	}
	context_free(r, c);
	c->state = CONTEXT_DELIVERED;
	r->delivered[r->delivered_count++] = c;
	net_count(net, FRAG_REASSEMBLED);
	return (struct reassembled){c->bytes, c->total, c->id};
}

struct reassembled
reasm_insert(struct net *net, struct reasm *r, uint32_t rx_index)
{
	const struct fragment p = fragment_of(net, rx_index);
	struct context *c;

	net_count(net, FRAG_RECEIVED);
	if (!fragment_valid(&p)) {
		net_count(net, DROP_FRAG_LEN);
	} else if ((c = find_or_open(net, r, &p)) == NULL) {
		net_count(net, DROP_FRAG_NO_CONTEXT);
	} else if (c->state == CONTEXT_DROPPED) {
		net_count(net, DROP_FRAG_LATE);
	} else if (fragment_insert(net, c, &p) && c->received == c->total) {
		return context_deliver(net, r, c);
	}
	return (struct reassembled){NULL, 0, 0};
}

void
reasm_tick(struct reasm *r, struct net *net)
{
	if (likely(r->waiting == 0) || net->now_ns - r->swept_ns < REASM_SWEEP_NS)
		return;
	r->swept_ns = net->now_ns;
	for (uint32_t i = 0; i < r->sets * REASM_WAYS; i++) {
		struct context *c = &r->set[i / REASM_WAYS][i % REASM_WAYS];

		if (c->state == CONTEXT_FREE || c->state == CONTEXT_DELIVERED ||
		    net->now_ns - c->since_ns < REASM_NS)
			continue;
		if (c->state == CONTEXT_OPEN)
			net_count(net, DROP_FRAG_TIMEOUT);
		context_free(r, c);
	}
}

/* Returns the context of a datagram; NULL: it was not fragmented. */
static struct context *
context_of(struct reasm *r, const struct datagram *d)
{
	const uintptr_t at = (uintptr_t)d->payload.data - (uintptr_t)r->set;

	return at < r->sets * sizeof r->set[0] ? &r->set[0][0] + at / sizeof(struct context) : NULL;
}

bool
reasm_holds(struct reasm *r, const struct datagram *d)
{
	return context_of(r, d) != NULL;
}

void
reasm_release(struct reasm *r, const struct datagram *kept, uint32_t kept_count)
{
	if (likely(r->delivered_count == 0))
		return;
	for (uint32_t i = 0; i < r->delivered_count; i++)
		r->delivered[i]->state = CONTEXT_FREE;
	r->delivered_count = 0;
	for (uint32_t i = 0; i < kept_count; i++) {
		struct context *c = context_of(r, &kept[i]);

		if (c == NULL)
			continue;
		c->state = CONTEXT_DELIVERED;
		r->delivered[r->delivered_count++] = c;
	}
}
