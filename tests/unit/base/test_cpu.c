/*
 * The instructions that each CPU has its own of. Goal: each function of ticks.h, prefetch.h,
 * pause.h and crc32c.h does what its header says, on every CPU that the product is built for.
 * Method: the counter beside the kernel's clock, values that any CRC32C must give, and addresses
 * that are not mapped.
 */
#include "base/crc32c.h"
#include "base/pause.h"
#include "base/prefetch.h"
#include "base/ticks.h"
#include "base/time_units.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READS         100000
#define SPAN_NS       (20 * NS_PER_MS)
#define TICKS_PER_NS  10   /* no counter is faster */
#define NS_PER_TICK   1000 /* Arm's manual allows none that is slower */
#define NOT_MAPPED    ((const void *)8)
#define NOT_CANONICAL ((const void *)(1ull << 62))

TEST(the_counter_never_goes_back)
{
	uint64_t last = ticks_read();

	for (uint32_t i = 0; i < READS; i++) {
		const uint64_t now = ticks_read_after();

		check(now >= last);
		last = now;
	}
}

TEST(the_counter_runs_with_time)
{
	const uint64_t before_ns = clock_ns(CLOCK_MONOTONIC), from = ticks_read_after();
	const uint64_t from_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t ticks, ns;

	while ((ns = clock_ns(CLOCK_MONOTONIC) - from_ns) < SPAN_NS)
		cpu_pause();
	ticks = ticks_read_after() - from;
	check(ticks >= ns / NS_PER_TICK);
	check(ticks <= (clock_ns(CLOCK_MONOTONIC) - before_ns) * TICKS_PER_NS);
}

TEST(a_prefetch_of_any_address_does_no_harm)
{
	static const void *const addresses[] = {NULL, NOT_MAPPED, NOT_CANONICAL};
	char *bytes = calloc(1, 4096);

	check(bytes != NULL);
	for (uint32_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
		prefetch(addresses[i]);
		prefetch_next(addresses[i]);
		prefetch_to_write(addresses[i]);
	}
	for (uint32_t i = 0; i < 4096; i++) {
		prefetch(bytes + i);
		prefetch_next(bytes + i);
		prefetch_to_write(bytes + i);
		check_eq(bytes[i], 0);
	}
	free(bytes);
}

/* RFC 3720, appendix B.4. */
TEST(crc32c_is_that_of_the_rfc)
{
	static const struct {
		uint8_t first, step;
		uint32_t crc;
	} rows[] = {{0, 0, 0x8a9136aa},
		    {0xff, 0, 0x62a8ab43},
		    {0, 1, 0x46dd794e},
		    {31, 0xff, 0x113fdb5c}};
	uint8_t bytes[32];

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (uint32_t at = 0; at < sizeof bytes; at++)
			bytes[at] = (uint8_t)(rows[i].first + rows[i].step * at);
		check_eq(~crc32c(bytes, sizeof bytes, ~0u), rows[i].crc);
	}
}

/* Bit by bit, over the reversed polynomial 0x1EDC6F41. */
static uint32_t
crc32c_slowly(const uint8_t *bytes, size_t len, uint32_t crc)
{
	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		for (uint32_t bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return crc;
}

TEST(crc32c_of_any_length_and_address)
{
	uint8_t bytes[4096 + 16];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)random();
	for (uint32_t len = 0; len <= 4096; len = len < 300 ? len + 1 : len * 2 - 113) {
		const uint8_t *at = bytes + len % 16;

		check_eq(crc32c(at, len, 0x12345678), crc32c_slowly(at, len, 0x12345678));
		check_eq(crc32c(at + len / 3, len - len / 3, crc32c(at, len / 3, 1)),
			 crc32c_slowly(at, len, 1));
	}
}
