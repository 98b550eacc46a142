/*
 * stats sources. Goal: the sources with most connections are listed in order, exactly while they
 * are few, and never with less than they have; a /64 is one source, as is an IPv4 address; a call
 * examines a bounded number of snapshots; a list covers all cores. Method: snapshots of
 * connections of two cores, filled in by hand.
 */
#include "support/test.h"
#include "admin/admin_internal.h"

#include <stdlib.h>

#define CORES     2u
#define SLOTS_MAX 100000u
#define TEXT_MAX  8192u

struct fixture {
	struct serve_shared *shared;
	struct serve *cores[CORES];
	struct conn_snapshot *snapshots[CORES];
	uint32_t used[CORES];
	void *memory;
};

static struct fixture f;

SETUP(start)
{
	struct region region = {.size = admin_shared_bytes() + 4096};

	f = (struct fixture){.shared = calloc(1, sizeof *f.shared),
			     .memory = calloc(1, region.size)};
	region.base = f.memory;
	admin_shared_create(&region, f.shared);
	f.shared->cores = CORES;
	for (uint32_t i = 0; i < CORES; i++) {
		f.cores[i] = calloc(1, sizeof *f.cores[i]);
		f.cores[i]->shared = f.shared;
		f.cores[i]->cfg.conns_max = SLOTS_MAX;
		f.cores[i]->admin = calloc(1, sizeof *f.cores[i]->admin);
		f.snapshots[i] = f.cores[i]->admin->snapshots =
			calloc(SLOTS_MAX, sizeof *f.snapshots[i]);
		f.shared->serves[i] = f.cores[i];
	}
	f.cores[0]->clock.now_s = 1000;
}

TEARDOWN(stop)
{
	for (uint32_t i = 0; i < CORES; i++) {
		free(f.snapshots[i]);
		free(f.cores[i]->admin);
		free(f.cores[i]);
	}
	free(f.memory);
	free(f.shared);
}

static void
connect_from(uint32_t core, struct ip_addr ip, uint32_t active_s)
{
	struct conn_snapshot *s = &f.snapshots[core][f.used[core]++];

	s->ip[0] = load_u64(ip.b);
	s->ip[1] = load_u64(ip.b + 8);
	s->active_s = active_s;
	s->peer_id = 1ull << 32 | 1u << 16 | (f.used[core] & 0xffff);
}

/* Runs this many ticks and returns the list of sources that follows. */
static const char *
sources_after(uint32_t ticks)
{
	static uint8_t text[TEXT_MAX];
	struct out_buffer buffer = {text, text + sizeof text - 1};
	struct stream st = {.kind = &sources_stream};

	for (uint32_t i = 0; i < ticks; i++)
		admin_sources_tick_mt(f.shared);
	while (st.kind->step(f.cores[0], &st, &buffer))
		;
	*buffer.at = '\0';
	return (const char *)text;
}

static const struct ip_addr one6 = {{0x20, 1, 0x0d, 0xb8, 0, 7, 0, 0, 1}};
static const struct ip_addr other6 = {{0x20, 1, 0x0d, 0xb8, 0, 7, 0, 0, 2, [15] = 9}};
static const struct ip_addr link6 = {{0xfe, 0x80, [15] = 3}};
static const struct ip_addr next_link6 = {{0xfe, 0x80, [15] = 4}};

TEST(sources_are_listed_by_their_connections_on_all_cores)
{
	check_str(sources_after(4), "");
	connect_from(0, ip_addr_v4(0x0a000001), 990);
	for (uint32_t i = 0; i < 3; i++)
		connect_from(i % CORES, ip_addr_v4(0x0a000002), 900 + i);
	connect_from(0, one6, 1000);
	connect_from(1, other6, 1001);
	connect_from(1, link6, 999);
	connect_from(1, next_link6, 999);
	check_str(sources_after(4),
		  "STAT 1:source 10.0.0.2\r\nSTAT 1:conns 3\r\nSTAT 1:error 0\r\n"
		  "STAT 1:secs_since_last_cmd 98\r\n"
		  "STAT 2:source 2001:db8:7::/64\r\nSTAT 2:conns 2\r\nSTAT 2:error 0\r\n"
		  "STAT 2:secs_since_last_cmd 0\r\n"
		  "STAT 3:source 10.0.0.1\r\nSTAT 3:conns 1\r\nSTAT 3:error 0\r\n"
		  "STAT 3:secs_since_last_cmd 10\r\n"
		  "STAT 4:source fe80::3\r\nSTAT 4:conns 1\r\nSTAT 4:error 0\r\n"
		  "STAT 4:secs_since_last_cmd 1\r\n"
		  "STAT 5:source fe80::4\r\nSTAT 5:conns 1\r\nSTAT 5:error 0\r\n"
		  "STAT 5:secs_since_last_cmd 1\r\n");
	for (uint32_t i = 0; i < f.used[1]; i++)
		f.snapshots[1][i].peer_id = 0; /* closed */
	check_ptr(strstr(sources_after(4), "STAT 1:source 10.0.0.2\r\nSTAT 1:conns 2\r\n"));
}

TEST(the_list_is_whole_and_a_call_looks_at_a_part)
{
	f.used[1] = SLOTS_MAX - 1;
	connect_from(1, ip_addr_v4(0x0a000009), 1000); /* the last slot */
	for (uint32_t i = 0; i < 3; i++)
		check_str(sources_after(1), "");
	check_ptr(strstr(sources_after(1), "STAT 1:source 10.0.0.9\r\n"));
}

/* 50,000 sources have one connection each, as in a flood, and three have many. */
TEST(who_has_many_is_found_among_more_sources_than_cells)
{
	static const uint32_t many[] = {3000, 2000, 1000};
	const char *text;

	for (uint32_t i = 0; i < 50000; i++) {
		connect_from(i % CORES, ip_addr_v4(0x0b000000 + i * 7), 1000);
		for (uint32_t s = 0; s < 3; s++)
			if (i % (50000 / many[s]) == 0)
				connect_from(i % CORES, ip_addr_v4(0x0a000001 + s), 1000);
	}
	text = sources_after(8);
	for (uint32_t s = 0; s < 3; s++) {
		char row[64];
		const char *at;
		uint32_t conns, error;

		snprintf(row, sizeof row, "STAT %u:source 10.0.0.%u\r\n", s + 1, s + 1);
		at = strstr(text, row);
		check_ptr(at);
		check_eq(sscanf(at + strlen(row), "STAT %*u:conns %u STAT %*u:error %u", &conns,
				&error),
			 2);
		check(conns >= many[s] && conns - error <= many[s] + 1 + many[s] / 10);
		check(error < 50000 / 1024 * 4);
	}
}
