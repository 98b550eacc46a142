/*
 * Loans through DPDK's real ixgbe driver and the model of the 82599. Goal: the NIC sends each frame
 * whole, summed, from two buffers; a loan lasts until the NIC has read it, and ends once, on an
 * idle port too; a stop of the port ends the rest.
 * Method: the driver's full send path (checksums and segments by the port); the model's thread
 * reads descriptors as DMA does; the lent bytes change as soon as their loan ends.
 */
#include "one_82599.h"
#include "dpdk/port_loans.h"
#include "nic82599/mmio_trap.h"
#include "wire/inet_cksum.h"

#include <unistd.h>

#include <rte_ethdev.h>

#define HEADERS     54u
#define LOAN        1400u
#define BURSTS      200u
#define BURST       16u
#define VALUES      (BURSTS * BURST)
#define TX_RS       32u /* the driver reports descriptors as done in groups: tx_rs_thresh */
#define POLLS       60000u
#define SOURCE      0x0a000001u
#define DESTINATION 0x0a000002u

static uint8_t values[VALUES][LOAN];
static uint32_t done_count[VALUES], all_done;

/* Checks who gets no loans: a NIC without hugepages (the model reads all memory), and drivers whose
 * queue stops once they have freed frames of two buffers. */
static void
refusals(const struct device_request *req)
{
	static const char *const stop[] = {"net_e1000_igb", "net_e1000_igb_vf", "net_igc"};
	char own[sizeof device.driver];

	check_ptr(strstr(device_lend(&device, req, &(struct device_memory){0}), "hugepages"));
	memcpy(own, device.driver, sizeof own);
	for (uint32_t i = 0; i < sizeof stop / sizeof stop[0]; i++) {
		snprintf(device.driver, sizeof device.driver, "%s", stop[i]);
		check_ptr(strstr(device_lend(&device, req, &(struct device_memory){0}),
				 "cannot free sent frames"));
	}
	memcpy(device.driver, own, sizeof own);
}

static void
begin(void)
{
	struct speed82599_options options = {.cpu = -1, .keep_sent = true};
	struct device_request req = {&config, &profile, &plan, FRAMES, NULL};

	nic_make("test_82599_loans");
	profile.offloads |= OFFLOAD_TX_IP_CKSUM | OFFLOAD_TX_TCP_CKSUM | OFFLOAD_TX_LOANS;
	nic_start(&options, &req);
	mmio_trap_again();
	refusals(&req);
	check(port_loans_begin(&device.ports[0], SOCKET_ID_ANY));
}

/* The bytes of a value: nothing else has them. */
static void
value_fill(uint32_t number)
{
	for (uint32_t i = 0; i < LOAN; i++)
		values[number][i] = (uint8_t)(number * 31 + i * 7 + i / 251);
}

static void
on_done(void *lender, const void *owner)
{
	const uint32_t number = (uint32_t)((const uint8_t(*)[LOAN])owner - values);

	memset(values[number], 0xdd, LOAN); /* another value has the memory now */
	done_count[number]++;
	all_done++;
}

/* Writes the headers of a TCP segment whose sums the port fills. */
static void
headers_put(uint8_t *p, uint32_t number)
{
	memset(p, 0, HEADERS);
	memcpy(p, "\2\0\0\0\0\1\2\0\0\0\0\2\10\0\105", 15);
	p[16] = (40 + LOAN) >> 8;
	p[17] = (40 + LOAN) & 0xff;
	p[22] = 64;
	p[23] = 6;
	memcpy(p + 26, "\12\0\0\1\12\0\0\2", 8);
	memcpy(p + 38, &number, sizeof number); /* the sequence number */
	p[46] = 0x50;
}

static void
send_burst(uint32_t first)
{
	struct burst b;

	port()->ops->alloc(port(), &b, BURST);
	check_eq(b.count, BURST);
	for (uint32_t i = 0; i < BURST; i++) {
		const struct port_loan loan = {values[first + i], LOAN, on_done, NULL,
					       values[first + i]};

		value_fill(first + i);
		headers_put(b.data[i], first + i);
		b.len[i] = HEADERS;
		b.ol_flags[i] = FRAME_IP_CKSUM_FILL | FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP |
				FRAME_HAS_LOAN;
		check(port()->ops->lend(port(), b.frame[i], &loan));
	}
	check_eq(port()->ops->tx(port(), &b), BURST);
}

static void
wait_for_sent(uint32_t count)
{
	for (uint32_t i = 0; i < POLLS && speed82599_sent(&speed) != count; i++)
		usleep(1000);
	check_eq(speed82599_sent(&speed), count);
}

static void
check_sent(uint32_t at, uint32_t number)
{
	const struct sent_frame *f = &nic.sent[at % SENT_MAX];
	uint64_t sum;
	uint32_t seq;

	check_eq(f->len, HEADERS + LOAN);
	memcpy(&seq, f->bytes + 38, sizeof seq);
	check_eq(seq, number);
	for (uint32_t i = 0; i < LOAN; i++)
		check_eq(f->bytes[HEADERS + i], (uint8_t)(number * 31 + i * 7 + i / 251));
	sum = inet_sum_pseudo(SOURCE, DESTINATION, 6, 20 + LOAN);
	check_eq(be16_get(inet_cksum(inet_sum(sum, f->bytes + 34, 20 + LOAN))), 0);
}

TEST(a_real_driver_sends_loans_whole_and_ends_them_when_they_are_sent)
{
	const uint32_t before = speed82599_sent(&speed);

	for (uint32_t i = 0; i < BURSTS; i++) {
		send_burst(i * BURST);
		wait_for_sent(before + (i + 1) * BURST);
		for (uint32_t k = 0; k < BURST; k++)
			check_sent(before + i * BURST + k, i * BURST + k);
	}
	for (uint32_t i = 0; i < VALUES; i++)
		check(done_count[i] <= 1);
	check(all_done >= VALUES - RING);
}

/* Polling alone frees what the NIC has reported: all but the descriptors after the last report. */
TEST(an_idle_port_ends_loans)
{
	struct burst b;

	for (uint32_t i = 0; i < 1000; i++)
		port()->ops->rx(port(), &b, BURST_MAX);
	check(VALUES - all_done <= TX_RS);
	check_eq(device.ports[0].loans, VALUES - all_done);
}

TEST(a_stop_of_the_port_ends_all_loans)
{
	mmio_trap_again();
	device_stop(&device);
	check_eq(all_done, VALUES);
	for (uint32_t i = 0; i < VALUES; i++)
		check_eq(done_count[i], 1);
}

int
main(void)
{
	return tests_run(begin, nic_end);
}
