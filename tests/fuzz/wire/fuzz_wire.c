/*
 * Raw frames into a whole stack. Goal: no sequence of frames makes it crash, lose a frame, send
 * one twice or send one that is not well-formed. Method: the input is a script of frames, turns
 * and clock steps; the first byte sets the behaviour of the port and the service.
 *
 * Shape:  byte 0: enum mode. Then records: length (2 bytes, little-endian; the two high bits are
 *         no length: they request a turn, and time that passes after it), and that many bytes.
 * Errors: abort() if the outcome is wrong; the port in memory checks ownership.
 * Bounds: RECORDS_MAX records, FRAME_MAX bytes each.
 */
#include "fuzz_target.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/addr_probe.h"
#include "base/check.h"
#include "wire/inet_cksum.h"
#include "wire/mld_wire.h"
#include "wire/tcp_wire.h"

#include <string.h>

enum mode {
	MODE_FIX = 1u << 0,     /* set checksums right, so that the input gets past them */
	MODE_OFFLOAD = 1u << 1, /* the port fills checksums in */
	MODE_VOUCH = 1u << 2,   /* the port marks checksums as good */
	MODE_FRESH = 1u << 3,   /* the service answers in fresh datagrams */
	MODE_SILENT = 1u << 4,  /* the service does not answer */
	MODE_SLOW = 1u << 5,    /* the port sends few frames a turn */
	MODE_POOR = 1u << 6,    /* the port runs out of empty frames */
	MODE_ADDRESS = 1u << 7, /* frames are addressed to us */
};

#define RECORDS_MAX  256u
#define FRAME_MAX    (14u + NET_MTU + 100u)
#define LEN_BITS     0x3fffu
#define TURN_BIT     0x8000u
#define STEP_BIT     0x4000u
#define STEP_NS      700000000ull
#define TURNS_AT_END 40u
#define READ_A_TURN  9u /* of a service that keeps datagrams */
#define STREAMS_MAX  64u

#define OFFLOADS      (PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM)
#define RX_FRAMES_MAX 64u /* net_rig.c */

#define VLAN 7u

static uint8_t mode;

/* True if the port is on a VLAN. The mode has no bit for it: a port that is slow and poor at once
 * is on one. */
static bool
on_vlan(void)
{
	return (mode & (MODE_SLOW | MODE_POOR)) == (MODE_SLOW | MODE_POOR);
}

/* True if the service keeps datagrams. The mode has no bit for it either: a service that is
 * silent and answers in fresh datagrams reads few a turn, answers them both ways in turns, and
 * keeps the others. */
static bool
keeps(void)
{
	return (mode & (MODE_FRESH | MODE_SILENT)) == (MODE_FRESH | MODE_SILENT);
}

/* Reads every stream to its end and closes it there. */
static void
serve_streams(struct stack *s)
{
	for (uint32_t n = 0; n < STREAMS_MAX; n++) {
		struct conn *c = stack_pop_ready(s);

		if (c == NULL)
			return;
		for (struct view v = conn_peek(c); v.len != 0; v = conn_peek(c))
			conn_advance(s, c, v.len);
		if (conn_eof(c))
			conn_close(s, c);
	}
}

/* Returns the length of an answer, which the request decides. */
static uint32_t
answer_len(const struct datagram *d, uint32_t room)
{
	const uint32_t want = d->payload.len != 0 ? d->payload.data[0] * 8u : 0;

	return want < room ? want : room;
}

static void
serve_datagram(struct stack *s, struct datagram *d)
{
	uint32_t room, len;
	uint8_t *p;

	if (keeps() ? d->payload.len % 2 != 0 : (mode & MODE_FRESH) != 0) {
		p = udp_begin(s, &d->from, &room);
		if (p == NULL)
			return;
		len = answer_len(d, room);
		memset(p, 'x', len);
		udp_commit(s, len);
		return;
	}
	p = udp_reply_buffer(s, d, &room);
	len = answer_len(d, room);
	memset(p, 'x', len);
	udp_reply_in_place(s, d, len);
}

static void
serve(struct rig *r)
{
	uint32_t count;
	struct datagram *d = stack_datagrams(r->stack, &count);

	if (keeps()) {
		count = count < READ_A_TURN ? count : READ_A_TURN;
		stack_datagrams_defer(r->stack, count);
	} else if (mode & MODE_SILENT) {
		count = 0;
	}
	for (uint32_t i = 0; i < count; i++)
		serve_datagram(r->stack, &d[i]);
	serve_streams(r->stack);
}

/* Only echo replies are sent in fragments. The sum of ICMP is that of all pieces. */
static bool
is_fragment(const uint8_t *p)
{
	if (get16(p + AT_ETH_TYPE) == 0x86dd)
		return p[AT6_NEXT] == 44 && p[AT6_L4] == 58;
	return p[AT_IP_PROTOCOL] == 1 && (get16(p + AT_IP_FRAGMENT) & 0x3fff) != 0 &&
	       inet_sum_good(inet_sum(0, p + AT_IP, 20));
}

/* Checks a frame of IPv6. Solicitations, advertisements and reports are sent to groups. */
static void
check_sent6(const uint8_t *p, uint32_t len)
{
	const bool nd = p[AT6_NEXT] == 58 && (p[AT6_L4] == 135 || p[AT6_L4] == 136);
	const bool mld = p[AT6_NEXT] == 0;

	ensure(len == (uint32_t)AT6_L4 + get16(p + AT6_PAYLOAD_LEN));
	ensure(is_fragment(p) || frame6_good(p, len));
	ensure(memcmp(p + AT6_SRC, our_ip6, 16) == 0 || memcmp(p + AT6_SRC, our_link6, 16) == 0);
	ensure(memcmp(p + AT6_DST, our_ip6, 16) != 0 && memcmp(p + AT6_DST, our_link6, 16) != 0);
	ensure((p[AT6_DST] == 0xff) == ((p[0] & 1) != 0));
	ensure((p[0] & 1) == 0 || ((nd || mld) && p[0] == 0x33 && p[1] == 0x33));
	ensure(!nd || p[AT6_HOP_LIMIT] == 255);
	ensure(!mld || (p[AT6_HOP_LIMIT] == 1 && memcmp(p + AT6_SRC, our_link6, 16) == 0 &&
			memcmp(p + AT6_DST, all_nodes6, 16) != 0 && p[0] == 0x33));
}

/* Checks that frames sent are from us, to one station, with good checksums. */
static void
check_sent(struct net_port *np)
{
	for (uint32_t i = 0; i < np->sent_count && i < NET_SENT_MAX; i++) {
		uint8_t *p = np->sent[i].bytes;
		uint32_t len = np->sent[i].len;

		if (on_vlan()) {
			ensure(get32(p + AT_ETH_TYPE) == (0x8100a000u | VLAN));
			memmove(p + 4, p, 12);
			p += 4;
			len -= 4;
		}

		const bool arp = get16(p + AT_ETH_TYPE) == 0x0806;

		ensure(memcmp(p + AT_ETH_SRC, our_mac, 6) == 0);
		if (get16(p + AT_ETH_TYPE) == 0x86dd) {
			check_sent6(p, len);
			continue;
		}
		ensure((p[0] & 1) == 0 || (arp && memcmp(p, all_mac, 6) == 0));
		if (arp) {
			ensure(len == 42 && get32(p + AT_ARP_SENDER_IP) == OUR_IP);
			continue;
		}
		ensure(get16(p + AT_ETH_TYPE) == 0x0800 && len >= AT_L4);
		ensure(get32(p + AT_IP_SRC) == OUR_IP && get32(p + AT_IP_DST) != OUR_IP);
		ensure(AT_IP + (uint32_t)get16(p + AT_IP_TOTAL_LEN) == len);
		ensure(is_fragment(p) || frame_good(p, len));
	}
	np->sent_count = 0;
}

static void
turn(struct rig *r)
{
	rig_turn(r, serve);
	check_sent(r->np);
	ensure(net_port_lent(r->np) <= STACK_FRAMES_MAX + RX_FRAMES_MAX + UDP_BACKLOG_MAX);
}

/* Checks that parsed options, written again, parse to the same, without those that were malformed.
 * SACK blocks that find no room (others' padding may have been tighter) are missing at the end. */
static void
check_options(const uint8_t *p, uint32_t len)
{
	uint8_t bytes[TCP_HEADER_MAX];
	struct tcp_seg seg, again;
	uint32_t header_len;

	if (tcp_parse(&seg, p, len) != TCP_WIRE_OK)
		return;
	header_len = tcp_emit(bytes, &seg);
	ensure(header_len <= TCP_HEADER_MAX);
	ensure(tcp_parse(&again, bytes, header_len) == TCP_WIRE_OK);
	ensure(again.header_len == header_len);
	ensure(again.opt.seen == (seg.opt.seen & ~TCP_HAS_MALFORMED));
	ensure(again.opt.mss == seg.opt.mss && again.opt.wscale == seg.opt.wscale);
	ensure(again.opt.ts_value == seg.opt.ts_value && again.opt.ts_echo == seg.opt.ts_echo);
	ensure(again.opt.sack_count <= seg.opt.sack_count);
	for (uint32_t i = 0; i < again.opt.sack_count; i++)
		ensure(memcmp(&again.opt.sack[i], &seg.opt.sack[i], sizeof *seg.opt.sack) == 0);
}

/* Checks that a query's sources are in its bytes, and that its group is one. */
static void
check_query(const uint8_t *p, uint32_t len)
{
	struct mld_query q;

	if (mld_query_parse(&q, p, len) != MLD_WIRE_OK)
		return;
	ensure(q.is_v1 ? len == MLD1_BYTES : len >= 28u + get16(p + 26) * 16u);
	ensure(ip_addr_is_zero(&q.group) || q.group.b[0] == 0xff);
	ensure(q.delay_ms <= 0x1fffu << 10);
}

/* Addresses a frame to us; one to an IPv6 group stays so. */
static void
address(uint8_t *p, uint32_t len)
{
	if (get16(p + AT_ETH_TYPE) != 0x86dd) {
		memcpy(p, our_mac, 6);
		put32(p + AT_IP_DST, OUR_IP);
	} else if (len >= AT6_L4 && p[AT6_DST] != 0xff) {
		memcpy(p, our_mac, 6);
		memcpy(p + AT6_DST, p[AT6_DST] == 0xfe ? our_link6 : our_ip6, 16);
	}
}

static struct ip_addr
our_ip(const uint8_t bytes[16])
{
	struct ip_addr ip;

	memcpy(ip.b, bytes, sizeof ip.b);
	return ip;
}

/* Returns the table of our addresses, in the VLAN that frames are in. */
static const struct local_addrs *
own_addrs(void)
{
	static const struct local_addrs *made[2];
	const struct local_addr own[] = {{ip_addr_v4(OUR_IP), 96 + 24, 0},
					 {our_ip(our_ip6), 64, 0}};
	struct local_addrs_spec spec = {
		.ipv6 = true, .vlan = on_vlan() ? VLAN : 0, .addr = own, .count = 2};
	struct region region = {.size = local_addrs_bytes(&spec, NULL)};

	if (made[on_vlan()] != NULL)
		return made[on_vlan()];
	memcpy(spec.mac, our_mac, sizeof spec.mac);
	region.base = malloc(region.size);
	ensure(region.base != NULL);
	return made[on_vlan()] = local_addrs_make(&region, &spec, NULL);
}

/* A probe of our addresses that receives the same frames: only another host
 * may be found to have one. */
static struct net_port *ask_port;
static struct addr_probe probe;

static void
probe_begin(void)
{
	if (ask_port == NULL)
		ask_port = net_port_new(our_mac, 0);
	net_port_reset(ask_port, 0);
	probe = (struct addr_probe){
		.port = &ask_port->port,
		.addrs = own_addrs(),
		.pace = &probe_pace_short,
	};
	addr_probe_begin(&probe, 0);
}

static void
probe_hears(const uint8_t *p, uint32_t len, uint64_t now_ns)
{
	net_port_put(ask_port, p, len, 0);
	addr_probe_listen(&probe, &ask_port->port);
	addr_probe_tick(&probe, true, now_ns);
	ensure(net_port_lent(ask_port) == 0);
	if (probe.state == ADDR_TAKEN) {
		ensure(memcmp(probe.taken_by, our_mac, 6) != 0 && (probe.taken_by[0] & 1) == 0);
		probe_begin();
	}
}

static void
put_frame(struct rig *r, const uint8_t *bytes, uint32_t len)
{
	uint8_t p[FRAME_MAX];
	uint32_t ol_flags = 0;

	memcpy(p, bytes, len);
	if (len >= AT_L4)
		check_options(p + AT_L4, len - AT_L4);
	if (len >= AT6_L4 + MLD_ALERT_BYTES) {
		(void)mld_has_alert(p + AT6_L4, len - AT6_L4);
		check_query(p + AT6_L4 + MLD_ALERT_BYTES, len - AT6_L4 - MLD_ALERT_BYTES);
	}
	if (mode & MODE_ADDRESS && len >= AT_L4)
		address(p, len);
	if (mode & MODE_FIX)
		frame_fix(p, len);
	if (mode & MODE_VOUCH)
		ol_flags = FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD;
	net_port_put(r->np, p, len, ol_flags);
	probe_hears(p, len, r->now_ns);
}

static void
play(struct rig *r, const uint8_t *data, size_t size)
{
	for (uint32_t n = 0; n < RECORDS_MAX && size >= 2; n++) {
		const uint32_t word = data[0] | (uint32_t)data[1] << 8;
		uint32_t len = word & LEN_BITS;

		data += 2;
		size -= 2;
		len = len < size ? len : (uint32_t)size;
		len = len < FRAME_MAX ? len : FRAME_MAX;
		put_frame(r, data, len);
		data += len;
		size -= len;
		if (word & TURN_BIT)
			turn(r);
		if (word & STEP_BIT)
			r->now_ns += STEP_NS;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct net_port *port; /* making a thousand frames is most of the time of a run */
	struct rig *r;

	if (size == 0)
		return 0;
	mode = data[0];
	if (port == NULL)
		port = net_port_new(our_mac, 0);
	net_port_reset(port, mode & MODE_OFFLOAD ? OFFLOADS : 0);

	const struct rig_options options = {
		.port = port,
		.gateway = GATEWAY_IP,
		.udp_port = UDP_PORT,
		.vlan = on_vlan() ? VLAN : 0,
	};
	r = rig_new(&options);
	probe_begin();

	if (mode & MODE_SLOW)
		r->np->tx_limit = 3;
	if (mode & MODE_POOR)
		r->np->alloc_limit = 20;
	play(r, data + 1, size - 1);
	/* The turns are enough for timers and for a slow port. */
	for (uint32_t n = 0; n < TURNS_AT_END; n++) {
		turn(r);
		r->now_ns += STEP_NS;
	}
	rig_free(r);
	return 0;
}
