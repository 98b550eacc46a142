/*
 * rings82599.c - frames through descriptor rings: data sheet sections 7.1.6 (receive) and 7.2.3
 * (transmit). Memory is read and written at the driver's addresses, which are virtual here
 * (--iova-mode va).
 */
#include "nic82599.h"
#include "base/check.h"

#include <stdatomic.h>
#include <string.h>

#define RX_DONE          (1u << 0) /* with end of packet, 7.1.6.2 */
#define RX_WHOLE         (1u << 1)
#define RX_DIRECTOR      (1u << 2)
#define RX_L4_CHECKED    (1u << 5)
#define RX_IP_CHECKED    (1u << 6)
#define RX_L4_BAD        (1u << 30)
#define RX_IP_BAD        (1u << 31)
#define RX_TYPE_IP4      (1u << 4)
#define RX_TYPE_IP6      (1u << 6)
#define RX_TYPE_TCP      (1u << 8)
#define RX_TYPE_UDP      (1u << 9)
#define TX_KIND(w)       ((w) >> 20 & 0xf)
#define TX_CONTEXT       2u
#define TX_LEN(w)        ((w)&0xffff)
#define TX_EXTENDED      (1u << 29)
#define TX_END           (1u << 24)
#define TX_REPORT        (1u << 27)
#define TX_SEGMENT       (1u << 31)
#define TX_FILL_IP       (1u << 8)
#define TX_FILL_L4       (1u << 9)
#define TX_CONTEXT_OF(w) ((w) >> 4 & 1)
#define CONTEXT_IP(w)    ((w)&0x1ff)
#define CONTEXT_ETH(w)   ((w) >> 9 & 0x7f)
#define CONTEXT_TCP      (1u << 11)
#define FRAME_MIN        60u /* without FCS, IEEE 802.3 clause 3.2.7 */
#define PSEUDO4          8u
#define PSEUDO6          32u

static uint32_t
sum(uint32_t so_far, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i + 1 < len; i += 2)
		so_far += (uint32_t)p[i] << 8 | p[i + 1];
	return len & 1 ? so_far + ((uint32_t)p[len - 1] << 8) : so_far;
}

/* Returns the folded sum of RFC 1071. */
static uint32_t
folded(uint32_t s)
{
	s = (s & 0xffff) + (s >> 16);
	return (s + (s >> 16)) & 0xffff;
}

struct descriptor *
rings_at(struct nic82599 *nic, uint32_t ring)
{
	const uint64_t low = *nic_reg(nic, ring + RING_BASE_LOW);

	return (struct descriptor *)(uintptr_t)(low | (uint64_t)*nic_reg(nic, ring + RING_BASE_HIGH)
							      << 32);
}

/* Returns the status of the transport's checksum: 0, unknown, if the frame is cut
 * short or UDP has none. */
static uint32_t
l4_status(const uint8_t *frame, uint32_t len, const struct headers *h)
{
	const uint32_t total =
		h->v4 ? ((uint32_t)frame[h->l3 + 2] << 8 | frame[h->l3 + 3]) - (h->l4 - h->l3)
		      : (uint32_t)frame[h->l3 + 4] << 8 | frame[h->l3 + 5];
	uint32_t s;

	if ((!h->tcp && !h->udp) || h->l4 + total > len ||
	    (h->udp && frame[h->l4 + 6] == 0 && frame[h->l4 + 7] == 0))
		return 0;
	s = h->v4 ? sum(0, frame + h->l3 + 12, PSEUDO4) : sum(0, frame + h->l3 + 8, PSEUDO6);
	s = sum(s + h->protocol + total, frame + h->l4, total);
	return RX_L4_CHECKED | (folded(s) != 0xffff ? RX_L4_BAD : 0);
}

static uint32_t
rx_status(const uint8_t *frame, uint32_t len, const struct headers *h, const struct choice *c)
{
	uint32_t status = RX_DONE | RX_WHOLE | (c->by == CHOSEN_DIRECTOR ? RX_DIRECTOR : 0);

	if (h->v4)
		status |= RX_IP_CHECKED |
			  (folded(sum(0, frame + h->l3, h->l4 - h->l3)) != 0xffff ? RX_IP_BAD : 0);
	return status | l4_status(frame, len, h);
}

void
rings_receipt(struct receipt *r, const uint8_t *frame, uint32_t len, const struct headers *h,
	      const struct choice *c)
{
	r->kind = (uint64_t)c->hash << 32 | c->rss_type | (h->v4 ? RX_TYPE_IP4 : 0) |
		  (h->v6 ? RX_TYPE_IP6 : 0) | (h->tcp ? RX_TYPE_TCP : 0) |
		  (h->udp ? RX_TYPE_UDP : 0);
	r->status = rx_status(frame, len, h, c);
	r->len = len;
}

bool
rings_lay(struct nic82599 *nic, const uint8_t *frame, uint32_t len, const struct headers *h,
	  const struct choice *c)
{
	const uint32_t ring = REG_RX(c->queue);
	const uint32_t count = *nic_reg(nic, ring + RING_BYTES) / sizeof(struct descriptor);
	const uint32_t room = SRRCTL_KB(*nic_reg(nic, REG_SRRCTL(c->queue))) * 1024;
	uint32_t *head = nic_reg(nic, ring + RING_HEAD);
	struct receipt done;
	struct descriptor *d;

	if (!(*nic_reg(nic, ring + RING_CONTROL) & RING_ENABLE) || count == 0 || len > room)
		return false;
	if (*head == *nic_reg(nic, ring + RING_TAIL)) { /* the driver has given no buffer */
		*nic_reg(nic, REG_MPC0) += 1;
		return false;
	}
	d = rings_at(nic, ring) + *head;
	memcpy((void *)(uintptr_t)d->address, frame, len);
	rings_receipt(&done, frame, len, h, c);
	d->address = done.kind;
	d->w3 = done.len;
	atomic_thread_fence(memory_order_release); /* the driver reads the status first */
	d->w2 = done.status;
	*head = (*head + 1) % count;
	*nic_reg(nic, REG_GPRC) += 1;
	return true;
}

/* Section 7.2.5: sums over the transport's bytes; the pseudo header's sum
 * is in the field already. */
static void
fill_sums(struct sent_frame *f, const uint32_t *context, uint32_t options)
{
	const uint32_t l3 = CONTEXT_ETH(context[0]), l4 = l3 + CONTEXT_IP(context[0]);
	const uint32_t at = l4 + (context[2] & CONTEXT_TCP ? 16 : 6);
	uint32_t s;

	ensure(l4 >= l3 && at + 2 <= f->len);
	if (options & TX_FILL_IP) {
		s = folded(sum(0, f->bytes + l3, l4 - l3)) ^ 0xffff;
		f->bytes[l3 + 10] = (uint8_t)(s >> 8);
		f->bytes[l3 + 11] = (uint8_t)s;
	}
	if (options & TX_FILL_L4) {
		s = folded(sum(0, f->bytes + l4, f->len - l4)) ^ 0xffff;
		s = s == 0 && !(context[2] & CONTEXT_TCP) ? 0xffff : s; /* RFC 768 */
		f->bytes[at] = (uint8_t)(s >> 8);
		f->bytes[at + 1] = (uint8_t)s;
	}
}

/* Adds the bytes of a descriptor to its frame, which is sent with the last one. */
static void
send_one(struct nic82599 *nic, uint32_t queue, const struct descriptor *d)
{
	struct sent_frame *f = &nic->begun[queue];

	ensure(!(d->w2 & TX_SEGMENT) && f->len + TX_LEN(d->w2) <= SENT_BYTES_MAX);
	memcpy(f->bytes + f->len, (const void *)(uintptr_t)d->address, TX_LEN(d->w2));
	f->queue = queue;
	f->len += TX_LEN(d->w2);
	if (!(d->w2 & TX_END))
		return;
	if (d->w3 & (TX_FILL_IP | TX_FILL_L4))
		fill_sums(f, nic->context[queue][TX_CONTEXT_OF(d->w3)], d->w3);
	if (f->len < FRAME_MIN) {
		memset(f->bytes + f->len, 0, FRAME_MIN - f->len);
		f->len = FRAME_MIN;
	}
	nic->sent[nic->sent_count % SENT_MAX] = *f;
	f->len = 0;
	*nic_reg(nic, REG_GPTC) += 1;
	atomic_fetch_add_explicit(&nic->sent_count, 1, memory_order_release);
}

void
rings_take(struct nic82599 *nic, uint32_t queue, struct descriptor *d, bool keep)
{
	static _Thread_local uint8_t gone[SENT_BYTES_MAX];

	if ((d->w2 & TX_EXTENDED) && TX_KIND(d->w2) == TX_CONTEXT)
		memcpy(nic->context[queue][TX_CONTEXT_OF(d->w3)], d, sizeof *d);
	else if (keep)
		send_one(nic, queue, d);
	else if (TX_LEN(d->w2) <= SENT_BYTES_MAX)
		memcpy(gone, (const void *)(uintptr_t)d->address, TX_LEN(d->w2));
	if (d->w2 & TX_REPORT) {
		atomic_thread_fence(memory_order_release); /* the driver frees what it sees done */
		d->w3 |= RX_DONE;                          /* bit 0 here, too, 7.2.3.2.4 */
	}
}

void
rings_send(struct nic82599 *nic, uint32_t queue)
{
	const uint32_t ring = REG_TX(queue);
	const uint32_t count = *nic_reg(nic, ring + RING_BYTES) / sizeof(struct descriptor);
	const uint32_t tail = *nic_reg(nic, ring + RING_TAIL);
	uint32_t *head = nic_reg(nic, ring + RING_HEAD);

	if (count == 0 || tail >= count || !(*nic_reg(nic, ring + RING_CONTROL) & RING_ENABLE) ||
	    !(*nic_reg(nic, REG_DMATXCTL) & DMATXCTL_ENABLE))
		return;
	for (; *head != tail; *head = (*head + 1) % count)
		rings_take(nic, queue, rings_at(nic, ring) + *head, true);
}
