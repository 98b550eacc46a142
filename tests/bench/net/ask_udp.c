/*
 * ask_udp.c - the client over UDP: a datagram for each request, with the slot in the frame's ID.
 */
#include "ask_flow.h"

#include "proto/mc_udp.h"

#include <errno.h>
#include <sys/socket.h>

#define DATAGRAM_BYTES 2048u

/* Gives a slot's next use another ID, so that a late answer is not taken for its successor's. */
static void
next_id(struct ask *a, uint32_t slot)
{
	a->id = (uint16_t)((a->id & ~(ASK_DEPTH_MAX - 1)) + ASK_DEPTH_MAX + slot);
}

static bool
send_all(struct ask_flow *f, struct ask_plan *plan, struct mmsghdr *messages, uint32_t count)
{
	for (uint32_t at = 0; at < count;) {
		const int n = sendmmsg(f->fd, messages + at, count - at, 0);

		/* A server that is starting refuses datagrams; lost requests are sent again. */
		if (n < 0)
			return errno == ECONNREFUSED || errno == EAGAIN ||
			       ask_ends(f, ASK_FAILED, errno);
		at += (uint32_t)n;
		counter_add(&plan->tally[LOAD_SENT], (uint64_t)n);
	}
	return true;
}

bool
ask_udp_send(struct ask_flow *f, struct ask_plan *plan, uint64_t now_ns)
{
	struct mmsghdr messages[ASK_DEPTH_MAX] = {0};
	struct iovec pieces[ASK_DEPTH_MAX];
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < plan->depth && f->count < plan->depth; slot++) {
		struct ask *a = &f->asks[slot];
		uint8_t *at = f->out + count * DATAGRAM_BYTES, *p;

		if (a->sent_ns != 0)
			continue;
		if (!ask_draw(plan, a))
			break;
		next_id(a, slot);
		p = mc_udp_put(at, a->id, 0, 1);
		p += ask_put(plan, a, p);
		a->sent_ns = now_ns;
		f->count++;
		pieces[count] = (struct iovec){at, (size_t)(p - at)};
		messages[count].msg_hdr.msg_iov = &pieces[count];
		messages[count++].msg_hdr.msg_iovlen = 1;
	}
	return send_all(f, plan, messages, count);
}

static bool
take(struct ask_flow *f, struct ask_plan *plan, struct view datagram)
{
	const struct reply_sink sink = {plan->tally, &plan->mismatch};
	struct view text;
	struct ask *a;
	uint32_t used;
	uint16_t id;

	f->last_at = (uint32_t)(datagram.data - f->in);
	f->last_len = datagram.len;
	if (mc_udp_parse(datagram, &id, &text) != MC_UDP_OK) {
		counter_add(&plan->tally[LOAD_BROKEN], 1);
		return ask_ends(f, ASK_NO_REPLY, 0);
	}
	a = &f->asks[id & (ASK_DEPTH_MAX - 1)];
	if (a->sent_ns == 0 || a->id != id) {
		counter_add(&plan->tally[LOAD_LATE], 1);
		return true;
	}
	reply_begin(&f->reader);
	if (reply_read(&f->reader, &plan->w, &a->req, &sink, text, &used) != REPLY_DONE ||
	    used != text.len) {
		counter_add(&plan->tally[LOAD_BROKEN], 1);
		return ask_ends(f, ASK_NO_REPLY, 0);
	}
	ask_answered(f, plan, a);
	a->sent_ns = 0;
	f->count--;
	return true;
}

bool
ask_udp_receive(struct ask_flow *f, struct ask_plan *plan)
{
	struct mmsghdr messages[ASK_IN_BYTES / DATAGRAM_BYTES] = {0};
	struct iovec pieces[ASK_IN_BYTES / DATAGRAM_BYTES];
	const uint32_t room = ASK_IN_BYTES / DATAGRAM_BYTES;
	int n;

	for (uint32_t i = 0; i < room; i++) {
		pieces[i] = (struct iovec){f->in + i * DATAGRAM_BYTES, DATAGRAM_BYTES};
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(f->fd, messages, plan->depth < room ? plan->depth : room, MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EAGAIN || errno == ECONNREFUSED || ask_ends(f, ASK_FAILED, errno);
	for (int i = 0; i < n; i++) {
		const struct view datagram = {pieces[i].iov_base, messages[i].msg_len};

		if (!take(f, plan, datagram))
			return false;
	}
	return true;
}

void
ask_overdue(struct ask_flow *f, struct ask_plan *plan, uint64_t now_ns)
{
	for (uint32_t i = 0; plan->udp && i < plan->depth; i++) {
		struct ask *a = &f->asks[i];

		if (a->sent_ns == 0 || now_ns - a->sent_ns < ASK_LOST_NS)
			continue;
		a->sent_ns = 0;
		f->count--;
		counter_add(&plan->tally[LOAD_LOST], 1);
	}
}
