/*
 * Whole cores and their clients over a bad network (soak.h). Goal: every reply stream is the
 * expected one to the byte, or its connection ends for a reason that is counted; in the end neither
 * side holds anything; and the same seed gives the same run to the byte. Method: a few hundred
 * seeds; sim_soak plays thousands, and one by its number.
 */
#include "soak.h"

#include "support/test.h"

#define SEEDS       200u
#define SEEDS_TWICE rounds(20u, 5u)

TEST(every_reply_stream_is_right_or_ends_for_a_reason)
{
	struct sim_wire_counts all = {0};
	uint32_t clients = 0, whole = 0, left = 0, clean = 0;
	uint64_t cksum_drops = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct soak_result r;

		if (!soak_play(seed, &r))
			fail_msg("%s", r.error);
		clients += r.clients;
		whole += r.whole;
		left += r.left;
		clean += r.clean;
		cksum_drops += r.cksum_drops;
		all.lost += r.wire.lost;
		all.twice += r.wire.twice;
		all.late += r.wire.late;
		all.corrupted += r.wire.corrupted;
		all.queue_full += r.wire.queue_full;
		all.too_big += r.wire.too_big;
		all.reported += r.wire.reported;
	}
	/* The network had all its faults, and yet most connections were complete. */
	check(all.lost > 0 && all.twice > 0 && all.late > 0 && all.queue_full > 0);
	check(all.too_big > all.reported && all.reported > 0);
	check(all.corrupted > 0 && cksum_drops > 0);
	check(left > 0 && clean > 0);
	check((whole + left) * 20 > clients * 19);
	print_message("%u connections, %u whole\n", clients, whole);
}

TEST(the_same_seed_plays_the_same_way)
{
	uint64_t last = 0;

	for (uint64_t seed = 1; seed <= SEEDS_TWICE; seed++) {
		struct soak_result one, two;

		check(soak_play(seed, &one));
		check(soak_play(seed, &two));
		check(one.hash == two.hash);
		check_eq(one.virtual_ns, two.virtual_ns);
		check(one.hash != last); /* otherwise the hash would not depend on the run */
		last = one.hash;
	}
}
