/* liburcu's cds_lfht, with its cheapest readers (QSBR) and its buckets in one piece. */
#include "contender.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <urcu/urcu-qsbr.h>
#include <urcu/rculfhash.h>

#define QUIESCENT_EVERY 64u

struct node {
	struct cds_lfht_node link;
	struct bench_key key;
	struct bench_item *item;
};

static struct cds_lfht *table;
static struct node *nodes;

static unsigned long
hash_of(const struct bench_key *k)
{
	return hash_bytes(k, sizeof *k, CONTENDER_SEED);
}

static int
same(struct cds_lfht_node *n, const void *key)
{
	return memcmp(&caa_container_of(n, struct node, link)->key, key, BENCH_KEY_BYTES) == 0;
}

static bool
create(struct bench_item *items, uint32_t count)
{
	unsigned long buckets = 1;

	while (buckets < count)
		buckets *= 2;
	nodes = bench_map(count * sizeof *nodes);
	/* The table takes one chunk: a bucket is then as near as with a separate mapping, and the
	 * chunk comes from the heap, which has huge pages. */
	table = _cds_lfht_new(buckets, buckets, buckets, 0, &cds_lfht_mm_chunk, &urcu_qsbr_flavor,
			      NULL);
	if (table == NULL)
		fprintf(stderr, "lfht: no table\n");
	urcu_qsbr_register_thread();
	return table != NULL;
}

static void
insert(struct bench_item *item)
{
	struct node *n = &nodes[item->value[0]];

	n->key = item->key;
	n->item = item;
	cds_lfht_node_init(&n->link);
	urcu_qsbr_read_lock();
	cds_lfht_add(table, hash_of(&n->key), &n->link);
	urcu_qsbr_read_unlock();
}

static void
join(uint32_t thread)
{
	if (thread != 0)
		urcu_qsbr_register_thread();
}

static void
leave(uint32_t thread)
{
	if (thread != 0)
		urcu_qsbr_unregister_thread();
}

static void
lookup(uint32_t thread, struct lookup_batch *l)
{
	struct cds_lfht_iter iter;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct cds_lfht_node *n;

		cds_lfht_lookup(table, hash_of(&l->keys[i]), same, &l->keys[i], &iter);
		n = cds_lfht_iter_get_node(&iter);
		if (n != NULL) {
			l->hits++;
			if (l->touch)
				l->sum += caa_container_of(n, struct node, link)->item->value[0];
		}
		if (i % QUIESCENT_EVERY == 0)
			urcu_qsbr_quiescent_state();
	}
}

const struct contender contend_urcu = {
	.name = "liburcu lfht",
	.create = create,
	.insert = insert,
	.join = join,
	.leave = leave,
	.lookup = lookup,
};
