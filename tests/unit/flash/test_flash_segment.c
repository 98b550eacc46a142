/*
 * Segments of the log. Goal: records written into pages are read back, one by one, from any page
 * on; a page that was altered, moved, of another segment, or with a wrong number of bytes is
 * refused, with all pages that follow. Method: records of all kinds and lengths, drawn from a
 * seed, written to a dozen pages, some of which are left short; then each byte of a page altered,
 * and false headers under right sums.
 */
#include "support/test.h"
#include "flash/flash_segment.h"

#include <stdlib.h>

#define PAGES    12u
#define SEQUENCE 0x1234567890ull
#define FIRST    3u /* number of the first page */
#define MOST     2000u

static uint8_t pages[PAGES * FLASH_PAGE_BYTES];
static uint8_t key_bytes[FLASH_KEY_MAX], value_bytes[FLASH_VALUE_MAX];
static struct flash_record written[MOST];
static uint32_t begins[MOST], count;
static uint64_t state;

static uint32_t
draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

static struct flash_record
some_record(void)
{
	const uint32_t kind = draw(8);

	if (kind == 0)
		return (struct flash_record){.kind = draw(2) ? FLASH_TOMB : FLASH_DROP,
					     .number = state};
	if (kind == 1)
		return (struct flash_record){.kind = FLASH_FLUSH};
	return (struct flash_record){.kind = kind == 2 ? FLASH_VOID : FLASH_PUT,
				     .status = (uint8_t)draw(16),
				     .packed = (state & 1) != 0,
				     .value_len = draw(draw(5) == 0 ? 6000 : 300),
				     .flags = draw(2) ? draw(1000) : 0,
				     .expiry_s = draw(2) ? 1 + draw(1000) : 0,
				     .cas = state >> draw(64),
				     .key = {key_bytes, 1 + draw(FLASH_KEY_MAX)}};
}

/* Writes records into the pages; a record that does not fit is left out. */
static void
fill(uint64_t seed)
{
	uint32_t used[PAGES], first[PAGES], at = 0;

	state = seed;
	count = 0;
	memset(pages, 0xa5, sizeof pages);
	for (uint32_t i = 0; i < PAGES; i++)
		used[i] = 0, first[i] = FLASH_NO_RECORD;
	for (uint32_t i = 0; i < sizeof key_bytes; i++)
		key_bytes[i] = (uint8_t)draw(256);
	for (uint32_t i = 0; i < sizeof value_bytes; i++)
		value_bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	for (;;) {
		uint8_t head[FLASH_HEAD_BYTES_MAX];
		struct flash_record r = some_record();

		if (draw(40) == 0)
			at = (at + FLASH_PAYLOAD_BYTES - 1) / FLASH_PAYLOAD_BYTES *
			     FLASH_PAYLOAD_BYTES;
		r.head = flash_record_write(head, &r);

		const uint32_t end = at + r.head + r.value_len;

		if (end > PAGES * FLASH_PAYLOAD_BYTES)
			break;
		if (first[at / FLASH_PAYLOAD_BYTES] == FLASH_NO_RECORD)
			first[at / FLASH_PAYLOAD_BYTES] = at % FLASH_PAYLOAD_BYTES;
		flash_payload_put(pages, at, head, r.head);
		flash_payload_put(pages, at + r.head, value_bytes, r.value_len);
		for (uint32_t p = at / FLASH_PAYLOAD_BYTES; p * FLASH_PAYLOAD_BYTES < end; p++) {
			const uint32_t in = end - p * FLASH_PAYLOAD_BYTES;

			used[p] = in < FLASH_PAYLOAD_BYTES ? in : FLASH_PAYLOAD_BYTES;
		}
		check(count < MOST);
		begins[count] = at;
		written[count++] = r;
		at = end;
	}
	for (uint32_t i = 0; i < PAGES; i++)
		flash_page_seal(pages + i * FLASH_PAGE_BYTES, SEQUENCE, FIRST + i, first[i],
				used[i]);
}

static void
check_same(const struct flash_record *r, const struct flash_record *want)
{
	check_eq(r->kind, want->kind);
	check_eq(r->head, want->head);
	check_eq(r->number, want->number);
	check_eq(r->status, want->status);
	check_eq(r->value_len, want->value_len);
	check_eq(r->flags, want->flags);
	check_eq(r->expiry_s, want->expiry_s);
	check_eq(r->cas, want->cas);
	check_eq(r->key.len, want->key.len);
	if (r->key.len != 0)
		check_bytes(r->key.data, key_bytes, r->key.len);
}

/* Walks pages from..to-1 and checks that every record that begins there is read, in order. */
static void
walk(uint32_t from, uint32_t to)
{
	static uint8_t value[FLASH_VALUE_MAX];
	struct flash_pages p = {.bytes = pages + from * FLASH_PAGE_BYTES,
				.count = to - from,
				.first = FIRST + from,
				.sequence = SEQUENCE};
	const uint32_t start = from * FLASH_PAYLOAD_BYTES, end = to * FLASH_PAYLOAD_BYTES;
	struct flash_walk w = {0};
	struct flash_record r;

	flash_pages_check(&p);
	check_eq(p.good, p.count);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t stop = begins[i] + written[i].head + written[i].value_len;

		if (begins[i] < start || begins[i] >= end)
			continue;
		if (stop > end) {
			check_eq(flash_walk_next(&p, &w, &r), FLASH_PART);
			return;
		}
		check_eq(flash_walk_next(&p, &w, &r), FLASH_RECORD);
		check_same(&r, &written[i]);
		check_eq(w.value_at, begins[i] + r.head - start);
		flash_payload_get(p.bytes, w.value_at, value, r.value_len);
		check_eq(memcmp(value, value_bytes, r.value_len), 0);
	}
	check_eq(flash_walk_next(&p, &w, &r), FLASH_END);
}

TEST(records_come_back_from_any_page_on)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		fill(seed);
		for (uint32_t from = 0; from < PAGES; from++)
			for (uint32_t to = from + 1; to <= PAGES; to++)
				walk(from, to);
	}
}

/* A value's length has 18 bits in the head, and a byte more where it needs it. */
TEST(lengths_beyond_the_head_come_back)
{
	static const uint32_t lens[] = {(1u << 18) - 1, 1u << 18, (1u << 18) + 1, 1u << 20,
					FLASH_VALUE_MAX};
	static uint8_t segment[FLASH_SEGMENT_BYTES];

	for (uint32_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		const struct flash_record want = {.kind = FLASH_VOID,
						  .value_len = lens[i],
						  .flags = 7,
						  .expiry_s = 900,
						  .cas = 1ull << 40,
						  .key = {key_bytes, FLASH_KEY_MAX}};
		uint8_t head[FLASH_HEAD_BYTES_MAX];
		const uint32_t len = flash_record_write(head, &want);
		struct flash_record r;

		check(len <= FLASH_HEAD_BYTES_MAX);
		flash_payload_put(segment, 0, head, len);
		flash_record_settle(segment, 0, 3, 1000);
		flash_payload_get(segment, 0, head, len);
		check_eq(flash_record_read(head, len, &r), len);
		check_eq(flash_record_read(head, len - 1, &r), 0);
		check_eq(flash_record_read(head, len, &r), len);
		check_eq(r.value_len, lens[i]);
		check_eq(r.expiry_s, 1000);
		check_eq(r.status, 3);
		check_eq(r.cas, want.cas);
		check_bytes(r.key.data, key_bytes, FLASH_KEY_MAX);
	}
}

/* Returns the first record of this key that begins on page `start` or later. */
static uint32_t
first_of(struct view key, uint32_t start)
{
	uint32_t i = 0;

	while (begins[i] < start || written[i].key.len != key.len)
		i++;
	return i;
}

TEST(none_of_a_key_is_passed_over)
{
	uint32_t passed = 0;

	fill(11);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t from = begins[i] / FLASH_PAYLOAD_BYTES;
		const uint32_t start = from * FLASH_PAYLOAD_BYTES;
		struct flash_pages p = {.bytes = pages + from * FLASH_PAGE_BYTES,
					.count = PAGES - from,
					.good = PAGES - from};
		struct flash_walk w = {0};
		struct flash_record r = {0};
		uint32_t want;

		if (written[i].key.len == 0)
			continue;
		want = first_of(written[i].key, start);
		flash_walk_skip(&p, &w, written[i].key);
		passed += w.next == begins[want] - start + 1;
		while (r.key.len != written[i].key.len)
			check_eq(flash_walk_next(&p, &w, &r), FLASH_RECORD);
		check_eq(w.value_at, begins[want] + written[want].head - start);
	}
	check(passed > count / 2);
}

TEST(an_altered_byte_makes_it_no_page)
{
	struct flash_page h;

	fill(7);
	for (uint32_t i = 0; i < FLASH_PAGE_BYTES; i++) {
		pages[i] ^= (uint8_t)(1u << i % 8);
		check(!flash_page_read(pages, SEQUENCE, FIRST, &h));
		pages[i] ^= (uint8_t)(1u << i % 8);
	}
	check(flash_page_read(pages, SEQUENCE, FIRST, &h));
}

TEST(a_page_counts_at_its_place_only)
{
	/* The third row has the same 32 bits of sequence in its header. */
	static const struct {
		uint64_t sequence;
		uint32_t number;
	} others[] = {
		{SEQUENCE, FIRST + 1}, {SEQUENCE + 1, FIRST}, {SEQUENCE + (1ull << 32), FIRST}};
	struct flash_page h;

	fill(7);
	for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
		check(!flash_page_read(pages, others[i].sequence, others[i].number, &h));
}

TEST(nothing_behind_a_bad_page_is_known)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct flash_pages p = {
			.bytes = pages, .count = PAGES, .first = FIRST, .sequence = SEQUENCE};
		struct flash_walk w = {0};
		struct flash_record r;
		uint32_t i = 0;
		const uint32_t bad = 1 + (uint32_t)seed % (PAGES - 1);

		fill(seed);
		pages[bad * FLASH_PAGE_BYTES + 100] ^= 1;
		flash_pages_check(&p);
		check_eq(p.good, bad);
		for (; flash_walk_next(&p, &w, &r) == FLASH_RECORD; i++) {
			check_same(&r, &written[i]);
			check(w.value_at + r.value_len <= bad * FLASH_PAYLOAD_BYTES);
		}
		check(flash_walk_next(&p, &w, &r) == FLASH_BAD);
		check(i < count);
	}
}

TEST(a_head_that_lies_is_no_record)
{
	/* Lies, in order: a key of 251 bytes; none; an unknown kind; a long value
	 * that is short; 6 bytes of cas; a flush with a key. */
	static const uint64_t lies[] = {
		251 | 1 << 8, 1 << 8, 1 | 5 << 8, 1 | 1 << 8 | 1 << 15, 1 | 1 << 8 | 6ull << 36,
		1 | 3 << 8};
	uint8_t bytes[FLASH_HEAD_BYTES_MAX] = {0};
	struct flash_record r = {.kind = FLASH_PUT, .key = {key_bytes, 20}, .flags = 1u << 8};
	const uint32_t len = flash_record_write(bytes, &r);

	check_eq(flash_record_read(bytes, len, &r), len);
	for (uint32_t cut = 0; cut < len; cut++)
		check_eq(flash_record_read(bytes, cut, &r), 0);
	for (uint32_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		memcpy(bytes, &lies[i], sizeof lies[i]);
		check_eq(flash_record_read(bytes, sizeof bytes, &r), 0);
	}
}

TEST(a_header_says_whose_the_segment_is)
{
	const struct flash_segment_id id = {1, 2, SEQUENCE, 4, 1};
	struct flash_segment_id got;

	flash_header_seal(pages, &id);
	check(flash_header_read(pages, &got));
	check_bytes(&got, &id, sizeof id);
	pages[40] ^= 1;
	check(!flash_header_read(pages, &got));
	fill(1);
	check(!flash_header_read(pages, &got));
}
