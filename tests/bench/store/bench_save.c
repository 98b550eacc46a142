/*
 * bench_save FILE MEGABYTES VALUE [LEVEL] - measures how fast a full store is saved to a file on
 * a disk, and loaded again.
 *
 * Fills a store of that size with values of VALUE bytes, saves it as FILE (with io_uring and
 * O_DIRECT if available; packed by igzip with a LEVEL), loads it into another store, and removes
 * the file. One line of JSON: bytes of the file, items, seconds and CPU seconds of both
 * directions. A save ends when the disk has all of it.
 */
#include "bench_load.h"

#include "save/save_load.h"
#include "save/save_write.h"
#include "image/store_image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEY_BYTES 24
#define SEED      0x5eed
#define NS        1e-9

struct half {
	struct store *store;
	struct store_core *core;
};

static double
clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + NS * (double)t.tv_nsec;
}

/* A moment of the wall clock and of this process's CPU time. */
struct moment {
	double s, cpu_s;
};

static struct moment
now(void)
{
	return (struct moment){clock_s(CLOCK_MONOTONIC), clock_s(CLOCK_PROCESS_CPUTIME_ID)};
}

static struct half
make(size_t megabytes)
{
	const struct store_config cfg = {.memory_bytes = megabytes << 20,
					 .cores = 2,
					 .value_max = STORE_VALUE_MAX,
					 .seed = SEED,
					 .loads = true};
	struct region region = {.size = store_bytes(&cfg)};
	struct half h;

	region.base = bench_map(region.size); /* in huge pages, as in the program */
	memset(region.base, 1, region.size);  /* so that first touches are not measured */
	h.store = store_create(&region, &cfg);
	h.core = store_core_of(h.store, 0);
	store_turn(h.core, STORE_CLOCK_START);
	return h;
}

/* Fills the memory with values that igzip can shrink in part. */
static void
fill(struct store_core *sc, size_t megabytes, uint32_t len)
{
	const uint64_t count = (megabytes << 20) / (len + 64) * 9 / 10;
	uint8_t *value = malloc(len + 1);
	char name[KEY_BYTES];

	for (uint64_t i = 0; i < count; i++) {
		const struct view key = {
			(const uint8_t *)name,
			(uint32_t)sprintf(name, "key-%012llu", (unsigned long long)i)};
		struct fill f;

		for (uint32_t n = 0; n < len; n++)
			value[n] = (uint8_t)((i + n) * 2654435761u >> 27);
		if (store_begin(sc, &f, key, store_hash(sc, key), len, 0, 0) == STORE_OK) {
			store_fill(sc, &f, value, len);
			store_finish(sc, &f, STORE_SET, 0);
		}
		store_turn(sc, STORE_CLOCK_START);
		store_housekeeping(sc);
	}
	store_offline(sc);
	free(value);
}

static uint64_t
load(const char *path, const struct save_result *result, struct half *h, void *memory)
{
	static struct save_loader l;
	uint64_t floors[STORE_SAVED_FLOORS], file;
	struct save_head head;
	struct save_io io;
	struct stat st;
	const char *why;

	ensure(save_io_open(&io, path, O_RDONLY, true, memory) == 0 && fstat(io.fd, &st) == 0);

	const uint64_t slots = ((uint64_t)st.st_size + SAVE_SLOT_BYTES - 1) / SAVE_SLOT_BYTES;

	for (uint64_t slot = 0; slot < slots && slot < SAVE_IO_DEPTH; slot++)
		save_io_begin(&io, slot, SAVE_SLOT_BYTES);
	for (uint64_t slot = 0; slot < slots; slot++) {
		const int32_t got = save_io_wait(&io, slot);

		ensure(got > 0);
		if (slot == 0) {
			ensure(save_front_read(save_io_buffer(&io, 0), (size_t)got, &file, &head,
					       floors, &why));
			store_load_prepare(h->store, floors, 0);
			save_load_begin(&l, store_core_of(h->store, 1), file, 0);
			store_turn(l.core, STORE_CLOCK_START);
			store_offline(h->core);
			store_load_expect(l.core, head.items);
		}
		save_load_slot(&l, slot, save_io_buffer(&io, slot), (size_t)got, STORE_CLOCK_START);
		if (slot + SAVE_IO_DEPTH < slots)
			save_io_begin(&io, slot + SAVE_IO_DEPTH, SAVE_SLOT_BYTES);
	}
	save_io_close(&io);
	ensure(l.count.items + l.count.no_room == result->items && l.count.damaged == 0);
	return l.count.items;
}

int
main(int argc, char **argv)
{
	const size_t megabytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	const uint32_t len = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	void *memory = bench_map(save_blocks_bytes());
	struct save_result result;
	struct error err;
	struct moment begun, saved, loads, loaded_at;
	uint64_t loaded;

	if (megabytes == 0 || len == 0 || len > STORE_VALUE_MAX) {
		fprintf(stderr, "usage: bench_save FILE MEGABYTES VALUE [LEVEL]\n");
		return 2;
	}

	struct half from = make(megabytes), to = make(megabytes);

	fill(from.core, megabytes, len);
	unlink(argv[1]);
	begun = now();
	if (!save_write(
		    &(struct save_ask){
			    .store = from.store,
			    .path = argv[1],
			    .now_s = STORE_CLOCK_START,
			    .boot_id = "bench",
			    .file = SEED,
			    .level =
				    argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : SAVE_UNPACKED,
			    .uring = true,
			    .memory = memory,
		    },
		    &result, &err)) {
		fprintf(stderr, "bench_save: %s\n", err.text);
		return 1;
	}
	saved = now();
	loads = now();
	loaded = load(argv[1], &result, &to, memory);
	loaded_at = now();
	printf("{\"bytes\": %llu, \"items\": %llu, \"loaded\": %llu, \"save_s\": %.4f, "
	       "\"save_cpu_s\": %.4f, \"load_s\": %.4f, \"load_cpu_s\": %.4f, \"how\": \"%s\"}\n",
	       (unsigned long long)result.file_bytes, (unsigned long long)result.items,
	       (unsigned long long)loaded, saved.s - begun.s, saved.cpu_s - begun.cpu_s,
	       loaded_at.s - loads.s, loaded_at.cpu_s - loads.cpu_s, result.how);
	unlink(argv[1]);
	return 0;
}
