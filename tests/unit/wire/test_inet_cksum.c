/*
 * The Internet checksum. Goal: the fast sum, the folding and the update give what RFC 1071's
 * definition gives, for any bytes at any alignment. Method: the definition itself, 16 bits at a
 * time, over every alignment and length; all 2^16 changes of one field.
 */
#include "support/guard.h"
#include "support/test.h"
#include "wire/inet_cksum.h"

#define ALIGNMENTS 16u
#define LENGTHS    140u

static uint16_t
by_definition(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++) {
		sum += (i & 1) != 0 ? p[i] : (uint32_t)p[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)~sum;
}

static uint16_t
fast(const uint8_t *p, uint32_t len)
{
	return be16_get(inet_cksum(inet_sum(0, p, len)));
}

/* Fills with bytes without a pattern: a multiplicative generator is enough. */
static void
fill(uint8_t *p, uint32_t len)
{
	uint32_t x = 12345;

	for (uint32_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		p[i] = (uint8_t)(x >> 24);
	}
}

TEST(the_rfc_example_sums_to_ddf2)
{
	/* RFC 1071 section 3 */
	const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	check_eq(be16_get(inet_sum_field(inet_sum(0, bytes, sizeof bytes))), 0xddf2);
	check_eq(fast(bytes, sizeof bytes), (uint16_t)~0xddf2);
}

TEST(a_sum_is_the_same_at_any_alignment_and_length)
{
	uint8_t bytes[ALIGNMENTS + LENGTHS];

	fill(bytes, sizeof bytes);
	for (uint32_t at = 0; at < ALIGNMENTS; at++)
		for (uint32_t len = 0; len <= LENGTHS; len++)
			check_eq(fast(bytes + at, len), by_definition(bytes + at, len));
}

TEST(carries_are_not_lost_in_a_long_run_of_ones)
{
	static uint8_t ones[65536];

	memset(ones, 0xff, sizeof ones);
	for (uint32_t len = 65520; len <= sizeof ones; len++)
		check_eq(fast(ones, len), by_definition(ones, len));
}

TEST(nothing_past_the_end_is_read)
{
	uint8_t bytes[64];

	fill(bytes, sizeof bytes);
	for (uint32_t len = 0; len <= sizeof bytes; len++)
		check_eq(fast(at_page_end(bytes, len), len), by_definition(bytes, len));
}

TEST(even_pieces_add_up_to_the_whole)
{
	uint8_t bytes[101];

	fill(bytes, sizeof bytes);
	for (uint32_t cut = 0; cut <= 100; cut += 2) {
		const uint64_t sum = inet_sum(inet_sum(0, bytes, cut), bytes + cut, 101 - cut);

		check_eq(be16_get(inet_cksum(sum)), by_definition(bytes, sizeof bytes));
	}
}

TEST(a_pseudo_header_sums_as_its_bytes_do)
{
	/* source, destination, zero, protocol, length: RFC 768 */
	const uint8_t bytes[] = {192, 0, 2, 1, 198, 51, 100, 254, 0, 17, 0x12, 0x34};
	const uint64_t sum = inet_sum_pseudo(0xc0000201, 0xc63364fe, 17, 0x1234);

	check_eq(be16_get(inet_cksum(sum)), by_definition(bytes, sizeof bytes));
}

TEST(a_packet_with_its_checksum_is_good_and_with_one_bit_changed_is_not)
{
	uint8_t bytes[40];
	struct be16 cksum;

	fill(bytes, sizeof bytes);
	memset(bytes + 10, 0, 2);
	cksum = inet_cksum(inet_sum(0, bytes, sizeof bytes));
	memcpy(bytes + 10, &cksum, 2);
	check(inet_sum_good(inet_sum(0, bytes, sizeof bytes)));
	for (uint32_t bit = 0; bit < 8 * sizeof bytes; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		check(!inet_sum_good(inet_sum(0, bytes, sizeof bytes)));
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

TEST(an_update_equals_a_new_checksum_for_every_change_of_a_field)
{
	/* RFC 1624 section 4: here equation 2 gives the wrong zero. */
	check_eq(be16_get(inet_cksum_update(be16_of(0xdd2f), be16_of(0x5555), be16_of(0x3285))),
		 0x0000);

	uint8_t bytes[6] = {0xde, 0xad, 0x5a, 0xa5, 0xbe, 0xef};
	const struct be16 was = be16_of(0x5aa5);
	const struct be16 cksum = be16_of(by_definition(bytes, sizeof bytes));

	for (uint32_t v = 0; v <= 0xffff; v++) {
		const struct be16 is = be16_of((uint16_t)v);

		memcpy(bytes + 2, &is, 2);
		check_eq(be16_get(inet_cksum_update(cksum, was, is)),
			 by_definition(bytes, sizeof bytes));
	}
}
