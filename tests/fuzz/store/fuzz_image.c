/*
 * Memory files that no process of ours left. Goal: for any contents, the check of file and page
 * gives a verdict, an attach ends, and no memory outside of the file is touched; the attached
 * store, or the empty one instead, stores and returns values, and its pages add up. Method: an
 * image of some keys, left clean, is overwritten where the input says so; the header's sum is
 * put right in every other input, since a fuzzer would not find it.
 *
 * An overwrite: four bytes of where, one of how long, then the bytes.
 */
#include "base/crc32c.h"
#include "memfile/memory_page.h"
#include "image/image.h"
#include "stress/reopen.h"
#include "fuzz_target.h"

#define MEMORY  (8u << 20)
#define KEYS    300u
#define NOW_S   (STORE_CLOCK_START + 10)
#define PATCH   5u
#define EVERY_S 3600u

static const struct store_config config = {
	.memory_bytes = MEMORY, .cores = 1, .value_max = STORE_VALUE_MAX, .seed = 7};

static bool
key_set(struct store_core *sc, uint32_t n, uint32_t value_len)
{
	static const uint8_t value[STORE_VALUE_MAX / 4];
	char name[16];
	const struct view key = {(const uint8_t *)name, (uint32_t)sprintf(name, "key-%u", n)};
	const uint64_t hash = store_hash(sc, key);
	struct fill f;

	for (uint32_t i = 0; i < 200; i++) {
		const enum store_result r = store_begin(sc, &f, key, hash, value_len, n, 0);

		if (r == STORE_OK) {
			store_fill(sc, &f, value, value_len);
			if (store_finish(sc, &f, STORE_SET, 0) == STORE_OK)
				return store_get(sc, key, hash) != NULL;
		}
		store_turn(sc, NOW_S + i / 10);
	}
	return false;
}

/* Returns the image that all inputs begin with. */
static const uint8_t *
left_image(void)
{
	static uint8_t *image;
	struct region region = {.size = store_private_bytes(&config)};
	struct store *store;

	if (image != NULL)
		return image;
	image = aligned_alloc(STORE_IMAGE_ALIGN, MEMORY);
	memset(image, 0, MEMORY);
	region.base = aligned_alloc(CACHE_LINE_BYTES, align_up(region.size, CACHE_LINE_BYTES));
	store = store_create_in(&region, image, &config);
	store_turn(store_core_of(store, 0), STORE_CLOCK_START);
	for (uint32_t i = 0; i < KEYS; i++)
		ensure(key_set(store_core_of(store, 0), i, i * 37 % 5000));
	store_offline(store_core_of(store, 0));
	ensure(store_image_leave(store));
	free(region.base);
	return image;
}

/* Half of the places are in the first bytes, where most of what is trusted lies. */
static void
overwrite(uint8_t *image, const uint8_t *data, size_t size)
{
	while (size > PATCH) {
		const uint32_t word = load_u32(data);
		const uint32_t at =
			(word & 1) != 0 ? (word >> 1) % (128u << 10) : (word >> 1) % MEMORY;
		size_t n = 1 + data[4] % 64;

		data += PATCH;
		size -= PATCH;
		n = n < size ? n : size;
		n = n < MEMORY - at ? n : MEMORY - at;
		memcpy(image + at, data, n);
		data += n;
		size -= n;
	}
}

static void
header_seal(uint8_t *image)
{
	struct image_header *h = (struct image_header *)(void *)image;
	const size_t from = offsetof(struct image_header, layout);

	h->crc = crc32c(image + from, offsetof(struct image_header, crc) - from, 0);
}

static void
page_judge(const uint8_t *image)
{
	const struct gap_now now = {
		.boot_ns = EVERY_S * 1000000000ull, .wall_ns = 1, .boot_id = "b"};
	const struct memory_page_file file = {{1, 2}, 3};
	char words[MEMORY_PAGE_WORDS];
	struct gap gap;

	memory_page_is_whole((const struct memory_page *)(const void *)(image + STORE_IMAGE_APP_AT),
			     &file, &now, EVERY_S, &gap, words);
	ensure(memchr(words, 0, sizeof words) != NULL && strchr(words, '\n') == NULL);
}

static void
store_judge(struct store *store)
{
	struct store_core *sc = store_core_of(store, 0);

	ensure(reopen_look_at_pages(store) == NULL);
	store_turn(sc, NOW_S);
	for (uint32_t i = 0; i < KEYS; i++) {
		char name[16];
		const struct view key = {(const uint8_t *)name,
					 (uint32_t)sprintf(name, "key-%u", i)};

		(void)store_get(sc, key, store_hash(sc, key));
	}
	for (uint32_t i = 0; i < 50; i++)
		ensure(key_set(sc, KEYS + i, i * 401 % 20000));
	store_offline(sc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *image;
	struct reopened r;

	if (image == NULL)
		image = aligned_alloc(STORE_IMAGE_ALIGN, MEMORY);
	memcpy(image, left_image(), MEMORY);
	overwrite(image, data, size);
	if (size % 2 != 0)
		header_seal(image);
	page_judge(image);
	reopen_at(&r, image, &config, NOW_S);
	ensure(store_image_fault_words(r.look.fault) != NULL);
	if (r.store == NULL && r.open != NULL)
		r.store = store_open_cold(r.open, 9);
	if (r.store != NULL)
		store_judge(r.store);
	free(r.beside);
	return 0;
}
