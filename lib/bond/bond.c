/*
 * bond.c - receives from two members, sends over those that distribute, and runs the protocol in
 * core 0's turn.
 */
#include "bond.h"
#include "kernel/kernel_ring.h"
#include "pkt/handover.h"

/* Time between two runs of the state machines, without an event. */
#define TICK_NS    10000000ull
#define SLOW_BYTES (LACP_FRAME_BYTES + 1) /* bytes of a slot: the member, and the frame */
/* Most LACPDUs of another core that are handled in one turn. */
#define SLOW_TURN 8u

const struct counter_name bond_counter_names[BOND_COUNTER_COUNT] = {BOND_COUNTERS(COUNTER_NAME)};

/* Bits of `roles`: frames of member i are accepted (bit i), and it distributes (bit i +
 * BOND_MEMBERS). */
#define ACCEPTS(member)     (1u << (member))
#define DISTRIBUTES(member) (1u << ((member) + BOND_MEMBERS))

struct bond_port {
	struct port port; /* first member, so that the port is also this struct */
	struct bond *bond;
	struct port *lower[BOND_MEMBERS];
	uint32_t core;
	uint32_t turn;                   /* the member that is polled first */
	struct burst in;                 /* the burst of the member that is polled second */
	struct burst held[BOND_MEMBERS]; /* frames that each member has refused */
	struct kernel_ring slow;         /* to core 0: LACPDUs that this core received */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[BOND_COUNTER_COUNT];
};

struct bond {
	struct bond_config cfg;
	struct bond_port *ports;
	struct lacp lacp; /* used by core 0, as are the next two fields */
	uint32_t active;  /* active-backup: the member that carries frames */
	uint64_t run_ns;  /* when the state machines run next */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t roles; /* written by core 0 */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t mbps[BOND_MEMBERS];
	_Atomic uint32_t fault[BOND_MEMBERS]; /* enum lacp_fault */
	_Atomic uint32_t switches;
};

static inline struct bond_port *
of(struct port *port)
{
	return (struct bond_port *)(void *)port;
}

/* Relaxed: the words are independent of all other memory. */
static inline uint32_t
word(const _Atomic uint32_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static inline void
set_word(_Atomic uint32_t *at, uint32_t value)
{
	atomic_store_explicit(at, value, memory_order_relaxed);
}

static inline void
count(struct bond_port *p, enum bond_counter which, uint64_t n)
{
	counter_add(&p->counters[which], n);
}

static inline void
drop(struct bond_port *p, struct frame *const *frames, uint32_t n)
{
	p->lower[0]->ops->drop(p->lower[0], frames, n);
}

static inline void
burst_move(struct burst *to, const struct burst *from, uint32_t i)
{
	to->data[to->count] = from->data[i];
	to->len[to->count] = from->len[i];
	to->ol_flags[to->count] = from->ol_flags[i];
	to->frame[to->count++] = from->frame[i];
}

/* ---- the protocol, in core 0's turn ---- */

/* Sends one frame of the protocol on a member. If the member refuses it, it is lost; the state
 * machines will send again. False: it was not sent. */
static bool
send_slow(struct bond_port *p, uint32_t member, const uint8_t *bytes)
{
	struct port *lower = p->lower[member];
	struct burst b;

	p->lower[0]->ops->alloc(p->lower[0], &b, 1);
	if (b.count == 0)
		return false;
	memcpy(b.data[0], bytes, LACP_FRAME_BYTES);
	b.len[0] = LACP_FRAME_BYTES;
	if (lower->ops->tx(lower, &b) == 1)
		return true;
	drop(p, b.frame, 1);
	return false;
}

static void
send_lacpdus(struct bond_port *p, uint64_t now_ns)
{
	uint8_t frame[LACP_FRAME_BYTES];
	struct lacp_pdu pdu;

	for (uint32_t i = 0; i < BOND_MEMBERS; i++) {
		if (!lacp_transmit(&p->bond->lacp, i, &pdu, now_ns))
			continue;
		lacp_emit(frame, p->lower[i]->mac, &pdu);
		count(p, BOND_LACPDUS_TX, send_slow(p, i, frame));
	}
}

/* Handles a LACPDU or marker that a member has received. */
static void
take_slow(struct bond_port *p, uint32_t member, const uint8_t *data, uint32_t len, uint64_t now_ns)
{
	struct bond *b = p->bond;
	uint8_t answer[LACP_FRAME_BYTES];
	struct lacp_pdu pdu;

	switch (lacp_parse(&pdu, data, len)) {
	case LACP_WIRE_OK:
		b->run_ns = now_ns;
		count(p,
		      lacp_receive(&b->lacp, member, &pdu, now_ns) ? BOND_LACPDUS_RX
								   : BOND_DROP_SLOW,
		      1);
		return;
	case LACP_WIRE_MARKER:
		memcpy(answer, data, sizeof answer);
		lacp_marker_answer(answer, p->lower[member]->mac);
		count(p, BOND_MARKERS, send_slow(p, member, answer));
		return;
	case LACP_WIRE_RESPONSE:
	case LACP_WIRE_OTHER:
	case LACP_WIRE_TRUNCATED:
	case LACP_WIRE_FORMAT:
		count(p, BOND_DROP_SLOW, 1);
	}
}

/* Handles the LACPDUs that the other cores have received. */
static void
take_slow_of_cores(struct bond_port *p, uint64_t now_ns)
{
	for (uint32_t core = 1; core < p->bond->cfg.cores; core++) {
		struct kernel_ring *r = &p->bond->ports[core].slow;
		const uint8_t *slot;
		uint32_t len;

		for (uint32_t i = 0; i < SLOW_TURN && (slot = kernel_ring_first(r, &len)) != NULL;
		     i++) {
			take_slow(p, slot[0], slot + 1, len - 1, now_ns);
			kernel_ring_pop(r);
		}
	}
}

/* Copies a LACPDU to core 0. */
static void
pass_slow(struct bond_port *p, uint32_t member, const uint8_t *data, uint32_t len)
{
	uint8_t *slot = kernel_ring_begin(&p->slow);
	const uint32_t bytes = len < LACP_FRAME_BYTES ? len : LACP_FRAME_BYTES;

	if (slot == NULL) {
		count(p, BOND_DROP_SLOW, 1);
		return;
	}
	slot[0] = (uint8_t)member;
	memcpy(slot + 1, data, bytes);
	kernel_ring_commit(&p->slow, bytes + 1);
}

static uint32_t
run_lacp(struct bond_port *p, uint64_t now_ns)
{
	struct bond *b = p->bond;
	uint32_t roles = 0;

	for (uint32_t i = 0; i < BOND_MEMBERS; i++)
		lacp_link(&b->lacp, i, word(&b->mbps[i]), now_ns);
	lacp_run(&b->lacp, now_ns);
	send_lacpdus(p, now_ns);
	for (uint32_t i = 0; i < BOND_MEMBERS; i++) {
		roles |= lacp_accepts(&b->lacp, i) ? ACCEPTS(i) : 0;
		roles |= lacp_distributes(&b->lacp, i) ? DISTRIBUTES(i) : 0;
		set_word(&b->fault[i], lacp_fault(&b->lacp, i));
	}
	return roles;
}

/* The active member stays active while it has a link. */
static uint32_t
run_backup(struct bond *b)
{
	const uint32_t other = 1 - b->active;

	if (word(&b->mbps[b->active]) == 0 && word(&b->mbps[other]) != 0) {
		b->active = other;
		set_word(&b->switches, word(&b->switches) + 1);
	}
	for (uint32_t i = 0; i < BOND_MEMBERS; i++)
		set_word(&b->fault[i], word(&b->mbps[i]) != 0 ? LACP_GOOD : LACP_NO_LINK);
	if (word(&b->mbps[b->active]) == 0)
		return 0;
	return ACCEPTS(b->active) | DISTRIBUTES(b->active);
}

static void
run(struct bond_port *p)
{
	struct bond *b = p->bond;
	const uint64_t now_ns = b->cfg.now_ns(b->cfg.clock);

	take_slow_of_cores(p, now_ns);
	if (now_ns < b->run_ns)
		return;
	b->run_ns = now_ns + TICK_NS;
	set_word(&b->roles, b->cfg.mode == BOND_LACP ? run_lacp(p, now_ns) : run_backup(b));
}

/* ---- sending ---- */

/* Sends the frames that a member has refused. True: the member accepts more. */
static bool
flush_held(struct bond_port *p, uint32_t member, uint32_t roles)
{
	struct burst *h = &p->held[member];
	uint32_t sent, left;

	if (likely(h->count == 0))
		return true;
	if (!(roles & DISTRIBUTES(member))) {
		drop(p, h->frame, h->count);
		count(p, BOND_DROP_TX, h->count);
		h->count = 0;
		return true;
	}
	sent = p->lower[member]->ops->tx(p->lower[member], h);
	left = h->count - sent;
	count(p, member == 0 ? BOND_TX_FIRST : BOND_TX_SECOND, sent);
	for (h->count = 0; h->count < left;)
		burst_move(h, h, sent + h->count);
	return left == 0;
}

/* Returns the member for a frame; BOND_MEMBERS: none distributes. */
static inline uint32_t
member_of(const uint8_t *data, uint32_t len, uint32_t roles)
{
	const bool first = roles & DISTRIBUTES(0), second = roles & DISTRIBUTES(1);

	if (first && second)
		return handover_flow_hash(data, len) >> 31;
	return first ? 0 : second ? 1 : BOND_MEMBERS;
}

/* Sends a burst on a member, and keeps the frames that it refuses. */
static void
send_on(struct bond_port *p, uint32_t member, const struct burst *out)
{
	uint32_t sent;

	if (out->count == 0)
		return;
	sent = p->lower[member]->ops->tx(p->lower[member], out);
	count(p, member == 0 ? BOND_TX_FIRST : BOND_TX_SECOND, sent);
	for (uint32_t i = sent; i < out->count; i++)
		burst_move(&p->held[member], out, i);
}

static uint32_t
bond_tx(struct port *port, const struct burst *b)
{
	struct bond_port *p = of(port);
	const uint32_t roles = word(&p->bond->roles);
	struct burst out[BOND_MEMBERS];
	bool ready[BOND_MEMBERS];
	uint32_t i;

	for (uint32_t m = 0; m < BOND_MEMBERS; m++) {
		ready[m] = flush_held(p, m, roles);
		out[m].count = 0;
	}
	for (i = 0; i < b->count; i++) {
		const uint32_t m = member_of(b->data[i], b->len[i], roles);

		if (unlikely(m == BOND_MEMBERS)) {
			drop(p, &b->frame[i], 1);
			count(p, BOND_DROP_TX, 1);
			continue;
		}
		if (unlikely(!ready[m] && p->held[m].count == BURST_MAX))
			break;
		burst_move(ready[m] ? &out[m] : &p->held[m], b, i);
	}
	for (uint32_t m = 0; m < BOND_MEMBERS; m++)
		send_on(p, m, &out[m]);
	/* A core whose queue is full does not receive, and a dead member must be noticed
	 * nevertheless. */
	if (unlikely(i < b->count && p->core == 0))
		run(p);
	return i;
}

/* ---- receiving ---- */

/* Keeps the frames of a burst that are for the core, appending them to *to, which may be the burst
 * itself. */
static void
keep(struct bond_port *p, uint32_t member, const struct burst *from, uint32_t roles,
     struct burst *to)
{
	const bool lacp = p->bond->cfg.mode == BOND_LACP, accepts = roles & ACCEPTS(member);
	const uint32_t n = from->count;

	if (to == from)
		to->count = 0;
	count(p, member == 0 ? BOND_RX_FIRST : BOND_RX_SECOND, n);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *data = from->data[i];
		struct lacp_pdu unused;

		if (unlikely(lacp && from->len[i] >= ETH_HEADER_BYTES && lacp_is_slow(data)) &&
		    lacp_parse(&unused, data, from->len[i]) != LACP_WIRE_OTHER) {
			if (p->core == 0)
				take_slow(p, member, data, from->len[i],
					  p->bond->cfg.now_ns(p->bond->cfg.clock));
			else
				pass_slow(p, member, data, from->len[i]);
		} else if (likely(accepts)) {
			burst_move(to, from, i);
			continue;
		} else {
			count(p, BOND_DROP_RX, 1);
		}
		drop(p, &from->frame[i], 1);
	}
}

static void
bond_rx(struct port *port, struct burst *b, uint32_t want)
{
	struct bond_port *p = of(port);
	const uint32_t first = p->turn++ % BOND_MEMBERS, second = 1 - first;
	uint32_t roles;

	if (p->core == 0)
		run(p);
	roles = word(&p->bond->roles);
	b->count = 0;
	p->lower[first]->ops->rx(p->lower[first], b, want);
	p->in.count = 0;
	if (b->count < want)
		p->lower[second]->ops->rx(p->lower[second], &p->in, want - b->count);
	keep(p, first, b, roles, b);
	keep(p, second, &p->in, roles, b);
	for (uint32_t m = 0; m < BOND_MEMBERS; m++)
		flush_held(p, m, roles);
}

/* ---- the rest ---- */

static void
bond_alloc(struct port *port, struct burst *b, uint32_t want)
{
	struct bond_port *p = of(port);

	p->lower[0]->ops->alloc(p->lower[0], b, want);
}

static void
bond_drop(struct port *port, struct frame *const *frames, uint32_t n)
{
	drop(of(port), frames, n);
}

static const struct port_ops bond_ops = {
	.rx = bond_rx,
	.tx = bond_tx,
	.alloc = bond_alloc,
	.drop = bond_drop,
};

size_t
bond_bytes(uint32_t cores)
{
	return sizeof(struct bond) + cores * sizeof(struct bond_port) +
	       (size_t)cores * KERNEL_RING * SLOW_BYTES + 4 * CACHE_LINE_BYTES;
}

struct bond *
bond_create(struct region *region, const struct bond_config *cfg)
{
	struct bond *b = region_take(region, sizeof *b, CACHE_LINE_BYTES);

	ensure(cfg->cores >= 1 && cfg->cores <= BOND_CORES_MAX);
	b->cfg = *cfg;
	b->ports = region_take(region, cfg->cores * sizeof *b->ports, CACHE_LINE_BYTES);
	lacp_begin(&b->lacp, cfg->lower[0][0]->mac, cfg->fast);
	for (uint32_t m = 0; m < BOND_MEMBERS; m++)
		set_word(&b->fault[m], LACP_NO_LINK);
	for (uint32_t i = 0; i < cfg->cores; i++) {
		struct bond_port *p = &b->ports[i];

		p->port = *cfg->lower[0][i];
		p->port.ops = &bond_ops;
		p->bond = b;
		p->core = i;
		p->slow.slot_bytes = SLOW_BYTES;
		p->slow.slots = region_take(region, (size_t)KERNEL_RING * SLOW_BYTES, 1);
		for (uint32_t m = 0; m < BOND_MEMBERS; m++) {
			ensure(cfg->lower[m][i]->caps == cfg->lower[0][i]->caps);
			p->lower[m] = cfg->lower[m][i];
		}
	}
	return b;
}

struct port *
bond_port(struct bond *b, uint32_t core)
{
	return &b->ports[core].port;
}

const struct counter *
bond_counters(const struct bond *b, uint32_t core)
{
	return b->ports[core].counters;
}

void
bond_link_mt(struct bond *b, uint32_t member, uint32_t mbps)
{
	set_word(&b->mbps[member], mbps);
}

bool
bond_carries_mt(const struct bond *b)
{
	return (word(&b->roles) & (DISTRIBUTES(0) | DISTRIBUTES(1))) != 0;
}

enum lacp_fault
bond_fault_mt(const struct bond *b, uint32_t member)
{
	return (enum lacp_fault)word(&b->fault[member]);
}

uint32_t
bond_switches_mt(const struct bond *b)
{
	return word(&b->switches);
}
