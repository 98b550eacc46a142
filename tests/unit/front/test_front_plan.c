/*
 * test_front_plan.c - the plan of a front's configuration.
 *
 * Goal:   each figure is the ring's, by its definition; a configuration that cannot work is
 *         refused; one that costs evenness is a warning, and one that does not is none.
 * Method: tables of fleets; shares counted a second time, by keys of the test's own and by the
 *         formula written out; figures of the documents (lib/front/FRONT.md, tests/bench/front).
 */
#include "front/front_plan.h"
#include "front/front_servers.h"
#include "copies/admission.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#define KEYS rounds(400000u, 100000u)

static struct front_config config;

static void
set_fleet(const char *list, enum front_distribution distribution, enum front_hash hash)
{
	struct error err;

	config = (struct front_config){
		.distribution = distribution, .hash = hash, .items = FRONT_ITEMS_AUTO};
	if (!front_servers_read(&config.servers, list, &err))
		fail_msg("%s", err.text);
}

/* Sets n equal servers, 10.0.0.1 and so on, as in the bench. */
static void
set_equal(uint32_t n, enum front_distribution distribution, enum front_hash hash)
{
	char list[16384];
	uint32_t len = 0;

	for (uint32_t i = 1; i <= n; i++)
		len += (uint32_t)snprintf(list + len, sizeof list - len, "%s10.0.%u.%u:11211:1",
					  i == 1 ? "" : ",", i >> 8, i & 255);
	set_fleet(list, distribution, hash);
}

static struct front_ring *
plan_of(struct front_plan *plan)
{
	struct front_ring *ring = malloc(front_ring_bytes(config.servers.count));
	struct error err;

	check_ptr(ring);
	if (!front_plan_make(plan, ring, &config, &err))
		fail_msg("%s", err.text);
	return ring;
}

static bool
is_near(double a, double b, double part)
{
	return a > b * (1 - part) && a < b * (1 + part);
}

/* The shares and n' follow from keys that MD5 spreads. */
TEST(shares_are_those_of_keys)
{
	static const char *const fleets[] = {
		"a:1:1",
		"a:1:1,b:1:1,c:1:1,d:1:1",
		"a:1:1,b:1:2,c:1:4",
		"10.0.0.1:11211:3,10.0.0.2:11211:1,10.0.0.3:11211:1 x",
	};
	static const enum front_distribution distributions[] = {FRONT_KETAMA, FRONT_CONSISTENT,
								FRONT_MODULA};

	for (uint32_t c = 0; c < 4 * 3; c++) {
		const bool equal = distributions[c % 3] == FRONT_CONSISTENT;
		uint32_t n[8] = {0}, weights = 0, least = KEYS;
		struct front_ring *ring;
		struct front_plan plan;
		double busiest = 0;

		set_fleet(fleets[c / 3], distributions[c % 3], FRONT_HASH_MD5);
		ring = plan_of(&plan);
		for (uint32_t k = 0; k < KEYS; k++) {
			char text[16];
			const int len = snprintf(text, sizeof text, "k%u", k * 7919);

			n[front_ring_server(ring,
					    (struct view){(const uint8_t *)text, (uint32_t)len})]++;
		}
		for (uint32_t i = 0; i < config.servers.count; i++) {
			weights += equal ? 1 : config.servers.server[i].weight;
			least = n[i] < least ? n[i] : least;
		}
		for (uint32_t i = 0; i < config.servers.count; i++) {
			const uint32_t weight = equal ? 1 : config.servers.server[i].weight;

			busiest = fmax(busiest, (double)n[i] / KEYS * weights / weight);
		}
		check_eq(plan.servers, config.servers.count);
		check_eq(plan.without_points, 0);
		check(is_near(plan.n, (double)KEYS / least, 0.02));
		check(is_near(plan.busiest, busiest, 0.02));
		free(ring);
	}
}

/* c = 8 n' ln n' + 1, at least 64 and at most 65,536. */
TEST(items_are_the_formula_s_within_limits)
{
	static const struct {
		const char *fleet;
		uint32_t items; /* 0: given by the formula */
	} cases[] = {
		{"a:1:1", ADMISSION_ITEMS_MIN},
		{"a:1:1,b:1:1", ADMISSION_ITEMS_MIN},
		{"a:1:1,b:1:1,c:1:1,d:1:1,e:1:1,f:1:1,g:1:1,h:1:1", 0},
		{"a:1:1,b:1:30", 0},
		{"a:1:1,b:1:1000000,c:1:1000000", ADMISSION_ITEMS_MAX},
	};

	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct front_plan plan;
		double c;

		set_fleet(cases[i].fleet, FRONT_MODULA, FRONT_HASH_MD5);
		free(plan_of(&plan));
		c = 8 * plan.n * log(plan.n) + 1;
		check(is_near(plan.formula, c, 1e-9));
		check_eq(plan.items, cases[i].items != 0 ? cases[i].items : (uint32_t)c);
		check(plan.slots >= plan.items + plan.items / 10 &&
		      plan.slots <= plan.items + plan.items / 10 + ADMISSION_SET_SLOTS);
		check_eq(plan.slots % ADMISSION_SET_SLOTS, 0);
		check_eq(plan.slot_bytes, admission_bytes(plan.items));
		check(is_near(plan.bound,
			      (1 + sqrt(1 + 8 * plan.n * log(plan.n) / (plan.items - 1.0))) / 2,
			      1e-9));
		if (plan.items != ADMISSION_ITEMS_MAX)
			check(plan.bound < 1.3);
	}
}

TEST(equal_servers_have_the_documents_figures)
{
	static const struct {
		uint32_t n;
		double busiest; /* of ketama: FRONT.md 1 */
		uint32_t items; /* of an even ring: thesis 2.3.2 */
	} cases[] = {{4, 1.11, 64}, {10, 1.09, 185}, {30, 1.18, 817}, {85, 1.21, 3022}};

	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct front_plan plan;

		set_equal(cases[i].n, FRONT_KETAMA, FRONT_HASH_MD5);
		free(plan_of(&plan));
		check(is_near(plan.busiest, cases[i].busiest, 0.02));
		check(plan.n > cases[i].n);
		set_equal(cases[i].n, FRONT_MODULA, FRONT_HASH_MD5);
		free(plan_of(&plan));
		check(is_near(plan.busiest, 1, 1e-9) && is_near(plan.n, cases[i].n, 1e-9));
		check_eq(plan.items, cases[i].items);
		check(i == 0 || is_near(plan.bound, 1.2071, 0.001));
	}
}

TEST(items_are_as_configured)
{
	struct front_plan plan;

	set_equal(85, FRONT_MODULA, FRONT_HASH_MD5);
	config.items = 10000;
	free(plan_of(&plan));
	check_eq(plan.items, 10000);
	check(plan.bound > 1 && plan.bound < 1.08);
	config.items = 100;
	free(plan_of(&plan));
	check(plan.bound > 3);
	config.items = 0;
	free(plan_of(&plan));
	check(plan.items == 0 && plan.slots == 0 && plan.slot_bytes == 0 && plan.bound == 0.0);
	config.items = FRONT_ITEMS_MEMORY;
	free(plan_of(&plan));
	check(plan.items == FRONT_ITEMS_MEMORY && plan.slots == 0 && plan.bound == 0.0);
}

TEST(the_largest_fleet_has_a_plan)
{
	struct front_plan plan;
	uint32_t len = 0;
	char *list = malloc(65536);

	check_ptr(list);
	for (uint32_t i = 0; i < FRONT_SERVERS_MAX; i++)
		len += (uint32_t)snprintf(list + len, 65536 - len, "%ss%u:1:%u", i == 0 ? "" : ",",
					  i, 1 + i % 3);
	set_fleet(list, FRONT_KETAMA, FRONT_HASH_MURMUR);
	free(plan_of(&plan));
	check_eq(plan.servers, FRONT_SERVERS_MAX);
	check_eq(plan.items, ADMISSION_ITEMS_MAX);
	check(plan.busiest > 1 && plan.busiest < 2);
	free(list);
}

TEST(what_cannot_work_is_refused)
{
	struct front_ring *ring = malloc(front_ring_bytes(2));
	struct front_plan plan;
	struct error err;

	check_ptr(ring);
	set_fleet("a:1:1,b:1:2", FRONT_JUMP, FRONT_HASH_MD5);
	check(!front_plan_make(&plan, ring, &config, &err));
	check_str(err.text, "--front-distribution: jump, and server a:1 has weight 1, b:1 has 2; "
			    "it knows equal weights only");
	config.servers.server[1].weight = 1;
	check(front_plan_make(&plan, ring, &config, &err));
	free(ring);
}

static uint32_t
warnings_of(struct front_warning w[FRONT_WARNINGS_MAX])
{
	struct front_plan plan;

	free(plan_of(&plan));
	return front_plan_warnings(&plan, &config, w);
}

/* tests/bench/front: fnv1a_64 1.52 of the mean in another form, the other three 1.21 to 1.24. */
TEST(an_uneven_hash_is_a_warning_and_an_even_one_is_none)
{
	static const enum front_hash even[] = {FRONT_HASH_MD5, FRONT_HASH_MURMUR,
					       FRONT_HASH_ONE_AT_A_TIME};
	static const uint32_t sizes[] = {2, 4, 10, 30, 85, 300};
	struct front_warning w[FRONT_WARNINGS_MAX];

	for (uint32_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
		for (uint32_t h = 0; h < sizeof even / sizeof even[0]; h++) {
			set_equal(sizes[n], FRONT_KETAMA, even[h]);
			if (warnings_of(w) != 0)
				fail_msg("%u servers, hash %u: %s", sizes[n], h, w[0].words);
		}
	for (uint32_t n = 2; n < sizeof sizes / sizeof sizes[0]; n++) {
		set_equal(sizes[n], FRONT_KETAMA, FRONT_HASH_FNV1A_64);
		check_eq(warnings_of(w), 1);
	}
	set_equal(85, FRONT_KETAMA, FRONT_HASH_FNV1A_64);
	check_eq(warnings_of(w), 1);
	check_str(w[0].key, "front.hash");
	check_str(
		w[0].words,
		"fnv1a_64: of keys that are numbered in sequence one server has up to 1.56 of what "
		"its weight asks for, of its points 1.21");
	check_ptr(strstr(w[0].fix, "murmur, one_at_a_time or md5"));
	set_equal(85, FRONT_MODULA, FRONT_HASH_MD5);
	check_eq(warnings_of(w), 0);
}

TEST(crc32_on_ketama_gives_all_keys_to_one)
{
	struct front_warning w[FRONT_WARNINGS_MAX];

	for (uint32_t n = 2; n <= 64; n *= 2) {
		set_equal(n, FRONT_KETAMA, FRONT_HASH_CRC32);
		check_eq(warnings_of(w), 1);
		check_ptr(strstr(w[0].words, "crc32: one server has all keys"));
	}
	set_equal(1, FRONT_KETAMA, FRONT_HASH_CRC32);
	check_eq(warnings_of(w), 0);
	set_equal(4, FRONT_MODULA, FRONT_HASH_CRC32);
	check_eq(warnings_of(w), 0);
}

TEST(a_weight_without_a_point_is_a_warning)
{
	struct front_warning w[FRONT_WARNINGS_MAX];
	struct front_plan plan;

	set_fleet("a:1:1000000,b:1:1,c:1:1000000,d:1:2", FRONT_KETAMA, FRONT_HASH_MD5);
	free(plan_of(&plan));
	check_eq(plan.without_points, 2);
	check_str(plan.without, "b:1");
	check(plan.n < 2.5); /* the servers that have points */
	check_eq(warnings_of(w), 1);
	check_str(w[0].key, "front.servers");
	check_str(w[0].words, "weights so small that 2 of 4 servers have no key, b:1 is the first");
	config.items = FRONT_ITEMS_MEMORY;
	config.hash = FRONT_HASH_CRC32;
	config.shared = config.auto_eject_hosts = true;
	check_eq(warnings_of(w), FRONT_WARNINGS_MAX);
	check_str(w[2].key, "front.auto_eject_hosts");
	check_str(w[3].key, "front.items");
	config.shared = false;
	check_eq(warnings_of(w), FRONT_WARNINGS_MAX - 1);
}

TEST(keys_handed_over_to_a_server_that_is_not_flushed_are_a_warning)
{
	struct front_warning w[FRONT_WARNINGS_MAX];

	set_equal(4, FRONT_KETAMA, FRONT_HASH_MD5);
	config.items = 0;
	config.shared = false;
	config.warm_ns = 1;
	config.reload_flushes = false;
	check_eq(warnings_of(w), 1);
	check_str(w[0].key, "front.warm");
	check(strstr(w[0].words, "front.reload: keep") != NULL);
	config.reload_flushes = true;
	check_eq(warnings_of(w), 0);
	config.warm_ns = 0;
	config.reload_flushes = false;
	check_eq(warnings_of(w), 0);
}

TEST(memory_that_is_too_little_for_the_copies_is_a_warning)
{
	struct front_warning w[FRONT_WARNINGS_MAX];
	struct front_plan plan;

	set_equal(4, FRONT_KETAMA, FRONT_HASH_MD5);
	config.items = 65536;
	free(plan_of(&plan));
	check_eq(front_plan_warnings(&plan, &config, w), 0);
	plan.memory_bytes = 64ull << 20;
	check_eq(front_plan_warnings(&plan, &config, w), 0);
	plan.memory_bytes = 8ull << 20;
	check_eq(front_plan_warnings(&plan, &config, w), 1);
	check_str(w[0].key, "front.items");
	check_ptr(strstr(w[0].words, "65536 copies have 128 bytes each"));
	plan.items = 0;
	check_eq(front_plan_warnings(&plan, &config, w), 0);
}

TEST(how_old_copies_get_is_said)
{
	char words[FRONT_AGE_BYTES];
	struct front_plan plan;

	set_equal(4, FRONT_KETAMA, FRONT_HASH_MD5);
	config.shared = true;
	config.ttl_ns = 250000000;
	free(plan_of(&plan));
	front_plan_age(&plan, &config, words);
	check_ptr(strstr(words, "at most 0.25 s old"));
	config.shared = false;
	front_plan_age(&plan, &config, words);
	check_ptr(strstr(words, "only if every write passes this front"));
	plan.items = 0;
	front_plan_age(&plan, &config, words);
	check_ptr(strstr(words, "no copies"));
}
