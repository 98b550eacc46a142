/*
 * The foundations. Goal: a number crosses the wire in the right order at any alignment, a list
 * keeps its order, a region hands out aligned, zeroed bytes. Method: known bytes.
 */
#include "support/guard.h"
#include "support/test.h"
#include "base/bytes.h"
#include "base/copy.h"
#include "base/counter.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/region.h"

TEST(a_big_endian_field_holds_its_bytes_in_wire_order)
{
	const uint8_t wire[15] = {0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
	struct be16 a;
	struct be32 b;
	struct be64 c;

	memcpy(&a, wire + 1, sizeof a);
	memcpy(&b, wire + 3, sizeof b);
	memcpy(&c, wire + 7, sizeof c);
	check_eq(be16_get(a), 0x0102);
	check_eq(be32_get(b), 0x03040506);
	check(be64_get(c) == 0x0708090a0b0c0d0eull);
	a = be16_of(0x0102);
	b = be32_of(0x03040506);
	c = be64_of(0x0708090a0b0c0d0eull);
	check_bytes(&a, wire + 1, 2);
	check_bytes(&b, wire + 3, 4);
	check_bytes(&c, wire + 7, 8);
}

TEST(a_list_keeps_its_order_and_forgives_a_second_unlink)
{
	struct list head, n[3];

	list_init(&head);
	for (int i = 0; i < 3; i++)
		list_push_back(&head, &n[i]);
	list_unlink(&n[1]);
	list_unlink(&n[1]);
	check(list_pop_front(&head) == &n[0]);
	check(list_pop_front(&head) == &n[2]);
	check_null(list_pop_front(&head));
}

TEST(a_region_hands_out_aligned_zeroed_bytes)
{
	uint8_t bytes[512];
	struct region r = {.base = bytes, .size = sizeof bytes};

	memset(bytes, 0xaa, sizeof bytes);
	region_take(&r, 3, 1);

	uint8_t *p = region_take(&r, 64, 64);

	check_eq((uintptr_t)p % 64, 0);
	for (int i = 0; i < 64; i++)
		check_eq(p[i], 0);
}

TEST(a_hash_of_any_length_is_the_public_one)
{
	uint8_t bytes[300];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 37 + 5);
	for (uint32_t len = 0; len <= sizeof bytes; len++)
		check(hash_bytes(bytes, len, 12345) == XXH3_64bits_withSeed(bytes, len, 12345));
}

TEST(a_hash_depends_on_its_seed)
{
	check(hash_bytes("key", 3, 1) == hash_bytes("key", 3, 1));
	check(hash_bytes("key", 3, 1) != hash_bytes("key", 3, 2));
}

TEST(a_counter_adds_up)
{
	struct counter c = {0};

	counter_add(&c, 3);
	counter_add(&c, 4);
	check_eq(counter_read(&c), 7);
}

/* Room around the copy reveals writes past its end; an unreadable page
 * reveals reads past its end. */
TEST(a_short_copy_touches_its_bytes_alone)
{
	enum { MOST = 2 * COPY_INLINE_MAX, MARGIN = 16 };
	uint8_t from[MOST], to[MARGIN + MOST + MARGIN], expect[sizeof to];

	for (uint32_t i = 0; i < MOST; i++)
		from[i] = (uint8_t)(i + 1);
	for (uint32_t len = 0; len <= MOST; len++) {
		memset(to, 0xee, sizeof to);
		memset(expect, 0xee, sizeof expect);
		memcpy(expect + MARGIN, from, len);
		bytes_copy(to + MARGIN, at_page_end(from, len), len);
		check_bytes(to, expect, sizeof to);
	}
}
