/*
 * A damaged file. Goal: whichever bytes of a file are changed, a key has the saved value or none,
 * the rest of the file is loaded, and the store keeps working. Method: a small file of items of
 * all sizes, packed and not; cut at a thousand places, a bit turned at two thousand; blocks torn,
 * doubled, exchanged, taken from another file. Then false payloads under right sums.
 */
#include "support/test.h"
#include "save_rig.h"

#define KEYS  300u
#define LARGE 150000u
#define LIES  500u

static uint8_t bytes[LARGE + KEYS];

static struct view
name_of(uint32_t key, char *name)
{
	return (struct view){(const uint8_t *)name, (uint32_t)sprintf(name, "key-%u", key)};
}

static struct view
value_of(uint32_t key)
{
	const uint32_t len = key % 100 == 0 ? LARGE : key % 20 == 0 ? 3000 : key % 90;

	return (struct view){bytes + key, len};
}

static void
make_file(uint32_t level, uint32_t random, struct bytes *b)
{
	struct rig rig = rig_up(16, 1);
	struct save_result result;
	char name[24];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)((i * 2654435761u >> 24) & random);
	for (uint32_t key = 0; key < KEYS; key++) {
		check_eq(put(rig.core, name_of(key, name), value_of(key), STORE_SET, 0), STORE_OK);
		turns(rig.core, 1);
	}
	save(&rig, &(struct saving){level, .uring = true}, &result, b);
	check_eq(result.items, KEYS);
	rig_down(&rig);
}

/* Returns a store for a load in the memory of the one before: new memory for each would cost more
 * than the load. */
static struct rig
next_rig(void)
{
	static struct rig kept;
	const struct store_config cfg = load_rig_config(8);
	const struct store_plan plan = store_plan_of(&cfg);

	if (kept.memory == NULL)
		kept = rig_up_planned(&cfg, &plan);
	else
		rig_again(&kept, &cfg, &plan);
	return kept;
}

/* Loads the bytes and checks that every key is right or missing. Returns how many are loaded. */
static uint32_t
look(const struct bytes *b)
{
	struct rig rig = next_rig();
	struct save_loader l;
	uint32_t there = 0;
	char name[24];

	if (!load(&rig, &l, b, 0))
		return 0;
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct view k = name_of(key, name);
		const struct item *it = store_peek(rig.core, k, store_hash(rig.core, k));

		check(it == NULL || (value_is(rig.core, it, value_of(key)) && item_cas(it) == 1));
		there += it != NULL;
	}
	check_eq(there, l.count.items);
	check(there == KEYS || l.count.damaged != 0 || b->len % SAVE_ALIGN == 0);
	check_eq(set(rig.core, "key-0", "new"), STORE_OK);
	check(holds(rig.core, "key-0", "new"));
	return there;
}

/* Returns a copy whose last byte is the last that may be read (valgrind
 * and sanitizers check it). */
static struct bytes
copy_of(const struct bytes *b, size_t len)
{
	struct bytes c = {malloc(len + 1), len};

	memcpy(c.at, b->at, len);
	return c;
}

static void
cut_everywhere(const struct bytes *b, size_t step)
{
	uint32_t least = KEYS, before = 0, tries = 0;

	for (size_t len = 0; len < b->len; len += step, tries++) {
		struct bytes c = copy_of(b, len);
		const uint32_t there = look(&c);

		check(there >= before);
		before = there;
		least = there < least ? there : least;
		free(c.at);
	}
	check_eq(least, 0);
	check(before < KEYS); /* the last cut is within the last block */
	check(tries > 400);
}

static void
turn_bits_everywhere(const struct bytes *b, size_t step)
{
	uint32_t tries = 0, kept = 0;

	for (size_t at = 0; at < b->len; at += step, tries++) {
		struct bytes c = copy_of(b, b->len);
		uint32_t there;

		c.at[at] ^= (uint8_t)(1u << tries % 8);
		there = look(&c);
		check(at < SAVE_FRONT_BYTES || there > 0);
		kept += there;
		free(c.at);
	}
	check(tries > 800);
	check(kept > tries * (KEYS / 4)); /* other blocks are loaded */
}

TEST(a_file_that_is_cut_or_altered_costs_items_and_never_lies)
{
	static const struct {
		uint32_t level, random, cut_step, flip_step;
	} files[] = {{SAVE_UNPACKED, 0xff, 499, 307}, {1, 0x0f, 97, 61}};

	for (uint32_t i = 0; i < 2; i++) {
		struct bytes b;

		make_file(files[i].level, files[i].random, &b);
		check_eq(look(&b), KEYS);
		cut_everywhere(&b, files[i].cut_step);
		turn_bits_everywhere(&b, files[i].flip_step);
		free(b.at);
	}
}

/* ---- blocks in wrong places ---- */

TEST(blocks_that_are_torn_doubled_or_exchanged_never_lie)
{
	struct bytes b;

	make_file(SAVE_UNPACKED, 0xff, &b);

	const size_t pages = b.len / SAVE_ALIGN;

	for (size_t i = SAVE_FRONT_BYTES / SAVE_ALIGN; i < pages; i++)
		for (size_t j = SAVE_FRONT_BYTES / SAVE_ALIGN; j < pages; j += 3) {
			struct bytes c = copy_of(&b, b.len);

			memcpy(c.at + i * SAVE_ALIGN, b.at + j * SAVE_ALIGN, SAVE_ALIGN);
			look(&c);
			memset(c.at + i * SAVE_ALIGN, 0, SAVE_ALIGN);
			look(&c);
			free(c.at);
		}
	free(b.at);
}

/* With blocks zeroed in between, a value may not be made of the first blocks of one and the last
 * of another of the same length. */
TEST(a_value_is_not_made_of_two)
{
	size_t starts[64];
	uint32_t count = 0;
	struct save_block sb;
	struct bytes b;

	make_file(SAVE_UNPACKED, 0xff, &b);
	for (size_t at = SAVE_FRONT_BYTES; at < b.len; at += sb.bytes) {
		check(save_block_read(b.at + at, b.len - at, &sb) && count < 63);
		starts[count++] = at;
	}
	starts[count] = b.len;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = i + 1; j <= count; j++) {
			struct bytes c = copy_of(&b, b.len);

			memset(c.at + starts[i], 0, starts[j] - starts[i]);
			look(&c);
			free(c.at);
		}
	free(b.at);
}

/* An older file's bytes remain where the new file was not written. */
TEST(blocks_of_another_file_are_not_loaded)
{
	struct rig rig = load_rig_up(8);
	struct save_loader l;
	struct save_block sb;
	struct bytes b;

	make_file(SAVE_UNPACKED, 0xff, &b);
	for (size_t at = SAVE_FRONT_BYTES; at < b.len; at += sb.bytes) {
		check(save_block_read(b.at + at, b.len - at, &sb));
		sb.file++;
		save_block_seal(b.at + at, &sb);
	}
	check(load(&rig, &l, &b, 0));
	check_eq(l.count.items, 0);
	check(l.count.damaged != 0);
	free(b.at);
	rig_down(&rig);
}

/* ---- right sums over wrong bytes ---- */

static uint64_t
next_random(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return *s >> 33;
}

/* Only the file's owner can write such bytes, but they must not end the process. */
TEST(lies_under_right_sums_end_nothing)
{
	uint64_t random = 1;

	for (uint32_t level = 1; level <= SAVE_UNPACKED; level++) {
		struct bytes b;

		make_file(level, 0x0f, &b);
		for (uint32_t n = 0; n < LIES; n++) {
			struct rig rig;
			struct save_loader l;
			struct bytes c = copy_of(&b, b.len);
			struct save_block sb;
			size_t at = SAVE_FRONT_BYTES;

			while (save_block_read(c.at + at, c.len - at, &sb) &&
			       at + sb.bytes < c.len && next_random(&random) % 4 != 0)
				at += sb.bytes;
			for (uint32_t i = 0; i < 1 + n % 3; i++)
				c.at[at + sizeof sb +
				     next_random(&random) % (n % 2 ? 64 : sb.packed)] =
					(uint8_t)next_random(&random);
			sb.kind = SAVE_ITEMS + (uint32_t)next_random(&random) % 3;
			sb.unpacked += n % 16 == 0;
			save_block_seal(c.at + at, &sb);
			rig = next_rig();
			check(load(&rig, &l, &c, (int64_t)(next_random(&random) % 3) - 1));
			check_eq(set(rig.core, "key-0", "new"), STORE_OK);
			check(holds(rig.core, "key-0", "new"));
			free(c.at);
		}
		free(b.at);
	}
}
