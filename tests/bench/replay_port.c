/*
 * replay_port.c - keeps frames in an array and delivers them as bursts.
 */
#include "replay_port.h"

#include "base/check.h"
#include "base/list.h"

#include <string.h>

static struct replay_port *
replay_of(struct port *port)
{
	return container_of(port, struct replay_port, port);
}

static void
replay_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct replay_port *rp = replay_of(port);

	ensure(rp->loaded.count <= count);
	b->count = rp->loaded.count;
	for (uint32_t i = 0; i < b->count; i++) {
		b->len[i] = rp->loaded.len[i];
		b->ol_flags[i] = FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD;
		b->data[i] = rp->loaded.data[i];
		b->frame[i] = rp->loaded.frame[i];
	}
	rp->loaded.count = 0;
}

static uint32_t
replay_tx(struct port *port, const struct burst *b)
{
	struct replay_port *rp = replay_of(port);

	for (uint32_t i = 0; i < b->count; i++) {
		rp->sent[rp->sent_count] = b->data[i];
		rp->sent_len[rp->sent_count++] = b->len[i];
	}
	return b->count;
}

static void
replay_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct replay_port *rp = replay_of(port);

	for (b->count = 0; b->count < count && rp->free_count != 0; b->count++) {
		uint8_t *data = rp->free[--rp->free_count];

		b->len[b->count] = 0;
		b->ol_flags[b->count] = 0;
		b->data[b->count] = data;
		b->frame[b->count] = (struct frame *)data;
	}
}

static void
replay_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct replay_port *rp = replay_of(port);

	for (uint32_t i = 0; i < count; i++)
		rp->free[rp->free_count++] = (uint8_t *)frames[i];
}

static struct port_loan *
loan_of(struct replay_port *rp, const uint8_t *data)
{
	return &rp->loan[(size_t)(data - rp->memory) / REPLAY_FRAME_BYTES];
}

static bool
replay_lend(struct port *port, struct frame *frame, const struct port_loan *loan)
{
	struct replay_port *rp = replay_of(port);

	*loan_of(rp, (const uint8_t *)frame) = *loan;
	return true;
}

static const struct port_ops replay_ops = {
	.rx = replay_rx,
	.tx = replay_tx,
	.alloc = replay_alloc,
	.drop = replay_drop,
	.lend = replay_lend,
};

void
replay_init(struct replay_port *rp, uint8_t *memory, const uint8_t mac[6])
{
	memset(rp, 0, sizeof *rp);
	rp->port.ops = &replay_ops;
	rp->port.caps = PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM;
	rp->port.frame_bytes = REPLAY_FRAME_BYTES;
	rp->port.mtu = 1500;
	memcpy(rp->port.mac, mac, 6);
	rp->memory = memory;
	for (uint32_t i = 0; i < REPLAY_FRAMES; i++)
		rp->free[rp->free_count++] = memory + (size_t)i * REPLAY_FRAME_BYTES;
}

void
replay_gather(struct replay_port *rp, uint32_t i)
{
	struct port_loan *loan = loan_of(rp, rp->sent[i]);

	if (loan->len == 0)
		return;
	memcpy(rp->sent[i] + rp->sent_len[i], loan->data, loan->len);
	rp->sent_len[i] += loan->len;
	loan->done(loan->lender, loan->owner);
	loan->len = 0;
}

void
replay_recycle(struct replay_port *rp)
{
	for (uint32_t i = 0; i < rp->sent_count; i++)
		rp->free[rp->free_count++] = rp->sent[i];
	rp->sent_count = 0;
}

void
replay_load(struct replay_port *rp, const uint8_t *image, uint32_t len)
{
	struct burst *b = &rp->loaded;

	ensure(b->count < BURST_MAX && rp->free_count != 0 && len <= REPLAY_FRAME_BYTES);
	b->data[b->count] = rp->free[--rp->free_count];
	b->frame[b->count] = (struct frame *)b->data[b->count];
	b->len[b->count] = len;
	memcpy(b->data[b->count++], image, len);
}
