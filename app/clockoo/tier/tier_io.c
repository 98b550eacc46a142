/*
 * tier_io.c - opens rings of io_uring where the kernel has them; otherwise queues and their helper
 * threads.
 */
#include "tier_io.h"
#include "process/last_words.h"
#include "process/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define THREAD_NAME   "clockoo-flashio"
#define STACK_BYTES   (256u << 10)
#define HELPERS       (TIER_IO_READERS + TIER_IO_WRITERS)
#define SEE           "see kernel.io_uring_disabled, and seccomp"
#define THREADS_WORDS "threads: %u read, %u write"

enum group { WRITERS, READERS, GROUPS };

struct tier_io {
	size_t bytes; /* of the mapping that has this struct */
	uint32_t count;
	uint32_t rings_open;
	struct flash_uring *rings;
	struct flash_queue *queues; /* NULL with rings */
	struct flash_threads groups[GROUPS];
	pthread_t helpers[HELPERS];
	uint32_t helper_count;
};

/* ---- rings ---- */

static void
rings_close(struct tier_io *io)
{
	while (io->rings_open != 0)
		flash_uring_close(&io->rings[--io->rings_open]);
}

/* Opens all rings. Returns 0, or -errno with all of them closed. */
static int
rings_open(struct tier_io *io, const struct flash_file *file, const struct tier_io_part *parts)
{
	int e = 0;

	for (uint32_t i = 0; i < io->count && e == 0; i++) {
		e = flash_uring_open(&io->rings[i], file, parts[i].depth, parts[i].memory,
				     parts[i].bytes);
		io->rings_open += e == 0;
	}
	if (e != 0)
		rings_close(io);
	return e;
}

/* ---- queues and helpers ---- */

static void *
helper_main(void *arg)
{
	struct flash_threads *group = arg;

	last_words_thread("a helper of flash");
	flash_threads_help(group, 0);
	return NULL;
}

static bool
helper_start(struct tier_io *io, const struct process *process, struct flash_threads *group)
{
	pthread_t *t = &io->helpers[io->helper_count];
	pthread_attr_t how;
	int e;

	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK_BYTES);
	e = pthread_create(t, &how, helper_main, group);
	pthread_attr_destroy(&how);
	if (e != 0)
		return false;
	pthread_setname_np(*t, THREAD_NAME);
	process_pin_thread(process, *t);
	io->helper_count++;
	return true;
}

static bool
queues_open(struct tier_io *io, const struct process *process, const struct flash_file *file,
	    const struct tier_io_part *parts, struct error *err)
{
	bool ok = true;

	flash_threads_init(&io->groups[WRITERS], &io->queues[0], 1);
	flash_threads_init(&io->groups[READERS], &io->queues[1], io->count - 1);
	for (uint32_t i = 0; i < io->count; i++)
		flash_queue_open(&io->queues[i], &io->groups[i == 0 ? WRITERS : READERS], file,
				 parts[i].depth);
	for (uint32_t i = 0; i < HELPERS && ok; i++)
		ok = helper_start(io, process,
				  &io->groups[i < TIER_IO_WRITERS ? WRITERS : READERS]);
	return ok || error_set(err, "--flash-device: cannot start its threads");
}

static bool
helpers_join(struct tier_io *io)
{
	struct timespec limit;
	bool all = true;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += FLASH_CLOSE_S;
	for (uint32_t i = 0; i < io->helper_count; i++)
		all &= pthread_timedjoin_np(io->helpers[i], NULL, &limit) == 0;
	return all;
}

/* ---- both ---- */

static bool
device_error(int e, struct error *err)
{
	return error_set(err,
			 "--flash-io io_uring: the kernel refuses it: %s; " SEE
			 ", or leave --flash-io out",
			 strerror(-e));
}

/* Maps memory that has room for rings or queues. */
static struct tier_io *
map(uint32_t count)
{
	const size_t each = sizeof(struct flash_uring) > sizeof(struct flash_queue)
				    ? sizeof(struct flash_uring)
				    : sizeof(struct flash_queue);
	const size_t head = (sizeof(struct tier_io) + FLASH_PAGE - 1) / FLASH_PAGE * FLASH_PAGE;
	const size_t bytes = head + count * each;
	struct tier_io *io =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (io == MAP_FAILED)
		return NULL;
	io->bytes = bytes;
	io->count = count;
	io->rings = (void *)((uint8_t *)io + head);
	return io;
}

static bool
open_all(struct tier_io *io, const struct process *process, enum config_flash_io asked,
	 const struct flash_file *file, const struct tier_io_part *parts, struct error *err)
{
	const int e = asked == FLASH_IO_THREADS ? 0 : rings_open(io, file, parts);

	if (asked != FLASH_IO_THREADS && e == 0)
		return true;
	if (asked == FLASH_IO_URING)
		return device_error(e, err);
	if (asked == FLASH_IO_AUTO)
		fprintf(stderr,
			"clockoo: flash.io: threads, since the kernel refuses io_uring (%s; " SEE
			"): at most %u reads of flash at a time, not %u a core\n",
			strerror(-e), TIER_IO_READERS, parts[1].depth);
	io->queues = (void *)io->rings;
	return queues_open(io, process, file, parts, err);
}

struct tier_io *
tier_io_open(const struct process *process, enum config_flash_io kind,
	     const struct flash_file *file, const struct tier_io_part *parts, uint32_t count,
	     struct error *err)
{
	struct tier_io *io = map(count);

	if (io == NULL) {
		error_set(err, "--flash-device: no memory for its transfers");
		return NULL;
	}
	if (open_all(io, process, kind, file, parts, err))
		return io;
	tier_io_close(io);
	return NULL;
}

struct flash_device *
tier_io_device(struct tier_io *io, uint32_t i)
{
	return io->queues != NULL ? &io->queues[i].device : &io->rings[i].device;
}

const char *
tier_io_name(const struct tier_io *io)
{
	return io->queues != NULL ? "threads" : "io_uring";
}

const char *
tier_io_words(const struct tier_io *io)
{
	return io->queues != NULL ? "threads, O_DIRECT" : flash_uring_words(&io->rings[0]);
}

bool
tier_io_close(struct tier_io *io)
{
	bool ended = true;

	rings_close(io);
	if (io->queues != NULL) {
		for (uint32_t i = 0; i < GROUPS; i++)
			flash_threads_end(&io->groups[i]);
		ended = helpers_join(io);
	}
	if (ended)
		munmap(io, io->bytes);
	return ended;
}

/* ---- before a start ---- */

bool
tier_io_check(struct tier_io_check *check, const struct config *cfg, struct error *err)
{
	const uint32_t asked = cfg->flash.io;
	const bool here = cfg->sysfs[0] == '\0';

	*check = (struct tier_io_check){.words = "io_uring"};
	if (asked != FLASH_IO_THREADS && here)
		check->refused = flash_uring_probe();
	if (asked == FLASH_IO_URING)
		return check->refused == 0 || device_error(check->refused, err);
	if (asked == FLASH_IO_THREADS)
		snprintf(check->words, sizeof check->words, THREADS_WORDS, TIER_IO_READERS,
			 TIER_IO_WRITERS);
	else if (check->refused != 0)
		snprintf(check->words, sizeof check->words, THREADS_WORDS " (io_uring: %s)",
			 TIER_IO_READERS, TIER_IO_WRITERS, strerror(-check->refused));
	else if (!here)
		snprintf(check->words, sizeof check->words,
			 "io_uring, or " THREADS_WORDS " where the kernel refuses it",
			 TIER_IO_READERS, TIER_IO_WRITERS);
	return true;
}
