/*
 * fuzz_core.c - clients of every kind against one whole core.
 *
 * Goal:   no program of clients, bytes, losses and times breaks an invariant (ensure), reads past
 *         a buffer, leaves a frame, a chunk, a pin or an item's memory held once all clients have
 *         left, or makes the core lie. Method: the input is a list of steps. Clients with a judge
 *         send well-formed requests only, and every answer to them is read (core_judge.h); the
 *         others send anything. Pools are so small that everything runs out.
 *
 * Bounds: STEPS_MAX steps, PEERS connections an input.
 */
#include "../fuzz_target.h"
#include "core_empty.h"
#include "core_judge.h"
#include "sim_core.h"
#include "sim_peer.h"

#include "base/check.h"
#include "base/time_units.h"
#include "proto/mc_udp.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#define STEPS_MAX   250u
#define PEERS       12u
#define OUT_CAP     (300u * 1024u)
#define IN_CAP      (1500u * 1024u)
#define FRAMES      700u
#define MEMORY      (8u << 20)
#define UDP_PORT_AT 5000u   /* the client's */
#define UDP_JUDGE   0xffu   /* its number as a peer of the judge */
#define UDP_JUDGED  0x8000u /* bit of the id of such requests; the rest is their number */
#define PATIENCE_NS (1500 * NS_PER_S)

struct client {
	struct sim_peer *tcp;
	bool judged;
	uint32_t next; /* next order of the judge */
	uint32_t read; /* bytes of tcp->in */
};

struct input {
	const uint8_t *at;
	size_t left;
};

/* A reply of many datagrams, as far as it has arrived. */
struct gather {
	uint32_t id, sequence, total;
	uint32_t len;
	uint8_t bytes[1u << 20];
};

struct fuzz {
	struct sim_cores *sc;
	struct mem_port *cable; /* the clients' end */
	struct sim_peers *peers;
	struct client clients[PEERS];
	uint32_t client_count;
	uint32_t to_us, to_core; /* losses: bit i of 32 frames; rotates */
	struct judge judge;
	struct gather *gather;
};

static uint32_t
take(struct input *in, uint32_t bytes)
{
	uint32_t v = 0;

	for (; bytes > 0 && in->left > 0; bytes--, in->left--)
		v = v << 8 | *in->at++;
	return v;
}

/* ---- the cable ---- */

static bool
lost(uint32_t *pattern)
{
	*pattern = *pattern >> 1 | *pattern << 31;
	return (*pattern & 0x80000000u) != 0;
}

/* Judges a complete answer. It may arrive long after its request, which its number names. */
static void
udp_whole(struct fuzz *f, uint16_t id, const uint8_t *bytes, uint32_t len)
{
	uint32_t number = id & ~UDP_JUDGED;

	if (!(id & UDP_JUDGED))
		return;
	ensure(number < f->judge.count && f->judge.orders[number].peer == UDP_JUDGE);
	ensure(judge_answer(&f->judge, UDP_JUDGE, &number, bytes, len) == len);
}

/* Reads a datagram. Datagrams of one reply arrive in order, with the same id and total. A reply
 * of one may overtake a reply of many that waits for room; their ids differ. */
static void
udp_read(struct fuzz *f, const uint8_t *frame)
{
	const struct udp_header *h = (const void *)(frame + ETH_HEADER_BYTES + IPV4_HEADER_BYTES);
	struct gather *g = f->gather;
	struct mc_udp_frame mc;
	uint32_t len = be16_get(h->len) - UDP_HEADER_BYTES;

	ensure(len > sizeof mc && len <= MEM_MTU);
	memcpy(&mc, h + 1, sizeof mc);
	len -= (uint32_t)sizeof mc;
	if (be16_get(mc.total) == 1) {
		ensure(be16_get(mc.sequence) == 0);
		udp_whole(f, be16_get(mc.id), (const uint8_t *)(h + 1) + sizeof mc, len);
		return;
	}
	if (be16_get(mc.sequence) == 0) {
		ensure(g->sequence == g->total);
		g->id = be16_get(mc.id);
		g->total = be16_get(mc.total);
		g->sequence = g->len = 0;
	}
	ensure(be16_get(mc.id) == g->id && be16_get(mc.total) == g->total);
	ensure(be16_get(mc.sequence) == g->sequence && g->sequence < g->total);
	g->sequence++;
	if (!(g->id & UDP_JUDGED))
		return;
	ensure(g->len + len <= sizeof g->bytes);
	memcpy(g->bytes + g->len, (const uint8_t *)(h + 1) + sizeof mc, len);
	g->len += len;
	if (g->sequence == g->total)
		udp_whole(f, g->id, g->bytes, g->len);
}

static bool
is_ipv4(const uint8_t *frame, uint8_t protocol)
{
	const struct eth_header *eth = (const void *)frame;
	const struct ipv4_header *ip = (const void *)(frame + ETH_HEADER_BYTES);

	return be16_get(eth->type) == ETH_TYPE_IPV4 && ip->protocol == protocol;
}

static void
cable_turn(struct fuzz *f)
{
	struct mem_port *core = f->sc->cores[0].port;
	const uint8_t *frame;
	uint32_t len;

	for (; (frame = mem_port_sent(core, &len)) != NULL; mem_port_done(core)) {
		uint8_t *to = NULL;

		if (is_ipv4(frame, IPV4_UDP))
			udp_read(f, frame);
		else if (!lost(&f->to_us))
			to = mem_port_feed(f->cable, len, 0);
		if (to != NULL)
			memcpy(to, frame, len);
	}
	for (; (frame = mem_port_sent(f->cable, &len)) != NULL; mem_port_done(f->cable)) {
		uint8_t *to = lost(&f->to_core) ? NULL : mem_port_feed(core, len, 0);

		if (to != NULL)
			memcpy(to, frame, len);
	}
}

static void
clients_read(struct fuzz *f)
{
	for (uint32_t i = 0; i < f->client_count; i++) {
		struct client *c = &f->clients[i];
		uint32_t used;

		if (!c->judged)
			continue;
		do {
			used = judge_answer(&f->judge, (uint8_t)i, &c->next, c->tcp->in + c->read,
					    c->tcp->in_len - c->read);
			c->read += used;
		} while (used != 0);
	}
}

static void
turns(struct fuzz *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		sim_cores_turn(f->sc);
		cable_turn(f);
		sim_peers_turn(f->peers, f->sc->now_ns);
		cable_turn(f);
		clients_read(f);
		f->sc->now_ns += 20000;
	}
}

/* ---- actions of clients ---- */

static void
client_open(struct fuzz *f, uint32_t how)
{
	struct client *c = &f->clients[f->client_count];
	const uint16_t port = (uint16_t)(3000 + f->client_count);

	if (f->client_count == PEERS)
		return;
	f->client_count++;
	c->tcp = sim_peer_open(f->peers, SIM_PEERS + 1, port, OUT_CAP, IN_CAP);
	c->tcp->cut = how & 1;
	c->tcp->mss = how & 2 ? 300 : c->tcp->mss;
	c->judged = how & 4;
}

static void
say(struct client *c, const void *bytes, uint32_t len)
{
	struct sim_peer *p = c->tcp;

	if (len <= p->out_cap - p->out_len && !p->close)
		sim_peer_send(p, bytes, len);
}

static uint32_t
value_len(uint32_t which)
{
	static const uint32_t lens[16] = {0,    1,    7,    100,   900,   1023,  1024,   1025,
					  1400, 2500, 5000, 20000, 65000, 66000, 140000, 240000};

	return lens[which % 16];
}

static struct order
order_of(struct input *in, uint32_t kinds)
{
	const uint32_t what = take(in, 1), how = take(in, 1);
	struct order o = {.kind = (uint8_t)(what % kinds), .key = how % JUDGE_KEYS, .keys = 1};

	o.noreply = o.kind > ORDER_GETS && (what & 0xe0) == 0xe0;
	o.past = (what & 0xe0) == 0xc0;
	o.meta = (what & 0xc0) == 0x80 && o.kind != ORDER_GETS && o.kind < ORDER_TOUCH;
	if (o.kind <= ORDER_GETS)
		o.keys = o.meta ? 1 : 1 + how / 64;
	else if (o.kind == ORDER_FLUSH)
		o.keys = 0;
	else
		o.len = o.kind == ORDER_TOUCH ? how / 16 : value_len(how / 16);
	return o;
}

static void
client_orders(struct fuzz *f, struct client *c, struct input *in)
{
	static uint8_t bytes[JUDGE_LINE_MAX + 240000];
	const struct order asked = order_of(in, ORDER_KINDS);
	struct order o = asked;

	o.peer = (uint8_t)(c - f->clients);
	if (judge_full(&f->judge) || c->tcp->close ||
	    o.len + JUDGE_LINE_MAX > c->tcp->out_cap - c->tcp->out_len)
		return;
	say(c, bytes, judge_order(&f->judge, bytes, &o));
}

/* Pieces of memcached's commands, to be put together in any order. */
static const char *const pieces[] = {
	"get ",
	"gets ",
	"gat 1 ",
	"gats 0 ",
	"set a 0 0 ",
	"set b 7 1 ",
	"add a 1 100 ",
	"cas a 0 0 5 1",
	"append a 0 0 ",
	"prepend b 0 0 ",
	"replace a 0 -1 ",
	"incr n 1",
	"decr n 18446744073709551615",
	"set n 0 0 2\r\n99",
	"delete a",
	"touch a 1",
	"flush_all",
	"flush_all 1",
	"stats",
	"version",
	"verbosity 1",
	"quit\r\n",
	" noreply",
	"\r\n",
	"\n",
	"a ",
	"b ",
	"a b a b a b a b a b a b ",
	"0\r\n\r\n",
	"5\r\nhello\r\n",
	"2000\r\n",
	"1100\r\n",
	"70000\r\n",
	"200000\r\n",
	"2000000\r\n",
	"99999999999\r\n",
	"get a\r\n",
	"get b\r\nget a\r\nget b\r\n",
	"set a 0 0 5\r\nhello\r\n",
	"GET / HTTP/1.1\r\n",
	"stats reset\r\n",
	"set \xff 0 0 1\r\nx\r\n",
};
#define PIECE_COUNT (sizeof pieces / sizeof pieces[0])

/* Meta commands, and packets of the binary protocol for a client that sends a packet first. */
#define PIECE(text)                                                                                \
	{                                                                                          \
		(const uint8_t *)text, sizeof(text) - 1                                            \
	}
#define HEAD(op, key, extras, body) "\x80" op "\0" key extras "\0\0\0\0" body "opaq\0\0\0\0\0\0\0\0"
static const struct view more_pieces[] = {
	PIECE("mg a v\r\n"),
	PIECE("mg b k s t f h l O1 v T30 N60 R90\r\n"),
	PIECE("mg YQ== b k v q\r\n"),
	PIECE("ms a 5 T2 F1 c\r\nhello\r\n"),
	PIECE("ms b 2000 k O12345678901234567890 s\r\n"),
	PIECE("ms a 70000 MA N10 s q\r\n"),
	PIECE("ms YQ== 1100 b k MP\r\n"),
	PIECE("ms n 2 I C1 E5\r\n99\r\n"),
	PIECE("md a I T5\r\n"),
	PIECE("md b x q\r\n"),
	PIECE("ma n N0 J5 v k t c\r\n"),
	PIECE("ma n MD D3 q E9\r\n"),
	PIECE("me a\r\n"),
	PIECE("mn\r\n"),
	PIECE(" v k q"),
	PIECE(HEAD("\0", "\1", "\0", "\0\0\1") "a"),                          /* Get */
	PIECE(HEAD("\x0d", "\1", "\0", "\0\0\1") "b"),                        /* GetKQ */
	PIECE(HEAD("\x01", "\1", "\10", "\0\0\16") "\0\0\0\7\0\0\0\0ahello"), /* Set */
	PIECE(HEAD("\x11", "\1", "\10", "\0\10\11") "\0\0\0\7\0\0\0\5b"),     /* SetQ */
	PIECE(HEAD("\x01", "\1", "\10", "\1\0\11") "\0\0\0\7\0\0\0\0a"),      /* Set */
	PIECE(HEAD("\x0e", "\1", "\0", "\0\4\1") "a"),                        /* Append */
	PIECE(HEAD("\x05", "\1", "\24", "\0\0\25") "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\5\0\0\0\0n"),
	PIECE(HEAD("\x04", "\1", "\0", "\0\0\1") "a"),          /* Delete */
	PIECE(HEAD("\x1d", "\1", "\4", "\0\0\5") "\0\0\0\2a"),  /* GAT */
	PIECE(HEAD("\x1c", "\1", "\4", "\0\0\5") "\0\0\0\2b"),  /* Touch */
	PIECE(HEAD("\x10", "\0", "\0", "\0\0\0")),              /* Stat */
	PIECE(HEAD("\x0a", "\0", "\0", "\0\0\0")),              /* No-op */
	PIECE(HEAD("\x18", "\0", "\0", "\0\0\0")),              /* FlushQ */
	PIECE(HEAD("\x30", "\3", "\2", "\0\0\11") "??abcdefg"), /* unknown */
	PIECE(HEAD("\x07", "\0", "\0", "\0\0\0")),              /* Quit */
	PIECE(HEAD("\x01", "\1", "\0", "\0\0\1") "a"),          /* wrong */
};
#define MORE_PIECE_COUNT (sizeof more_pieces / sizeof more_pieces[0])

/* Writes one piece, some bytes of the input, or many of one byte. Returns how many. */
static uint32_t
babble(struct input *in, uint8_t *to, uint32_t max)
{
	const uint32_t how = take(in, 1);
	uint32_t len = 0;

	if (how < 2 * PIECE_COUNT) {
		const char *piece = pieces[how % PIECE_COUNT];

		len = (uint32_t)strlen(piece);
		len = len < max ? len : max;
		memcpy(to, piece, len);
	} else if (how < 2 * PIECE_COUNT + 2 * MORE_PIECE_COUNT) {
		const struct view piece = more_pieces[how % MORE_PIECE_COUNT];

		len = piece.len < max ? piece.len : max;
		memcpy(to, piece.data, len);
	} else if (how < 200) {
		len = how % 40 < max ? how % 40 : max;
		for (uint32_t i = 0; i < len; i++)
			to[i] = (uint8_t)take(in, 1);
	} else {
		len = take(in, 2) * (how % 4 + 1);
		len = len < max ? len : max;
		memset(to, (int)take(in, 1), len);
	}
	for (uint32_t i = 0; i < len; i++)
		to[i] = to[i] == JUDGE_KEY_MARK ? 'x' : to[i];
	return len;
}

static void
client_babbles(struct client *c, struct input *in)
{
	static uint8_t bytes[1u << 18];
	const uint32_t times = 1 + take(in, 1) % 8;

	for (uint32_t i = 0; i < times; i++)
		say(c, bytes, babble(in, bytes, sizeof bytes));
}

static void
client_step(struct fuzz *f, struct client *c, struct input *in, uint32_t what)
{
	static const uint32_t windows[8] = {UINT16_MAX, 0, 1, 100, 1460, 3000, 20000, UINT16_MAX};

	switch (what) {
	case 0:
		c->tcp->close = true;
		break;
	case 1:
		sim_peer_leave(f->peers, c->tcp);
		break;
	case 2:
		c->tcp->window = windows[take(in, 1) % 8];
		break;
	default:
		if (c->judged)
			client_orders(f, c, in);
		else
			client_babbles(c, in);
	}
}

/* ---- datagrams ---- */

static void
udp_send(struct fuzz *f, uint16_t id, const uint8_t *text, uint32_t len)
{
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + MC_UDP_FRAME_BYTES + len);
	const uint32_t at = ETH_HEADER_BYTES + IPV4_HEADER_BYTES;
	uint8_t *frame = mem_port_feed(f->sc->cores[0].port, at + udp_len, 0);
	struct ipv4_header *ip;
	struct udp_header *udp;

	if (frame == NULL)
		return;
	ip = (void *)(frame + ETH_HEADER_BYTES);
	udp = (void *)(frame + at);
	eth_emit(frame, sim_mac, sim_peer_mac, ETH_TYPE_IPV4);
	ipv4_emit((uint8_t *)ip, SIM_PEERS + 1, SIM_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + udp_len));
	ip->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
	udp_emit((uint8_t *)udp, UDP_PORT_AT, SIM_PORT, udp_len);
	memcpy(mc_udp_put((uint8_t *)(udp + 1), id, 0, 1), text, len);
	udp->cksum = udp_cksum(
		inet_sum(inet_sum_pseudo(SIM_PEERS + 1, SIM_IP, IPV4_UDP, udp_len), udp, udp_len));
}

static void
udp_orders(struct fuzz *f, struct input *in)
{
	uint8_t bytes[JUDGE_LINE_MAX];
	struct order o = order_of(in, ORDER_GETS + 1);
	const uint16_t id = (uint16_t)(UDP_JUDGED | f->judge.count);

	o.peer = UDP_JUDGE;
	if (!judge_full(&f->judge))
		udp_send(f, id, bytes, judge_order(&f->judge, bytes, &o));
}

static void
udp_babbles(struct fuzz *f, struct input *in)
{
	static uint8_t bytes[1400];
	const uint32_t times = 1 + take(in, 1) % 8;
	uint32_t len = 0;

	for (uint32_t i = 0; i < times; i++)
		len += babble(in, bytes + len, (uint32_t)sizeof bytes - len - 1);
	udp_send(f, (uint16_t)take(in, 1), bytes, len);
}

/* ---- steps ---- */

static void
time_passes(struct fuzz *f, uint32_t how)
{
	static const uint64_t steps[8] = {1000000,      50000000,      300000000,      NS_PER_S,
					  2 * NS_PER_S, 10 * NS_PER_S, 100 * NS_PER_S, 20000000};
	const uint64_t until = f->sc->now_ns + steps[how & 7];

	for (uint32_t i = 0; i < 40 && f->sc->now_ns < until; i++) {
		const uint64_t core = sim_cores_next(f->sc);
		const uint64_t peers = sim_peers_next(f->peers);
		const uint64_t next = core < peers ? core : peers;

		turns(f, 1);
		if (next > f->sc->now_ns)
			f->sc->now_ns = next < until ? next : until;
	}
	f->sc->now_ns = f->sc->now_ns < until ? until : f->sc->now_ns;
}

static void
step(struct fuzz *f, struct input *in)
{
	const uint32_t what = take(in, 1);

	switch (what & 7) {
	case 0:
		client_open(f, what >> 3);
		break;
	case 1:
		time_passes(f, what >> 3);
		break;
	case 2:
		f->to_us = what & 8 ? take(in, 4) : 0;
		f->to_core = what & 16 ? take(in, 4) : 0;
		f->sc->cores[0].port->tx_limit = what & 32 ? 3 : MEM_RING;
		break;
	case 3:
		if (what & 8)
			udp_orders(f, in);
		else
			udp_babbles(f, in);
		break;
	case 4:
		turns(f, 1 + (what >> 3));
		break;
	default:
		if (f->client_count > 0)
			client_step(f, &f->clients[(what >> 3) % f->client_count], in,
				    take(in, 1) % 12);
		if (what & 2) /* without this bit several share a burst */
			turns(f, 1 + (what & 3));
	}
}

/* ---- the end: nothing is held ---- */

/* True if the client has an open request, is connected, and can take the answer. */
static bool
waits(const struct fuzz *f, const struct client *c)
{
	const struct sim_peer *p = c->tcp;

	return c->judged && p->state == PEER_OPEN && p->in_len < p->in_cap &&
	       c->next < f->judge.count;
}

/* Checks that every request is answered, once no frame is lost and all clients read. Clients that
 * left without closing must first be given up. */
static void
everybody_is_answered(struct fuzz *f)
{
	const uint64_t until = f->sc->now_ns + PATIENCE_NS;
	uint32_t waiting = 1;

	while (waiting > 0 && f->sc->now_ns < until) {
		const uint64_t core = sim_cores_next(f->sc);
		const uint64_t peers = sim_peers_next(f->peers);
		const uint64_t next = core < peers ? core : peers;

		if (next > f->sc->now_ns)
			f->sc->now_ns = next < until ? next : until;
		turns(f, 4);
		waiting = 0;
		for (uint32_t i = 0; i < f->client_count; i++)
			waiting += waits(f, &f->clients[i]);
	}
	ensure(waiting == 0);
}

static void
everybody_leaves(struct fuzz *f)
{
	struct stack *stack = f->sc->cores[0].core.stack;
	struct stack_usage use;

	f->to_us = f->to_core = 0;
	f->sc->cores[0].port->tx_limit = MEM_RING;
	turns(f, 20);
	for (uint32_t i = 0; i < f->client_count; i++) {
		f->clients[i].tcp->window = UINT16_MAX;
		if (!f->clients[i].judged)
			sim_peer_leave(f->peers, f->clients[i].tcp);
	}
	everybody_is_answered(f);
	for (uint32_t i = 0; i < f->client_count; i++)
		if (f->clients[i].tcp->state != PEER_DONE)
			sim_peer_leave(f->peers, f->clients[i].tcp);
	for (uint32_t i = 0; i < 100 && !stack_drain(stack, f->sc->now_ns); i++) {
		turns(f, 4);
		f->sc->now_ns += 10 * NS_PER_S;
	}
	f->sc->now_ns += 10 * NS_PER_S;
	turns(f, 20);
	stack_usage_mt(stack, &use);
	ensure(use.conns == 0 && use.chunks_used == 0 && use.rx_frames_held == 0);
	ensure(mem_port_held(f->sc->cores[0].port) <= FRAME_CACHE_MAX);
}

static void
core_up(struct fuzz *f, uint32_t how)
{
	struct sim_cores_options options = sim_cores_defaults(how);

	options.frames = FRAMES;
	options.memory_bytes = MEMORY;
	options.conn_requests_max = how & 1 ? 20 : 3;
	options.stack.tcp.conns_max = how & 2 ? 4 : 8;
	options.stack.tcp.chunks = how & 4 ? 10 : how & 8 ? 40 : 300;
	options.stack.net.rx_frames_max = how & 16 ? 16 : 100;
	f->sc = sim_cores_create(&options);
	f->cable = mem_port_create(sim_peer_mac, FRAMES, 0);
	f->peers = sim_peers_create(f->cable, how);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gather gather;
	struct fuzz f = {.gather = &gather};
	struct input in = {data, size};

	gather.sequence = gather.total = 0;
	core_up(&f, take(&in, 1));
	for (uint32_t i = 0; i < STEPS_MAX && in.left > 0; i++)
		step(&f, &in);
	everybody_leaves(&f);
	ensure(core_store_empties(f.sc->cores[0].core.store));
	sim_peers_destroy(f.peers);
	mem_port_destroy(f.cable);
	sim_cores_destroy(f.sc);
	return 0;
}
