/*
 * reasm.c - reassembles datagrams: finds or opens the context, copies the fragment into place, and
 * validates the complete datagram.
 */
#include "reasm.h"

#include "base/hash.h"
#include "base/list.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/udp_wire.h"

#define UNIT_BYTES    8u
#define UNITS         (REASM_BYTES / UNIT_BYTES)
#define WORD_BITS     64u
#define TOTAL_UNKNOWN 0u /* the last fragment has not arrived yet */

enum context_state {
	CONTEXT_FREE,
	CONTEXT_OPEN,
	/* Dropped, and kept so that later fragments of the datagram open no context. */
	CONTEXT_DROPPED,
	CONTEXT_DELIVERED,
	CONTEXT_KEPT, /* delivered, and not read by the service yet */
};

struct context {
	struct list line;  /* in reasm.unused, or in reasm.line while it waits */
	struct list found; /* in a bucket, while the context waits */
	struct ip_addr src;
	uint32_t id;
	uint16_t local;    /* number of the destination, which also shows the family */
	uint8_t state;     /* enum context_state */
	uint16_t total;    /* bytes of the whole datagram; TOTAL_UNKNOWN: not known yet */
	uint16_t received; /* bytes received */
	uint16_t reach;    /* end of the furthest fragment so far */
	uint32_t fragments;
	uint64_t since_ns;
	uint64_t have[UNITS / WORD_BITS]; /* one bit for each unit of 8 bytes */
	uint8_t bytes[REASM_BYTES];
};

struct reasm {
	uint64_t swept_ns;
	uint32_t contexts;
	uint32_t delivered_count;
	struct context *delivered[REASM_CONTEXTS];
	struct list unused;
	/* Open and dropped contexts; the one without a fragment for longest is first. */
	struct list line;
	struct list bucket[REASM_CONTEXTS];
	struct context context[];
};

/* A fragment as its headers describe it. */
struct fragment {
	const struct ip_addr *src;
	uint32_t id;
	uint32_t at, len; /* position in the datagram */
	bool more;        /* more fragments follow */
	uint16_t local;
	const uint8_t *data;
};

static size_t
bytes_of(uint32_t contexts)
{
	return sizeof(struct reasm) + (size_t)contexts * sizeof(struct context);
}

size_t
reasm_bytes(uint32_t contexts)
{
	return bytes_of(contexts) + CACHE_LINE_BYTES;
}

struct reasm *
reasm_create(struct region *region, uint32_t contexts)
{
	struct reasm *r = region_take(region, bytes_of(contexts), CACHE_LINE_BYTES);

	ensure(contexts <= REASM_CONTEXTS);
	r->contexts = contexts;
	list_init(&r->unused);
	list_init(&r->line);
	for (uint32_t i = 0; i < REASM_CONTEXTS; i++)
		list_init(&r->bucket[i]);
	for (uint32_t i = 0; i < contexts; i++) {
		list_init(&r->context[i].found);
		list_push_back(&r->unused, &r->context[i].line);
	}
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

	if (local_is_v4(l3->local)) {
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

static struct list *
bucket_of(const struct net *net, struct reasm *r, const struct fragment *p)
{
	uint8_t key[IP_ADDR_BYTES + sizeof p->id + sizeof p->local];

	memcpy(key, p->src->b, IP_ADDR_BYTES);
	memcpy(key + IP_ADDR_BYTES, &p->id, sizeof p->id);
	memcpy(key + IP_ADDR_BYTES + sizeof p->id, &p->local, sizeof p->local);
	return &r->bucket[hash_bytes(key, sizeof key, net->cfg.seed) % REASM_CONTEXTS];
}

/* Removes an open or dropped context from its lists. */
static void
context_leave(struct context *c)
{
	list_unlink(&c->line);
	list_unlink(&c->found);
}

static void
context_free(struct reasm *r, struct context *c)
{
	context_leave(c);
	c->state = CONTEXT_FREE;
	list_push_front(&r->unused, &c->line);
}

static void
context_drop(struct net *net, struct context *c, enum net_counter reason)
{
	net_count(net, reason);
	c->state = CONTEXT_DROPPED;
}

/* Frees the context of an incomplete datagram. */
static void
context_end(struct net *net, struct reasm *r, struct context *c)
{
	if (c->state == CONTEXT_OPEN)
		net_count(net, net->now_ns - c->since_ns < REASM_NS ? DROP_FRAG_EVICTED
								    : DROP_FRAG_TIMEOUT);
	context_free(r, c);
}

static bool
context_matches(const struct context *c, const struct fragment *p)
{
	return c->id == p->id && c->local == p->local && ip_addr_equal(&c->src, p->src);
}

/* Returns a context for a new datagram. NULL: all have datagrams that the service is reading. */
static struct context *
context_open(struct net *net, struct reasm *r, const struct fragment *p, struct list *bucket)
{
	struct context *c;

	if (list_empty(&r->unused) && !list_empty(&r->line))
		context_end(net, r, container_of(r->line.next, struct context, line));
	if (list_empty(&r->unused))
		return NULL;
	c = container_of(list_pop_front(&r->unused), struct context, line);
	list_push_back(&r->line, &c->line);
	list_push_back(bucket, &c->found);
	c->src = *p->src;
	c->id = p->id;
	c->local = p->local;
	c->state = CONTEXT_OPEN;
	c->total = TOTAL_UNKNOWN;
	c->received = c->reach = 0;
	c->fragments = 0;
	c->since_ns = net->now_ns;
	memset(c->have, 0, sizeof c->have);
	return c;
}

/* Returns the context of a fragment, a new one if necessary. */
static struct context *
find_or_open(struct net *net, struct reasm *r, const struct fragment *p)
{
	struct list *bucket = bucket_of(net, r, p);

	for (struct list *at = bucket->next; at != bucket; at = at->next) {
		struct context *c = container_of(at, struct context, found);

		if (!context_matches(c, p))
			continue;
		if (net->now_ns - c->since_ns < REASM_NS)
			return c;
		context_end(net, r, c);
		break;
	}
	return context_open(net, r, p, bucket);
}

static uint32_t
units_received(const struct context *c, uint32_t from, uint32_t units)
{
	uint32_t here = 0;

	for (uint32_t u = from; u < from + units; u++)
		here += (uint32_t)(c->have[u / WORD_BITS] >> u % WORD_BITS) & 1;
	return here;
}

/* True if the fragment's position is valid. RFC 791: offsets count units of 8 bytes, so only the
 * last fragment may end within a unit. No fragment may end beyond 64 KiB. */
static bool
fragment_valid(const struct fragment *p)
{
	return p->len != 0 && (!p->more || p->len % UNIT_BYTES == 0) &&
	       p->at + p->len <= UINT16_MAX;
}

/* Copies a fragment to its offset. False: it was not used, and the datagram may have been
 * dropped. */
static bool
fragment_insert(struct net *net, struct reasm *r, struct context *c, const struct fragment *p)
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
		/* The network has duplicated it: RFC 8200 section 4.5. */
		net_count(net, DROP_FRAG_DUPLICATE);
		return false;
	}
	/* RFC 5722, here for both families: an overlap, or a second end, drops the datagram. */
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
	list_unlink(&c->line);
	list_push_back(&r->line, &c->line);
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
		return local_is_v4(c->local) ? UDP_RECEIVED : DROP_UDP_NO_CKSUM;
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
	context_leave(c);
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
	} else if (fragment_insert(net, r, c, &p) && c->received == c->total) {
		return context_deliver(net, r, c);
	}
	return (struct reassembled){NULL, 0, 0};
}

void
reasm_tick(struct reasm *r, struct net *net)
{
	if (likely(list_empty(&r->line)) || net->now_ns - r->swept_ns < REASM_SWEEP_NS)
		return;
	r->swept_ns = net->now_ns;
	for (uint32_t i = 0; i < r->contexts; i++) {
		struct context *c = &r->context[i];

		if ((c->state == CONTEXT_OPEN || c->state == CONTEXT_DROPPED) &&
		    net->now_ns - c->since_ns >= REASM_NS)
			context_end(net, r, c);
	}
}

/* Returns the context of a datagram; NULL: it was not fragmented. */
static struct context *
context_of(struct reasm *r, const struct datagram *d)
{
	const uintptr_t at = (uintptr_t)d->payload.data - (uintptr_t)r->context;

	return at < r->contexts * sizeof r->context[0] ? &r->context[at / sizeof r->context[0]]
						       : NULL;
}

bool
reasm_holds(struct reasm *r, const struct datagram *d)
{
	return context_of(r, d) != NULL;
}

void
reasm_release(struct reasm *r, const struct datagram *kept, uint32_t kept_count)
{
	uint32_t left = 0;

	if (likely(r->delivered_count == 0))
		return;
	for (uint32_t i = 0; i < kept_count; i++) {
		struct context *c = context_of(r, &kept[i]);

		if (c != NULL)
			c->state = CONTEXT_KEPT;
	}
	for (uint32_t i = 0; i < r->delivered_count; i++) {
		struct context *c = r->delivered[i];

		if (c->state == CONTEXT_KEPT) {
			c->state = CONTEXT_DELIVERED;
			r->delivered[left++] = c;
		} else {
			c->state = CONTEXT_FREE;
			list_push_front(&r->unused, &c->line);
		}
	}
	r->delivered_count = left;
}
