/*
 * icmp_in.c - echo is answered in the frame it came in (RFC 1122 section 3.2.2.6: the whole
 * data, unchanged); every other ICMP message is counted and dropped.
 */
#include "stack_core.h"
#include "wire/eth_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"

/* The counter that says what becomes of the message. */
static enum stack_counter
check_icmp(const struct stack *s, const uint8_t *p, uint32_t len)
{
	const struct icmp_header *h = (const struct icmp_header *)p;

	if (len < ICMP_HEADER_BYTES)
		return DROP_ICMP_CUT;
	if (!inet_sum_good(inet_sum(0, p, len)))
		return DROP_ICMP_CKSUM;
	if (h->type != ICMP_ECHO || h->code != 0)
		return DROP_ICMP_TYPE;
	if (IPV4_HEADER_BYTES + len > s->port->mtu)
		return DROP_ICMP_SIZE;
	return ICMP_ECHOED;
}

void
icmp_input(struct stack *s, uint32_t rx_index)
{
	const struct l3_info *l3 = &s->in->l3[rx_index];
	const uint8_t *p = s->in->rx.data[rx_index] + l3->l4_offset;
	const enum stack_counter what = check_icmp(s, p, l3->l4_len);

	stack_count(s, what);
	if (what != ICMP_ECHOED) {
		outbox_waive(s, rx_index);
		return;
	}
	icmp_echo_to_reply(ip_answer_here(s, rx_index, l3->l4_len, IPV4_ICMP));
	outbox_return(s, rx_index, ETH_HEADER_BYTES + IPV4_HEADER_BYTES + l3->l4_len, s->ip_mark);
}
