/*
 * stats net, stack, cores and counters. Goal: each counter of each room's list is in exactly one
 * reply, under its symbol in small letters, summed over cores or core by core, and no reply is
 * longer than its rows. Method: all lists registered for three cores, with a number of its own
 * for each counter; text and binary; slow readers.
 */
#include "support/test.h"
#include "admin/admin.h"
#include "counter_lists.h"
#include "proto/mc_binary.h"
#include "serve/serve_policy.h"
#include "unit/serve/one_rig.h"

#include <stdlib.h>

#define CORES        3u
#define COUNTERS_MAX 128u

static struct telemetry telemetry;
static struct counter counters[COUNTER_LISTS][CORES][COUNTERS_MAX];

static void
start_counting(void)
{
	start();
	telemetry = (struct telemetry){0};
	memset(counters, 0, sizeof counters);
	for (uint32_t core = 0; core < CORES; core++) {
		for (uint32_t i = 0; i < COUNTER_LISTS; i++) {
			const struct counter_list *l = &counter_lists[i];

			check(l->count <= COUNTERS_MAX);
			check(telemetry_add_to(&telemetry, l->kind,
					       &(struct telemetry_set){core, l->count, l->names,
								       counters[i][core]}));
			for (uint32_t n = 0; n < l->count; n++)
				counter_add(&counters[i][core][n],
					    1000000 * (core + 1) + 1000 * (i + 1) + n);
		}
	}
	admin_telemetry_set(rig->shared, &telemetry);
}

static uint64_t
value_of(uint32_t list, uint32_t counter)
{
	return (1 + 2 + 3) * 1000000 + 3 * (1000 * (list + 1) + counter);
}

static const char *
answer(const char *in)
{
	static char text[1u << 18];
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, in);
	rig_turns(rig, 60);
	snprintf(text, sizeof text, "%s", rig_sent(c, NULL));
	rig_lose(rig, c);
	return text;
}

static void
row_is(const char *stats, const char *name, uint64_t value)
{
	char row[128];

	snprintf(row, sizeof row, "STAT %s %llu\r\n", name, (unsigned long long)value);
	if (strstr(stats, row) == NULL)
		fail_msg("no \"STAT %s %llu\" in\n%s", name, (unsigned long long)value, stats);
}

static const char *
reply_of(enum telemetry_kind kind)
{
	char line[64];

	snprintf(line, sizeof line, "%s\r\n", counter_replies[kind].command);
	return answer(line);
}

TEST(each_counter_of_each_room_is_in_a_reply, start_counting, stop)
{
	for (uint32_t i = 0; i < COUNTER_LISTS; i++) {
		const struct counter_list *l = &counter_lists[i];
		const char *stats = reply_of(l->kind);

		for (uint32_t n = 0; l->kind != TELEMETRY_CORES && n < l->count; n++) {
			char name[64];

			counter_row_name(name, l->names[n].symbol);
			row_is(stats, name, value_of(i, n));
		}
		check_str(stats + strlen(stats) - 7, "\r\nEND\r\n");
	}
}

TEST(counters_of_cores_are_separate, start_counting, stop)
{
	const char *stats = reply_of(TELEMETRY_CORES);

	/* The rig has one core: counts of other cores are not shown. */
	check_null(strstr(stats, "STAT 1:"));
	for (uint32_t i = 0; i < COUNTER_LISTS; i++) {
		const struct counter_list *l = &counter_lists[i];

		for (uint32_t n = 0; l->kind == TELEMETRY_CORES && n < l->count; n++) {
			char name[64] = "0:";

			counter_row_name(name + 2, l->names[n].symbol);
			row_is(stats, name, 1000000 + 1000 * (i + 1) + n);
		}
	}
}

TEST(a_symbol_is_that_of_one_counter, no_setup)
{
	for (uint32_t i = 0; i < COUNTER_LISTS; i++)
		for (uint32_t n = 0; n < counter_lists[i].count; n++)
			for (uint32_t k = i; k < COUNTER_LISTS; k++)
				for (uint32_t m = k == i ? n + 1 : 0; m < counter_lists[k].count;
				     m++)
					check(strcmp(counter_lists[i].names[n].symbol,
						     counter_lists[k].names[m].symbol) != 0);
}

TEST(what_the_port_knows_is_shown, start_counting, stop)
{
	const struct admin_nic nic = {
		.rx_frames = 9,
		.tx_frames = 10,
		.missed = 11,
		.no_buffer = 12,
		.rx_errors = 13,
		.tx_errors = 14,
		.frames_free = 15,
		.link_up = true,
		.allowances = {[NIC_ALLOWANCE_PPS] = 16,
			       [NIC_ALLOWANCE_LINKLOCAL] = NIC_ALLOWANCE_UNKNOWN}};
	const struct serve_info info = {.memory = {.frames = 777, .connections = 888}};
	const char *stats;

	serve_shared_set_info(rig->shared, &info);
	admin_nic_set_mt(rig->shared, &nic);
	stats = reply_of(TELEMETRY_NET);
	row_is(stats, "nic_rx_frames", 9);
	row_is(stats, "nic_tx_frames", 10);
	row_is(stats, "nic_missed", 11);
	row_is(stats, "nic_no_buffer", 12);
	row_is(stats, "nic_rx_errors", 13);
	row_is(stats, "nic_tx_errors", 14);
	row_is(stats, "frames_free", 15);
	row_is(stats, "nic_link_up", 1);
	row_is(stats, "frames_bytes", 777);
	row_is(stats, "nic_pps_allowance_exceeded", 16);
	row_is(stats, "nic_conntrack_allowance_available", 0);
	check(strstr(stats, "linklocal") == NULL);
	stats = reply_of(TELEMETRY_STACK);
	row_is(stats, "stack_bytes", 888);
	row_is(stats, "conns_open", 1);
	row_is(stats, "conns_established", 1);
	row_is(stats, "conns_time_wait", 0);
}

TEST(binary_has_the_same_rows, start_counting, stop)
{
	static const char *const words[] = {"net", "stack", "cores", "counters"};

	for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		uint8_t get[MC_BIN_HEAD_BYTES + 16] = {MC_BIN_REQUEST_MAGIC, 0x10};
		const uint32_t len = (uint32_t)strlen(words[i]);
		uint32_t sent_len, rows = 0, binary_rows = 0, at = 0;
		const uint8_t *sent;
		struct conn *c = rig_open(rig);
		char line[32];

		get[3] = get[11] = (uint8_t)len;
		memcpy(get + MC_BIN_HEAD_BYTES, words[i], len);
		rig_receive(rig, c, get, MC_BIN_HEAD_BYTES + len);
		rig_turns(rig, 60);
		sent = (const uint8_t *)rig_sent(c, &sent_len);
		while (at + MC_BIN_HEAD_BYTES <= sent_len) {
			binary_rows++;
			at += MC_BIN_HEAD_BYTES +
			      be32_get(*(const struct be32 *)(const void *)(sent + at + 8));
		}
		check_eq(at, sent_len);
		rig_lose(rig, c);
		snprintf(line, sizeof line, "stats %s\r\n", words[i]);
		for (const char *p = answer(line); (p = strstr(p, "\r\n")) != NULL; p += 2)
			rows++;
		check_eq(binary_rows, rows); /* the END row is the empty packet */
	}
}

/* A datagram's source may be forged, and these replies are long. */
TEST(datagrams_are_refused, start_counting, stop)
{
	const struct fake_sent *sent;

	rig_datagram_text(rig, 7, "stats net\r\n");
	rig_turn(rig);
	check_eq(rig_datagrams_sent(rig, &sent), 1);
	check_bytes(sent[0].bytes + 8, "CLIENT_ERROR", 12);
}

TEST(without_counters_there_are_gauges, start_counting, stop)
{
	admin_telemetry_set(rig->shared, NULL);
	check_str(reply_of(TELEMETRY_COUNTERS), "END\r\n");
	check_str(reply_of(TELEMETRY_CORES), "END\r\n");
	row_is(reply_of(TELEMETRY_NET), "nic_missed", 0);
	check(strstr(reply_of(TELEMETRY_NET), "allowance") == NULL);
}

/* ---- all replies at once ---- */

/* Returns the reply to one command of `all`: the text from the command up to the next one. */
static const char *
part_of(const char *all, const char *command_line)
{
	static char part[1u << 18];
	const char *at = strstr(all, command_line), *end;

	check_ptr(at);
	at += strlen(command_line);
	end = strstr(at, "\nstats ");
	snprintf(part, sizeof part, "%.*s", end != NULL ? (int)(end + 1 - at) : (int)strlen(at),
		 at);
	return part;
}

TEST(all_replies_at_once_are_those_of_a_client, start_counting, stop)
{
	static const char *const commands[] = {
		"stats settings\r\n", "stats items\r\n", "stats slabs\r\n",   "stats latency\r\n",
		"stats net\r\n",      "stats cores\r\n", "stats counters\r\n"};
	static char all[1u << 18];
	struct region region = {.size = admin_snapshot_bytes()};
	struct admin_snapshot *s;

	region.base = calloc(1, region.size);
	check_ptr(region.base);
	s = admin_snapshot_create(&region, rig->shared, NULL);
	answer("set a 0 0 1\r\n5\r\n");
	all[admin_snapshot_write_mt(s, &rig->clock, (uint8_t *)all, sizeof all - 1)] = '\0';
	check_bytes(all, "stats\r\nSTAT pid 77\r\n", 20);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		const char *got = answer(commands[i]);
		const char *part = part_of(all, commands[i]);

		check_eq(strlen(part) + 5, strlen(got));
		check_bytes(got, part, strlen(part));
	}
	check_ptr(strstr(all, "\nstats hotkeys\r\n"));
	check_ptr(strstr(all, "\nstats slow\r\n"));
	serve_shared_set_policy(rig->shared, &(struct serve_policy){.no_dumps = true});
	all[admin_snapshot_write_mt(s, &rig->clock, (uint8_t *)all, sizeof all - 1)] = '\0';
	check_null(strstr(all, "stats hotkeys")); /* -X: keys are not shown */
	check_null(strstr(all, "stats slow"));
	check_ptr(strstr(all, "\nstats sources\r\n"));
	for (size_t room = 0; room < 6000; room += 7) {
		const size_t len = admin_snapshot_write_mt(s, &rig->clock, (uint8_t *)all, room);

		check(len <= room && (len == 0 || all[len - 1] == '\n'));
	}
	free(region.base);
}
