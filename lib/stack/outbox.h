/*
 * outbox.h - frames on their way out, for those who send one after the other: what outbox.c does
 * for all others.
 *
 * Private to outbox.c, tcp_plain.c and udp_io.c.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_OUTBOX_H
#define CLOCKOO_OUTBOX_H

#include "stack_core.h"

/* The tag goes in where frames leave, as it is taken out where they come in (sort.c): in between,
 * no frame has one. */
void outbox_put_tagged(struct stack *s, struct frame *frame, uint8_t *data, uint32_t len,
		       uint32_t mark);

static inline void
outbox_put(struct outbox *out, struct frame *frame, uint8_t *data, uint32_t len, uint32_t mark)
{
	struct burst *part = &out->part[out->count / BURST_MAX];
	const uint32_t i = out->count % BURST_MAX;

	part->len[i] = len;
	part->mark[i] = mark;
	part->data[i] = data;
	part->frame[i] = frame;
	out->count++;
}

static inline void
outbox_send(struct stack *s, struct frame *frame, uint8_t *data, uint32_t len, uint32_t mark)
{
	if (unlikely(s->cfg.vlan != 0))
		outbox_put_tagged(s, frame, data, len, mark);
	else
		outbox_put(&s->out, frame, data, len, mark);
}

/* The frame that was begun leaves. */
static inline void
outbox_push(struct stack *s, uint32_t len, uint32_t mark)
{
	struct stock *stock = &s->stock;

	ensure(stock->count != 0 && s->out.count < OUTBOX_MAX && len <= s->port->frame_bytes);
	stock->count--;
	outbox_send(s, stock->frame[stock->count], stock->data[stock->count], len, mark);
	if (stock->count != 0)
		prefetch(stock->data[stock->count - 1]);
}

#endif
