#include "sim_flood.h"

#include "sim_core.h"
#include "sim_frame.h"
#include "sim_rng.h"

#include "base/check.h"
#include "stack/stack.h"
#include "support/sorted.h"
#include "tcp/syn_history.h"

#include <stdlib.h>
#include <string.h>

/* The costs are those of test_fairness.c. */
#define TURN_NS    500u
#define FRAME_NS   90u
#define REQUEST_NS 190u

#define MS         1000000ull
#define WAY_NS     25000u     /* one-way delay between a client and the core */
#define WARM_NS    (10 * MS)  /* duration before the flood */
#define FULL_NS    (100 * MS) /* duration of the flood before new clients connect */
#define REPEAT_NS  (200 * MS) /* a request is repeated after this time */
#define FRAMES     8192u
#define WAYS_MAX   (1u << 16) /* segments in flight in each direction; a power of two */
#define FLOOD_NET  0x0b000000u
#define DST_IP_AT  30u /* offset in the frame */
#define PORT_FIRST 2000u
#define ASK        "get none\r\n"
#define ASK_BYTES  (sizeof ASK - 1)
#define ANSWER     "END\r\n"

enum client_state {
	CLIENT_AWAY,
	CLIENT_CONNECTS,
	CLIENT_ASKS,
	CLIENT_DONE,
};

struct client {
	enum client_state state;
	bool old;
	uint32_t seq, ack; /* the sequence numbers to send next and to expect next */
	uint32_t repeats;
	uint64_t since_ns, again_ns;
};

/* A segment in flight to a client or to the core. */
struct on_way {
	uint64_t at_ns;
	uint32_t client;
	struct tcp_seg seg;
};

struct way {
	uint32_t head, tail;
	struct on_way *segs;
};

struct flood_run {
	const struct sim_flood_plan *plan;
	struct sim_cores *sc;
	struct mem_port *port;
	struct sim_rng rng;
	struct way to_core, to_client;
	struct client clients[FLOOD_CLIENTS_MAX];
	uint64_t begin_ns, fed; /* UINT64_MAX: the flood has not begun */
	uint32_t news_done;
	uint64_t *old_ns, *new_ns;
	struct sim_flood_result result;
};

static uint64_t
now(const struct flood_run *f)
{
	return f->sc->now_ns;
}

static void
send_on(struct way *way, uint64_t at_ns, uint32_t client, const struct tcp_seg *seg)
{
	ensure(way->tail - way->head < WAYS_MAX);
	way->segs[way->tail++ & (WAYS_MAX - 1)] =
		(struct on_way){.at_ns = at_ns, .client = client, .seg = *seg};
}

static void
client_sends(struct flood_run *f, uint32_t i, uint8_t flags, bool asks)
{
	const struct client *c = &f->clients[i];
	struct tcp_seg seg = {
		.src_port = (uint16_t)(PORT_FIRST + i),
		.dst_port = SIM_PORT,
		.seq = c->seq,
		.ack = flags & TCP_ACK ? c->ack : 0,
		.window = UINT16_MAX,
		.flags = flags,
	};

	if (flags & TCP_SYN)
		seg.opt = (struct tcp_options){.seen = TCP_HAS_MSS, .mss = 1460};
	if (asks)
		seg.payload = (struct view){(const uint8_t *)ASK, ASK_BYTES};
	send_on(&f->to_core, now(f) + WAY_NS, i, &seg);
}

static void
send_connect_probe(struct flood_run *f, uint32_t i)
{
	struct client *c = &f->clients[i];

	c->state = CLIENT_CONNECTS;
	client_sends(f, i, TCP_SYN, false);
	c->again_ns = now(f) + (1000 * MS << c->repeats++);
}

static void
ask(struct flood_run *f, uint32_t i)
{
	struct client *c = &f->clients[i];

	if (c->old)
		c->since_ns = now(f);
	c->state = CLIENT_ASKS;
	c->again_ns = now(f) + REPEAT_NS;
	client_sends(f, i, TCP_ACK | TCP_PSH, true);
}

static void
answered(struct flood_run *f, uint32_t i)
{
	struct client *c = &f->clients[i];
	const uint64_t took_ns = now(f) - c->since_ns;

	c->seq += ASK_BYTES;
	if (c->old) {
		if (f->begin_ns <= now(f) && f->result.old_answers < FLOOD_SAMPLES_MAX)
			f->old_ns[f->result.old_answers++] = took_ns;
		ask(f, i);
		return;
	}
	c->state = CLIENT_DONE;
	f->news_done++;
	if (took_ns <= FLOOD_SERVED_NS)
		f->new_ns[f->result.news_served++] = took_ns;
	client_sends(f, i, TCP_RST, false);
}

static void
client_receives(struct flood_run *f, uint32_t i, const struct tcp_seg *seg)
{
	struct client *c = &f->clients[i];

	if (c->state == CLIENT_CONNECTS && seg->flags == (TCP_SYN | TCP_ACK) &&
	    seg->ack == c->seq + 1) {
		c->seq++;
		c->ack = seg->seq + 1;
		ask(f, i);
	} else if (c->state == CLIENT_ASKS && seg->payload.len != 0 && seg->seq == c->ack) {
		ensure(seg->payload.len == sizeof ANSWER - 1);
		c->ack += seg->payload.len;
		answered(f, i);
	}
}

/* Connects clients, repeats requests that were not answered in time, and delivers answers. */
static void
clients_turn(struct flood_run *f)
{
	for (uint32_t i = 0; i < f->plan->olds + f->plan->news; i++) {
		struct client *c = &f->clients[i];

		if (c->state == CLIENT_AWAY && c->since_ns <= now(f))
			send_connect_probe(f, i);
		else if (c->state == CLIENT_CONNECTS && c->again_ns <= now(f))
			send_connect_probe(f, i);
		else if (c->state == CLIENT_ASKS && c->again_ns <= now(f))
			client_sends(f, i, TCP_ACK | TCP_PSH, true), c->again_ns += REPEAT_NS;
	}
	while (f->to_client.head != f->to_client.tail) {
		const struct on_way *w = &f->to_client.segs[f->to_client.head & (WAYS_MAX - 1)];

		if (w->at_ns > now(f))
			break;
		f->to_client.head++;
		client_receives(f, w->client, &w->seg);
	}
}

static void
feed(struct flood_run *f, uint32_t ip, const struct tcp_seg *tcp)
{
	const struct sim_segment seg = {.src_ip = ip, .dst_ip = SIM_IP, .tcp = *tcp};
	uint8_t bytes[MEM_FRAME_BYTES];
	const uint32_t len = sim_write_segment(bytes, sim_mac, sim_peer_mac, &seg);
	uint8_t *frame = mem_port_feed(f->port, len, FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);

	f->result.lost += frame == NULL;
	if (frame != NULL)
		memcpy(frame, bytes, len);
}

static void
flood(struct flood_run *f)
{
	uint64_t due;

	if (f->plan->syns_s == 0 || f->begin_ns > now(f))
		return;
	due = (now(f) - f->begin_ns) * f->plan->syns_s / (1000 * MS);
	for (; f->result.syns < due; f->result.syns++) {
		const struct tcp_seg syn = {
			.src_port = (uint16_t)(1024 + sim_below(&f->rng, 60000)),
			.dst_port = SIM_PORT,
			.seq = (uint32_t)sim_random(&f->rng),
			.window = 1024,
			.flags = TCP_SYN,
			.opt = {.seen = TCP_HAS_MSS, .mss = 1460},
		};

		feed(f, FLOOD_NET + sim_below(&f->rng, 1u << 24), &syn);
	}
}

static void
hand_to_core(struct flood_run *f)
{
	while (f->to_core.head != f->to_core.tail) {
		const struct on_way *w = &f->to_core.segs[f->to_core.head & (WAYS_MAX - 1)];

		if (w->at_ns > now(f))
			return;
		f->to_core.head++;
		feed(f, SIM_PEERS + 1, &w->seg);
	}
}

/* Puts segments from the core to clients in flight, and drops those to the flood's sources. */
static void
take_from_core(struct flood_run *f)
{
	const struct be32 here = be32_of(SIM_PEERS + 1);
	const uint8_t *frame;
	uint32_t len;

	for (; (frame = mem_port_sent(f->port, &len)) != NULL; mem_port_done(f->port)) {
		struct sim_segment seg;

		if (memcmp(frame + DST_IP_AT, here.b, sizeof here) != 0 ||
		    !sim_read_segment(&seg, frame, len))
			continue;
		send_on(&f->to_client, now(f) + WAY_NS, seg.tcp.dst_port - PORT_FIRST, &seg.tcp);
	}
}

static uint64_t
worked_ns(const struct flood_run *f)
{
	const struct core *core = &f->sc->cores[0].core;
	const struct counter *stack = stack_counters(core->stack);

	return FRAME_NS * counter_read(&stack[RX_FRAMES]) +
	       f->plan->sent_ns * counter_read(&stack[TX_FRAMES]) +
	       REQUEST_NS * counter_read(&serve_counters(core->serve)[REQ_TCP]);
}

static void
step(struct flood_run *f)
{
	const uint64_t before_ns = worked_ns(f);

	flood(f);
	hand_to_core(f);
	sim_cores_turn(f->sc);
	f->sc->now_ns += TURN_NS + worked_ns(f) - before_ns;
	take_from_core(f);
	clients_turn(f);
}

static void
build(struct flood_run *f)
{
	const struct sim_flood_plan *plan = f->plan;
	struct sim_cores_options options = sim_cores_defaults(plan->seed);

	ensure(plan->olds + plan->news <= FLOOD_CLIENTS_MAX);
	options.frames = FRAMES;
	options.caps = PORT_TX_IP_CKSUM | PORT_TX_TCP_CKSUM;
	options.memory_bytes = 16u << 20;
	options.stack.tcp.conns_max = 4096;
	options.stack.tcp.syn_lines = SYN_HISTORY_LINES;
	f->sc = sim_cores_create(&options);
	f->port = f->sc->cores[0].port;
	f->rng = (struct sim_rng){plan->seed};
	f->to_core.segs = calloc(WAYS_MAX, sizeof *f->to_core.segs);
	f->to_client.segs = calloc(WAYS_MAX, sizeof *f->to_client.segs);
	f->old_ns = calloc(FLOOD_SAMPLES_MAX, sizeof *f->old_ns);
	f->new_ns = calloc(FLOOD_CLIENTS_MAX, sizeof *f->new_ns);
	ensure(f->to_core.segs != NULL && f->to_client.segs != NULL && f->old_ns != NULL &&
	       f->new_ns != NULL);
	f->begin_ns = now(f) + WARM_NS;
	for (uint32_t i = 0; i < plan->olds + plan->news; i++) {
		struct client *c = &f->clients[i];

		c->old = i < plan->olds;
		c->seq = (uint32_t)sim_random(&f->rng);
		c->since_ns = c->old ? now(f) + i * MS / 100
				     : f->begin_ns + FULL_NS +
					       (i - plan->olds) * plan->news_ns / plan->news;
	}
}

static uint64_t
percentile(uint64_t *values, uint32_t count, uint32_t percent)
{
	sort_u64(values, count);
	return count == 0 ? 0 : values[(uint64_t)count * percent / 100];
}

static void
judge(struct flood_run *f)
{
	struct sim_flood_result *r = &f->result;
	const struct counter *stack = stack_counters(f->sc->cores[0].core.stack);

	r->ns = now(f) - f->begin_ns;
	r->cookies = counter_read(&stack[TCP_COOKIES_SENT]);
	r->deferred = counter_read(&stack[TCP_SYNS_DEFERRED]);
	r->new_median_ns = percentile(f->new_ns, r->news_served, 50);
	r->old_median_ns = percentile(f->old_ns, r->old_answers, 50);
	r->old_p99_ns = percentile(f->old_ns, r->old_answers, 99);
}

struct sim_flood_result
sim_flood_run(const struct sim_flood_plan *plan)
{
	struct flood_run *f = calloc(1, sizeof *f);
	struct sim_flood_result result;
	uint64_t least_ns, end_ns;

	ensure(f != NULL);
	f->plan = plan;
	build(f);
	least_ns = f->begin_ns + plan->least_ns;
	end_ns = f->begin_ns + FULL_NS + plan->news_ns + FLOOD_SERVED_NS;
	while (now(f) < least_ns || (f->news_done < plan->news && now(f) < end_ns))
		step(f);
	judge(f);
	result = f->result;
	sim_cores_destroy(f->sc);
	free(f->to_core.segs);
	free(f->to_client.segs);
	free(f->old_ns);
	free(f->new_ns);
	free(f);
	return result;
}
