/*
 * ip_fragment.c - sends a fragment of a datagram in a fresh frame.
 */
#include "ip_fragment.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"

uint32_t
ip_fragment_bytes(const struct net *net, struct ip_dest dest)
{
	const uint32_t headers = local_is_v4(dest.local) ? IPV4_HEADER_BYTES
							 : IPV6_HEADER_BYTES + IPV6_FRAGMENT_BYTES;

	return (route_mtu(net, dest.dst) - headers) & ~7u;
}

/* Finishes the IPv4 header of a fragment. ipv4_finish cannot, since its sum is for packets that
 * must not be fragmented. */
static void
fragment4_finish(struct net *net, uint8_t *l4, const struct ip_fragment *piece)
{
	struct ipv4_header *h = (struct ipv4_header *)(l4 - IPV4_HEADER_BYTES);

	h->total_len = be16_of((uint16_t)(IPV4_HEADER_BYTES + piece->len));
	h->id = be16_of((uint16_t)piece->id);
	h->fragment = be16_of((uint16_t)(piece->at / 8 | (piece->more ? IPV4_MF : 0)));
	if (net->ip_ol_flags == 0)
		h->cksum = inet_cksum(inet_sum(0, (const uint8_t *)h, IPV4_HEADER_BYTES));
	memcpy(l4, piece->data, piece->len);
	tx_queue_commit(net, net->begun_local, ETH_HEADER_BYTES + IPV4_HEADER_BYTES + piece->len,
			net->ip_ol_flags);
}

static void
fragment6_finish(struct net *net, uint8_t *l4, const struct ip_fragment *piece)
{
	const uint32_t header = piece->more || piece->at != 0 ? IPV6_FRAGMENT_BYTES : 0;
	struct ipv6_header *h = (struct ipv6_header *)(l4 - IPV6_HEADER_BYTES);
	struct ipv6_fragment *f = (struct ipv6_fragment *)l4;

	h->payload_len = be16_of((uint16_t)(header + piece->len));
	if (header != 0) {
		*f = (struct ipv6_fragment){
			.next = h->next,
			.offset_more = be16_of((uint16_t)(piece->at | piece->more)),
			.id = be32_of(piece->id),
		};
		h->next = IPV6_FRAGMENT;
	}
	memcpy(l4 + header, piece->data, piece->len);
	tx_queue_commit(net, net->begun_local,
			ETH_HEADER_BYTES + IPV6_HEADER_BYTES + header + piece->len, 0);
}

bool
ip_send_fragment(struct net *net, const uint8_t mac[6], struct ip_dest dest,
		 const struct ip_fragment *piece)
{
	uint8_t *l4 = ip_begin(net, mac, dest);

	if (l4 == NULL)
		return false;
	ensure(piece->at % 8 == 0 && (!piece->more || piece->len % 8 == 0));
	if (local_is_v4(dest.local))
		fragment4_finish(net, l4, piece);
	else
		fragment6_finish(net, l4, piece);
	return true;
}
