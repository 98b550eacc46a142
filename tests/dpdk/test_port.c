/*
 * The port over a DPDK queue. Goal: the contract of port.h holds on real mbufs: every frame has
 * one owner, none is lost or freed twice, and a frame that the port cannot present is dropped and
 * counted. Method: net_ring in one process without hugepages, where a frame sent is a frame
 * received; the pool's free count shows whether every frame was returned to it. One EAL for all
 * tests.
 */
#include "one_port.h"
#include "dpdk/lcore_run.h"
#include "dpdk/port_loans.h"
#include "dpdk/tsc_clock.h"

#include <time.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

static struct one_port one;

static struct port *
port(void)
{
	return &one.device.ports[0].port;
}

static uint64_t
counted(enum port_counter which)
{
	return counter_read(&one.device.ports[0].counters[which]);
}

static void
start(void)
{
	one_port_start_eal(&one, "ring", "0@0", "test_port");
	one_port_start_device(&one);
}

static void
stop(void)
{
	device_stop(&one.device);
	eal_stop();
}

/* Checks that the test has given back all frames. */
TEARDOWN(every_frame_was_freed)
{
	check_eq(device_frames_free(&one.device, 0), one.free_at_start);
}

static void
fill(struct burst *b, uint32_t count)
{
	port()->ops->alloc(port(), b, count);
	check_eq(b->count, count);
	for (uint32_t i = 0; i < count; i++) {
		b->len[i] = 60 + i;
		memset(b->data[i], (int)i, b->len[i]);
	}
}

TEST(fresh_frames_are_empty_and_wholly_writable)
{
	struct burst b;

	check(port()->frame_bytes >= 18u + port()->mtu);
	port()->ops->alloc(port(), &b, BURST_MAX);
	check_eq(b.count, BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++) {
		check_eq(b.len[i], 0);
		check_eq(b.ol_flags[i], 0);
		memset(b.data[i], 0xa5, port()->frame_bytes);
	}
	port()->ops->drop(port(), b.frame, b.count);
}

TEST(a_frame_sent_is_received_in_order_with_its_bytes)
{
	struct burst out, in;

	for (uint32_t count = 1; count <= BURST_MAX; count++) {
		fill(&out, count);
		check_eq(port()->ops->tx(port(), &out), count);
		port()->ops->rx(port(), &in, BURST_MAX);
		check_eq(in.count, count);
		for (uint32_t i = 0; i < count; i++) {
			check_eq(in.len[i], 60 + i);
			check_eq(in.data[i][0], i);
			check_eq(in.data[i][in.len[i] - 1], i);
		}
		port()->ops->drop(port(), in.frame, in.count);
	}
}

TEST(rx_gives_no_more_than_was_asked_for)
{
	struct burst out, in;
	uint32_t left = 10;

	fill(&out, left);
	check_eq(port()->ops->tx(port(), &out), left);
	for (uint32_t asked = 0; left != 0; asked++) {
		port()->ops->rx(port(), &in, asked);
		check(in.count <= asked);
		left -= in.count;
		port()->ops->drop(port(), in.frame, in.count);
		check(asked < 10);
	}
}

TEST(a_frame_that_begins_elsewhere_is_sent_from_there)
{
	struct rte_mbuf *m;
	struct burst out;

	fill(&out, 1);
	out.data[0] += 20;
	out.data[0][0] = 0x77;
	out.len[0] = 64;
	check_eq(port()->ops->tx(port(), &out), 1);
	check_eq(rte_eth_rx_burst(one.device.id, 0, &m, 1), 1);
	check_eq(m->pkt_len, 64);
	check_eq(m->data_len, 64);
	check_eq(rte_pktmbuf_mtod(m, uint8_t *)[0], 0x77);
	rte_pktmbuf_free(m);
}

TEST(what_a_full_port_refuses_still_belongs_to_the_core)
{
	struct burst out, in;
	uint32_t sent = 0, received = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t took;

		port()->ops->alloc(port(), &out, BURST_MAX);
		if (out.count == 0)
			break;
		took = port()->ops->tx(port(), &out);
		sent += took;
		port()->ops->drop(port(), out.frame + took, out.count - took);
		if (took < out.count)
			break;
	}
	check(sent >= 1000);
	do {
		port()->ops->rx(port(), &in, BURST_MAX);
		received += in.count;
		port()->ops->drop(port(), in.frame, in.count);
	} while (in.count != 0);
	check_eq(received, sent);
}

static void
add_length(struct rte_mempool *pool, void *bytes, struct rte_mempool_memhdr *chunk, unsigned int n)
{
	*(uint64_t *)bytes += chunk->len;
}

/* Without hugepages each frame would otherwise have a page of its own. */
TEST(frames_take_the_memory_that_the_plan_says)
{
	const uint64_t planned = device_pool_bytes(&one.profile, &one.config, ONE_PORT_FRAMES);
	uint64_t taken = 0;

	rte_mempool_mem_iter(one.device.ports[0].pool, add_length, &taken);
	check(taken <= planned);
	check(taken >= planned - planned / 16);
}

TEST(an_empty_pool_is_a_short_count_and_counted)
{
	static struct frame *taken[8192];
	const uint64_t before = counted(PORT_NO_FRAMES);
	uint32_t count = 0;
	struct burst b;

	for (;;) {
		port()->ops->alloc(port(), &b, BURST_MAX);
		if (b.count == 0)
			break;
		check(count + b.count <= 8192);
		memcpy(taken + count, b.frame, b.count * sizeof b.frame[0]);
		count += b.count;
	}
	check(counted(PORT_NO_FRAMES) > before);
	check(count >= ONE_PORT_FRAMES);
	port()->ops->drop(port(), taken, count);
}

/* Passes a prepared mbuf round the ring, past the port's tx. */
static void
inject(struct rte_mbuf *m)
{
	check_eq(rte_eth_tx_burst(one.device.id, 0, &m, 1), 1);
}

/* Returns a frame of count segments of len bytes; all bytes of segment i are i. */
static struct rte_mbuf *
chain(uint32_t count, uint16_t len)
{
	struct rte_mbuf *head = NULL;

	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(one.device.ports[0].pool);

		memset(rte_pktmbuf_append(m, len), (int)i, len);
		if (head == NULL)
			head = m;
		else
			check_eq(rte_pktmbuf_chain(head, m), 0);
	}
	return head;
}

TEST(a_chained_frame_arrives_as_one_and_is_counted)
{
	static const uint32_t counts[] = {2, 3, 16};

	for (uint32_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
		const uint64_t before = counted(PORT_RX_JOINED);
		struct burst in;

		inject(chain(counts[c], 100));
		port()->ops->rx(port(), &in, BURST_MAX);
		check_eq(in.count, 1);
		check_eq(in.len[0], counts[c] * 100);
		for (uint32_t i = 0; i < in.len[0]; i++)
			check_eq(in.data[0][i], i / 100);
		check_eq(counted(PORT_RX_JOINED), before + 1);
		port()->ops->drop(port(), in.frame, in.count);
	}
}

TEST(a_chained_frame_longer_than_a_frame_is_dropped_and_counted)
{
	const uint16_t half = (uint16_t)(port()->frame_bytes / 2);
	const uint64_t joined = counted(PORT_RX_JOINED), dropped = counted(PORT_DROP_CHAINED);
	struct rte_mbuf *has_room = chain(2, half);
	struct burst in;

	rte_pktmbuf_prepend(has_room, 1);
	inject(chain(2, half));
	inject(has_room);
	inject(chain(2, half + 1));
	port()->ops->rx(port(), &in, BURST_MAX);
	check_eq(in.count, 1);
	check_eq(in.len[0], 2 * half);
	check_eq(counted(PORT_RX_JOINED), joined + 1);
	check_eq(counted(PORT_DROP_CHAINED), dropped + 2);
	port()->ops->drop(port(), in.frame, in.count);
}

TEST(a_frame_without_room_to_write_is_dropped_and_counted)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(one.device.ports[0].pool);
	const uint64_t before = counted(PORT_DROP_MALFORMED);
	struct burst in;

	rte_pktmbuf_append(m, 100);
	rte_pktmbuf_adj(m, 1);
	inject(m);
	port()->ops->rx(port(), &in, BURST_MAX);
	check_eq(in.count, 0);
	check_eq(counted(PORT_DROP_MALFORMED), before + 1);
}

static const struct {
	uint64_t flags;
	uint32_t mark;
} rx_flags[] = {
	{0, 0},
	{RTE_MBUF_F_RX_IP_CKSUM_GOOD, FRAME_IP_CKSUM_GOOD},
	{RTE_MBUF_F_RX_IP_CKSUM_BAD, FRAME_IP_CKSUM_BAD},
	{RTE_MBUF_F_RX_L4_CKSUM_GOOD, FRAME_L4_CKSUM_GOOD},
	{RTE_MBUF_F_RX_L4_CKSUM_BAD, FRAME_L4_CKSUM_BAD},
	{RTE_MBUF_F_RX_L4_CKSUM_NONE, FRAME_L4_CKSUM_GOOD},
	{RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD,
	 FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_BAD},
};

TEST(the_drivers_flags_become_marks)
{
	for (uint32_t i = 0; i < sizeof rx_flags / sizeof rx_flags[0]; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(one.device.ports[0].pool);
		struct burst in;

		rte_pktmbuf_append(m, 60);
		m->ol_flags = rx_flags[i].flags;
		inject(m);
		port()->ops->rx(port(), &in, 1);
		check_eq(in.count, 1);
		check_eq(in.ol_flags[0], rx_flags[i].mark);
		port()->ops->drop(port(), in.frame, 1);
	}
}

static const struct {
	uint32_t mark;
	uint64_t flags;
} tx_marks[] = {
	{0, 0},
	{FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD, 0}, /* marks that rx left request nothing */
	{FRAME_IP_CKSUM_FILL, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM},
	{FRAME_L4_CKSUM_FILL, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM},
	{FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM},
};

TEST(marks_become_the_drivers_flags_and_lengths)
{
	for (uint32_t i = 0; i < sizeof tx_marks / sizeof tx_marks[0]; i++) {
		struct rte_mbuf *m;
		struct burst out;

		fill(&out, 1);
		out.data[0][14] = 0x45;
		out.ol_flags[0] = tx_marks[i].mark;
		/* A received frame that is answered in place still has these flags. */
		((struct rte_mbuf *)(void *)out.frame[0])->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		check_eq(port()->ops->tx(port(), &out), 1);
		check_eq(rte_eth_rx_burst(one.device.id, 0, &m, 1), 1);
		check_eq(m->ol_flags, tx_marks[i].flags);
		if (tx_marks[i].flags != 0) {
			check_eq(m->l2_len, 14);
			check_eq(m->l3_len, 20);
		}
		rte_pktmbuf_free(m);
	}
}

/* The bytes after the addresses decide which headers the driver is given. */
static const struct {
	uint8_t bytes[8]; /* from the first type on */
	uint64_t family;
	uint32_t l2_len, l3_len;
} tx_headers[] = {
	{{0x08, 0x00, 0x45}, RTE_MBUF_F_TX_IPV4, 14, 20},
	{{0x86, 0xdd, 0x60}, RTE_MBUF_F_TX_IPV6, 14, 40},
	{{0x81, 0x00, 0xa0, 0x07, 0x08, 0x00, 0x45}, RTE_MBUF_F_TX_IPV4, 18, 20},
	{{0x81, 0x00, 0xa0, 0x07, 0x86, 0xdd, 0x60}, RTE_MBUF_F_TX_IPV6, 18, 40},
};

TEST(both_families_with_and_without_a_tag_have_their_lengths)
{
	for (uint32_t i = 0; i < sizeof tx_headers / sizeof tx_headers[0]; i++) {
		struct rte_mbuf *m;
		struct burst out;

		fill(&out, 1);
		memcpy(out.data[0] + 12, tx_headers[i].bytes, sizeof tx_headers[i].bytes);
		out.ol_flags[0] = FRAME_L4_CKSUM_FILL;
		check_eq(port()->ops->tx(port(), &out), 1);
		check_eq(rte_eth_rx_burst(one.device.id, 0, &m, 1), 1);
		check_eq(m->ol_flags, tx_headers[i].family | RTE_MBUF_F_TX_UDP_CKSUM);
		check_eq(m->l2_len, tx_headers[i].l2_len);
		check_eq(m->l3_len, tx_headers[i].l3_len);
		rte_pktmbuf_free(m);
	}
}

TEST(a_tag_taken_out_on_the_way_is_put_back)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(one.device.ports[0].pool);
	uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(m, 60);
	struct burst in;

	for (uint32_t i = 0; i < 60; i++)
		bytes[i] = (uint8_t)i;
	m->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = 0xa007;
	inject(m);
	port()->ops->rx(port(), &in, 1);
	check_eq(in.count, 1);
	check_eq(in.len[0], 64);
	check_bytes(in.data[0] + 12, "\x81\0\xa0\7", 4);
	for (uint32_t i = 0; i < 60; i++)
		check_eq(in.data[0][i < 12 ? i : i + 4], i);
	memset(in.data[0], 0, port()->frame_bytes); /* still writable as a whole */
	port()->ops->drop(port(), in.frame, 1);
}

TEST(a_stump_that_lost_a_tag_is_no_frame_and_counted)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(one.device.ports[0].pool);
	const uint64_t before = counted(PORT_DROP_MALFORMED);
	struct burst in;

	rte_pktmbuf_append(m, 13);
	m->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	inject(m);
	port()->ops->rx(port(), &in, 1);
	check_eq(in.count, 0);
	check_eq(counted(PORT_DROP_MALFORMED), before + 1);
}

/* ---- loans ---- */

static uint8_t value[PORT_LOANS_MAX];
static uint32_t loans_done;

static void
on_done(void *lender, const void *owner)
{
	check(lender == &loans_done);
	check(owner == value);
	loans_done++;
}

/* Fills frames of 60 bytes and more, each with a loan of 1,000 bytes. */
static void
fill_with_loans(struct burst *b, uint32_t count)
{
	struct port_loan loan = {value, 1000, on_done, &loans_done, value};

	if (!(port()->caps & PORT_TX_LOANS))
		check(port_loans_begin(&one.device.ports[0], SOCKET_ID_ANY));
	for (uint32_t i = 0; i < sizeof value; i++)
		value[i] = (uint8_t)(i * 7);
	loans_done = 0;
	fill(b, count);
	for (uint32_t i = 0; i < count; i++) {
		check(port()->ops->lend(port(), b->frame[i], &loan));
		b->ol_flags[i] = FRAME_HAS_LOAN;
	}
}

TEST(a_frame_ends_with_its_loan_which_is_read_in_place)
{
	struct rte_mbuf *m;
	struct burst out;

	fill_with_loans(&out, 2);
	out.ol_flags[0] |= FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP;
	out.data[0][14] = 0x45;
	check_eq(port()->ops->tx(port(), &out), 2);
	for (uint32_t i = 0; i < 2; i++) {
		check_eq(rte_eth_rx_burst(one.device.id, 0, &m, 1), 1);
		check_eq(m->nb_segs, 2);
		check_eq(m->data_len, 60 + i);
		check_eq(m->pkt_len, 1060 + i);
		check(rte_pktmbuf_mtod(m->next, uint8_t *) == value);
		check_eq(m->next->data_len, 1000);
		check_eq(rte_pktmbuf_iova(m->next), (uintptr_t)value);
		check_eq(m->ol_flags, i == 0 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM : 0);
		check_eq(loans_done, i);
		rte_pktmbuf_free(m);
		check_eq(loans_done, i + 1);
	}
}

TEST(every_loan_ends_once)
{
	struct burst out, in;

	for (uint32_t sent = 0; sent <= 32; sent++) {
		fill_with_loans(&out, 32);
		out.count = sent;
		check_eq(port()->ops->tx(port(), &out), sent);
		port()->ops->drop(port(), out.frame + sent, 32 - sent);
		check_eq(loans_done, 32 - sent);
		port()->ops->rx(port(), &in, BURST_MAX);
		check_eq(in.count, sent);
		for (uint32_t i = 0; i < sent; i++) {
			check_eq(in.len[i], 1060 + i);
			check_bytes(in.data[i] + 60 + i, value, 1000);
		}
		port()->ops->drop(port(), in.frame, in.count);
		check_eq(loans_done, 32);
	}
	check_eq(one.device.ports[0].loans, 0);
}

TEST(frames_beyond_the_loans_are_refused_and_counted)
{
	static struct burst held[PORT_LOANS_MAX / 32];
	const struct port_loan loan = {value, 1000, on_done, &loans_done, value};
	const uint64_t before = counted(PORT_NO_LOANS);
	struct burst b;

	for (uint32_t i = 0; i < PORT_LOANS_MAX / 32; i++)
		fill_with_loans(&held[i], 32);
	fill(&b, 1);
	check(!port()->ops->lend(port(), b.frame[0], &loan));
	check_eq(counted(PORT_NO_LOANS), before + 1);
	check_eq(port()->ops->tx(port(), &b), 1);
	port()->ops->rx(port(), &b, 1);
	check_eq(b.len[0], 60);
	port()->ops->drop(port(), b.frame, 1);
	for (uint32_t i = 0; i < PORT_LOANS_MAX / 32; i++)
		port()->ops->drop(port(), held[i].frame, 32);
	check_eq(loans_done, PORT_LOANS_MAX);
}

static int
say_ran(void *arg)
{
	*(uint32_t *)arg += 1;
	lcore_idle(true);
	lcore_idle(false);
	return 0;
}

TEST(every_core_runs_its_work_once)
{
	uint32_t ran = 0;
	void *const args[] = {&ran};
	struct error err;

	check(lcores_run(&one.config.lcores, say_ran, args, &err));
	check_eq(ran, 1);
}

static uint64_t
kernel_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Each reading of the clock is between two of the kernel's, so a thread that stands still between
 * them is no fault of the clock. The tolerance is a thousandth. */
TEST(the_clock_keeps_the_kernels_time)
{
	const struct timespec nap = {.tv_nsec = 100000000};
	struct tsc_clock clock;
	uint64_t from[2], until[2], began, took;

	tsc_clock_begin(&clock);
	tsc_clock_finish(&clock);
	from[0] = kernel_ns();
	began = tsc_clock_ns(&clock);
	from[1] = kernel_ns();
	nanosleep(&nap, NULL);
	until[0] = kernel_ns();
	took = tsc_clock_ns(&clock) - began;
	until[1] = kernel_ns();
	check(took > (until[0] - from[1]) / 1000 * 999);
	check(took < (until[1] - from[0]) / 1000 * 1001);
}

int
main(void)
{
	return tests_run(start, stop);
}
