/*
 * sim_soak.c - plays many seeds of soak.h.
 *
 * sim_soak [--seeds A:B] [--twice]
 *
 * --twice  plays each seed twice, and compares every frame
 *
 * Names each seed that fails; `sim_soak --seeds N:N` plays it again. Exit: 1 if a seed failed.
 */
#include "soak.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct totals {
	uint64_t seeds, failed, clients, whole, left, bytes;
	struct sim_wire_counts wire;
	uint64_t cksum_drops;
	double virtual_s;
};

static void
add(struct totals *t, const struct soak_result *r)
{
	t->seeds++;
	t->clients += r->clients;
	t->whole += r->whole;
	t->left += r->left;
	t->bytes += r->bytes;
	t->cksum_drops += r->cksum_drops;
	t->virtual_s += (double)r->virtual_ns / 1e9;
	t->wire.sent += r->wire.sent;
	t->wire.lost += r->wire.lost;
	t->wire.twice += r->wire.twice;
	t->wire.late += r->wire.late;
	t->wire.corrupted += r->wire.corrupted;
	t->wire.queue_full += r->wire.queue_full;
	t->wire.too_big += r->wire.too_big;
}

static bool
play(struct totals *t, uint64_t seed, bool twice)
{
	struct soak_result one, two;

	if (!soak_play(seed, &one)) {
		printf("FAILED: %s\n", one.error);
		return false;
	}
	add(t, &one);
	if (!twice)
		return true;
	if (soak_play(seed, &two) && two.hash == one.hash)
		return true;
	printf("FAILED: seed %" PRIu64 " played another way the second time: %s\n", seed,
	       two.error);
	return false;
}

int
main(int argc, char **argv)
{
	uint64_t first = 1, last = 200;
	struct totals t = {0};
	bool twice = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--twice") == 0)
			twice = true;
		else if (strcmp(argv[i], "--seeds") != 0 || i + 1 == argc ||
			 sscanf(argv[++i], "%" SCNu64 ":%" SCNu64, &first, &last) != 2)
			return 2;
	}
	for (uint64_t seed = first; seed <= last; seed++)
		t.failed += !play(&t, seed, twice);
	printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " connections, %" PRIu64
	       " whole, %" PRIu64
	       " aborted by their client; %.1f MB of replies compared in %.0f virtual s\n",
	       t.seeds + t.failed, t.failed, t.clients, t.whole, t.left, (double)t.bytes / 1e6,
	       t.virtual_s);
	printf("frames: %" PRIu64 " delivered, %" PRIu64 " lost, %" PRIu64 " doubled, %" PRIu64
	       " late, %" PRIu64 " corrupted, %" PRIu64 " found the queue full, %" PRIu64
	       " too big for the path; %" PRIu64 " given away by checksum or length\n",
	       t.wire.sent, t.wire.lost, t.wire.twice, t.wire.late, t.wire.corrupted,
	       t.wire.queue_full, t.wire.too_big, t.cksum_drops);
	return t.failed != 0;
}
