/*
 * stack.c - creates one core's net and TCP, and drives them stage by stage.
 */
#include "stack.h"
#include "tcp/tcp.h"

struct stack {
	struct tcp tcp;
};
static_assert(RTT_LONG_US * 1000 <= STACK_PAUSE_NS, "no shorter sample includes a pause");
static_assert(offsetof(struct stack, tcp.net) == 0, "stack_net() and stack_tcp() take a handle");

const struct counter_name stack_counter_names[STACK_COUNTER_COUNT] = {STACK_COUNTERS(COUNTER_NAME)};

size_t
stack_bytes(const struct stack_config *cfg)
{
	return sizeof(struct stack) + net_bytes(&cfg->net) +
	       tcp_bytes(&cfg->tcp, cfg->net.rx_frames_max) + CACHE_LINE_BYTES;
}

struct stack *
stack_create(struct region *region, const struct stack_config *cfg, struct port *port,
	     struct neigh_table *neigh)
{
	struct stack *s = region_take(region, sizeof *s, CACHE_LINE_BYTES);

	net_create(&s->tcp.net, region, &cfg->net, port, neigh);
	tcp_create(&s->tcp, region, &cfg->tcp);
	return s;
}

void
stack_attach(struct stack *s, const struct stack_user *user)
{
	s->tcp.user = *user;
}

void
stack_lender_set(struct stack *s, const struct lender *lender)
{
	tcp_lender_set(&s->tcp, lender);
}

uint64_t
stack_lent_bytes(const struct stack *s)
{
	return s->tcp.lending.bytes;
}

static void
set_now(struct net *net, uint64_t now_ns)
{
	net->now_ns = now_ns;
	net->now_us = (uint32_t)(now_ns / 1000);
	net->now_ms = (uint32_t)(now_ns / 1000000);
}

void
stack_paused(struct stack *s, uint64_t begin_ns, uint64_t end_ns)
{
	tcp_paused(&s->tcp, begin_ns, end_ns);
}

uint32_t
stack_rx_budget(const struct stack *s)
{
	return net_rx_budget(&s->tcp.net);
}

void
stack_classify(struct stack *s, struct classified *in)
{
	net_classify(&s->tcp.net, in);
}

void
stack_match(struct stack *s, struct classified *in)
{
	tcp_match(&s->tcp, in);
}

void
stack_input(struct stack *s, struct classified *in, uint64_t now_ns)
{
	set_now(&s->tcp.net, now_ns);
	net_input(&s->tcp.net, in);
	tcp_input(&s->tcp, in);
}

void
stack_release(struct stack *s)
{
	net_release(&s->tcp.net);
}

void
stack_tick(struct stack *s, uint64_t now_ns)
{
	set_now(&s->tcp.net, now_ns);
	net_tick(&s->tcp.net);
	tcp_tick(&s->tcp);
}

void
stack_output(struct stack *s, uint64_t now_ns)
{
	set_now(&s->tcp.net, now_ns);
	tcp_output(&s->tcp);
}

uint32_t
stack_tx(struct stack *s)
{
	return net_tx(&s->tcp.net);
}

uint64_t
stack_next_timer(const struct stack *s)
{
	const uint64_t net = neigh_next(&s->tcp.net), tcp = tcp_next_timer(&s->tcp);

	return net < tcp ? net : tcp;
}

bool
stack_has_work(const struct stack *s)
{
	return net_has_work(&s->tcp.net) || tcp_has_ready(&s->tcp);
}

bool
stack_drain(struct stack *s, uint64_t now_ns)
{
	set_now(&s->tcp.net, now_ns);
	return tcp_drain(s) && s->tcp.net.backlog_count == 0;
}

void
stack_abort_all(struct stack *s, uint64_t now_ns)
{
	set_now(&s->tcp.net, now_ns);
	tcp_abort_all(s);
}

void
stack_end(struct stack *s)
{
	net_end(&s->tcp.net);
}

const struct counter *
stack_counters(const struct stack *s)
{
	return s->tcp.net.counters;
}
