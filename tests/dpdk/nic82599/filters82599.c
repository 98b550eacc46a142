/*
 * filters82599.c - the queue on which a frame arrives: data sheet sections 7.1.2.1 and 7.1.2.4 to
 * 7.1.2.8.
 */
#include "nic82599.h"

#include <string.h>

#define ETH_BYTES  14u
#define TAG_BYTES  4u
#define IP4_BYTES  20u
#define IP6_BYTES  40u
#define TYPE_IP4   0x0800u
#define TYPE_IP6   0x86ddu
#define TYPE_VLAN  0x8100u
#define IP_TCP     6u
#define IP_UDP     17u
#define IP_SCTP    132u
#define TCP_BYTES  20u
#define UDP_BYTES  8u
#define TCP_SYN    0x02u
#define TCP_ACK    0x10u
#define RSS_INPUT  36u /* two IPv6 addresses and two ports */
#define RSS_MARGIN 4u

static uint32_t
get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t
raw32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static void
parse_l4(struct headers *h, const uint8_t *frame, uint32_t len)
{
	const uint32_t need = h->protocol == IP_TCP ? TCP_BYTES : UDP_BYTES;

	if (h->fragment || (h->protocol != IP_TCP && h->protocol != IP_UDP) || len < h->l4 + need)
		return;
	h->tcp = h->protocol == IP_TCP;
	h->udp = !h->tcp;
	memcpy(h->ports, frame + h->l4, sizeof h->ports);
	h->syn = h->tcp && (frame[h->l4 + 13] & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

bool
headers_parse(struct headers *h, const uint8_t *frame, uint32_t len)
{
	uint32_t at = ETH_BYTES;

	memset(h, 0, sizeof *h);
	if (len < ETH_BYTES + TAG_BYTES)
		return false;
	h->type = (uint16_t)get16(frame + 12);
	if (h->type == TYPE_VLAN) {
		h->type = (uint16_t)get16(frame + 16);
		at += TAG_BYTES;
	}
	h->l3 = at;
	h->l4 = len;
	if (h->type == TYPE_IP4 && len >= at + IP4_BYTES) {
		h->v4 = true;
		h->protocol = frame[at + 9];
		h->fragment = (get16(frame + at + 6) & 0x3fff) != 0;
		memcpy(h->src, frame + at + 12, 4);
		memcpy(h->dst, frame + at + 16, 4);
		h->l4 = at + (frame[at] & 0xfu) * 4;
	} else if (h->type == TYPE_IP6 && len >= at + IP6_BYTES) {
		h->v6 = true;
		h->protocol = frame[at + 6];
		memcpy(h->src, frame + at + 8, 16);
		memcpy(h->dst, frame + at + 24, 16);
		h->l4 = at + IP6_BYTES;
	}
	if (h->v4 || h->v6)
		parse_l4(h, frame, len);
	return true;
}

/* True if an EtherType filter chooses the queue (section 7.1.2.3). */
static bool
by_ethertype(struct nic82599 *nic, const struct headers *h, struct choice *c)
{
	for (uint32_t i = 0; i < ETHERTYPES; i++) {
		const uint32_t filter = *nic_reg(nic, REG_ETQF(i));
		const uint32_t queue = *nic_reg(nic, REG_ETQS(i));

		if ((filter & ETQF_ENABLE) && (filter & 0xffff) == h->type &&
		    (queue & ETQS_ENABLE)) {
			*c = (struct choice){.queue = ETQS_QUEUE(queue), .by = CHOSEN_ETHERTYPE};
			return true;
		}
	}
	return false;
}

/* True if the SYN filter chooses the queue (section 7.1.2.4). first: the call before the
 * five-tuple filters; a bit of the register decides which of the two calls counts. */
static bool
by_syn(struct nic82599 *nic, const struct headers *h, bool first, struct choice *c)
{
	const uint32_t filter = *nic_reg(nic, REG_SYNQF);

	if (!h->syn || !(filter & SYNQF_ENABLE) || ((filter & SYNQF_FIRST) != 0) != first)
		return false;
	*c = (struct choice){.queue = SYNQF_QUEUE(filter), .by = CHOSEN_SYN};
	return true;
}

/* Returns FTQF's two bits of the protocol, section 8.2.3.7.16. */
static uint32_t
tuple_protocol(uint8_t protocol)
{
	return protocol == IP_TCP ? 0 : protocol == IP_UDP ? 1 : protocol == IP_SCTP ? 2 : 3;
}

static bool
tuple_matches(struct nic82599 *nic, uint32_t i, const struct headers *h)
{
	const uint32_t f = *nic_reg(nic, REG_FTQF(i));
	const uint32_t ports = *nic_reg(nic, REG_SDPQF(i));
	const uint32_t here = raw32(h->ports);

	return (f & FTQF_ENABLE) &&
	       ((f & FTQF_NO_SRC_IP) || *nic_reg(nic, REG_SAQF(i)) == raw32(h->src)) &&
	       ((f & FTQF_NO_DST_IP) || *nic_reg(nic, REG_DAQF(i)) == raw32(h->dst)) &&
	       ((f & FTQF_NO_SRC_PORT) || (ports & 0xffff) == (here & 0xffff)) &&
	       ((f & FTQF_NO_DST_PORT) || ports >> 16 == here >> 16) &&
	       ((f & FTQF_NO_PROTOCOL) || FTQF_PROTOCOL(f) == tuple_protocol(h->protocol));
}

/* True if a five-tuple filter chooses the queue (section 7.1.2.5): IPv4, no fragments. The
 * highest priority wins, then the lowest number. */
static bool
by_five_tuple(struct nic82599 *nic, const struct headers *h, struct choice *c)
{
	uint32_t best = FIVE_TUPLES, priority = 0;

	if (!h->v4 || h->fragment)
		return false;
	for (uint32_t i = 0; i < FIVE_TUPLES; i++) {
		const uint32_t p = FTQF_PRIORITY(*nic_reg(nic, REG_FTQF(i)));

		if (tuple_matches(nic, i, h) && (best == FIVE_TUPLES || p > priority)) {
			best = i;
			priority = p;
		}
	}
	if (best == FIVE_TUPLES)
		return false;
	*c = (struct choice){.queue = L34TIMIR_QUEUE(*nic_reg(nic, REG_L34TIMIR(best))),
			     .by = CHOSEN_FIVE_TUPLE};
	return true;
}

/* Returns the port mask. The register has its bits reversed in each half, set where not compared,
 * section 8.2.3.21.17. */
static uint32_t
port_mask(uint32_t reg)
{
	uint32_t mask = 0;

	for (uint32_t bit = 0; bit < 16; bit++) {
		mask |= (~reg >> bit & 1) << (15 - bit);
		mask |= (~reg >> (16 + bit) & 1) << (31 - bit);
	}
	return mask;
}

static bool
director_matches(struct nic82599 *nic, const struct director_rule *r, const struct headers *h)
{
	const uint32_t l4 = h->udp ? 1 : h->tcp ? 2 : 0;
	const uint32_t ports = get16(h->ports + 2) << 16 | get16(h->ports);
	const uint32_t mask = port_mask(*nic_reg(nic, h->udp ? REG_FDIRUDPM : REG_FDIRTCPM));

	return r->used && !(r->command & FDIRCMD_IPV6) &&
	       ((*nic_reg(nic, REG_FDIRM) & FDIRM_NO_L4) || FDIRCMD_L4(r->command) == l4) &&
	       ((r->src_ip ^ raw32(h->src)) & ~*nic_reg(nic, REG_FDIRSIP4M)) == 0 &&
	       ((r->dst_ip ^ raw32(h->dst)) & ~*nic_reg(nic, REG_FDIRDIP4M)) == 0 &&
	       (l4 == 0 || ((r->ports ^ ports) & mask) == 0);
}

/* True if a rule of the flow director chooses the queue (section 7.1.2.7). */
static bool
by_director(struct nic82599 *nic, const struct headers *h, struct choice *c)
{
	const uint32_t control = *nic_reg(nic, REG_FDIRCTRL);

	if (FDIRCTRL_SIZE(control) == 0 || !(control & FDIRCTRL_PERFECT) || !h->v4)
		return false;
	for (uint32_t i = 0; i < DIRECTOR_MAX; i++) {
		const struct director_rule *r = &nic->director[i];

		if (!director_matches(nic, r, h))
			continue;
		*c = (struct choice){
			.queue = FDIRCMD_QUEUE(r->command),
			.by = CHOSEN_DIRECTOR,
			.drop = (r->command & FDIRCMD_DROP) != 0,
			.hash = r->hash,
		};
		return c->drop || (r->command & FDIRCMD_HAS_QUEUE);
	}
	return false;
}

/* Returns the hash of section 7.1.2.8.2: for every set bit of the input, 32 bits of
 * the key from there on. */
static uint32_t
toeplitz(const uint8_t *key, const uint8_t *input, uint32_t len)
{
	uint64_t window = 0;
	uint32_t hash = 0;

	for (uint32_t i = 0; i < 4; i++)
		window = window << 8 | key[i];
	for (uint32_t i = 0; i < len; i++) {
		window = window << 8 | key[i + 4];
		for (uint32_t bit = 0; bit < 8; bit++)
			if (input[i] >> (7 - bit) & 1)
				hash ^= (uint32_t)(window >> (8 - bit));
	}
	return hash;
}

/* Returns the number of the kind of fields that are hashed; 0 if none are (section 7.1.2.8.1). */
static uint32_t
rss_kind(uint32_t fields, const struct headers *h, bool *ports)
{
	const bool v6 = h->v6;

	*ports = true;
	if (h->tcp && (fields & (v6 ? MRQC_TCP6 : MRQC_TCP4)))
		return v6 ? 3 : 1;
	if (h->udp && (fields & (v6 ? MRQC_UDP6 : MRQC_UDP4)))
		return v6 ? 8 : 7;
	*ports = false;
	if ((h->v4 || v6) && (fields & (v6 ? MRQC_IP6 : MRQC_IP4)))
		return v6 ? 5 : 2;
	return 0;
}

static bool
by_rss(struct nic82599 *nic, const struct headers *h, struct choice *c)
{
	const uint32_t fields = *nic_reg(nic, REG_MRQC), address = h->v6 ? 16 : 4;
	uint8_t key[RSS_KEY_82599 + RSS_MARGIN] = {0}, input[RSS_INPUT];
	uint32_t kind, len = 2 * address, hash;
	bool ports;

	if (MRQC_MODE(fields) != MRQC_RSS || (kind = rss_kind(fields, h, &ports)) == 0)
		return false;
	memcpy(key, nic_reg(nic, REG_RSSRK(0)), RSS_KEY_82599);
	memcpy(input, h->src, address);
	memcpy(input + address, h->dst, address);
	memcpy(input + len, h->ports, sizeof h->ports);
	len += ports ? (uint32_t)sizeof h->ports : 0;
	hash = toeplitz(key, input, len);
	*c = (struct choice){
		.queue = ((const uint8_t *)nic_reg(nic, REG_RETA(0)))[hash % RETA_ENTRIES] &
			 (RSS_QUEUES_82599 - 1),
		.by = CHOSEN_RSS,
		.hash = hash,
		.rss_type = kind,
	};
	return true;
}

struct choice
filters_choose(struct nic82599 *nic, const struct headers *h)
{
	struct choice c = {.by = CHOSEN_DEFAULT};

	if (!by_ethertype(nic, h, &c) && !by_syn(nic, h, true, &c) && !by_five_tuple(nic, h, &c) &&
	    !by_syn(nic, h, false, &c) && !by_director(nic, h, &c))
		by_rss(nic, h, &c);
	return c;
}
