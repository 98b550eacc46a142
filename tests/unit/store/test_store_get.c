/*
 * Gets in steps. Goal: many keys at once are answered as one by one; the last step sees changes
 * between the steps; keys are equal only if every byte is. Method: batches of every size around
 * the depth of the pipeline; every write, made after the last read of the buckets.
 */
#include "support/store_calls.h"
#include "support/test.h"
#include "index/item_simple.h"
#include "store_rig.h"

#define KEYS 300u

static struct rig rig;

SETUP(up)
{
	rig = rig_up(8, 1);
}

TEARDOWN(down)
{
	rig_down(&rig);
}

TEST(many_keys_are_found_as_one_by_one)
{
	static char names[KEYS][24];
	struct view keys[KEYS];
	const struct item *items[KEYS];

	for (uint32_t i = 0; i < KEYS; i++) {
		snprintf(names[i], sizeof names[i], "key%u", i);
		keys[i] = text(names[i]);
		if (i % 3 != 0)
			check_eq(set(rig.core, names[i], names[i]), STORE_OK);
	}
	for (uint32_t count = 0; count <= KEYS; count += count < 70 ? 1 : 46) {
		memset(items, 0xff, sizeof items);
		store_gets(rig.core, keys, count, items);
		for (uint32_t i = 0; i < count; i++) {
			assert_ptr_equal(items[i], find(rig.core, names[i]));
			check_eq(items[i] != NULL, i % 3 != 0);
		}
	}
}

/* Items with every optional field, large ones and dead ones: a batch gives the
 * results of single gets. */
TEST(whatever_the_items_carry)
{
	enum { EXPIRED, ABSENT, PLAIN, FLAGS, EXPIRES, BOTH, PINNED, CHUNKED, FORMS };
	static uint8_t bytes[SLAB_OBJECT_MAX + 100];
	static char names[KEYS][24];
	struct view keys[KEYS];
	const struct item *items[KEYS];

	for (uint32_t i = 0; i < KEYS; i++) {
		const uint32_t form = i % FORMS;
		const uint32_t expiry_s = form == EXPIRED                   ? 1
					  : form == EXPIRES || form == BOTH ? 1000
									    : 0;

		if (i == KEYS / 2)
			store_flush(rig.core, 0); /* the items so far are dead */
		snprintf(names[i], sizeof names[i], "key of form %u %u", form, i);
		keys[i] = text(names[i]);
		if (form >= PINNED)
			check_eq(put(rig.core, keys[i],
				     (struct view){bytes, form == CHUNKED ? sizeof bytes : 2000},
				     STORE_SET, 0),
				 STORE_OK);
		else if (form != ABSENT)
			check_eq(set_full(rig.core, names[i], names[i],
					  form == FLAGS || form == BOTH, expiry_s),
				 STORE_OK);
		turns(rig.core, 1);
	}
	store_gets(rig.core, keys, KEYS, items);
	for (uint32_t i = 0; i < KEYS; i++) {
		assert_ptr_equal(items[i], find(rig.core, names[i]));
		check_eq(items[i] != NULL, i >= KEYS / 2 && i % FORMS > ABSENT);
	}
}

/* A hit in a batch spares the item the hand's next pass, as any other hit does. */
TEST(a_batch_sets_the_reference_bit_of_what_it_finds)
{
	const struct view keys[] = {text("one"), text("two"), text("none")};
	const struct item *items[3];

	check_eq(set(rig.core, "one", "1"), STORE_OK);
	check_eq(set_full(rig.core, "two", "2", 7, 1000), STORE_OK);
	for (uint32_t i = 0; i < 2; i++) {
		const struct item *it = find(rig.core, i == 0 ? "one" : "two");

		slab_clear_live(&rig.store->slab, item_ref(rig.store, it));
		slab_set_live(&rig.store->slab, item_ref(rig.store, it), OBJECT_KEPT);
		check(!slab_is_referenced(&rig.store->slab, item_ref(rig.store, it)));
	}
	step_stamp(rig.store);
	store_gets(rig.core, keys, 3, items);
	item_apply_referenced(rig.core);
	for (uint32_t i = 0; i < 2; i++)
		check(slab_is_referenced(&rig.store->slab, item_ref(rig.store, items[i])));
	check_null(items[2]);
}

/* The index is so full that most keys are in their alternate bucket, or share tags. */
TEST(in_a_full_index_too)
{
	enum { FULL = 140000 };
	static uint64_t numbers[FULL];
	static struct view keys[FULL];
	static const struct item *items[FULL];
	const uint32_t slots = index_bucket_count(&rig.store->ix) * BUCKET_SLOTS;
	uint32_t found = 0;

	for (uint64_t i = 0; i < FULL; i++) {
		numbers[i] = i;
		keys[i] = (struct view){(const uint8_t *)&numbers[i], sizeof numbers[i]};
		check_eq(put(rig.core, keys[i], keys[i], STORE_SET, 0), STORE_OK);
		turns(rig.core, i % 64 == 0);
	}
	store_gets(rig.core, keys, FULL, items);
	for (uint32_t i = 0; i < FULL; i++) {
		assert_ptr_equal(items[i],
				 store_get(rig.core, keys[i], store_hash(rig.core, keys[i])));
		found += items[i] != NULL;
	}
	printf("%u of %u keys in %u slots\n", found, FULL, slots);
	check(found == FULL || found > slots * 9 / 10);
}

TEST(what_changes_between_the_steps_is_seen)
{
	const struct view key = text("key");
	struct probe p;

	for (int change = 0; change < 6; change++) {
		if (change != 0)
			check_eq(set(rig.core, "key", "old"), STORE_OK);
		store_probe(rig.core, &p, key);
		store_probe_primary(rig.core, &p);
		store_probe_alternate(rig.core, &p);
		switch (change) {
		case 0: /* it is stored */
		case 1: /* another version */
			check_eq(set(rig.core, "key", "new"), STORE_OK);
			break;
		case 2: /* it is deleted */
			check_eq(del(rig.core, "key"), STORE_OK);
			break;
		case 3: /* it is deleted and stored again */
			check_eq(del(rig.core, "key"), STORE_OK);
			check_eq(set(rig.core, "key", "new"), STORE_OK);
			break;
		case 4:
			store_flush(rig.core, 0);
			break;
		default:
			break;
		}

		const struct item *it = store_get_probed(rig.core, &p, key);

		check_eq(it != NULL, change != 2 && change != 4);
		if (it != NULL)
			check(value_is(rig.core, it, text(change == 5 ? "old" : "new")));
		del(rig.core, "key");
		turns(rig.core, 3);
	}
}

/* The item's memory is not reclaimed yet, so its reference is still in the slot. */
TEST(an_item_deleted_while_the_retire_list_is_full_is_not_found)
{
	const struct view key = text("key");
	struct probe p;

	check_eq(set(rig.core, "key", "old"), STORE_OK);
	store_probe(rig.core, &p, key);
	store_probe_primary(rig.core, &p);
	store_probe_alternate(rig.core, &p);

	const uint32_t tail = rig.core->retire_list.tail;

	rig.core->retire_list.tail = rig.core->retire_list.head + RETIRE_LIST_MAX;
	for (uint32_t i = 0; i < RETIRE_LIST_MAX; i++)
		rig.core->retire_list.ring[i] =
			(struct retired_item){.epoch = (uint32_t)epoch_now(&rig.store->epoch)};
	check_eq(del(rig.core, "key"), STORE_OK);
	check_null(store_get_probed(rig.core, &p, key));
	rig.core->retire_list.tail = tail;
}

/* A writer on another core has cleared the reference but not yet the tag. The stale contents of
 * the probe must not be taken for the alternate bucket. */
TEST(a_slot_emptied_during_a_probe_makes_it_retry)
{
	const struct view key = text("key");
	const struct index *ix = &rig.store->ix;
	struct place place = index_place(ix, store_hash(rig.core, key));
	struct bucket *primary = index_bucket(ix, place.primary);
	struct probe p = {.ref = UINT32_MAX};

	check_eq(set(rig.core, "key", "value"), STORE_OK);

	const uint32_t slot = (uint32_t)__builtin_ctz(bucket_match(primary, place.tag));
	const uint32_t ref = bucket_ref(primary, slot);

	store_probe(rig.core, &p, key);
	atomic_store(&primary->ref[slot], 0);
	check(!store_probe_primary(rig.core, &p));
	store_probe_alternate(rig.core, &p);
	check_null(store_get_probed(rig.core, &p, key));
	atomic_store(&primary->ref[slot], ref);
	check_ptr(store_get_probed(rig.core, &p, key));
}

TEST(keys_that_differ_in_one_bit_are_two)
{
	uint8_t a[ITEM_KEY_MAX], b[ITEM_KEY_MAX];

	for (uint32_t len = 1; len <= ITEM_KEY_MAX; len++) {
		memset(a, 0x5a, sizeof a);
		memset(b, 0x5a, sizeof b);
		check(bytes_same(a, b, len));
		for (uint32_t at = 0; at < len; at++) {
			b[at] ^= (uint8_t)(1u << (at % 8));
			check(!bytes_same(a, b, len));
			b[at] = a[at];
		}
		if (len < ITEM_KEY_MAX)
			b[len] ^= 1; /* bytes beyond len do not count */
		check(bytes_same(a, b, len));
	}
}

/* The key and value read in place are those that the store's functions return. */
TEST(a_simple_item_is_its_key_and_its_value)
{
	static char bytes[3000];

	memset(bytes, 'v', sizeof bytes);
	for (uint32_t len = 0; len < sizeof bytes; len += len < 300 ? 1 : 37) {
		char name[ITEM_KEY_MAX + 1];
		struct view key = {(uint8_t *)name, 1 + len % ITEM_KEY_MAX};
		const uint32_t flags = len % 5 == 0, expiry_s = len % 7 == 0 ? 1000 : 0;
		const struct item *it;
		struct fill f;

		store_turn(rig.core, STORE_CLOCK_START);
		store_housekeeping(rig.core);
		memset(name, 'k', sizeof name);
		check_eq(store_begin(rig.core, &f, key, store_hash(rig.core, key), len, flags,
				     expiry_s),
			 STORE_OK);
		store_fill(rig.core, &f, bytes, len);
		check_eq(store_finish(rig.core, &f, STORE_SET, 0), STORE_OK);
		it = store_get(rig.core, key, store_hash(rig.core, key));
		check_ptr(it);
		check_eq(item_is_simple(it), !flags && !expiry_s && len < ITEM_PIN_MIN_BYTES);
		if (!item_is_simple(it))
			continue;
		check_eq(item_simple_lengths(it).key_len, item_key(it).len);
		check_eq(item_simple_lengths(it).value_len, item_value_len(it));
		check(it->body == item_key(it).data);
		check(len == 0 || it->body + key.len == store_value_at(rig.core, it, 0).data);
	}
}
