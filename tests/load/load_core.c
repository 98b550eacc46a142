/*
 * load_core.c - commands, their steps (connect, run, drain, close), and one turn of a core.
 */
#include "load_internal.h"

size_t
load_core_bytes(const struct load_config *cfg)
{
	const size_t own = cfg->transport == LOAD_UDP ? load_udp_bytes(cfg) : load_tcp_bytes(cfg);

	return sizeof(struct load_core) + own + 2 * CACHE_LINE_BYTES;
}

struct load_core *
load_core_create(struct region *region, const struct load_config *cfg, struct port *port,
		 struct stack *stack)
{
	struct load_core *c = region_take(region, sizeof *c, CACHE_LINE_BYTES);

	c->cfg = *cfg;
	c->w = cfg->workload;
	c->port = port;
	c->stack = stack;
	if (cfg->burst == 0 || cfg->burst > BURST_MAX)
		c->cfg.burst = BURST_MAX;
	c->rng.state = load_mix(cfg->seed + cfg->core);
	c->head_bytes = workload_head_bytes(c->w);
	if (cfg->transport == LOAD_UDP)
		load_udp_create(c, region);
	else
		load_tcp_create(c, region);
	return c;
}

void
load_core_command_mt(struct load_core *c, const struct load_command *command)
{
	c->command = *command;
	/* Pairs with the load in load_core_turn. */
	atomic_fetch_add_explicit(&c->issued, 1, memory_order_release);
}

void
load_core_cancel_mt(struct load_core *c)
{
	/* Read in is_cancelled; carries no data. */
	atomic_store_explicit(&c->cancelled, atomic_load_explicit(&c->issued, memory_order_relaxed),
			      memory_order_relaxed);
}

/* True if the present command was cancelled. Pairs with the store in load_core_cancel_mt.
 * Commands are numbered from 1. */
static inline bool
is_cancelled(const struct load_core *c)
{
	return atomic_load_explicit(&c->cancelled, memory_order_relaxed) ==
	       atomic_load_explicit(&c->issued, memory_order_relaxed);
}

bool
load_core_done_mt(const struct load_core *c)
{
	/* Pairs with the store in finish_command, after which the results are complete. */
	return atomic_load_explicit(&c->done, memory_order_acquire) ==
	       atomic_load_explicit(&c->issued, memory_order_relaxed);
}

const struct load_result *
load_core_result(const struct load_core *c)
{
	return &c->result;
}

bool
load_core_busy(const struct load_core *c)
{
	return c->moved;
}

static void
clear_result(struct load_result *r)
{
	for (uint32_t i = 0; i < LOAD_COUNTER_COUNT; i++) {
		atomic_store_explicit(&r->all[i].value, 0, memory_order_relaxed);
		atomic_store_explicit(&r->measured[i].value, 0, memory_order_relaxed);
	}
	r->measured_ns = 0;
	r->mismatch = (struct reply_mismatch){0};
	histogram_clear(&r->latency);
}

/* Returns the first key of a core's share. The cores share all keys evenly. */
static uint32_t
fill_from(const struct load_core *c, uint32_t core)
{
	return (uint32_t)((uint64_t)c->w->keys.n * core / c->cfg.cores);
}

static void
begin_command(struct load_core *c)
{
	clear_result(&c->result);
	c->begun_ns = c->now_ns;
	c->from_ns = c->end_ns = UINT64_MAX;
	c->fill_next = fill_from(c, c->cfg.core);
	c->fill_end = fill_from(c, c->cfg.core + 1);
	c->step = c->command.task == LOAD_IDLE   ? STEP_CLOSE
		  : c->cfg.transport == LOAD_TCP ? STEP_CONNECT
						 : STEP_RUN;
	if (c->step == STEP_CLOSE && c->cfg.transport == LOAD_TCP)
		load_tcp_close(c);
}

/* Begins the run. Its clock starts when its connections are open. */
static void
run(struct load_core *c)
{
	const struct load_command *o = &c->command;

	c->step = STEP_RUN;
	c->open_loop = o->rate > 0;
	c->requests_left = o->requests != 0 ? o->requests : UINT64_MAX;
	if (o->task == LOAD_FILL)
		return;
	c->from_ns = c->now_ns + o->warmup_ns;
	c->end_ns = c->from_ns + o->measure_ns;
	if (c->open_loop)
		schedule_start(&c->schedule, o->arrivals, o->rate, c->now_ns, load_random(&c->rng));
}

static void
finish_command(struct load_core *c)
{
	struct load_result *r = &c->result;

	for (uint32_t i = 0; i < LOAD_COUNTER_COUNT; i++)
		counter_add(&r->all[i], counter_read(&r->measured[i]));
	c->step = STEP_DONE;
	/* Pairs with the load in load_core_done_mt. */
	atomic_store_explicit(&c->done, atomic_load_explicit(&c->issued, memory_order_relaxed),
			      memory_order_release);
}

/* Ends the sending of requests. */
static void
stop_sending(struct load_core *c)
{
	struct load_result *r = &c->result;
	uint64_t unsent = 0;

	c->step = STEP_DRAIN;
	if (c->command.task != LOAD_RUN)
		return;
	if (c->open_loop && c->requests_left != 0 && !is_cancelled(c))
		unsent = schedule_unsent(&c->schedule, c->end_ns);
	/* The run ended by the number of requests, so the measured time ends now. */
	if (c->now_ns < c->end_ns)
		c->end_ns = c->now_ns > c->from_ns ? c->now_ns : c->from_ns;
	r->measured_ns = c->end_ns - c->from_ns;
	counter_add(&r->measured[LOAD_UNSENT], unsent);
}

static void
step_connect(struct load_core *c)
{
	const bool late = c->now_ns - c->begun_ns > CONNECT_WAIT_NS;

	if (is_cancelled(c))
		finish_command(c);
	else if (c->open_count == c->command.conns || (late && c->open_count != 0))
		run(c);
	else if (late)
		finish_command(c);
}

static void
advance_step(struct load_core *c)
{
	switch (c->step) {
	case STEP_CONNECT:
		step_connect(c);
		break;
	case STEP_RUN:
		if (is_cancelled(c) || (c->command.task == LOAD_FILL
						? c->fill_next == c->fill_end
						: c->now_ns >= c->end_ns || c->requests_left == 0))
			stop_sending(c);
		break;
	case STEP_DRAIN:
		/* Requests in flight are answered, or time out. */
		if (c->in_flight == 0)
			finish_command(c);
		break;
	case STEP_CLOSE:
		/* The stack handles TIME-WAIT. */
		if (c->alive_count == 0 || c->now_ns - c->begun_ns > CLOSE_NS)
			finish_command(c);
		break;
	case STEP_DONE:
		break;
	}
}

struct request
load_request_of(const struct load_core *c, const struct flight *f, uint32_t *keys)
{
	return (struct request){
		.op = f->op,
		.key_count = f->op == LOAD_GET ? c->w->multiget : 1,
		.version = f->version,
		.keys = keys,
	};
}

struct request
load_next_request(struct load_core *c, struct flight *f, uint32_t *keys)
{
	struct request req = {.keys = keys};

	f->sent_ns = f->due_ns = c->now_ns;
	if (c->command.task == LOAD_FILL) {
		keys[0] = c->fill_next++;
		req.op = LOAD_SET;
		req.key_count = 1;
	} else {
		request_draw(c->w, &c->rng, &req);
		/* Requests of the warm-up do not count against the number of requests. */
		if (c->now_ns >= c->from_ns)
			c->requests_left--;
		if (c->open_loop) {
			f->due_ns = schedule_due_ns(&c->schedule);
			schedule_pop(&c->schedule);
		}
	}
	f->op = (uint8_t)req.op;
	f->version = req.version;
	c->in_flight++;
	counter_add(&load_counters_for(c, f)[LOAD_SENT], 1);
	return req;
}

void
load_finish(struct load_core *c, const struct flight *f)
{
	struct counter *tally = load_counters_for(c, f);

	c->in_flight--;
	counter_add(&tally[LOAD_ANSWERED], 1);
	if (tally == c->result.measured)
		histogram_add(&c->result.latency, c->now_ns - f->due_ns);
}

static void
receive(struct load_core *c)
{
	const uint32_t room = stack_rx_budget(c->stack);
	struct classified *in = &c->in;

	in->rx.count = 0;
	if (room != 0)
		c->port->ops->rx(c->port, &in->rx, room < c->cfg.burst ? room : c->cfg.burst);
	c->moved = in->rx.count != 0;
	stack_classify(c->stack, in);
	stack_match(c->stack, in);
	stack_input(c->stack, in, c->now_ns);
	if (c->cfg.transport == LOAD_UDP)
		load_udp_receive(c);
	else
		load_tcp_receive(c);
	stack_release(c->stack);
}

static void
send(struct load_core *c)
{
	const bool look = ++c->turns % OVERDUE_TURNS == 0;

	if (c->cfg.transport == LOAD_UDP) {
		if (c->step == STEP_RUN)
			load_udp_send(c);
		if (look)
			load_udp_overdue(c);
		return;
	}
	if (c->step == STEP_CONNECT || c->step == STEP_RUN)
		load_tcp_connect(c);
	load_tcp_send(c);
	if (look)
		load_tcp_overdue(c);
}

/* Adds the time since the last turn began to the last turn. The share of busy turns shows whether
 * the generator, and not the server, is the limit. */
static inline void
note_busy(struct load_core *c, uint64_t now_ns)
{
	struct counter *tally = c->now_ns >= c->from_ns && c->now_ns < c->end_ns
					? c->result.measured
					: c->result.all;

	if (!c->moved)
		return;
	counter_add(&tally[LOAD_TURNS_BUSY], 1);
	counter_add(&tally[LOAD_BUSY_NS], now_ns - c->now_ns);
}

void
load_core_turn(struct load_core *c, uint64_t now_ns)
{
	if (likely(c->step != STEP_DONE)) /* otherwise the results belong to the other thread */
		note_busy(c, now_ns);
	c->now_ns = now_ns;
	/* Pairs with the add in load_core_command_mt. */
	if (unlikely(c->step == STEP_DONE) &&
	    atomic_load_explicit(&c->issued, memory_order_acquire) !=
		    atomic_load_explicit(&c->done, memory_order_relaxed)) {
		begin_command(c);
		if (c->step == STEP_RUN)
			run(c);
	}
	receive(c);
	advance_step(c);
	send(c);
	stack_tick(c->stack, now_ns);
	stack_output(c->stack, now_ns);
	c->moved |= stack_tx(c->stack) != 0;
}
