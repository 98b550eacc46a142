/*
 * test_flash_device.c - a flash device: in memory; io_uring, and helper threads, on a file.
 *
 * Goal:   every transfer that is accepted ends once, whole or with an error; written data is read
 *         until power is lost, and after that the data that a sync covered; a hanging transfer
 *         delays no other.
 * Method: random transfers beside a model of the pages, the same on all devices; latencies,
 *         faults and loss of power of the one in memory by seeds. Time is the memory's; a real
 *         device is polled until it answers, for TRIES_MAX pauses. The calls to the kernel are
 *         this test's, which refuses some of them.
 */
#include "flash/flash_threads.h"
#include "flash/flash_uring.h"
#include "sim/mem_flash.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGES      64u
#define BYTES      (PAGES * (uint64_t)FLASH_PAGE)
#define DEPTH      8u
#define IO_PAGES   4u /* at most, in a transfer */
#define MEMORY     ((size_t)DEPTH * IO_PAGES * FLASH_PAGE)
#define OPERATIONS 600u
#define TRIES_MAX  120000u
#define PAUSE_US   500u
#define CUTS       400u
#define ALWAYS     1000000u
#define SYNC_EVERY 16u
#define HELPERS    2u

/* The kernel refuses this many calls with this error. */
static struct {
	int error;
	uint32_t times;
} refusal;

/* The file grows at this call, counted from now. */
static struct {
	uint32_t calls;
	int fd;
} growth;

static int
kernel_refuses(void)
{
	if (growth.calls != 0 && --growth.calls == 0)
		check_eq(ftruncate(growth.fd, BYTES), 0);
	if (refusal.times == 0)
		return 0;
	refusal.times--;
	return refusal.error;
}

int
io_uring_submit(struct io_uring *ring)
{
	const int e = kernel_refuses();

	return e != 0 ? e : io_uring_submit_and_wait(ring, 0);
}

ssize_t
preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	const int e = kernel_refuses();

	if (e == 0)
		return syscall(SYS_preadv, fd, parts, count, offset, 0);
	errno = -e;
	return -1;
}

enum kind { MEMORY_DEVICE, URING, THREADS, KINDS };
#define ON_A_FILE URING /* the kinds from this one on are on a file */

/* A device of one kind, with memory for its transfers: DEPTH places of IO_PAGES. */
struct rig {
	enum kind kind;
	struct flash_device *device;
	struct mem_flash mem;
	struct flash_uring uring;
	struct flash_queue queue;
	struct flash_threads threads;
	pthread_t helpers[HELPERS];
	struct flash_file file;
	uint8_t *memory;
	char path[32];
};

static struct rig *
rig_open_memory(uint64_t seed)
{
	struct rig *r = aligned_alloc(CACHE_LINE_BYTES, sizeof *r);

	check_ptr(r);
	*r = (struct rig){.kind = MEMORY_DEVICE};
	r->memory = aligned_alloc(FLASH_PAGE, MEMORY);
	check_ptr(r->memory);
	mem_flash_open(&r->mem, BYTES, DEPTH, seed);
	r->device = &r->mem.device;
	return r;
}

static void *
help(void *threads)
{
	flash_threads_help(threads, 0);
	return NULL;
}

static int
open_on_file(struct rig *r)
{
	if (r->kind == URING) {
		r->device = &r->uring.device;
		return flash_uring_open(&r->uring, &r->file, DEPTH, r->memory, MEMORY);
	}
	r->device = &r->queue.device;
	flash_threads_init(&r->threads, &r->queue, 1);
	flash_queue_open(&r->queue, &r->threads, &r->file, DEPTH);
	for (uint32_t i = 0; i < HELPERS; i++)
		check_eq(pthread_create(&r->helpers[i], NULL, help, &r->threads), 0);
	return 0;
}

/* Returns NULL, and prints a line, if the kernel refuses io_uring or the
 * folder has no O_DIRECT. */
static struct rig *
rig_open_file(enum kind kind)
{
	struct rig *r = aligned_alloc(CACHE_LINE_BYTES, sizeof *r);
	int e;

	check_ptr(r);
	*r = (struct rig){.kind = kind, .path = "flash_device_XXXXXX"};
	close(mkstemp(r->path));
	r->memory = aligned_alloc(FLASH_PAGE, MEMORY);
	check_ptr(r->memory);
	e = flash_file_open(&r->file, r->path, BYTES);
	if (e == 0)
		e = open_on_file(r);
	if (e != 0) {
		printf("not run: %s: %s\n", kind == URING ? "io_uring, O_DIRECT" : "O_DIRECT",
		       strerror(-e));
		unlink(r->path);
		free(r->memory);
		free(r);
		return NULL;
	}
	return r;
}

static void
rig_close(struct rig *r)
{
	if (r->kind == URING)
		check(flash_uring_close(&r->uring));
	if (r->kind == THREADS) {
		flash_threads_end(&r->threads);
		for (uint32_t i = 0; i < HELPERS; i++)
			check_eq(pthread_join(r->helpers[i], NULL), 0);
	}
	if (r->kind == MEMORY_DEVICE) {
		mem_flash_close(&r->mem);
	} else {
		flash_file_close(&r->file);
		unlink(r->path);
	}
	free(r->memory);
	free(r);
}

static uint8_t *
place(struct rig *r, uint32_t i)
{
	return r->memory + (size_t)i * IO_PAGES * FLASH_PAGE;
}

static uint32_t
submit(struct rig *r, const struct flash_io *ios, uint32_t count)
{
	return r->device->ops->submit(r->device, ios, count);
}

/* Waits for transfers to end and returns how many did. The memory's clock moves to the next end;
 * a file is polled after a pause. */
static uint32_t
wait_for(struct rig *r, struct flash_result *results, uint32_t count)
{
	for (uint32_t i = 0; i < TRIES_MAX; i++) {
		const uint32_t n = r->device->ops->poll(r->device, results, count);

		if (n != 0)
			return n;
		if (r->kind != MEMORY_DEVICE)
			usleep(PAUSE_US);
		else if (mem_flash_next(&r->mem) != UINT64_MAX)
			mem_flash_tick(&r->mem, mem_flash_next(&r->mem));
		else
			break;
	}
	return 0;
}

/* Makes one transfer alone; returns its error. */
static int32_t
alone(struct rig *r, enum flash_io_kind kind, uint32_t page, uint32_t pages, uint8_t *data)
{
	const struct flash_io io = {7, page * (uint64_t)FLASH_PAGE, data, pages * FLASH_PAGE, kind};
	struct flash_result result = {0};

	check_eq(submit(r, &io, 1), 1);
	check_eq(wait_for(r, &result, 1), 1);
	check_eq(result.tag, 7);
	return result.error;
}

/* Fills the page with its version and number, sector by sector. */
static void
fill_page(uint8_t *data, uint32_t page, uint32_t version)
{
	for (uint32_t at = 0; at < FLASH_PAGE; at += sizeof page) {
		const uint32_t word = version << 16 | page << 8 | at / FLASH_SECTOR;

		memcpy(data + at, &word, sizeof word);
	}
}

static bool
page_is(const uint8_t *data, uint32_t page, uint32_t version)
{
	uint8_t want[FLASH_PAGE] = {0};

	if (version != 0)
		fill_page(want, page, version);
	return memcmp(data, want, sizeof want) == 0;
}

/* Returns the version of a sector: 0 also if it was never written. */
static uint32_t
sector_version(const uint8_t *data, uint32_t sector)
{
	uint32_t word;

	memcpy(&word, data + sector * FLASH_SECTOR, sizeof word);
	return word >> 16;
}

static struct rig *
rig_of(enum kind kind)
{
	return kind == MEMORY_DEVICE ? rig_open_memory(5) : rig_open_file(kind);
}

/* ---- all devices ---- */

/* Transfers under way. Each has a place in memory and pages that no other has. */
struct flight {
	bool used[DEPTH], page_used[PAGES];
	struct flash_io io[DEPTH];
	uint32_t version[PAGES]; /* written last */
	uint32_t count;
};

static bool
plan(struct rig *r, struct flight *f, struct sim_rng *rng, struct flash_io *io)
{
	const uint32_t pages = 1 + sim_below(rng, IO_PAGES),
		       from = sim_below(rng, PAGES - pages + 1);
	uint32_t i = 0;

	while (i < DEPTH && f->used[i])
		i++;
	if (i == DEPTH)
		return false;
	for (uint32_t k = 0; k < pages; k++)
		if (f->page_used[from + k])
			return false;
	*io = (struct flash_io){i, from * (uint64_t)FLASH_PAGE, place(r, i), pages * FLASH_PAGE,
				sim_chance(rng, 500) ? FLASH_WRITE : FLASH_READ};
	if (sim_below(rng, SYNC_EVERY) == 0)
		*io = (struct flash_io){.tag = i, .kind = FLASH_SYNC};
	for (uint32_t k = 0; k < pages && io->kind == FLASH_WRITE; k++)
		fill_page(io->data + k * FLASH_PAGE, from + k, ++f->version[from + k]);
	for (uint32_t k = 0; k < io->len / FLASH_PAGE; k++)
		f->page_used[from + k] = true;
	f->used[i] = true;
	f->io[i] = *io;
	f->count++;
	return true;
}

static void
land(struct flight *f, const struct flash_result *result)
{
	const struct flash_io *io = &f->io[result->tag];
	const uint32_t from = (uint32_t)(io->offset / FLASH_PAGE);

	check(result->tag < DEPTH && f->used[result->tag]);
	check_eq(result->error, 0);
	for (uint32_t k = 0; k < io->len / FLASH_PAGE; k++) {
		if (io->kind == FLASH_READ &&
		    !page_is(io->data + k * FLASH_PAGE, from + k, f->version[from + k]))
			fail_msg("page %u is not version %u", from + k, f->version[from + k]);
		f->page_used[from + k] = false;
	}
	f->used[result->tag] = false;
	f->count--;
}

TEST(what_was_written_is_read_and_every_transfer_ends_once)
{
	for (enum kind which = MEMORY_DEVICE; which < KINDS; which++) {
		struct rig *r = rig_of(which);
		struct sim_rng rng = {which + 1};
		struct flight f = {0};

		if (r == NULL)
			continue;
		r->mem.faults = (struct mem_flash_faults){.read_ns = 80000,
							  .write_ns = 20000,
							  .sync_ns = 500000,
							  .page_ns = 1000,
							  .jitter_ns = 90000};
		for (uint32_t n = 0; n < OPERATIONS || f.count != 0;) {
			struct flash_result results[DEPTH];
			struct flash_io ios[DEPTH];
			uint32_t count = 0;

			while (n < OPERATIONS && count < DEPTH && plan(r, &f, &rng, &ios[count]))
				count++, n++;
			check_eq(submit(r, ios, count), count);
			if (f.count == 0)
				continue;
			count = wait_for(r, results, 1 + sim_below(&rng, DEPTH));
			check(count != 0);
			while (count-- != 0)
				land(&f, &results[count]);
		}
		check_eq(r->device->ops->poll(r->device, &(struct flash_result){0}, 1), 0);
		rig_close(r);
	}
}

TEST(no_more_than_its_depth_is_taken)
{
	for (enum kind which = MEMORY_DEVICE; which < KINDS; which++) {
		struct rig *r = rig_of(which);
		struct flash_io ios[DEPTH + 3];
		uint32_t ended = 0;

		if (r == NULL)
			continue;
		for (uint32_t i = 0; i < DEPTH + 3; i++)
			ios[i] = (struct flash_io){i, i * (uint64_t)FLASH_PAGE,
						   r->memory + i * FLASH_PAGE, FLASH_PAGE,
						   FLASH_READ};
		check_eq(submit(r, ios, DEPTH + 3), DEPTH);
		check_eq(submit(r, ios + DEPTH, 3), 0);
		while (ended < 2) {
			struct flash_result results[2];
			const uint32_t n = wait_for(r, results, 2 - ended);

			check(n != 0);
			ended += n;
		}
		check_eq(submit(r, ios + DEPTH, 3), 2);
		while (ended < DEPTH + 2) {
			struct flash_result results[DEPTH];
			const uint32_t n = wait_for(r, results, DEPTH);

			check(n != 0);
			ended += n;
		}
		rig_close(r);
	}
}

/* ---- memory: time, faults, loss of power ---- */

TEST(a_transfer_ends_at_its_time_and_is_done_then)
{
	struct rig *r = rig_open_memory(1);
	const struct flash_io write = {1, 0, place(r, 0), FLASH_PAGE, FLASH_WRITE},
			      read = {2, 0, place(r, 1), FLASH_PAGE, FLASH_READ};
	struct flash_result result;

	r->mem.faults = (struct mem_flash_faults){.read_ns = 3000, .write_ns = 1000};
	fill_page(place(r, 0), 0, 1);
	check_eq(submit(r, &write, 1), 1);
	fill_page(place(r, 0), 0, 2); /* a mistake of the caller becomes visible */
	check_eq(submit(r, &read, 1), 1);
	mem_flash_tick(&r->mem, 999);
	check_eq(r->device->ops->poll(r->device, &result, 1), 0);
	mem_flash_tick(&r->mem, 1000);
	check_eq(r->device->ops->poll(r->device, &result, 1), 1);
	check_eq(result.tag, 1);
	check(!page_is(place(r, 1), 0, 0) && !page_is(place(r, 1), 0, 2));
	check_eq(mem_flash_next(&r->mem), 3000);
	check_eq(wait_for(r, &result, 1), 1);
	check(page_is(place(r, 1), 0, 2));
	rig_close(r);
}

TEST(errors_are_results)
{
	struct rig *r = rig_open_memory(2);
	uint32_t torn = 0;

	for (uint32_t page = 0; page < PAGES; page++) {
		fill_page(place(r, 0), page, 1);
		r->mem.faults = (struct mem_flash_faults){.write_errors = ALWAYS};
		check_eq(alone(r, FLASH_WRITE, page, 1, place(r, 0)), -EIO);
		r->mem.faults = (struct mem_flash_faults){.read_errors = ALWAYS};
		check_eq(alone(r, FLASH_READ, page, 1, place(r, 1)), -EIO);
		r->mem.faults = (struct mem_flash_faults){0};
		check_eq(alone(r, FLASH_READ, page, 1, place(r, 1)), 0);
		torn += !page_is(place(r, 1), page, 0) && !page_is(place(r, 1), page, 1);
	}
	check(torn > PAGES / 4 && torn < PAGES);
	r->mem.faults = (struct mem_flash_faults){.sync_errors = ALWAYS};
	check_eq(alone(r, FLASH_SYNC, 0, 0, NULL), -EIO);
	r->mem.faults = (struct mem_flash_faults){.flips = ALWAYS};
	fill_page(place(r, 0), 0, 9);
	check_eq(alone(r, FLASH_WRITE, 0, 1, place(r, 0)), 0);
	check_eq(alone(r, FLASH_READ, 0, 1, place(r, 1)), 0);
	check(!page_is(place(r, 1), 0, 9));
	r->mem.faults = (struct mem_flash_faults){.gone = true};
	check_eq(alone(r, FLASH_READ, 0, 1, place(r, 1)), -ENODEV);
	rig_close(r);
}

TEST(what_hangs_holds_its_place_alone)
{
	struct rig *r = rig_open_memory(3);
	const struct flash_io io = {99, 0, place(r, 7), FLASH_PAGE, FLASH_READ};
	struct flash_result result;

	r->mem.faults.hangs = ALWAYS;
	check_eq(submit(r, &io, 1), 1);
	r->mem.faults.hangs = 0;
	for (uint32_t i = 0; i < 2 * DEPTH; i++)
		check_eq(alone(r, FLASH_READ, 1, 1, place(r, 0)), 0);
	mem_flash_tick(&r->mem, 1000000000000);
	check_eq(r->device->ops->poll(r->device, &result, 1), 0);
	check_eq(mem_flash_next(&r->mem), UINT64_MAX);
	mem_flash_release(&r->mem);
	check_eq(wait_for(r, &result, 1), 1);
	check_eq(result.tag, 99);
	rig_close(r);
}

/* Page 0 has version 1 and is synced. Version 2 follows with a sync that has not ended, and
 * perhaps version 3. */
TEST(loss_of_power_leaves_what_was_synced_and_of_the_rest_anything)
{
	uint32_t seen[4] = {0}, torn = 0, uncovered = 0;

	for (uint32_t seed = 0; seed < CUTS; seed++) {
		struct rig *r = rig_open_memory(seed);
		const struct flash_io sync = {1, 0, NULL, 0, FLASH_SYNC},
				      write = {2, 0, place(r, 1), FLASH_PAGE, FLASH_WRITE};
		const bool again = seed % 2 == 0, ends = seed % 4 < 2;
		uint32_t least = 1;

		r->mem.faults = (struct mem_flash_faults){.write_ns = 10, .sync_ns = 1000};
		fill_page(place(r, 0), 0, 1);
		check_eq(alone(r, FLASH_WRITE, 0, 1, place(r, 0)), 0);
		check_eq(alone(r, FLASH_SYNC, 0, 0, NULL), 0);
		fill_page(place(r, 0), 0, 2);
		check_eq(alone(r, FLASH_WRITE, 0, 1, place(r, 0)), 0);
		check_eq(submit(r, &sync, 1), 1);
		fill_page(place(r, 1), 0, 3);
		if (again)
			check_eq(submit(r, &write, 1), 1);
		if (ends) {
			struct flash_result results[2];
			uint32_t n = 0;

			while (n < 1u + again)
				n += wait_for(r, results, 2);
			least = 2;
		}
		mem_flash_cut(&r->mem);
		check_eq(r->device->ops->poll(r->device, &(struct flash_result){0}, 1), 0);
		check_eq(alone(r, FLASH_READ, 0, 1, place(r, 2)), 0);
		for (uint32_t i = 0; i < FLASH_PAGE / FLASH_SECTOR; i++) {
			const uint32_t version = sector_version(place(r, 2), i);

			if (version < least || version > 2u + again)
				fail_msg("seed %u: version %u of %u", seed, version, least);
			torn += i != 0 && version != sector_version(place(r, 2), i - 1);
			seen[version]++;
			uncovered += again && ends && version == 2;
		}
		rig_close(r);
	}
	check(seen[1] != 0 && seen[2] != 0 && seen[3] != 0 && torn != 0 && uncovered != 0);
}

/* ---- on a file ---- */

TEST(a_file_that_ends_too_early_is_an_error_of_the_transfer)
{
	for (enum kind kind = ON_A_FILE; kind < KINDS; kind++) {
		struct rig *r = rig_open_file(kind);

		if (r == NULL)
			continue;
		check_eq(ftruncate(r->file.fd, 2 * FLASH_PAGE), 0);
		check_eq(alone(r, FLASH_READ, 0, 2, place(r, 0)), 0);
		check_eq(alone(r, FLASH_READ, 1, 3, place(r, 0)), -EIO);
		check_eq(alone(r, FLASH_READ, 8, 1, place(r, 0)), -EIO);
		rig_close(r);
	}
}

TEST(a_short_transfer_goes_on_with_its_rest)
{
	for (enum kind kind = ON_A_FILE; kind < KINDS; kind++) {
		struct rig *r = rig_open_file(kind);

		if (r == NULL)
			continue;
		fill_page(place(r, 1), 1, 1);
		check_eq(alone(r, FLASH_WRITE, 1, 1, place(r, 1)), 0);
		check_eq(ftruncate(r->file.fd, 2 * FLASH_PAGE), 0);
		growth.calls = 2;
		growth.fd = r->file.fd;
		memset(place(r, 0), 'x', 3 * FLASH_PAGE);
		check_eq(alone(r, FLASH_READ, 1, 3, place(r, 0)), 0);
		check_eq(growth.calls, 0);
		check(page_is(place(r, 0), 1, 1));
		check(page_is(place(r, 0) + FLASH_PAGE, 2, 0) &&
		      page_is(place(r, 0) + 2 * FLASH_PAGE, 3, 0));
		rig_close(r);
	}
}

TEST(what_the_kernel_refuses_for_a_while_is_tried_again)
{
	static const struct {
		enum kind kind;
		int error;
	} cases[] = {{URING, -EAGAIN},
		     {URING, -EBUSY},
		     {URING, -EINTR},
		     {THREADS, -EAGAIN},
		     {THREADS, -EINTR}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rig *r = rig_open_file(cases[i].kind);

		if (r == NULL)
			continue;
		refusal.error = cases[i].error;
		refusal.times = 5;
		check_eq(alone(r, FLASH_READ, 0, 2, place(r, 0)), 0);
		check_eq(refusal.times, 0);
		rig_close(r);
	}
}

TEST(a_broken_ring_ends_all_that_comes_with_an_error)
{
	struct rig *r = rig_open_file(URING);
	struct flash_io io = {1, 0, NULL, FLASH_PAGE, FLASH_READ};

	if (r == NULL)
		skip();
	io.data = place(r, 7);
	refusal.error = -EFAULT;
	refusal.times = 1;
	check_eq(submit(r, &io, 1), 1);
	check_eq(refusal.times, 0);
	for (uint32_t i = 0; i < 2 * DEPTH; i++)
		check_eq(alone(r, FLASH_WRITE, 0, 1, place(r, 0)), -EIO);
	rig_close(r);
}

TEST(a_file_is_made_and_grown_and_never_shrunk)
{
	static const struct {
		uint64_t has, want, bytes;
		int e;
	} cases[] = {
		{0, 8192, 8192, 0},     {4096, 8192, 8192, 0}, {16384, 8192, 8192, 0},
		{16384, 0, 16384, 0},   {10000, 0, 8192, 0},   {0, 0, 0, -EINVAL},
		{4096, 10000, 8192, 0},
	};
	char path[] = "flash_file_XXXXXX";
	struct flash_file file;

	close(mkstemp(path));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int e;

		check_eq(truncate(path, 0), 0);
		check_eq(truncate(path, (off_t)cases[i].has), 0);
		e = flash_file_open(&file, path, cases[i].want);
		if (i == 0 && e == -EINVAL) {
			printf("not run: O_DIRECT is not had here\n");
			break;
		}
		check_eq(e, cases[i].e);
		if (e != 0)
			continue;
		check_eq(file.bytes, cases[i].bytes);
		check(lseek(file.fd, 0, SEEK_END) >= (off_t)cases[i].has);
		flash_file_close(&file);
	}
	unlink(path);
	check_eq(flash_file_open(&file, "no/such/file", 0), -ENOENT);
	check_eq(flash_file_open(&file, "/dev/null", 4096), -EINVAL);
}
