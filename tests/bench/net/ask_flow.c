/*
 * ask_flow.c - a TCP or unix socket: writes requests, and reads replies for a ring of requests.
 */
#include "ask_flow.h"
#include "resp_codec.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define SHOWN_BYTES 120u

bool
ask_open(struct ask_flow *f, const struct ask_plan *plan)
{
	const int type = plan->udp ? SOCK_DGRAM : SOCK_STREAM;
	const int on = 1, bytes = 1 << 20;

	f->fd = socket(AF_INET, type, 0);
	if (f->fd < 0 ||
	    connect(f->fd, (const struct sockaddr *)&plan->server, sizeof plan->server) != 0)
		return false;
	if (plan->udp)
		setsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	else
		setsockopt(f->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	f->reader.line = f->line;
	reply_begin(&f->reader);
	return true;
}

bool
ask_draw(struct ask_plan *plan, struct ask *a)
{
	a->req = (struct request){.keys = a->keys};
	if (plan->stopping || (plan->filling && plan->fill_next == plan->fill_end))
		return false;
	if (!plan->filling) {
		request_draw(&plan->w, &plan->rng, &a->req);
		return true;
	}
	a->keys[0] = plan->fill_next++;
	a->req.op = LOAD_SET;
	a->req.key_count = 1;
	return true;
}

uint32_t
ask_put(const struct ask_plan *plan, const struct ask *a, uint8_t *at)
{
	const struct request *req = &a->req;
	const uint32_t value_len = workload_value_len(&plan->w, req->keys[0]);
	uint32_t len = plan->talk == ASK_RESP ? resp_put(&plan->w, req, at)
					      : request_put(&plan->w, req, at);
	struct item_value v;

	if (req->op != LOAD_SET)
		return len;
	item_value_begin(&v, req->keys[0], value_len, req->version);
	item_value_put(&v, at + len, value_len);
	len += value_len;
	at[len++] = '\r';
	at[len++] = '\n';
	return len;
}

static bool
flush(struct ask_flow *f)
{
	while (f->out_at < f->out_len) {
		const ssize_t n = send(f->fd, f->out + f->out_at, f->out_len - f->out_at,
				       MSG_DONTWAIT | MSG_NOSIGNAL);

		f->blocked = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
		if (n < 0)
			return f->blocked || ask_ends(f, ASK_FAILED, errno);
		f->out_at += (uint32_t)n;
	}
	f->out_at = f->out_len = 0;
	f->blocked = false;
	return true;
}

bool
ask_send(struct ask_flow *f, struct ask_plan *plan, uint64_t now_ns)
{
	if (plan->udp)
		return ask_udp_send(f, plan, now_ns);
	if (f->out_len != 0)
		return flush(f);
	while (f->count < plan->depth) {
		struct ask *a = &f->asks[(f->head + f->count) % plan->depth];

		if (!ask_draw(plan, a))
			break;
		f->out_len += ask_put(plan, a, f->out + f->out_len);
		a->sent_ns = now_ns;
		f->count++;
		counter_add(&plan->tally[LOAD_SENT], 1);
	}
	return flush(f);
}

bool
ask_ends(struct ask_flow *f, enum ask_end why, int error)
{
	if (f->end != ASK_RUNS)
		return false;
	f->end = why;
	f->error = error;
	return false;
}

void
ask_answered(struct ask_flow *f, struct ask_plan *plan, const struct ask *a)
{
	f->answers++;
	counter_add(&plan->tally[LOAD_ANSWERED], 1);
	if (plan->latency != NULL && plan->heard_ns > a->sent_ns)
		histogram_add(plan->latency, plan->heard_ns - a->sent_ns);
}

static enum reply_status
read_one(struct ask_flow *f, struct ask_plan *plan, struct view in, uint32_t *used)
{
	const struct request *req = &f->asks[f->head].req;
	const struct reply_sink sink = {plan->tally, &plan->mismatch};

	if (plan->talk == ASK_RESP)
		return resp_read(&plan->w, req, &sink, in, used);
	return reply_read(&f->reader, &plan->w, req, &sink, in, used);
}

/* Reads the replies in f->in; bytes of an incomplete one stay there. */
static bool
read_replies(struct ask_flow *f, struct ask_plan *plan)
{
	uint32_t at = 0;

	f->last_at = 0;
	f->last_len = f->in_len;
	while (at < f->in_len && f->count != 0) {
		const struct view in = {f->in + at, f->in_len - at};
		uint32_t used;
		const enum reply_status status = read_one(f, plan, in, &used);

		if (status == REPLY_MALFORMED) {
			f->last_at = at;
			f->last_len = f->in_len - at;
			return ask_ends(f, ASK_NO_REPLY, 0);
		}
		at += used;
		if (status == REPLY_MORE)
			break;
		ask_answered(f, plan, &f->asks[f->head]);
		f->head = (f->head + 1) % plan->depth;
		f->count--;
		reply_begin(&f->reader);
	}
	if (f->count == 0 && at < f->in_len) {
		counter_add(&plan->tally[LOAD_BROKEN], 1);
		f->last_at = at;
		f->last_len = f->in_len - at;
		return ask_ends(f, ASK_UNASKED, 0);
	}
	f->in_len -= at;
	if (f->in_len == 0)
		return true;
	memmove(f->in, f->in + at, f->in_len);
	f->last_len = f->in_len;
	return true;
}

bool
ask_receive(struct ask_flow *f, struct ask_plan *plan)
{
	if (plan->udp)
		return ask_udp_receive(f, plan);
	for (uint32_t i = 0; i < ASK_READS; i++) {
		const uint32_t room = ASK_IN_BYTES - f->in_len;
		const ssize_t n = recv(f->fd, f->in + f->in_len, room, MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ||
			       ask_ends(f, ASK_FAILED, errno);
		if (n == 0)
			return ask_ends(f, ASK_CLOSED, 0);
		f->in_len += (uint32_t)n;
		if (!read_replies(f, plan))
			return false;
		if ((uint32_t)n < room)
			return true; /* no more bytes are pending */
	}
	return true;
}

static void
print_bytes(const uint8_t *at, uint32_t len, FILE *to)
{
	for (uint32_t i = 0; i < len && i < SHOWN_BYTES; i++) {
		if (isprint(at[i]) && at[i] != '\\')
			fputc(at[i], to);
		else
			fprintf(to, "\\x%02x", at[i]);
	}
	if (len > SHOWN_BYTES)
		fprintf(to, " and %u more", len - SHOWN_BYTES);
}

void
ask_end_print(const struct ask_flow *f, FILE *to)
{
	static const char *const words[] = {
		[ASK_RUNS] = "it has not ended",
		[ASK_NO_REPLY] = "the bytes are no reply",
		[ASK_UNASKED] = "the bytes answer no request",
		[ASK_CLOSED] = "the server closed the connection",
	};

	if (f->end == ASK_FAILED)
		fprintf(to, "the connection failed: %s", strerror(f->error));
	else
		fputs(words[f->end], to);
	fprintf(to, "; %llu answers before, %u requests in flight; ",
		(unsigned long long)f->answers, f->count);
	fputs(f->end == ASK_NO_REPLY || f->end == ASK_UNASKED ? "the bytes: " : "read last: ", to);
	print_bytes(f->in + f->last_at, f->last_len, to);
	fputc('\n', to);
}
