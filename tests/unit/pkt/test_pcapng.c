/*
 * Blocks of pcapng. Goal: each block states its length before and after its body and has the
 * requested options, and nothing is written beyond the room. Method: blocks are walked, and
 * options read, by the rules of draft-ietf-opsawg-pcapng; every room up to that of the block,
 * before unreadable memory. (tests/dpdk/capture_test.py has Wireshark read the same.)
 */
#include "support/test.h"
#include "support/guard.h"
#include "base/bytes.h"
#include "pkt/pcapng.h"

static const uint8_t mac[6] = {2, 3, 4, 5, 6, 7};

/* Returns the bytes of an option; NULL if the block has none. */
static const uint8_t *
option_of(const uint8_t *block, uint32_t at, uint16_t code, uint32_t *len)
{
	const uint32_t end = load_u32(block + 4) - 4;

	while (at + 4 <= end) {
		const uint16_t found = load_u16(block + at);

		*len = load_u16(block + at + 2);
		check(at + 4 + *len <= end);
		if (found == 0) {
			check_eq(*len, 0);
			check_eq(at + 4, end);
			return NULL;
		}
		if (found == code)
			return block + at + 4;
		at += 4 + ((*len + 3) & ~3u);
	}
	fail_msg("options do not end");
	return NULL;
}

static void
expect_option(const uint8_t *block, uint32_t at, uint16_t code, const void *want, uint32_t want_len)
{
	uint32_t len;
	const uint8_t *found = option_of(block, at, code, &len);

	check_ptr(found);
	check_eq(len, want_len);
	check_bytes(found, want, len);
}

static const uint8_t *
expect_block(const uint8_t *at, uint32_t type, size_t room)
{
	const uint32_t bytes = load_u32(at + 4);

	check_eq(load_u32(at), type);
	check_eq(bytes % 4, 0);
	check(bytes <= room);
	check_eq(load_u32(at + bytes - 4), bytes);
	return at + bytes;
}

TEST(the_head_is_a_section_and_an_interface)
{
	const struct pcapng_about about = {"clockoo 1", "ixgbe", "udp port 1", mac, 96};
	uint8_t to[PCAPNG_HEAD_BYTES];
	const size_t len = pcapng_head(to, sizeof to, &about);
	const uint8_t *interface = expect_block(to, 0x0a0d0d0a, len);

	check_eq(load_u32(to + 8), 0x1a2b3c4d);
	check_eq(load_u16(to + 12), 1);
	check_eq(load_u16(to + 14), 0);
	expect_option(to, 24, 4, "clockoo 1", 9);
	check(expect_block(interface, 1, len) == to + len);
	check_eq(load_u16(interface + 8), 1); /* Ethernet */
	check_eq(load_u32(interface + 12), 96);
	expect_option(interface, 16, 2, "ixgbe", 5);
	expect_option(interface, 16, 6, mac, 6);
	expect_option(interface, 16, 9, "\x09", 1);
	expect_option(interface, 16, 11, "\0udp port 1", 11);
}

TEST(a_head_of_the_longest_texts_fits)
{
	char text[PCAPNG_TEXT_MAX * 2 + 1];
	const struct pcapng_about about = {text, text, text, mac, 96};
	uint8_t to[PCAPNG_HEAD_BYTES];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	check(pcapng_head(to, sizeof to, &about) <= sizeof to);
	check_eq(pcapng_head(to, sizeof to - 1, &about), 0);
}

TEST(a_frame_has_its_time_direction_and_queue)
{
	static const uint8_t frame[] = "0123456789abcdef";
	uint8_t to[256], *data;

	for (uint32_t kept = 0; kept < sizeof frame; kept++) {
		const struct pcapng_frame f = {0x123456789abcdef0u, 1500, kept, 7, kept % 2, frame};
		const uint32_t flags = kept % 2 ? 2 : 1, queue = 7;
		const size_t len = pcapng_frame(to, sizeof to, &f, &data);

		check(len <= PCAPNG_FRAME_BYTES + kept);
		check(expect_block(to, 6, len) == to + len);
		check_eq(load_u32(to + 8), 0);
		check_eq(load_u32(to + 12), 0x12345678);
		check_eq(load_u32(to + 16), 0x9abcdef0);
		check_eq(load_u32(to + 20), kept);
		check_eq(load_u32(to + 24), 1500);
		check(data == to + 28);
		check_bytes(data, frame, kept);
		expect_option(to, 28 + ((kept + 3) & ~3u), 2, &flags, 4);
		expect_option(to, 28 + ((kept + 3) & ~3u), 6, &queue, 4);
	}
}

TEST(the_end_says_what_was_dropped)
{
	const struct pcapng_stats stats = {5, 0x123456789abcdef0u, 1000, 17};
	uint8_t to[PCAPNG_STATS_BYTES];
	const size_t len = pcapng_stats(to, sizeof to, &stats);

	check(expect_block(to, 5, len) == to + len);
	expect_option(to, 20, 2, (const uint32_t[]){0, 5}, 8);
	expect_option(to, 20, 3, (const uint32_t[]){0x12345678, 0x9abcdef0}, 8);
	expect_option(to, 20, 5, &stats.dropped, 8);
	expect_option(to, 20, 6, &stats.received, 8);
}

TEST(nothing_is_written_beyond_the_room)
{
	static const uint8_t frame[300], blank[400];
	const struct pcapng_frame f = {.kept = 300, .len = 300, .data = frame};
	const struct pcapng_stats stats = {0};
	uint8_t *data;

	for (uint32_t room = 0; room < sizeof blank; room++) {
		uint8_t *to = at_page_end(blank, room);
		const size_t framed = pcapng_frame(to, room, &f, &data);

		check_eq(framed != 0, room >= PCAPNG_FRAME_BYTES + 300);
		check_eq(pcapng_stats(to, room, &stats) != 0, room >= PCAPNG_STATS_BYTES);
	}
}
