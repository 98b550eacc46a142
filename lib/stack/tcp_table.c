/*
 * tcp_table.c - which connection does a segment belong to?
 *
 * A flow is the peer's (address, port), and which of our addresses and ports it talks to. Each has
 * two buckets of eight and goes into the emptier one: with buckets at most half full on average an
 * overflow is practically impossible (Azar et al., "Balanced allocations", STOC 1994), and a
 * look-up reads two lines at most, whatever the peers do. The hash is seeded, so nobody can aim at
 * a bucket.
 */
#include "tcp.h"

#include "base/hash.h"

struct flow_home {
	struct flow_bucket *first, *second;
	uint32_t tag;
};

/* A peer that talks to two of our addresses from one port has two flows in the same buckets. */
static uint64_t
hash_flow(struct flow f, uint64_t seed)
{
	const uint32_t ports = (uint32_t)f.local_port << 16 | f.port;
	uint32_t key[5];

	if (likely(ip_addr_is_v4(f.ip))) {
		key[0] = ip_addr_v4_get(f.ip);
		key[1] = ports;
		return hash_bytes(key, 2 * sizeof key[0], seed);
	}
	memcpy(key, f.ip->b, sizeof f.ip->b);
	key[4] = ports;
	return hash_bytes(key, sizeof key, seed);
}

static struct flow_home
flow_home(const struct stack *s, struct flow f)
{
	const struct tcp *t = s->tcp;
	const uint64_t h = hash_flow(f, s->cfg.seed);

	return (struct flow_home){
		.first = &t->buckets[h & t->bucket_mask],
		.second = &t->buckets[(h >> 24) & t->bucket_mask],
		.tag = (uint32_t)(h >> 32),
	};
}

static struct conn *
bucket_find(const struct tcp *t, const struct flow_bucket *b, uint32_t tag, struct flow flow)
{
	for (uint32_t i = 0; i < BUCKET_FLOWS; i++) {
		struct conn *c;

		if (b->tag[i] != tag || b->slot_plus_1[i] == 0)
			continue;
		c = &t->conns[b->slot_plus_1[i] - 1];
		if (flow_is_of(flow, c))
			return c;
	}
	return NULL;
}

static struct conn *
home_find(const struct tcp *t, struct flow_home home, struct flow flow)
{
	struct conn *c = bucket_find(t, home.first, home.tag, flow);

	return c != NULL ? c : bucket_find(t, home.second, home.tag, flow);
}

struct conn *
flow_find(const struct stack *s, struct flow flow)
{
	return home_find(s->tcp, flow_home(s, flow), flow);
}

static uint32_t
bucket_used(const struct flow_bucket *b)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < BUCKET_FLOWS; i++)
		used += b->slot_plus_1[i] != 0;
	return used;
}

bool
flow_add(struct stack *s, struct conn *c)
{
	const struct flow_home home = flow_home(s, flow_of_conn(c));
	const bool first = bucket_used(home.first) <= bucket_used(home.second);
	struct flow_bucket *b = first ? home.first : home.second;

	for (uint32_t i = 0; i < BUCKET_FLOWS; i++)
		if (b->slot_plus_1[i] == 0) {
			b->tag[i] = home.tag;
			b->slot_plus_1[i] = c->slot + 1;
			return true;
		}
	return false;
}

static void
bucket_remove(struct flow_bucket *b, uint32_t slot)
{
	for (uint32_t i = 0; i < BUCKET_FLOWS; i++)
		if (b->slot_plus_1[i] == slot + 1)
			b->slot_plus_1[i] = 0;
}

void
flow_remove(struct stack *s, struct conn *c)
{
	const struct flow_home home = flow_home(s, flow_of_conn(c));

	bucket_remove(home.first, c->slot);
	bucket_remove(home.second, c->slot);
}

void
flow_key(uint32_t key[FLOW_KEY_WORDS], struct flow flow)
{
	memcpy(key, flow.ip->b, sizeof flow.ip->b);
	key[4] = (uint32_t)flow.local_port << 16 | flow.port;
	key[5] = flow.local;
}

/*
 * RFC 6528: ISN = M + F(flow, secret). M ticks every 4096 ns, so a flow that comes again
 * starts above where it left off; F keeps one flow's numbers from telling another's.
 */
uint32_t
flow_iss(const struct stack *s, struct flow flow)
{
	uint32_t key[FLOW_KEY_WORDS];
	uint64_t f;

	flow_key(key, flow);
	f = prf_bytes(key, sizeof key, &s->cfg.secret);
	return (uint32_t)(s->now_ns >> 12) + (uint32_t)(f >> 32);
}

/* The same for a flow that comes again, so that its clock does not go back (RFC 6191). Of the
 * function's 64 bits these are the ones that no sequence number shows. */
uint32_t
flow_ts_offset(const struct stack *s, struct flow flow)
{
	uint32_t key[FLOW_KEY_WORDS];

	flow_key(key, flow);
	return (uint32_t)prf_bytes(key, sizeof key, &s->cfg.secret);
}

uint32_t
flow_port_offset(const struct stack *s, struct flow flow)
{
	uint32_t key[FLOW_KEY_WORDS];

	flow.local_port = 0;
	flow_key(key, flow);
	return (uint32_t)prf_bytes(key, sizeof key, &s->cfg.secret);
}

/*
 * Stage 3, in two passes so that the cache misses overlap: first every segment's buckets, then
 * the connections.
 */
void
tcp_match(struct stack *s, struct sorted *in)
{
	struct flow_home home[BURST_MAX];
	struct flow flow[BURST_MAX]; /* ip NULL: a cut header, or nobody's port */
	const bool any_port = s->tcp->active_count > 0;

	for (uint32_t k = 0; k < in->tcp_count; k++) {
		const uint32_t i = in->tcp[k];
		const struct l3_info *l3 = &in->l3[i];
		const struct tcp_header *h = (const void *)(in->rx.data[i] + l3->l4_offset);

		flow[k].ip = NULL;
		if (l3->l4_len < TCP_HEADER_BYTES ||
		    (be16_get(h->dst_port) != s->cfg.tcp_port && !any_port))
			continue;
		flow[k] = (struct flow){&l3->src_ip, be16_get(h->src_port), be16_get(h->dst_port),
					l3->local};
		home[k] = flow_home(s, flow[k]);
		prefetch(home[k].first);
		prefetch(home[k].second);
	}
	for (uint32_t k = 0; k < in->tcp_count; k++) {
		struct conn *c = flow[k].ip != NULL ? home_find(s->tcp, home[k], flow[k]) : NULL;

		in->conn[in->tcp[k]] = c;
		if (c != NULL) {
			prefetch(&c->rx);
			prefetch(&c->tx);
			prefetch(&c->timer);
		}
	}
}
