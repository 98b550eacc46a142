/*
 * bench_open.c - measures the cost of opening a kept store for a core: a repair for each item, an
 * attachment for each gigabyte, and the checksums for each byte.
 *
 * A store of equal items is opened in place, as by a process after a crash, and again as after a
 * graceful stop. The time of a phase is the CPU time of the thread that used most. The memory is
 * in transparent huge pages if the kernel provides them, similar to a hugetlbfs; or it is a file,
 * mapped anew before each opening, so that the kernel's work for its pages is counted, too. The
 * store is filled to 50 percent or as given; a full cache has 85 to 90.
 *
 *   bench_open [--memory MIB] [--value BYTES] [--drop STEP] [--runs N] [--file PATH]
 *              [--filled PERCENT] [--cores N]
 */
#include "own_store.h"

#include "image/image.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOW_S  STORE_CLOCK_START
#define FILLED 50u /* percent of the memory, so that no item is evicted */
#define HEAD   32u /* most bytes beside the value, including the rest of the class's size */

#define CORES_MOST 64u

struct open_run {
	struct store_config cfg;
	uint32_t cores; /* cores that open the store */
	int fd;         /* of the file; -1: none */
	uint8_t *image, *beside;
	struct store *store;
	struct image_parts parts;
	uint64_t ns[STORE_OPEN_DONE + 1];
	struct store_open_report report;
};

/* Maps the file again: its pages exist, but not in this process's page table. */
static void
map_file(struct open_run *o)
{
	if (o->image != NULL)
		munmap(o->image, o->cfg.memory_bytes);
	o->image = mmap(NULL, o->cfg.memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
	ensure(o->image != MAP_FAILED);
}

static void
make_file(struct open_run *o, const char *path)
{
	o->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (o->fd < 0 || unlink(path) != 0 ||
	    fallocate(o->fd, 0, 0, (off_t)o->cfg.memory_bytes) != 0) {
		perror(path);
		exit(1);
	}
}

static struct region
beside_of(const struct open_run *o)
{
	return (struct region){.base = o->beside, .size = store_private_bytes(&o->cfg)};
}

static void
fill(struct open_run *o, uint32_t filled, uint32_t value_bytes, uint32_t drop)
{
	static uint8_t value[ITEM_PIN_MIN_BYTES];
	struct region beside = beside_of(o);
	const uint64_t keys = o->cfg.memory_bytes * filled / 100 / (value_bytes + HEAD);
	struct store_core *sc;

	o->store = store_create_in(&beside, o->image, &o->cfg);
	sc = store_core_of(o->store, 0);
	for (uint64_t n = 0; n < keys; n++) {
		const struct bench_key k = bench_key_of(n);
		const struct view key = own_key(&k);

		if (n % OWN_TURN_EVERY == 0) {
			store_turn(sc, NOW_S);
			store_housekeeping(sc);
			bench_progress("filling", n, keys);
		}
		ensure(own_put(sc, key, store_hash(sc, key), value, value_bytes) == STORE_OK);
	}
	for (uint64_t n = 0; drop != 0 && n < keys; n += drop) {
		const struct bench_key k = bench_key_of(n);

		if (n % OWN_TURN_EVERY == 0)
			store_turn(sc, NOW_S);
		store_delete(sc, own_key(&k), store_hash(sc, own_key(&k)));
	}
	store_offline(sc);
	ensure(counter_read(&store_counters(sc)[STORE_EVICTED]) == 0);
	o->parts = image_parts_of(o->cfg.memory_bytes, o->store->arena.page_count,
				  o->store->arena.page_shift, o->store->arena.shift);
}

struct opener {
	struct store_opening *open;
	uint64_t ns;
};

static void *
do_shares(void *arg)
{
	struct opener *o = arg;
	const uint64_t begun_ns = bench_cpu_ns();

	while (store_open_step_mt(o->open))
		;
	o->ns = bench_cpu_ns() - begun_ns;
	return NULL;
}

/* Does a phase except for its end. Returns the time of the slowest thread. */
static uint64_t
do_phase(struct store_opening *open, uint32_t cores)
{
	struct opener each[CORES_MOST] = {{.open = open}};
	pthread_t threads[CORES_MOST];
	uint64_t ns;

	for (uint32_t i = 1; i < cores; i++) {
		each[i].open = open;
		ensure(pthread_create(&threads[i], NULL, do_shares, &each[i]) == 0);
	}
	do_shares(&each[0]);
	ns = each[0].ns;
	for (uint32_t i = 1; i < cores; i++) {
		pthread_join(threads[i], NULL);
		ns = each[i].ns > ns ? each[i].ns : ns;
	}
	return ns;
}

static void
open_it(struct open_run *o)
{
	struct region beside = beside_of(o);
	struct store_opening *open;
	enum store_open_phase phase;

	memset(o->ns, 0, sizeof o->ns);
	if (o->fd >= 0)
		map_file(o);
	open = store_open(&beside, o->image, &o->cfg, NOW_S);
	store_open_report_mt(open, &o->report);
	do {
		uint64_t begun_ns;

		phase = o->report.phase;
		o->ns[phase] += do_phase(open, o->cores);
		begun_ns = bench_cpu_ns();
		store_open_next(open);
		o->ns[phase] += bench_cpu_ns() - begun_ns;
		store_open_report_mt(open, &o->report);
	} while (!store_open_has_ended(o->report.phase));
	ensure(o->report.phase == STORE_OPEN_DONE && o->report.lost == 0);
	o->store = store_open_store(open);
}

/* Returns the bytes of tables and states. */
static size_t
summed_bytes(const struct open_run *o)
{
	const struct slab *sl = &o->store->slab;
	size_t bytes = o->parts.states - o->parts.floors;

	for (uint32_t n = 0; n < o->store->arena.page_count; n++)
		if (slab_page_has_class(sl, &sl->pages[n]))
			bytes += slab_class_state_words(&sl->classes[sl->pages[n].class]) *
				 sizeof sl->states[0];
	return bytes;
}

static void
say(const struct open_run *o, const char *kind)
{
	const size_t index = index_bucket_end(&o->store->ix) * sizeof(struct bucket);

	printf("{\"part\": \"open\", \"kind\": \"%s\", \"cores\": %u, \"items\": %llu, "
	       "\"item_bytes\": %llu, "
	       "\"index_bytes\": %zu, \"summed_bytes\": %zu, \"huge_kb\": %llu, \"check_ns\": "
	       "%llu, "
	       "\"clear_ns\": %llu, \"walk_ns\": %llu, \"pages_ns\": %llu}\n",
	       kind, o->cores, (unsigned long long)o->report.items,
	       (unsigned long long)o->report.item_bytes, index, index + summed_bytes(o),
	       (unsigned long long)bench_memory_kb(0,
						   o->fd >= 0 ? "ShmemPmdMapped" : "AnonHugePages"),
	       (unsigned long long)o->ns[STORE_OPEN_CHECK],
	       (unsigned long long)o->ns[STORE_OPEN_CLEAR],
	       (unsigned long long)o->ns[STORE_OPEN_WALK],
	       (unsigned long long)o->ns[STORE_OPEN_PAGES]);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct open_run o = {.fd = -1,
			     .cores = 1,
			     .cfg = {.cores = 1, .value_max = STORE_VALUE_MAX, .seed = 42}};
	const char *file = NULL;
	uint32_t mebibytes = 256, value = 40, drop = 0, filled = FILLED, runs = 3;

	const struct bench_option known[] = {BENCH_NUMBER("memory", &mebibytes, 8, 1 << 20),
					     BENCH_NUMBER("value", &value, 0, ITEM_PIN_MIN_BYTES),
					     BENCH_NUMBER("drop", &drop, 0, 1000),
					     BENCH_NUMBER("runs", &runs, 1, 99),
					     BENCH_NUMBER("cores", &o.cores, 1, CORES_MOST),
					     BENCH_NUMBER("filled", &filled, 1, 99),
					     BENCH_TEXT("file", &file),
					     {0}};

	bench_options(argc, argv, known);
	o.cfg.memory_bytes = mebibytes * BENCH_MIB;
	if (file != NULL) {
		make_file(&o, file);
		map_file(&o);
	} else
		o.image = bench_map(o.cfg.memory_bytes);
	o.beside = bench_map(store_private_bytes(&o.cfg));
	fill(&o, filled, value, drop);
	for (uint32_t i = 0; i < runs; i++) {
		open_it(&o);
		say(&o, "repair");
		ensure(store_image_leave(o.store));
		open_it(&o);
		say(&o, "attach");
	}
	return 0;
}
