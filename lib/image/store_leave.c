/*
 * store_leave.c - writes into the image what the store's threads knew, and makes it CLEAN.
 */
#include "image.h"
#include "store/account.h"

static struct image_balance
balance_of(uint64_t items, uint64_t gone, uint64_t bytes, uint64_t bytes_gone, struct tally flushed)
{
	return (struct image_balance){items - gone, bytes - bytes_gone, flushed.items,
				      flushed.bytes};
}

static uint64_t
class_sum(const struct store *st, uint32_t class, uint32_t what)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < st->core_count; i++)
		sum += counter_read(&st->cores[i].class_counters[class][what]);
	return sum;
}

void
image_record_now(const struct store *st, struct image_record *out)
{
	*out = (struct image_record){
		.seed = st->seed,
		.due_flush = atomic_load_explicit(&st->due_flush, memory_order_relaxed),
		.generation = store_generation(st),
		.seq = index_seq(&st->ix),
		.bucket_count = index_bucket_count(&st->ix),
		.new_count = atomic_load_explicit(&st->ix.new_count, memory_order_relaxed),
		.first_seq = atomic_load_explicit(&st->ix.first_seq, memory_order_relaxed),
		.oldest_generation =
			atomic_load_explicit(&st->oldest_generation, memory_order_relaxed),
		.reference_stamp = slab_reference_stamp(&st->slab),
		.class_count = st->slab.class_count,
		.all = balance_of(store_sum(st, STORE_ITEMS_LINKED),
				  store_sum(st, STORE_ITEMS_UNLINKED),
				  store_sum(st, STORE_BYTES_LINKED),
				  store_sum(st, STORE_BYTES_UNLINKED), account_flushed(st)),
	};
	for (uint32_t i = 0; i < st->slab.class_count; i++)
		out->classes[i] = balance_of(
			class_sum(st, i, CLASS_LINKED), class_sum(st, i, CLASS_UNLINKED),
			class_sum(st, i, CLASS_BYTES_LINKED),
			class_sum(st, i, CLASS_BYTES_UNLINKED), account_flushed_of(st, i));
}

/* True if the states say live for exactly the objects that the index holds. */
static bool
is_settled(const struct store *st)
{
	for (uint32_t i = 0; i < st->core_count; i++)
		if (st->cores[i].online)
			return false;
	return atomic_load_explicit(&st->tombstones, memory_order_relaxed) == 0;
}

bool
store_image_leave(struct store *store)
{
	uint8_t *image = (uint8_t *)store - IMAGE_STORE_AT;
	const struct image_parts parts =
		image_parts_of(store->memory_bytes, store->arena.page_count,
			       store->arena.page_shift, store->arena.shift);
	const uint64_t pieces = image_pieces(store);
	struct image_left *left = image_left(image);
	uint64_t sum = 0;

	if (!is_settled(store))
		return false;
	image_record_now(store, (struct image_record *)(void *)(image + parts.record));
	for (uint64_t i = 0; i < pieces; i++)
		sum += image_piece_sum(store, i);
	left->sum = sum;
	/* Release: the last store, after which everything else is visible. */
	atomic_store_explicit(&left->state, IMAGE_CLEAN, memory_order_release);
	return true;
}
