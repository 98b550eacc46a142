/*
 * udp_io.c - datagrams to the service, and its answers: in the request's frame, or fresh.
 *
 * An answer goes back to the MAC the request came from, without a look at the ARP table: the
 * station that sent it can take the answer, and the path stays free of shared state. Who speaks
 * first asks the table (udp_resolve).
 */
#include "stack_core.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#define UDP_PAYLOAD_AT (ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES)

void
udp_input(struct stack *s, const struct sorted *in)
{
	for (uint32_t n = 0; n < in->udp_count; n++) {
		const uint32_t i = in->udp[n];
		const struct l3_info *l3 = &in->l3[i];
		const uint8_t *frame = in->rx.data[i];
		const struct udp_header *h = (const struct udp_header *)(frame + l3->l4_offset);
		struct datagram *d = &s->datagrams[n];

		memcpy(d->from.mac, ((const struct eth_header *)frame)->src, ETH_MAC_BYTES);
		d->from.port = be16_get(h->src_port);
		d->from.ip = l3->src_ip;
		d->from.local = l3->local;
		d->payload.data = (const uint8_t *)h + UDP_HEADER_BYTES;
		d->payload.len = l3->l4_len - UDP_HEADER_BYTES;
		d->rx_index = i;
		d->answered = false;
	}
	s->datagram_count = in->udp_count;
	if (in->udp_count != 0)
		counter_add(&s->counters[UDP_RECEIVED], in->udp_count);
}

void
udp_release(struct stack *s)
{
	for (uint32_t n = 0; n < s->datagram_count; n++)
		if (!s->datagrams[n].answered)
			frame_spent(s, s->in->rx.frame[s->datagrams[n].rx_index]);
	s->datagram_count = 0;
	s->owed = 0;
}

struct datagram *
stack_datagrams(struct stack *s, uint32_t *count)
{
	*count = s->datagram_count;
	return s->datagrams;
}

uint8_t *
udp_here(struct stack *s, struct datagram *d, uint32_t *room)
{
	/* Behind IPv4 options there is less room in the frame, and the answer moves up later. */
	const uint32_t at = s->in->l3[d->rx_index].l4_offset + UDP_HEADER_BYTES;

	*room = s->datagram_max - (at - UDP_PAYLOAD_AT);
	return s->in->rx.data[d->rx_index] + at;
}

void
udp_answer_here(struct stack *s, struct datagram *d, uint32_t payload_len)
{
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + payload_len);
	struct udp_header *h;
	uint64_t sum;

	ensure(!d->answered && payload_len <= s->datagram_max);
	h = (struct udp_header *)ip_answer_here(s, d->rx_index, udp_len, IPV4_UDP);
	udp_emit((uint8_t *)h, s->cfg.udp_port, d->from.port, udp_len);
	sum = inet_sum_pseudo(s->cfg.ipv4, ip_addr_v4_get(&d->from.ip), IPV4_UDP, udp_len);
	if (s->udp_mark != 0) {
		h->cksum = inet_sum_field(sum);
	} else {
		sum = inet_sum_be16(inet_sum_be16(sum, s->cfg.udp_port), d->from.port);
		sum = inet_sum_be16(sum, udp_len);
		h->cksum = udp_cksum(inet_sum(sum, (uint8_t *)h + UDP_HEADER_BYTES, payload_len));
	}
	outbox_return(s, d->rx_index, UDP_PAYLOAD_AT + payload_len, s->ip_mark | s->udp_mark);
	d->answered = true;
	stack_count(s, UDP_ANSWERED);
}

bool
udp_resolve(struct stack *s, struct udp_peer *to)
{
	static const uint8_t unknown[ETH_MAC_BYTES];

	next_hop_mac(s, &to->ip, unknown, to->mac);
	return memcmp(to->mac, unknown, ETH_MAC_BYTES) != 0;
}

uint8_t *
udp_begin(struct stack *s, const struct udp_peer *to, uint32_t *room)
{
	uint8_t *p;

	if (outbox_room(s) <= OUTBOX_RESERVE)
		return NULL;
	p = ip_begin(s, to->mac, (struct ip_way){&to->ip, to->local, IPV4_UDP});
	if (p == NULL)
		return NULL;
	/* The length is known at commit. */
	udp_emit(p, s->cfg.udp_port, to->port, 0);
	*room = s->datagram_max;
	return p + UDP_HEADER_BYTES;
}

void
udp_commit(struct stack *s, uint32_t payload_len)
{
	struct udp_header *h;

	if (payload_len == 0)
		return;
	ensure(payload_len <= s->datagram_max);
	h = (struct udp_header *)(outbox_begun(s) + UDP_PAYLOAD_AT - UDP_HEADER_BYTES);
	h->len = be16_of((uint16_t)(UDP_HEADER_BYTES + payload_len));
	ip_commit(s, UDP_HEADER_BYTES + payload_len, UDP_CKSUM_AT);
	stack_count(s, UDP_SENT);
}
