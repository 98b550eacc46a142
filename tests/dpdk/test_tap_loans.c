/*
 * Loans through DPDK's tap driver. Goal: the kernel gets each frame whole and summed, from two
 * buffers, and a loan has ended when the driver returns.
 * Method: an interface in a network namespace of the test; a packet socket reads it. Without the
 * right to make one the test is skipped.
 */
#include "support/test.h"
#include "dpdk/device.h"
#include "dpdk/eal.h"
#include "wire/inet_cksum.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SKIPPED     77
#define IFACE       "loans0"
#define FRAMES      512u
#define HEADERS     54u
#define LOAN        1400u
#define BURST       16u
#define BURSTS      20u
#define SEQ_AT      38u
#define SOURCE      0x0a000001u
#define DESTINATION 0x0a000002u
#define FOREIGN_MAX 1000u /* frames of the kernel's own */

static struct config config;
static struct profile profile;
static struct device device;
static int packets = -1;
static uint8_t value[LOAN];
static uint32_t done;

static void
interface_up(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct timeval patience = {.tv_sec = 60};
	struct ifreq req = {0};

	snprintf(req.ifr_name, sizeof req.ifr_name, IFACE);
	packets = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	check(packets >= 0);
	check_eq(ioctl(packets, SIOCGIFFLAGS, &req), 0);
	req.ifr_flags |= IFF_UP;
	check_eq(ioctl(packets, SIOCSIFFLAGS, &req), 0);
	at.sll_ifindex = (int)if_nametoindex(IFACE);
	check_eq(bind(packets, (const struct sockaddr *)&at, sizeof at), 0);
	setsockopt(packets, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

static void
begin(void)
{
	struct steer_plan plan;
	struct device_request req = {&config, &profile, &plan, FRAMES, NULL};
	struct error err = {0};
	char dev[DEVICE_BYTES];
	struct eal_args args;

	config_defaults(&config);
	config.no_huge = config.share_cpus = true;
	if (!config_set(&config, "port", "tap", &err) ||
	    !config_set(&config, "iface", IFACE, &err) ||
	    !config_set(&config, "lcores", "0@0", &err) ||
	    !config_set(&config, "file-prefix", "test_tap_loans", &err) ||
	    !config_finish(&config, &err) ||
	    !profile_load(&profile, PROFILE_DIR "/tap.yaml", "tap", &err) ||
	    !profile_device(&profile, &config, 1, dev, &err))
		fail_msg("%s", err.text);
	profile.offloads |= OFFLOAD_TX_LOANS;
	eal_args_make(&args, &config, &profile, dev, 64);
	if (!eal_start(&args, false, &err) || !device_find(&device, &profile, &err) ||
	    !steer_plan_make(&plan, &config, &profile, &device.caps, &err) ||
	    !device_start(&device, &req, &err))
		fail_msg("%s", err.text);
	check_null(device_lend(&device, &req, &(struct device_memory){0}));
	interface_up();
}

static void
end(void)
{
	close(packets);
	device_stop(&device);
	eal_stop();
}

static void
on_done(void *lender, const void *owner)
{
	done++;
}

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
	memcpy(p + SEQ_AT, &number, sizeof number);
	p[46] = 0x50;
}

static void
send_burst(uint32_t first)
{
	const struct port_loan loan = {value, LOAN, on_done, NULL, value};
	struct port *port = &device.ports[0].port;
	struct burst b;

	port->ops->alloc(port, &b, BURST);
	check_eq(b.count, BURST);
	for (uint32_t i = 0; i < BURST; i++) {
		struct be16 pseudo;

		headers_put(b.data[i], first + i);
		pseudo = inet_sum_field(inet_sum_pseudo(SOURCE, DESTINATION, 6, 20 + LOAN));
		memcpy(b.data[i] + 50, &pseudo, sizeof pseudo);
		b.len[i] = HEADERS;
		b.ol_flags[i] = FRAME_IP_CKSUM_FILL | FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP |
				FRAME_HAS_LOAN;
		check(port->ops->lend(port, b.frame[i], &loan));
	}
	check_eq(port->ops->tx(port, &b), BURST);
}

/* Reads the next of our frames. */
static void
receive(uint8_t *bytes)
{
	for (uint32_t i = 0; i < FOREIGN_MAX; i++)
		if (recv(packets, bytes, 2048, 0) == HEADERS + LOAN)
			return;
	fail_msg("no frame has come");
}

TEST(the_kernel_gets_frames_of_two_buffers_whole_and_summed)
{
	uint8_t bytes[2048];

	check(device.ports[0].port.caps & PORT_TX_LOANS);
	for (uint32_t i = 0; i < LOAN; i++)
		value[i] = (uint8_t)(i * 7 + i / 251);
	for (uint32_t b = 0; b < BURSTS; b++) {
		send_burst(b * BURST);
		check_eq(done, (b + 1) * BURST);
		for (uint32_t i = 0; i < BURST; i++) {
			const uint64_t sum = inet_sum_pseudo(SOURCE, DESTINATION, 6, 20 + LOAN);
			const uint32_t number = b * BURST + i;

			receive(bytes);
			check_bytes(bytes + SEQ_AT, &number, sizeof number);
			check_bytes(bytes + HEADERS, value, LOAN);
			check_eq(be16_get(inet_cksum(inet_sum(0, bytes + 14, 20))), 0);
			check_eq(be16_get(inet_cksum(inet_sum(sum, bytes + 34, 20 + LOAN))), 0);
		}
	}
}

int
main(void)
{
	if (unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0) {
		puts("skipped: this user may not make an interface in a network namespace");
		return SKIPPED;
	}
	return tests_run(begin, end);
}
