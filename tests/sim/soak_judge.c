#include "soak_world.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>

#define SILENT_NS   (3000 * NS_PER_S) /* after this silence nothing may be held */
#define SILENT_STEP (10 * NS_PER_S)

void
soak_wrong(struct world *w, const char *what, uint64_t client)
{
	if (w->result->error[0] == 0)
		snprintf(w->result->error, sizeof w->result->error,
			 "seed %" PRIu64 ", client %" PRIu64 ", %.6f s: %s", w->seed, client,
			 (double)(w->server->now_ns - SIM_START) / 1e9, what);
}

/* Counters of the reasons for which a connection may end before its streams. */
static const uint32_t reasons[] = {
	TCP_TIMEOUT,
	TCP_TIMEOUT_SYN,
	TCP_TIMEOUT_FIN_WAIT,
	TCP_TIMEOUT_KEEPALIVE,
	TCP_RESET_DATA_AFTER_CLOSE,
	TCP_CONNECT_TIMEOUT,
	TCP_CONNECT_UNREACHABLE,
	TCP_EVICTED_SLOW_READER,
	TCP_EVICTED_SLOW_WRITER,
};

/* Counters of data that a stack dropped for want of room. */
static const uint32_t no_room[] = {
	TCP_DROP_RX_FRAMES_MAX,
	TCP_DROP_OOO_FULL,
	TCP_DROP_OOO_PRUNED,
};

/* Counters of frames that arrived changed. */
static const uint32_t broken[] = {
	DROP_IP_TRUNCATED, DROP_IP_VERSION,     DROP_IP_HEADER,    DROP_IP_CKSUM,
	DROP_FRAG_TCP,     DROP_FRAG_PROTOCOL,  DROP_FRAG_UDP_OFF, FRAG_RECEIVED,
	DROP_IP_NOT_OURS,  DROP_IP_SOURCE,      DROP_IP_PROTOCOL,  DROP_TCP_TRUNCATED,
	DROP_TCP_CKSUM,    DROP_ICMP_TRUNCATED, DROP_ICMP_CKSUM,
};

static uint64_t
sum(const struct stack *s, const uint32_t *which, size_t count)
{
	uint64_t n = 0;

	for (size_t i = 0; s != NULL && i < count; i++)
		n += counter_read(&stack_counters(s)[which[i]]);
	return n;
}

static uint64_t
sum_both(const struct world *w, const uint32_t *which, size_t count)
{
	return sum(w->server->cores[0].core.stack, which, count) +
	       sum(w->stack != NULL ? w->stack->stack : NULL, which, count);
}

static void
judge_clients(struct world *w)
{
	uint32_t given_up = 0;

	for (uint32_t i = 0; i < w->clients; i++) {
		w->result->whole += w->client[i].whole;
		w->result->left += w->client[i].left;
		given_up += w->client[i].peer != NULL && w->client[i].peer->state == PEER_GAVE_UP;
	}
	if (w->clients - w->result->whole >
	    w->result->left + given_up + sum_both(w, reasons, sizeof reasons / sizeof *reasons))
		soak_wrong(w, "a connection ended without a reason", w->clients);
	if (w->wire->faults.corrupt == 0 &&
	    sum_both(w, broken, sizeof broken / sizeof *broken) != 0)
		soak_wrong(w, "a frame was broken that nobody broke", 0);
}

/* Checks that on a clean path with enough room nothing is retransmitted, except for loss probes:
 * while a queue grows, an ACK may be later than any earlier round trip (RFC 8985 section 7.2). */
static void
judge_clean(struct world *w)
{
	static const uint32_t again[] = {TCP_RETRANSMITS};
	static const uint32_t probes[] = {TCP_LOSS_PROBES_SPURIOUS};
	static const uint32_t timeouts[] = {TCP_TIMEOUTS_RETRANSMIT};
	const struct sim_wire_counts *c = &w->wire->counts;

	if (!w->ours || c->lost + c->twice + c->late + c->corrupted + c->too_big != 0 ||
	    sum_both(w, no_room, sizeof no_room / sizeof *no_room) != 0)
		return;
	w->result->clean = true;
	if (sum_both(w, timeouts, 1) != 0 || sum_both(w, again, 1) > sum_both(w, probes, 1))
		soak_wrong(w, "sent again on a clean path", 0);
}

static void
judge_held(struct world *w, const char *who, const struct stack *s, const struct mem_port *port)
{
	char words[100];
	struct stack_usage use;

	stack_usage_mt(s, &use);
	if (use.conns == 0 && use.chunks_used == 0 && use.rx_frames_held == 0 &&
	    mem_port_held(port) <= FRAME_CACHE_MAX)
		return;
	snprintf(words, sizeof words, "%s holds %u connections, %u chunks, %u frames, %u of %s",
		 who, use.conns, use.chunks_used, use.rx_frames_held, mem_port_held(port),
		 "its port");
	soak_wrong(w, words, 0);
}

static void
throw_away(struct mem_port *port)
{
	uint32_t len;

	while (mem_port_sent(port, &len) != NULL)
		mem_port_done(port);
}

void
soak_fall_silent(struct world *w)
{
	const uint64_t end_ns = w->server->now_ns + SILENT_NS;

	while (w->server->now_ns < end_ns) {
		const uint64_t next = sim_cores_next(w->server);

		w->server->now_ns += w->server->cores[0].core.was_busy ? TURN_NS : 0;
		if (!w->server->cores[0].core.was_busy)
			w->server->now_ns = next > w->server->now_ns
						    ? sooner(next, w->server->now_ns + SILENT_STEP)
						    : w->server->now_ns + TURN_NS;
		sim_cores_turn(w->server);
		throw_away(w->server->cores[0].port);
	}
	judge_held(w, "the server", w->server->cores[0].core.stack, w->server->cores[0].port);
	if (w->stack == NULL)
		return;
	w->stack->serve = NULL;
	for (uint64_t t = 0; t < SILENT_NS; t += SILENT_STEP) {
		sim_stack_run(w->stack, w->stack->now_ns + SILENT_STEP);
		throw_away(w->stack->port);
	}
	judge_held(w, "the client", w->stack->stack, w->stack->port);
}

void
soak_judge(struct world *w)
{
	judge_clients(w);
	judge_clean(w);
	w->result->cksum_drops = sum_both(w, broken, sizeof broken / sizeof *broken);
}
