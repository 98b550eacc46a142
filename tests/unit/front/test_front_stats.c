/*
 * test_front_stats.c - requests to each server and their answers.
 *
 * Goal:   percentiles are at most a quarter above the true ones, and never below; sums cover all
 *         cores; a reset clears all but open counts; the busiest server is the right one; each
 *         row appears once.
 * Method: round trips drawn here and sorted; counts of two cores made by hand.
 */
#include "front/front_stats.h"
#include "support/sorted.h"
#include "support/test.h"

#include <stdlib.h>

#define SERVERS 3u
#define TRIPS   2000u

/* servers of one weight */
static const double due[SERVERS] = {1.0 / 3, 1.0 / 3, 1.0 / 3};

#define FATES_ROW 8u /* rows of the whole fleet */

static struct front_server_counts counts[2][SERVERS];
static struct front_peer_counts peers[2];
static struct front_stats stats;
static struct front_state names;
static struct front_ring former; /* without points: no key is handed over */
static struct front_exchange exchange;
static struct front_shown shown;

SETUP(start)
{
	memset(counts, 0, sizeof counts);
	memset(peers, 0, sizeof peers);
	memset(&stats, 0, sizeof stats);
	shown = (struct front_shown){.names = &names, .exchange = &exchange, .links = 1};
	for (uint32_t i = 0; i < 2; i++)
		front_stats_attach(&stats, counts[i], &peers[i], SERVERS);
	memset(&exchange.report, 0, sizeof exchange.report);
	memset(&names.address, 0, sizeof names.address);
	names.count = SERVERS;
	names.was = &former;
	for (uint32_t i = 0; i < SERVERS; i++)
		snprintf(names.server[i].name, FRONT_NAME_BYTES, "server%u", i);
}

static void
add(uint32_t core, uint32_t server, enum front_server_count which, uint32_t n)
{
	counter_add(&counts[core][server].count[which], n);
}

TEST(percentiles_are_a_quarter_too_high_at_most)
{
	static uint64_t ns[TRIPS];
	static const uint32_t percents[] = {1, 50, 90, 99, 100};

	for (uint32_t power = 9; power <= 31; power++) {
		start();
		for (uint32_t i = 0; i < TRIPS; i++) {
			ns[i] = (uint64_t)random() % (1ull << power);
			front_trip_add(&counts[i % 2][1], ns[i]);
		}
		sort_u64(ns, TRIPS);
		for (uint32_t i = 0; i < sizeof percents / sizeof *percents; i++) {
			const double us = (double)ns[TRIPS * percents[i] / 100 - 1] / 1000;
			const uint64_t trip_us = front_stats_trip_us_mt(&stats, 1, percents[i]);

			if (trip_us + 0.5 < us || (double)trip_us > us * 1.25 + 1.6)
				fail_msg("%u %% below 2^%u ns: %g us, not %llu", percents[i], power,
					 us, (unsigned long long)trip_us);
		}
		check_eq(front_stats_trip_us_mt(&stats, 0, 50), 0);
	}
}

TEST(longer_times_are_shown_as_two_seconds)
{
	front_trip_add(&counts[0][0], UINT64_MAX);
	front_trip_add(&counts[0][0], 3000000000ull);
	check_eq(front_stats_trip_us_mt(&stats, 0, 50), (1u << 31) / 1000 + 1);
}

TEST(a_reset_forgets_all_but_what_is_open)
{
	add(0, 1, FRONT_SERVER_TAKEN, 10);
	add(0, 1, FRONT_SERVER_FREED, 7);
	add(1, 1, FRONT_SERVER_TAKEN, 5);
	add(1, 1, FRONT_SERVER_KEYS, 4);
	add(1, 1, FRONT_SERVER_OPENED, 2);
	add(1, 1, FRONT_SERVER_ENDED, 1);
	add(1, 1, FRONT_SERVER_EOF, 1);
	add(1, 1, FRONT_SERVER_LEFT_AT_S, 1000);
	add(1, 1, FRONT_SERVER_EJECTED, 1);
	front_trip_add(&counts[0][1], 5000);
	counter_add(&peers[0].count[PEERS_LOST], 2);
	counter_add(&peers[1].count[PEERS_LOST], 3);
	check_eq(front_stats_peers_mt(&stats, PEERS_LOST), 5);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_TAKEN), 15);
	front_stats_reset_mt(&stats);
	check_eq(atomic_load(&stats.resets), 1);
	for (uint32_t i = 0; i < 2; i++)
		front_counts_reset(counts[i], &peers[i], SERVERS);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_TAKEN), 8);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_FREED), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_KEYS), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_OPENED), 1);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_ENDED), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_EOF), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_EJECTED), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_LEFT_AT_S), 1000);
	check_eq(front_stats_trip_us_mt(&stats, 1, 99), 0);
	check_eq(front_stats_peers_mt(&stats, PEERS_LOST), 0);
}

TEST(the_busiest_is_shown_for_the_last_interval_and_for_all)
{
	static struct front_looker looker;
	struct front_load load;

	front_stats_look(&stats, &looker, 0, 1, due, &load);
	check_eq(load.by_mean, 0);
	add(0, 0, FRONT_SERVER_KEYS, 100);
	add(1, 2, FRONT_SERVER_KEYS, 200);
	add(0, 2, FRONT_SERVER_OPENED, 1);
	add(1, 2, FRONT_SERVER_OPENED, 1);
	add(1, 0, FRONT_SERVER_OPENED, 1);
	front_stats_look(&stats, &looker, 300, 1, due, &load);
	check_eq(load.keys, 300);
	check_eq(load.busiest, 2);
	check_eq(load.by_mean, 2000);
	check_eq(load.live, 1);
	add(0, 1, FRONT_SERVER_KEYS, 100);
	front_stats_look(&stats, &looker, 500, 1, due, &load);
	check_eq(load.keys, 100);
	check_eq(load.busiest, 1);
	check_eq(load.by_mean, 1500); /* of 200: copies answered keys, too */
	check_eq(atomic_load(&stats.busiest), 2);
	check_eq(atomic_load(&stats.by_mean), 1200);
	front_stats_reset_mt(&stats);
	for (uint32_t i = 0; i < 2; i++)
		front_counts_reset(counts[i], &peers[i], SERVERS);
	add(0, 0, FRONT_SERVER_KEYS, 4);
	front_stats_look(&stats, &looker, 512, 1, due, &load);
	check_eq(load.keys, 4);
	check_eq(load.busiest, 0);
	check_eq(load.by_mean, 1000); /* of the 12 */
	check_eq(atomic_load(&stats.by_mean),
		 3000); /* counts before the look that saw the reset are left out */
}

/* Two servers of one weight and one of twice that, in places of their own, and a gutter. */
TEST(the_busiest_is_the_one_with_the_most_keys_for_its_weight)
{
	static struct front_config config = {
		.distribution = FRONT_KETAMA,
		.servers = {.count = 3, .server = {{.weight = 1}, {.weight = 1}, {.weight = 2}}},
		.gutter = {.count = 1}};
	static struct front_control control = {
		.membership_now = 1,
		.membership = {[1] = {.config = &config, .server = {5, 1, 2}, .gutter = {4}}}};
	static struct front_looker looker;
	double shares[FRONT_SERVERS_MAX];
	struct front_load load;

	front_stats_due(&control, shares);
	check(shares[5] == 0.25 && shares[1] == 0.25 && shares[2] == 0.5);
	check(shares[4] == 1.0 / 3 && shares[0] == 0 && shares[3] == 0);
	shares[0] = 0.25;
	add(0, 0, FRONT_SERVER_KEYS, 100);
	add(0, 1, FRONT_SERVER_KEYS, 110);
	add(0, 2, FRONT_SERVER_KEYS, 190);
	front_stats_look(&stats, &looker, 0, 1, shares, &load);
	check_eq(load.busiest, 1);
	check_eq(load.by_mean, 1100);
	check_eq(atomic_load(&stats.busiest), 1);
	check_eq(atomic_load(&stats.by_mean), 1100);
	config.distribution = FRONT_CONSISTENT; /* it ignores weights */
	front_stats_due(&control, shares);
	check(shares[5] == shares[2]);
}

static struct serve_row
row_at(uint32_t n)
{
	struct serve_row row = {.name = "none"};

	check(front_stats_row(&stats, &shown, n, &row));
	return row;
}

TEST(each_row_is_there_once)
{
	static const struct row {
		const char *text;
		uint64_t number;
	} rows[] = {
		{.text = "server1"},  {.text = "partly"}, {.text = "connecting"},
		{.text = "server"},   {.number = 1},      {.number = 9},
		{.number = 3000},     {.number = 4},      {.number = 3},
		{.number = 5},        {.number = 6},      {.number = 7},
		{.number = 8},        {.number = 5},      {.number = 5},
		{.number = 15000000}, {.number = 14},     {.text = "none"},
		{.number = 256},      {.number = 11},     {.number = 12},
		{.number = 13},       {.number = 16},     {.number = 17},
		{.number = 18},
	};
	const uint32_t all = SERVERS * front_stats_name_count + front_fleet_name_count;
	static const uint32_t added[FRONT_SERVER_COUNTS] = {10,  2,  9,  4,  3,  1, 0,  5,  6,  7,
							    256, 11, 12, 13, 20, 4, 14, 15, 17, 18};
	static const uint64_t sums[] = {256, 11, 12, 13, 16, 0, 21, 22, 23, 24};
	static struct front_looker looker;
	struct front_load load;
	struct serve_row row;

	for (uint32_t i = 0; i < FRONT_SERVER_COUNTS; i++)
		add(1, 1, (enum front_server_count)i, added[i]);
	for (uint32_t i = 0; i < PEERS_COUNTS; i++)
		counter_add(&peers[i % 2].count[i], 21 + i);
	front_trip_add(&counts[1][1], 4500);
	names.address[1].ip.b[0] = 1;
	front_stats_look(&stats, &looker, 0, 1, due, &load);
	for (uint32_t n = 0; n < SERVERS * front_stats_name_count; n++) {
		const uint32_t which = n % front_stats_name_count;

		row = row_at(n);
		check_eq(row.of, n / front_stats_name_count);
		check_str(row.name, front_stats_names[which]);
		if (row.of != 1)
			continue;
		if (rows[which].text != NULL)
			check_str(row.text, rows[which].text);
		else
			check_eq(row.number, rows[which].number);
	}
	for (uint32_t n = 0; n < front_fleet_name_count; n++) {
		row = row_at(SERVERS * front_stats_name_count + n);
		check_str(row.name, front_fleet_names[n]);
		check_eq(row.of, SERVE_ROW_OF_ALL);
		if (n >= 4)
			check_eq(row.number, sums[n - 4]);
	}
	/* Cores count meanwhile. */
	atomic_store(&stats.sum[FRONT_SERVER_SETTLED], 1000);
	check_eq(row_at(SERVERS * front_stats_name_count + FATES_ROW).number, 0);
	check_str(row_at(SERVERS * front_stats_name_count).text, "sole");
	shown.copy_ns = 250000000;
	check_str(row_at(SERVERS * front_stats_name_count).text, "shared");
	check_eq(row_at(SERVERS * front_stats_name_count + 1).number, 250);
	check(!front_stats_row(&stats, &shown, all, &row));
	check(!front_stats_row(&stats, &shown, UINT32_MAX, &row));
}

TEST(one_that_is_not_in_use_says_so)
{
	static const char *const words[] = {[FRONT_PLACE_IN_USE] = "up",
					    [FRONT_PLACE_REFUSED] = "down",
					    [FRONT_PLACE_AWAY] = "away",
					    [FRONT_PLACE_VACANT] = "unlisted"};

	add(0, 1, FRONT_SERVER_OPENED, 1);
	add(1, 1, FRONT_SERVER_OPENED, 1);
	for (uint8_t is = FRONT_PLACE_IN_USE; is <= FRONT_PLACE_VACANT; is++) {
		names.condition[1] = is;
		check_str(row_at(front_stats_name_count + 1).text, words[is]);
	}
	names.condition[1] = FRONT_PLACE_IN_USE;
}

/* ---- reasons ---- */

/* Checks both rows of server 1. */
static void
check_state(const char *state, const char *reason)
{
	check_str(row_at(front_stats_name_count + 1).text, state);
	check_str(row_at(front_stats_name_count + 2).name, "reason");
	check_str(row_at(front_stats_name_count + 2).text, reason);
}

static void
connect(uint32_t cores)
{
	for (uint32_t core = 0; core < cores; core++)
		add(core, 1, FRONT_SERVER_OPENED, 1);
	names.address[1].ip.b[0] = 1;
}

TEST(server_that_is_not_connected_says_which_failure_was_the_last)
{
	static const char *const words[] = {
		[FRONT_FAILURE_UNKNOWN] = "unknown",
		[FRONT_FAILURE_REFUSED] = "refused",
		[FRONT_FAILURE_UNREACHABLE] = "unreachable",
		[FRONT_FAILURE_SILENT] = "connect_timed_out",
		[FRONT_FAILURE_NO_CONN] = "no_connection_free",
		[FRONT_FAILURE_CLOSED] = "closed",
		[FRONT_FAILURE_LATE] = "timed_out",
		[FRONT_FAILURE_BROKEN] = "invalid_answer",
		[FRONT_FAILURE_LOGIN] = "login_refused",
		[FRONT_FAILURE_NO_LOGIN] = "login_required",
		[FRONT_FAILURE_NOT_TLS] = "not_tls",
		[FRONT_FAILURE_TLS_SILENT] = "tls_timed_out",
		[FRONT_FAILURE_TLS_CLOSED] = "tls_closed",
		[FRONT_FAILURE_TLS_REFUSED] = "tls_refused",
		[FRONT_FAILURE_TLS_OTHER] = "tls_failed",
		[FRONT_FAILURE_CERT_EXPIRED] = "certificate_expired",
		[FRONT_FAILURE_CERT_EARLY] = "certificate_not_valid_yet",
		[FRONT_FAILURE_CERT_NAME] = "certificate_of_another_name",
		[FRONT_FAILURE_CERT_ISSUER] = "certificate_of_unknown_issuer",
		[FRONT_FAILURE_CERT_OTHER] = "certificate_invalid",
		[FRONT_FAILURE_CERT_OWN] = "own_certificate_refused",
		[FRONT_FAILURE_NO_PATH] = "no_such_socket",
		[FRONT_FAILURE_DENIED] = "permission_denied",
		[FRONT_FAILURE_KERNEL_OTHER] = "kernel_refused"};
	struct front_report *r = &exchange.report[1];

	connect(1);
	check_state("partly", "connecting");
	atomic_store(&r->failures, 2);
	for (uint8_t why = FRONT_FAILURE_UNKNOWN; why < FRONT_FAILURE_COUNT; why++) {
		atomic_store(&r->why, why);
		names.condition[1] = FRONT_PLACE_IN_USE;
		check_state("partly", words[why]);
		names.condition[1] = FRONT_PLACE_REFUSED;
		check_state("down", words[why]);
		names.condition[1] = FRONT_PLACE_AWAY;
		check_state("away", words[why]);
		names.condition[1] = FRONT_PLACE_VACANT;
		check_state("unlisted", "none");
	}
	names.condition[1] = FRONT_PLACE_IN_USE;
}

TEST(server_in_use_has_no_reason_although_one_failed_before)
{
	connect(2);
	atomic_store(&exchange.report[1].why, FRONT_FAILURE_CLOSED);
	check_state("up", "none");
	atomic_store(&exchange.report[1].failures, 1);
	check_state("up", "none");
}

TEST(server_that_returns_waits_for_a_flush_or_for_requests_of_others)
{
	connect(2);
	names.condition[1] = FRONT_PLACE_REFUSED;
	front_report_owe_mt(&exchange.report[1]);
	check_state("down", "flush");
	atomic_store(&exchange.report[1].flush_done, 1);
	check_state("down", "returning");
	names.condition[1] = FRONT_PLACE_IN_USE;
}

TEST(server_without_an_address_says_so_whatever_failed)
{
	atomic_store(&exchange.report[1].failures, 3);
	check_state("down", "name_unresolved");
}

TEST(server_says_which_part_it_plays)
{
	static const char *const words[] = {[FRONT_ROLE_SERVER] = "server",
					    [FRONT_ROLE_GUTTER] = "gutter",
					    [FRONT_ROLE_JOINING] = "joining",
					    [FRONT_ROLE_DRAINING] = "draining"};

	for (uint8_t role = FRONT_ROLE_SERVER; role <= FRONT_ROLE_DRAINING; role++) {
		names.role[1] = role;
		check_str(row_at(front_stats_name_count + 3).name, "role");
		check_str(row_at(front_stats_name_count + 3).text, words[role]);
	}
	names.role[1] = FRONT_ROLE_SERVER;
}

TEST(fleet_says_that_keys_are_handed_over)
{
	const uint32_t at = SERVERS * front_stats_name_count + FATES_ROW + 1;

	check_str(row_at(at).name, "handing_over");
	check_eq(row_at(at).number, 0);
	former.npoints = 1;
	check_eq(row_at(at).number, 1);
	former.npoints = 0;
}

TEST(load_is_that_of_the_last_look)
{
	static struct front_looker looker;
	const uint32_t at = front_stats_name_count + 6;
	struct front_load load;

	check_str(row_at(at).name, "recent_by_mean");
	add(0, 0, FRONT_SERVER_KEYS, 100);
	add(1, 1, FRONT_SERVER_KEYS, 200);
	front_stats_look(&stats, &looker, 300, 1, due, &load);
	check_eq(row_at(at).number, 2000);
	check_eq(row_at(at - front_stats_name_count).number, 1000);
	add(0, 1, FRONT_SERVER_KEYS, 50);
	front_stats_look(&stats, &looker, 600, 1, due, &load); /* copies answer the other 250 */
	check_eq(row_at(at).number, 500);
	check_eq(row_at(at - front_stats_name_count).number, 0);
}

/* ---- copies ---- */

TEST(one_says_whether_its_answers_are_kept)
{
	const uint32_t at = front_stats_name_count - 8;

	check_str(row_at(at).name, "copies");
	shown.copies = shown.fence = true;
	check_str(row_at(at).text, "fence");
	atomic_store(&exchange.report[0].fenced, true);
	check_str(row_at(at).text, "kept");
	check_str(row_at(front_stats_name_count + at).text, "fence");
	shown.fence = false;
	check_str(row_at(front_stats_name_count + at).text, "kept");
}
