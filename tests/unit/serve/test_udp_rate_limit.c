/*
 * The rate limit of UDP. Goal: a source outside the allowed networks gets at most its budget a
 * second beyond what it sent, however many other sources there are, its network four times and
 * all together sixteen times that; a source in an allowed network gets all; an answer no longer
 * than its request is always let through. Method: sources by the thousand; the test itself adds
 * up what each was allowed.
 */
#include "support/test.h"
#include "base/hash.h"
#include "serve/udp_rate_limit.h"

#include <stdlib.h>

static struct udp_rate_limit *
rate_limit(uint32_t bytes_per_s)
{
	struct udp_rate_limit *g = calloc(1, sizeof *g);

	g->bytes_per_s = bytes_per_s;
	return g;
}

static bool
source_allows(struct udp_rate_limit *g, const struct ip_addr *a, uint32_t second, uint64_t asked,
	      uint64_t answer)
{
	const struct view source = udp_rate_limit_source(a), network = udp_rate_limit_network(a);
	const struct udp_source hashes = {
		.hash = hash_bytes(source.data, source.len, 7),
		.network_hash = hash_bytes(network.data, network.len, 7),
	};

	return udp_rate_limit_spares(g, a, asked, answer) ||
	       udp_rate_limit_book(g, &hashes, second, answer - asked);
}

static bool
allows(struct udp_rate_limit *g, uint32_t ip, uint32_t second, uint64_t asked, uint64_t answer)
{
	const struct ip_addr a = ip_addr_v4(ip);

	return source_allows(g, &a, second, asked, answer);
}

TEST(exempt_networks_are_not_limited)
{
	const struct {
		uint32_t ip, len, source;
		bool in;
	} rows[] = {
		{0x0a000000, 8, 0x0a636363, true},  {0x0a000000, 8, 0x0b000000, false},
		{0x0a0101ff, 24, 0x0a010100, true}, {0x0a0101ff, 24, 0x0a010200, false},
		{0xc0a80001, 32, 0xc0a80001, true}, {0xc0a80001, 32, 0xc0a80002, false},
		{0, 0, 0xdeadbeef, true},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct udp_rate_limit *g = rate_limit(0);

		const struct ip_addr net = ip_addr_v4(rows[i].ip);

		udp_rate_limit_exempt(g, &net, IP_ADDR_V4_BITS + rows[i].len);
		check_eq(allows(g, rows[i].source, 5, 10, 1000000), rows[i].in);
		free(g);
	}
}

TEST(a_source_gets_its_limit_and_no_more)
{
	struct udp_rate_limit *g = rate_limit(1000);

	check(allows(g, 1, 5, 100, 700));  /* 600 of 1000 */
	check(!allows(g, 1, 5, 100, 501)); /* 401 */
	check(allows(g, 1, 5, 100, 500));  /* 400 */
	check(!allows(g, 1, 5, 100, 101));
	check(allows(g, 1, 5, 100, 100)); /* nothing beyond what it sent */
	check(allows(g, 2, 5, 100, 1100));
	check(!allows(g, 3, 5, 0, 1001));
	check(allows(g, 1, 6, 0, 1000)); /* another second */
	check(!allows(g, 1, 6, 0, 1));
	free(g);
}

static bool
allows6(struct udp_rate_limit *g, const char ip[16], uint64_t answer)
{
	struct ip_addr a;

	memcpy(a.b, ip, sizeof a.b);
	return source_allows(g, &a, 5, 0, answer);
}

TEST(a_network_of_ipv6_has_one_limit)
{
	struct udp_rate_limit *g = rate_limit(1000);
	struct ip_addr net;

	check(allows6(g, "\x20\1\xd\xb8\0\0\0\1\0\0\0\0\0\0\0\1", 600));
	check(!allows6(g, "\x20\1\xd\xb8\0\0\0\1\xff\0\0\0\0\0\0\2", 600));
	check(allows6(g, "\x20\1\xd\xb8\0\0\0\2\0\0\0\0\0\0\0\1", 600));
	memcpy(net.b, "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\0", sizeof net.b);
	udp_rate_limit_exempt(g, &net, 48);
	check(allows6(g, "\x20\1\xd\xb8\0\0\xff\1\0\0\0\0\0\0\0\1", 1u << 30));
	check(!allows6(g, "\x20\1\xd\xb8\0\1\0\1\0\0\0\0\0\0\0\1", 1u << 30));
	/* An IPv4 address in a network of the same bytes is not exempt. */
	memset(net.b, 0, sizeof net.b);
	net.b[0] = 10;
	udp_rate_limit_exempt(g, &net, 8);
	check(!allows(g, 0x0a000001, 5, 0, 1u << 30));
	free(g);
}

TEST(no_source_gets_more_however_many_there_are)
{
	enum { SOURCES = 20000, ROUNDS = 6, BUDGET = 3000 };
	struct udp_rate_limit *g = rate_limit(BUDGET);
	uint32_t *had = calloc(SOURCES, sizeof *had);
	uint32_t alone = 0;

	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < SOURCES; i++) {
			const uint32_t answer = 500 + (i * 7919 + round * 131) % 900;

			if (allows(g, 0x50000000 + i * 2654435761u, 9, 60, answer))
				had[i] += answer - 60;
		}
	for (uint32_t i = 0; i < SOURCES; i++)
		check(had[i] <= BUDGET);
	/* A single source gets its whole share while no other sends. */
	while (allows(g, 77, 10, 0, 100))
		alone += 100;
	check_eq(alone, BUDGET);
	free(had);
	free(g);
}

/* The sources of one /20 send, each within its own budget, and then as many
 * of the whole Internet. */
TEST(forged_sources_share_the_budget_of_their_network_and_of_all)
{
	enum { BUDGET = 10000, ANSWER = 1000 };
	struct udp_rate_limit *g = rate_limit(BUDGET);
	uint64_t network = 0, all = 0, far = 0;

	for (uint32_t i = 0; i < 256; i++)
		for (uint32_t n = 0; n < 4; n++)
			network += allows(g, 0xc6120000 + i, 5, 0, ANSWER) ? ANSWER : 0;
	check_eq(network, UDP_NETWORK_SHARES * BUDGET);
	for (uint32_t i = 0; i < 4096; i++)
		all += allows(g, 0xc6130000 + i, 6, 0, ANSWER) ? ANSWER : 0;
	check_eq(all, UDP_TOTAL_SHARES * BUDGET);
	for (uint32_t i = 0; i < 4096; i++)
		far += allows(g, i * 2654435761u, 7, 0, ANSWER) ? ANSWER : 0;
	check_eq(far, UDP_TOTAL_SHARES * BUDGET);
	check(allows(g, 1, 7, 100, 100)); /* without amplification a forged source gains nothing */
	check(allows(g, 1, 8, 0, ANSWER));
	free(g);
}

TEST(a_site_of_ipv6_shares_a_budget)
{
	struct udp_rate_limit *g = rate_limit(1000);
	uint32_t got = 0;

	for (char i = 0; i < 100; i++) {
		const char ip[16] = {0x20, 1, 0xd, (char)0xb8, 0, 0, 1, i};

		got += allows6(g, ip, 1000) ? 1 : 0;
	}
	check_eq(got, UDP_NETWORK_SHARES);
	check(allows6(g, "\x20\1\xd\xb8\0\0\2\0\0\0\0\0\0\0\0\1", 1000));
	free(g);
}
