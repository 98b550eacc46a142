/*
 * Connections per source. Goal: no source ever has more than its limit, in any order in which cores
 * count; no source uses up the limit of another; a source without connections frees its place.
 * Method: the table alone, filled with as many connections as it is made for, and used by two
 * threads.
 */
#include "tcp/conn_sources.h"

#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LIMIT 3u
#define TRIES 30000u

static struct region region;

static struct conn_sources *
create(uint32_t conns, uint32_t limit)
{
	region.used = 0;
	region.size = conn_sources_bytes(conns);
	region.base = calloc(1, region.size);
	check_ptr(region.base);
	return conn_sources_create(&region, conns, limit, 7);
}

static struct ip_addr
v4(uint32_t n)
{
	return ip_addr_v4(0x0a000000 + n);
}

TEST(a_source_has_at_most_its_limit)
{
	struct conn_sources *cs = create(100, LIMIT);
	const struct ip_addr one = v4(1), other = v4(2);
	uint32_t place[LIMIT], more;

	for (uint32_t i = 0; i < LIMIT; i++) {
		check(!conn_sources_at_limit_mt(cs, &one));
		check_eq(conn_sources_add_mt(cs, &one, &place[i]), SOURCES_ADDED);
	}
	check(conn_sources_at_limit_mt(cs, &one));
	check_eq(conn_sources_add_mt(cs, &one, &more), SOURCES_OVER_LIMIT);
	check_eq(more, SOURCES_NONE);
	check_eq(conn_sources_add_mt(cs, &other, &more), SOURCES_ADDED);
	conn_sources_remove_mt(cs, place[1]);
	check_eq(conn_sources_add_mt(cs, &one, &place[1]), SOURCES_ADDED);
	check_eq(conn_sources_add_mt(cs, &one, &more), SOURCES_OVER_LIMIT);
	free(region.base);
}

TEST(a_network_of_64_bits_is_one_source)
{
	static const struct {
		uint8_t byte;
		bool same;
	} rows[] = {{0, false}, {7, false}, {8, true}, {15, true}};
	struct conn_sources *cs = create(100, 1);
	struct ip_addr ip = {{0x20, 1, 0xd, 0xb8}};
	uint32_t place;

	check_eq(conn_sources_add_mt(cs, &ip, &place), SOURCES_ADDED);
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct ip_addr near = ip;

		near.b[rows[i].byte] ^= 1;
		check_eq(conn_sources_at_limit_mt(cs, &near), rows[i].same);
	}
	free(region.base);
}

/* Link-local neighbours share the first 64 bits, which are no customer's network. */
TEST(a_link_local_address_is_one_source)
{
	struct conn_sources *cs = create(100, 1);
	const struct ip_addr ip = {{0xfe, 0x80, [15] = 1}}, near = {{0xfe, 0x80, [15] = 2}};
	uint32_t place;

	check_eq(conn_sources_add_mt(cs, &ip, &place), SOURCES_ADDED);
	check(conn_sources_at_limit_mt(cs, &ip));
	check(!conn_sources_at_limit_mt(cs, &near));
	free(region.base);
}

/* There are as many sources as connections; then all leave, and others arrive. */
TEST(every_connection_finds_a_place)
{
	enum { CONNS = 20000 };
	struct conn_sources *cs = create(CONNS, 1);
	uint32_t *place = calloc(CONNS, sizeof *place);

	check_ptr(place);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < CONNS; i++) {
			const struct ip_addr ip = v4(round * CONNS + i);

			check_eq(conn_sources_add_mt(cs, &ip, &place[i]), SOURCES_ADDED);
		}
		for (uint32_t i = 0; i < CONNS; i++)
			conn_sources_remove_mt(cs, place[i]);
	}
	free(place);
	free(region.base);
}

static struct conn_sources *shared;
static _Atomic uint32_t inside[4], wrong, taken;

static void *
core(void *arg)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		const uint32_t n = i % 4;
		const struct ip_addr ip = v4(n);
		uint32_t place;

		if (conn_sources_add_mt(shared, &ip, &place) != SOURCES_ADDED)
			continue;
		wrong += ++inside[n] > LIMIT;
		taken++;
		inside[n]--;
		conn_sources_remove_mt(shared, place);
	}
	return arg;
}

TEST(two_cores_together_stay_within_the_limit)
{
	pthread_t thread[2];
	uint32_t place;

	shared = create(16, LIMIT);
	for (uint32_t n = 0; n < 4; n++) {
		const struct ip_addr ip = v4(n);

		/* Each source has all but one of its places taken for good, so that the threads
		 * compete for the last. */
		for (uint32_t i = 0; i + 1 < LIMIT; i++, inside[n]++)
			check_eq(conn_sources_add_mt(shared, &ip, &place), SOURCES_ADDED);
	}
	for (uint32_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, core, NULL);
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	check_eq(wrong, 0);
	check(taken > TRIES / 4);
	for (uint32_t n = 0; n < 4; n++) {
		const struct ip_addr ip = v4(n);

		check_eq(conn_sources_add_mt(shared, &ip, &place), SOURCES_ADDED);
		check_eq(conn_sources_add_mt(shared, &ip, &place), SOURCES_OVER_LIMIT);
	}
	free(region.base);
}
