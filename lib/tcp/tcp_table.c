/*
 * tcp_table.c - finds the connection that a segment belongs to.
 *
 * A flow is the peer's (address, port), and which of our addresses and ports it talks to. Each has
 * two buckets of eight and goes into the emptier one: with buckets at most half full on average an
 * overflow is practically impossible (Azar et al., "Balanced allocations", STOC 1994), and a
 * look-up reads at most two lines. The hash is seeded, so a peer cannot aim at a bucket.
 */
#include "tcp.h"

#include "base/hash.h"

#include "base/vec16.h"

struct bucket_pair {
	struct flow_bucket *first, *second;
	uint32_t tag;
};

static uint64_t
hash_flow4(const struct ip_addr *ip, uint32_t ports, uint64_t seed)
{
	return hash_word((uint64_t)load_u32(ip->b + 12) << 32 | ports, seed);
}

/* A peer that uses one port to talk to two of our addresses has two flows in the same buckets. */
static uint64_t
hash_flow(struct flow f, uint64_t seed)
{
	const uint32_t ports = tcp_ports(f.port, f.local_port);
	uint32_t key[5];

	if (likely(ip_addr_is_v4(f.ip)))
		return hash_flow4(f.ip, ports, seed);
	memcpy(key, f.ip->b, sizeof f.ip->b);
	key[4] = ports;
	return hash_bytes(key, sizeof key, seed);
}

static struct bucket_pair
pair_of(const struct tcp *t, uint64_t hash)
{
	return (struct bucket_pair){
		.first = &t->buckets[hash & t->bucket_mask],
		.second = &t->buckets[(hash >> 24) & t->bucket_mask],
		.tag = (uint32_t)(hash >> 32) | 1,
	};
}

static struct bucket_pair
bucket_pair(const struct tcp *t, struct flow f)
{
	return pair_of(t, hash_flow(f, t->net.cfg.seed));
}

/* Bit i is set if place i of the bucket holds a flow of this tag. Free places match no tag. */
static uint32_t
bucket_match(const struct flow_bucket *b, uint32_t tag)
{
	const vec16 want = vec16_of_32(tag);
	const vec16 low = vec16_equal_32(vec16_load_aligned(b->tag), want);
	const vec16 high = vec16_equal_32(vec16_load_aligned(b->tag + 4), want);

	return vec16_signs(vec16_pack_16(vec16_pack_32(low, high), vec16_zero()));
}

static struct conn *
bucket_find(const struct tcp *t, const struct flow_bucket *b, uint32_t tag, struct flow flow)
{
	for (uint32_t same = bucket_match(b, tag); same != 0; same &= same - 1) {
		struct conn *c = &t->conns[b->slot_plus_1[__builtin_ctz(same)] - 1];

		if (flow_is_of(flow, c))
			return c;
	}
	return NULL;
}

static struct conn *
pair_find(const struct tcp *t, struct bucket_pair pair, struct flow flow)
{
	struct conn *c = bucket_find(t, pair.first, pair.tag, flow);

	return c != NULL ? c : bucket_find(t, pair.second, pair.tag, flow);
}

struct conn *
flow_find(const struct tcp *t, struct flow flow)
{
	return pair_find(t, bucket_pair(t, flow), flow);
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
flow_add(struct tcp *t, struct conn *c)
{
	const struct bucket_pair pair = bucket_pair(t, flow_of_conn(c));
	const bool first = bucket_used(pair.first) <= bucket_used(pair.second);
	struct flow_bucket *b = first ? pair.first : pair.second;

	for (uint32_t i = 0; i < BUCKET_FLOWS; i++)
		if (b->slot_plus_1[i] == 0) {
			b->tag[i] = pair.tag;
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
			b->slot_plus_1[i] = b->tag[i] = 0;
}

void
flow_remove(struct tcp *t, struct conn *c)
{
	const struct bucket_pair pair = bucket_pair(t, flow_of_conn(c));

	bucket_remove(pair.first, c->slot);
	bucket_remove(pair.second, c->slot);
}

void
flow_key(uint32_t key[FLOW_KEY_WORDS], struct flow flow)
{
	memcpy(key, flow.ip->b, sizeof flow.ip->b);
	key[4] = (uint32_t)flow.local_port << 16 | flow.port;
	key[5] = flow.local;
}

/* RFC 6528: ISN = M + F(flow, secret). M ticks every 4096 ns, so a flow that is opened again starts
 * above its last number. F keeps the numbers of one flow from revealing those of another. */
uint32_t
flow_iss(const struct tcp *t, struct flow flow)
{
	return flow_iss_of_hash(t, flow_hash(t, flow));
}

uint32_t
flow_iss_of_hash(const struct tcp *t, uint64_t hash)
{
	return (uint32_t)(t->net.now_ns >> FLOW_ISS_SHIFT) + (uint32_t)(hash >> 32);
}

uint64_t
flow_hash(const struct tcp *t, struct flow flow)
{
	uint32_t key[FLOW_KEY_WORDS];

	flow_key(key, flow);
	return prf_bytes(key, sizeof key, &t->cfg.secret);
}

/* A flow that is opened again has the same offset, so its clock does not go back (RFC 6191). The
 * bits of the hash used here are those that no sequence number reveals. */
uint32_t
flow_ts_offset(const struct tcp *t, struct flow flow)
{
	return (uint32_t)flow_hash(t, flow);
}

uint64_t
flow_port_offset(const struct tcp *t, struct flow flow)
{
	flow.local_port = 0;
	return flow_hash(t, flow);
}

/* Returns the connection that probably is the flow's. Its own memory is not read yet. */
static struct conn *
pair_predict(const struct tcp *t, const struct bucket_pair *pair)
{
	const struct flow_bucket *b = pair->first;
	uint32_t same = bucket_match(b, pair->tag);

	if (same == 0) {
		b = pair->second;
		same = bucket_match(b, pair->tag);
	}
	return same == 0 ? NULL : &t->conns[b->slot_plus_1[__builtin_ctz(same)] - 1];
}

/* Prefetches the lines that a segment and its reply touch. */
static void
conn_fetch(const struct conn *c)
{
	prefetch(c);
	prefetch(&c->rx);
	prefetch(&c->tx);
	prefetch(&c->scoreboard);
	prefetch(&c->timer);
	prefetch(&c->last_rx_ns);
}

static uint64_t
segment_hash(const struct tcp *t, const struct l3_info *l3, uint32_t ports)
{
	if (likely(local_is_v4(l3->local)))
		return hash_flow4(&l3->src_ip, ports, t->net.cfg.seed);
	return hash_flow(
		(struct flow){&l3->src_ip, tcp_ports_src(ports), tcp_ports_dst(ports), l3->local},
		t->net.cfg.seed);
}

/*
 * Stage 3, in two passes so that cache misses overlap: first the buckets of every segment, then the
 * connections. Connections are not read here, so that nothing waits for their lines; conn_current()
 * verifies later that the tag was right.
 */
void
tcp_match(struct tcp *t, const struct classified *in)
{
	struct bucket_pair pair[BURST_MAX];

	for (uint32_t k = 0; k < in->tcp_count; k++) {
		const uint32_t i = in->tcp[k];
		const struct l3_info *l3 = &in->l3[i];

		pair[k] = pair_of(t, segment_hash(t, l3, load_u32(in->rx.data[i] + l3->l4_offset)));
		prefetch(pair[k].first);
		prefetch(pair[k].second);
	}
	for (uint32_t k = 0; k < in->tcp_count; k++) {
		struct conn *c = pair_predict(t, &pair[k]);

		t->matched[in->tcp[k]] = c;
		if (c != NULL)
			conn_fetch(c);
	}
}
