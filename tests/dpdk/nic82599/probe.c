#include "probe.h"

#include "steer/steer_flow.h"
#include "support/toeplitz.h"

#include <string.h>

#define TYPE_IP4  0x0800u
#define TYPE_IP6  0x86ddu
#define TYPE_VLAN 0x8100u
#define IP_TCP    6u
#define IP_UDP    17u
#define US        0x0a000001u
#define PAYLOAD   24u
#define TCP_BYTES 20u
#define UDP_BYTES 8u

static const uint8_t net6[12] = {0x20, 0x01, 0x0d, 0xb8};

static uint8_t *
put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static uint8_t *
put32(uint8_t *p, uint32_t v)
{
	return put16(put16(p, v >> 16), v);
}

/* Returns sum plus the 16-bit words, added as RFC 1071 does. */
static uint32_t
add16(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint32_t
complement(uint32_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum ^ 0xffff;
}

/* Writes the bytes that are hashed: source and destination address, then ports. Returns the
 * length of the addresses. */
static uint32_t
flow_bytes(uint8_t out[36], const struct probe *p)
{
	uint8_t *at = out;

	for (uint32_t end = 0; end < 2; end++) {
		if (p->ether_type == TYPE_IP6) {
			memcpy(at, net6, sizeof net6);
			at += sizeof net6;
		}
		at = put32(at, end == 0 ? p->src : US);
	}
	put16(put16(at, p->src_port), p->dst_port);
	return (uint32_t)(at - out);
}

/* Writes header and payload of the transport; its checksum covers the pseudo header. Returns
 * their length. */
static uint32_t
write_l4(uint8_t *p, const struct probe *probe, const uint8_t *addresses, uint32_t address_bytes)
{
	const bool tcp = probe->protocol == IP_TCP;
	const uint32_t len = (tcp ? TCP_BYTES : UDP_BYTES) + PAYLOAD, at = tcp ? 16 : 6;
	uint32_t sum;

	memset(p, 0, len);
	if (probe->protocol != IP_TCP && probe->protocol != IP_UDP)
		return len; /* the NIC parses no further */
	put16(put16(p, probe->src_port), probe->dst_port);
	if (tcp) {
		p[12] = 0x50; /* five words */
		p[13] = 0x10; /* ACK */
	} else {
		put16(p + 4, len);
	}
	memset(p + len - PAYLOAD, 'x', PAYLOAD);
	sum = add16(add16(probe->protocol + len, addresses, address_bytes), p, len);
	put16(p + at, complement(sum) ^ (probe->bad_cksum ? 0x0101 : 0));
	return len;
}

static uint8_t *
write_ip(uint8_t *p, const struct probe *probe, uint32_t l4_len)
{
	if (probe->ether_type == TYPE_IP6) {
		p[0] = 0x60;
		put16(p + 4, l4_len);
		p[6] = probe->protocol;
		p[7] = 64;
		return p + 8;
	}
	p[0] = 0x45;
	put16(p + 2, 20 + l4_len);
	put16(p + 6, probe->fragment ? 0x2000 : 0);
	p[8] = 64;
	p[9] = probe->protocol;
	return p + 12;
}

uint32_t
probe_write(uint8_t frame[PROBE_BYTES_MAX], const struct probe *p, const uint8_t mac[6])
{
	static const uint8_t peer[6] = {0x52, 0x54, 0, 0, 0, 1};
	const uint32_t header = p->ether_type == TYPE_IP6 ? 40 : 20;
	uint8_t addresses[36], *at = frame + 12, *ip;
	const uint32_t address_bytes = flow_bytes(addresses, p);
	uint32_t l4_len;

	memset(frame, 0, PROBE_BYTES_MAX);
	memcpy(frame, mac, 6);
	memcpy(frame + 6, peer, sizeof peer);
	if (p->tagged)
		at = put16(put16(at, TYPE_VLAN), 7);
	ip = put16(at, p->ether_type);
	if (p->ether_type != TYPE_IP4 && p->ether_type != TYPE_IP6)
		return 60;
	l4_len = write_l4(ip + header, p, addresses, address_bytes);
	memcpy(write_ip(ip, p, l4_len), addresses, address_bytes);
	if (p->ether_type == TYPE_IP4)
		put16(ip + 10, complement(add16(0, ip, header)));
	return (uint32_t)(ip + header + l4_len - frame);
}

/* Returns the IP version of the frame; 0 if it is not IP. */
static uint32_t
ip_version(const struct probe *p)
{
	return p->ether_type == TYPE_IP4 ? 4 : p->ether_type == TYPE_IP6 ? 6 : 0;
}

static bool
has_ports(const struct probe *p)
{
	return ip_version(p) != 0 && !p->fragment &&
	       (p->protocol == IP_TCP || p->protocol == IP_UDP);
}

static bool
matches(const struct steer_match *m, const struct probe *p)
{
	const bool ports = (m->src_port_mask | m->dst_port_mask) != 0;

	return (m->ether_type == 0 || m->ether_type == p->ether_type) &&
	       (m->ip_version == 0 || m->ip_version == ip_version(p)) &&
	       (m->protocol == 0 || m->protocol == p->protocol) && (!ports || has_ports(p)) &&
	       ((m->src_port ^ p->src_port) & m->src_port_mask) == 0 &&
	       ((m->dst_port ^ p->dst_port) & m->dst_port_mask) == 0;
}

static uint32_t
kind_of(const struct probe *p, uint32_t kinds)
{
	const bool v6 = ip_version(p) == 6;
	const uint32_t ports = p->protocol == IP_TCP ? (v6 ? RSS_KIND_TCP6 : RSS_KIND_TCP4)
						     : (v6 ? RSS_KIND_UDP6 : RSS_KIND_UDP4);

	if (has_ports(p) && (kinds & ports))
		return ports;
	return ip_version(p) == 0 ? 0 : kinds & (v6 ? RSS_KIND_IP6 : RSS_KIND_IP4);
}

uint32_t
probe_queue(const struct steer_plan *plan, const struct probe *p, uint32_t rss_kinds)
{
	const uint32_t kind = kind_of(p, plan->rss_fields & rss_kinds);
	uint8_t input[36];
	uint32_t len = flow_bytes(input, p);

	for (uint32_t i = 0; i < plan->rule_count; i++)
		if (matches(&plan->rules[i].match, p))
			return plan->rules[i].queue;
	if (kind == 0 || plan->reta_size == 0)
		return 0;
	len += kind & (RSS_KIND_IP4 | RSS_KIND_IP6) ? 0 : 4;
	return plan->reta[toeplitz(plan->rss_key, input, len) % plan->reta_size];
}

bool
probe_is_tcp(const struct probe *p)
{
	return has_ports(p) && p->protocol == IP_TCP;
}

uint32_t
probe_core_of_flow(const struct steer_plan *plan, uint32_t cores, const struct probe *p)
{
	struct steer_flow f = {.peer_port = p->src_port, .our_port = p->dst_port};
	uint8_t bytes[36];
	const uint32_t half = flow_bytes(bytes, p) / 2;

	if (half == IP_ADDR_BYTES) {
		memcpy(f.peer.b, bytes, half);
		memcpy(f.ours.b, bytes + half, half);
	} else {
		f.peer = ip_addr_v4(p->src);
		f.ours = ip_addr_v4(US);
	}
	return steer_core_of_flow(plan, cores, &f);
}
