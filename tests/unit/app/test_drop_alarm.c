/*
 * Drops for a reason that an operator can mend. Goal: the operator is warned while frames are
 * dropped, with the number and the remedy, but not of one frame that a bad cable may have
 * spoiled; a flood is one line a minute; no reason hides another; every counter that is named
 * exists. Method: two cores' counters, and a clock, moved by hand.
 */
#include "support/test.h"
#include "monitor/drop_alarm.h"
#include "monitor/http_counters.h"

#include "base/nic_allowances.h"
#include "net/net_counters.h"
#include "serve/serve.h"
#include "tcp/tcp_counters.h"
#include "tls/tls_conns.h"

#include <string.h>

#define CORES 2u
#define S     1000000000ull

static const struct counter_name names[] = {
	{"OTHER", "not it"},
	{"DROP_TCP_CKSUM", "of TCP"},
	{"DROP_UDP_CKSUM", "of UDP"},
	{"CONN_REJECTED", "too many"},
	{"DROP_UDP_BACKLOG", "requests"},
	{"UDP_DROP_RATE_LIMIT", "replies"},
};
#define NAMES (sizeof names / sizeof names[0])

struct fixture {
	struct counter counters[CORES][NAMES];
	struct telemetry telemetry;
	struct drop_nic nic;
	struct drop_alarm alarm;
	struct drop_line line;
	uint64_t now_ns;
};

static struct fixture b;

SETUP(start)
{
	b = (struct fixture){.now_ns = S};
	for (uint32_t i = 0; i < CORES; i++)
		telemetry_add(&b.telemetry,
			      &(struct telemetry_set){i, NAMES, names, b.counters[i]});
}

/* Moves the clock by a second and returns the number that is reported, or 0. */
static uint64_t
second(void)
{
	b.now_ns += S;
	return drop_alarm_check(&b.alarm, &b.telemetry, &b.nic, b.now_ns, &b.line) ? b.line.count
										   : 0;
}

TEST(it_is_said_at_once_and_then_once_a_minute)
{
	uint32_t lines = 0;

	counter_add(&b.counters[0][0], 1000);
	counter_add(&b.counters[0][1], 1);
	check_eq(second(), 0);
	counter_add(&b.counters[1][2], 1);
	check_eq(second(), 2);
	check_ptr(strstr(b.line.words, "checksum"));
	check_ptr(strstr(b.line.cure, "ethtool -K"));
	for (uint32_t s = 0; s < 600; s++) {
		counter_add(&b.counters[0][1], 1000000);
		lines += second() != 0;
	}
	check_eq(lines, 10);
	check_eq(b.line.count, 600000002);
}

TEST(what_no_longer_grows_is_not_said_again)
{
	counter_add(&b.counters[0][1], 5);
	check_eq(second(), 5);
	for (uint32_t s = 0; s < 600; s++)
		check_eq(second(), 0);
	counter_add(&b.counters[0][1], 1);
	check_eq(second(), 0);
	counter_add(&b.counters[0][1], 1);
	check_eq(second(), 7);
}

TEST(no_reason_hides_another)
{
	uint32_t of[3] = {0};

	for (uint32_t s = 0; s < 600; s++) {
		counter_add(&b.counters[0][1], 1000);
		counter_add(&b.counters[1][3], 10);
		b.nic.missed += 100;
		if (second() == 0)
			continue;
		of[0] += strstr(b.line.words, "checksum") != NULL;
		of[1] += strstr(b.line.words, "connections refused") != NULL;
		of[2] += strstr(b.line.words, "descriptor") != NULL;
	}
	check_eq(of[0] + of[1] + of[2], 10);
	for (uint32_t i = 0; i < 3; i++)
		check(of[i] >= 3);
}

TEST(datagrams_that_are_lost_for_a_limit_are_named)
{
	counter_add(&b.counters[0][4], 100);
	check_eq(second(), 100);
	check_ptr(strstr(b.line.words, "UDP requests"));
	counter_add(&b.counters[1][5], 200);
	b.now_ns += DROP_ALARM_NS;
	check_eq(second(), 200);
	check_ptr(strstr(b.line.words, "UDP replies"));
	check_ptr(strstr(b.line.cure, "--udp-allow"));
}

TEST(what_a_cloud_drops_is_named)
{
	uint64_t allowances[NIC_ALLOWANCE_COUNT] = {[NIC_ALLOWANCE_PPS] = 70,
						    [NIC_ALLOWANCE_BW_IN] = 30,
						    [NIC_ALLOWANCE_CONNTRACK] =
							    NIC_ALLOWANCE_UNKNOWN,
						    [NIC_ALLOWANCE_CONNTRACK_LEFT] = 1000};

	b.nic.over_allowance = nic_allowances_exceeded(allowances);
	check_eq(second(), 100);
	check_ptr(strstr(b.line.words, "by the cloud"));
}

/* The device's counts may restart from zero. */
TEST(a_count_that_falls_is_not_said)
{
	b.nic.missed = 1000;
	check_eq(second(), 1000);
	b.nic.missed = 5;
	for (uint32_t s = 0; s < 100; s++)
		check_eq(second(), 0);
}

static bool
exists(const char *symbol)
{
#define IS(symbol_, words) strcmp(symbol, #symbol_) == 0 ||
	return NET_COUNTERS(IS) TCP_COUNTERS(IS) SERVE_COUNTERS(IS) TLS_COUNTERS(IS)
		HTTP_COUNTERS(IS) false;
}

TEST(every_counter_exists)
{
#define ALL(symbol, least, words, cure, ...) {__VA_ARGS__},
	static const char *const symbols[][DROP_SYMBOLS_MAX] = {DROP_REASONS(ALL)};

	for (uint32_t i = 0; i < DROP_REASON_COUNT; i++)
		for (uint32_t s = 0; s < DROP_SYMBOLS_MAX && symbols[i][s] != NULL; s++)
			if (!exists(symbols[i][s]))
				fail_msg("no counter is called %s", symbols[i][s]);
}
