/*
 * flash_packs.c - measures the cost and gain of flash.compress by the size of a value: for JSON
 * of records that differ in their numbers and names, and for bytes that cannot be packed.
 */
#include "flash_parts.h"

#include "../store/bench_load.h"

#include "base/check.h"
#include "flash/flash_pack.h"

#include <stdio.h>
#include <string.h>

#define VALUES 64u /* different values in turn */

static struct flash_packer packer;
static struct flash_unpacker unpacker;
static uint8_t values[VALUES][FLASH_PACK_MAX], packed[VALUES][FLASH_PACK_MAX];
static uint32_t lengths[VALUES];

static uint32_t
below(uint64_t *random, uint32_t n)
{
	return (uint32_t)(bench_random(random) % n);
}

static void
make_json(uint8_t *to, uint32_t len, uint64_t *random)
{
	char text[256];

	for (uint32_t at = 0, n; at < len; at += n) {
		n = (uint32_t)snprintf(
			text, sizeof text,
			"{\"id\":%u,\"name\":\"user%u\",\"email\":\"user%u@example.com\","
			"\"active\":%s,\"score\":%u.%02u,\"tags\":[\"a%u\",\"b%u\"]},",
			below(random, 1000000), below(random, 5000), below(random, 5000),
			below(random, 2) ? "true" : "false", below(random, 100), below(random, 100),
			below(random, 10), below(random, 10));
		n = n < len - at ? n : len - at;
		memcpy(to + at, text, n);
	}
}

static void
make_noise(uint8_t *to, uint32_t len, uint64_t *random)
{
	for (uint32_t at = 0; at < len; at++)
		to[at] = (uint8_t)bench_random(random);
}

/* Packs each value `times` times. Returns their bytes on flash. */
static uint64_t
pack_all(uint32_t len, uint32_t times)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < times; i++) {
		const uint32_t n = i % VALUES;

		memcpy(packer.value, values[n], len);
		lengths[n] = flash_pack(&packer, len);
		memcpy(packed[n], packer.packed, lengths[n]);
		bytes += lengths[n] != 0 ? lengths[n] : len;
	}
	return bytes;
}

static void
unpack_all(uint32_t len, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++) {
		const uint32_t n = i % VALUES;

		memcpy(unpacker.packed, packed[n], lengths[n]);
		if (lengths[n] != 0)
			ensure(flash_unpack(&unpacker, lengths[n]) == len);
	}
}

static void
say(const struct flash_trial *t, const char *what, uint32_t len)
{
	const uint32_t times = t->gets;
	uint64_t from = bench_cpu_ns(), bytes, pack_ns, unpack_ns;

	bytes = pack_all(len, times);
	pack_ns = bench_cpu_ns() - from;
	from = bench_cpu_ns();
	unpack_all(len, times);
	unpack_ns = bench_cpu_ns() - from;
	printf("{\"part\": \"pack\", \"run\": %u, \"what\": \"%s\", \"bytes\": %u, \"share\": "
	       "%.4f, "
	       "\"pack_ns\": %.1f, \"unpack_ns\": %.1f}\n",
	       t->run, what, len, (double)bytes / ((double)len * times), (double)pack_ns / times,
	       (double)unpack_ns / times);
}

void
flash_part_pack(const struct flash_trial *t)
{
	static const uint32_t sizes[] = {200, 400, 1000, 4000, FLASH_PACK_MAX};
	uint64_t random = t->run + 1;

	for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		for (uint32_t n = 0; n < VALUES; n++)
			make_json(values[n], sizes[i], &random);
		say(t, "json", sizes[i]);
	}
	for (uint32_t n = 0; n < VALUES; n++)
		make_noise(values[n], 1000, &random);
	say(t, "noise", 1000);
}
