/*
 * test_front_ring.c - a key goes to one live server, and stays there.
 *
 * Goal:   cases that tests/conform/run_placement cannot ask of other programs: servers that are
 *         not live, weights without a point, shares, tags, the order of equal servers.
 * Method: fleets of a table; each key of a thousand is placed.
 */
#include "front/front_ring.h"
#include "support/test.h"

#include <stdlib.h>

#define KEYS    1000
#define SERVERS 5

static const struct front_server fleet_of_five[SERVERS] = {
	{"10.0.0.2", 1}, {"10.0.0.11:11212", 1}, {"10.0.0.1", 1}, {"b", 1}, {"a", 1},
};

static const enum front_distribution distributions[] = {FRONT_KETAMA, FRONT_CONSISTENT,
							FRONT_MODULA, FRONT_JUMP};

static struct front_fleet
fleet_with(enum front_distribution distribution)
{
	return (struct front_fleet){.distribution = distribution,
				    .hash = FRONT_HASH_MD5,
				    .nservers = SERVERS,
				    .servers = fleet_of_five};
}

static struct front_ring *
ring_of(const struct front_fleet *fleet, const bool *live)
{
	struct front_ring *ring = malloc(front_ring_bytes(fleet->nservers));

	check_ptr(ring);
	check(front_ring_build(ring, fleet, live));
	return ring;
}

static uint32_t
place(const struct front_ring *ring, int key)
{
	char text[16];

	snprintf(text, sizeof text, "key-%d", key);
	return front_ring_server(ring, text_view(text));
}

static void
count_places(const struct front_ring *ring, uint32_t n[SERVERS])
{
	memset(n, 0, SERVERS * sizeof n[0]);
	for (int k = 0; k < KEYS; k++)
		n[place(ring, k)]++;
}

TEST(keys_go_to_live_servers_only)
{
	const bool live[SERVERS] = {true, false, true, false, true};
	uint32_t n[SERVERS];

	for (size_t d = 0; d < 4; d++) {
		const struct front_fleet fleet = fleet_with(distributions[d]);
		struct front_ring *ring = ring_of(&fleet, live);

		count_places(ring, n);
		for (int i = 0; i < SERVERS; i++)
			check_eq(n[i] != 0, live[i]);
		free(ring);
	}
}

/* The two ring distributions ensure it; modula cannot. */
TEST(a_server_that_leaves_moves_its_own_keys_only)
{
	const bool live[SERVERS] = {true, true, true, false, true};

	for (size_t d = 0; d < 2; d++) {
		const struct front_fleet fleet = fleet_with(distributions[d]);
		struct front_ring *all = ring_of(&fleet, NULL), *fewer = ring_of(&fleet, live);

		for (int k = 0; k < KEYS; k++) {
			if (place(all, k) != 3)
				check_eq(place(fewer, k), place(all, k));
		}
		free(all);
		free(fewer);
	}
}

TEST(without_a_live_server_there_is_no_ring)
{
	const bool live[SERVERS] = {false};

	for (size_t d = 0; d < 4; d++) {
		const struct front_fleet fleet = fleet_with(distributions[d]);
		struct front_ring *ring = malloc(front_ring_bytes(SERVERS));

		check(!front_ring_build(ring, &fleet, live));
		free(ring);
	}
}

/* A weight of 1 in a million gets 1 millionth of 160 points: none. */
TEST(a_small_weight_has_no_point)
{
	const struct front_server servers[] = {{"a", FRONT_WEIGHT_MAX}, {"b", 1}};
	const struct front_fleet fleet = {
		.distribution = FRONT_KETAMA, .nservers = 2, .servers = servers};
	const bool only_b[] = {false, true};
	struct front_ring *ring = ring_of(&fleet, NULL);
	double shares[2];

	front_ring_shares(ring, shares);
	check(shares[0] == 1.0 && shares[1] == 0.0);
	check(front_ring_build(ring, &fleet, only_b));
	front_ring_shares(ring, shares);
	check(shares[0] == 0.0 && shares[1] == 1.0);
	free(ring);
}

/* A weight of 1 in 25 gets a 25th of five times 160 points: exactly 32, but 28 in floats. */
TEST(weights_are_rounded_as_floats)
{
	const struct front_server servers[] = {{"a", 1}, {"b", 6}, {"c", 6}, {"d", 6}, {"e", 6}};
	const struct front_fleet fleet = {
		.distribution = FRONT_KETAMA, .nservers = 5, .servers = servers};
	struct front_ring *ring = ring_of(&fleet, NULL);
	uint32_t n = 0;

	for (uint32_t i = 0; i < ring->npoints; i++)
		n += ring->points[i].server == 0;
	check_eq(n, 28);
	free(ring);
}

/* With jump, the keys that move when a server joins all move to that server. */
TEST(jump_moves_keys_to_a_new_server_only)
{
	struct front_fleet fleet = fleet_with(FRONT_JUMP);
	struct front_ring *five, *four;
	uint32_t moved = 0;

	fleet.given_order = true;
	five = ring_of(&fleet, NULL);
	fleet.nservers = SERVERS - 1;
	four = ring_of(&fleet, NULL);
	for (int k = 0; k < KEYS; k++) {
		if (place(five, k) != place(four, k)) {
			check_eq(place(five, k), SERVERS - 1);
			moved++;
		}
	}
	check(moved > KEYS / 10 && moved < KEYS / 3);
	free(four);
	free(five);
}

TEST(shares_are_those_of_the_keys)
{
	uint32_t n[SERVERS];

	for (size_t d = 0; d < 4; d++) {
		const struct front_fleet fleet = fleet_with(distributions[d]);
		struct front_ring *ring = ring_of(&fleet, NULL);
		double shares[SERVERS], sum = 0;

		count_places(ring, n);
		front_ring_shares(ring, shares);
		for (uint32_t i = 0; i < SERVERS; i++) {
			sum += shares[i];
			check(shares[i] > 0.05 && (double)n[i] / KEYS > shares[i] - 0.06 &&
			      (double)n[i] / KEYS < shares[i] + 0.06);
		}
		check(sum > 0.999999 && sum < 1.000001);
		free(ring);
	}
}

/* The order is nutcracker's: a, b, 10.0.0.1, 10.0.0.2, 10.0.0.11:11212; modula shows it. */
TEST(names_are_ordered_by_length_then_bytes)
{
	const uint32_t order[SERVERS] = {4, 3, 2, 0, 1};
	struct front_fleet fleet = fleet_with(FRONT_MODULA);
	struct front_ring *ring = ring_of(&fleet, NULL);

	for (uint32_t i = 0; i < SERVERS; i++)
		check_eq(ring->points[i].server, order[i]);
	fleet.given_order = true;
	check(front_ring_build(ring, &fleet, NULL));
	for (uint32_t i = 0; i < SERVERS; i++)
		check_eq(ring->points[i].server, i);
	free(ring);
}

TEST(a_tag_is_what_is_hashed)
{
	static const struct {
		const char *key, *as;
	} cases[] = {
		{"user:{1234}:name", "1234"},
		{"a{}b", "a{}b"},
		{"a{b", "a{b"},
		{"{", "{"},
		{"a}b{c}d", "c"},
		{"{a}{b}", "a"},
		{"{{a}}", "{a"},
		{"plain", "plain"},
		{"a{b}", "b"},
	};
	struct front_fleet fleet = fleet_with(FRONT_KETAMA);
	struct front_ring *plain = ring_of(&fleet, NULL), *ring;

	fleet.tag[0] = '{', fleet.tag[1] = '}';
	ring = ring_of(&fleet, NULL);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		check_eq(front_ring_server(ring, text_view(cases[i].key)),
			 front_ring_server(plain, text_view(cases[i].as)));
	free(plain);
	free(ring);
}

/* libmemcached's namespace prefix is skipped. A key that is only the prefix is hashed whole. */
TEST(a_key_s_beginning_may_be_skipped)
{
	static const struct {
		const char *key, *as;
	} cases[] = {
		{"app:user", "user"},         {"app:", "app:"},       {"ap", "ap"},
		{"x-app:user", "x-app:user"}, {"app:app:a", "app:a"}, {"app:u{7}", "7"},
		{"{app:}user", "app:"},
	};
	struct front_fleet fleet = fleet_with(FRONT_KETAMA);
	struct front_ring *plain = ring_of(&fleet, NULL), *ring;

	strcpy(fleet.skip, "app:");
	fleet.tag[0] = '{', fleet.tag[1] = '}';
	ring = ring_of(&fleet, NULL);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		check_eq(front_ring_server(ring, text_view(cases[i].key)),
			 front_ring_server(plain, text_view(cases[i].as)));
	free(plain);
	free(ring);
}

/* The most that rounding may add stays within the ring's memory: ensure() ends
 * a run that exceeds it. */
TEST(points_fit_any_weights)
{
	struct front_server servers[64];
	struct front_fleet fleet = {.distribution = FRONT_KETAMA, .servers = servers};
	uint64_t seed = 1;

	for (uint32_t n = 1; n <= 64; n++) {
		fleet.nservers = n;
		for (uint32_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			snprintf(servers[i].name, sizeof servers[i].name, "s%u", i);
			servers[i].weight =
				1 + (uint32_t)(seed >> 33) % (seed >> 63 ? 10 : FRONT_WEIGHT_MAX);
		}
		free(ring_of(&fleet, NULL));
	}
}

/* In two fleets of up to eight servers, every server that gets another one's key is among the
 * gains. With ketama and consistent no other server is, if keys of every stretch were tried. */
TEST(who_gets_keys_of_others_has_gained)
{
	static const enum front_distribution ways[] = {FRONT_KETAMA, FRONT_CONSISTENT,
						       FRONT_MODULA};
	struct front_server servers[8] = {0};
	struct front_ring *rings[2];
	uint64_t draw = 7;

	for (uint32_t i = 0; i < 8; i++) {
		snprintf(servers[i].name, sizeof servers[i].name, "s%u", i);
		servers[i].weight = 1;
	}
	rings[0] = malloc(front_ring_bytes(8));
	rings[1] = malloc(front_ring_bytes(8));
	for (uint32_t round = 0; round < 30; round++) {
		const struct front_fleet fleet = {.distribution = ways[round % 3],
						  .hash = FRONT_HASH_MURMUR,
						  .nservers = 8,
						  .servers = servers};
		bool gains[8] = {false}, seen[8] = {false};

		for (uint32_t k = 0; k < 2; k++) {
			bool live[8];

			draw = draw * 6364136223846793005ull + 1442695040888963407ull;
			for (uint32_t i = 0; i < 8; i++)
				live[i] = (draw >> (40 + i) & 1) || i == 3;
			check(front_ring_build(rings[k], &fleet, live));
		}
		front_ring_gains(rings[0], rings[1], gains);
		for (uint32_t n = 0; n < 20000; n++) {
			char text[12];
			const struct view key = {(uint8_t *)text,
						 (uint32_t)sprintf(text, "k%u", n)};
			const uint32_t is = front_ring_server(rings[1], key);

			seen[is] |= front_ring_server(rings[0], key) != is;
		}
		for (uint32_t i = 0; i < 8; i++) {
			check(gains[i] || !seen[i]);
			check(fleet.distribution == FRONT_MODULA || seen[i] == gains[i]);
		}
	}
	free(rings[0]);
	free(rings[1]);
}
