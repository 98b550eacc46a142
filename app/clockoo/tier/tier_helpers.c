/*
 * tier_helpers.c - the helper threads of a recovery, and their lists.
 */
#include "tier_helpers.h"
#include "process/last_words.h"

#include <sys/mman.h>
#include <time.h>

#define THREAD_NAME "clockoo-recover"
#define PAUSE_NS    20000u

static void
wait_for_work(void *arg)
{
	const struct timespec t = {.tv_nsec = PAUSE_NS};

	nanosleep(&t, NULL);
}

static void *
reader_main(void *arg)
{
	last_words_thread("a reader of flash");
	flash_workers_help(arg, wait_for_work, NULL);
	return NULL;
}

struct flash_workers *
tier_helpers_start(struct tier_helpers *h, const cpu_set_t *cpus)
{
	const uint32_t count = (uint32_t)CPU_COUNT(cpus);
	const uint32_t wanted = count <= TIER_HELPERS_MAX ? count - 1 : TIER_HELPERS_MAX;

	h->count = 0;
	if (wanted == 0)
		return NULL;
	h->changes = mmap(NULL, FLASH_JOBS_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h->changes == MAP_FAILED)
		return NULL;
	flash_workers_init(&h->workers, h->changes);
	for (; h->count < wanted; h->count++) {
		pthread_t *t = &h->threads[h->count];

		if (pthread_create(t, NULL, reader_main, &h->workers) != 0)
			break;
		pthread_setaffinity_np(*t, sizeof *cpus, cpus);
		pthread_setname_np(*t, THREAD_NAME);
	}
	return &h->workers;
}

void
tier_helpers_stop(struct tier_helpers *h)
{
	if (h->changes == NULL || h->changes == MAP_FAILED)
		return;
	flash_workers_end(&h->workers);
	for (uint32_t i = 0; i < h->count; i++)
		pthread_join(h->threads[i], NULL);
	munmap(h->changes, FLASH_JOBS_BYTES);
}
