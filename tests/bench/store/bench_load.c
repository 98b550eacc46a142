/*
 * bench_load.c - keys, random numbers, clocks and JSON rows for the benches.
 */
#include "bench_load.h"

#include "base/region.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES  (2u << 20)
#define PROGRESS_NS 250000000u
#define LINE_BYTES  512u
#define PERCENT     100u
#define ZIPF_EXACT  (1u << 20) /* terms summed one by one; the rest is an integral */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

void *
bench_map(size_t bytes)
{
	const size_t size = align_up(bytes, HUGE_BYTES);
	/* Maps one huge page more than needed, so that the start can be moved to a boundary. */
	uint8_t *p = mmap(NULL, size + HUGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("bench: mmap");
		exit(1);
	}

	const size_t skip = align_up((uintptr_t)p, HUGE_BYTES) - (uintptr_t)p;

	if (skip != 0)
		munmap(p, skip);
	if (skip != HUGE_BYTES)
		munmap(p + skip + size, HUGE_BYTES - skip);
	madvise(p + skip, size, MADV_HUGEPAGE);
	return p + skip;
}

void
bench_unmap(void *memory, size_t bytes)
{
	munmap(memory, align_up(bytes, HUGE_BYTES));
}

void
bench_collapse(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[LINE_BYTES], perms[8];
	unsigned long from, to, inode;

	if (maps == NULL)
		return;
	while (fgets(line, sizeof line, maps) != NULL) {
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &from, &to, perms, &inode) != 4)
			continue;
		from = align_up(from, HUGE_BYTES);
		to &= ~(HUGE_BYTES - 1ul);
		/* Best effort: the share that became huge is measured and printed. */
		if (perms[1] == 'w' && inode == 0 && from < to) {
			madvise((void *)from, to - from, MADV_HUGEPAGE);
			madvise((void *)from, to - from, MADV_COLLAPSE);
		}
	}
	fclose(maps);
}

uint64_t
bench_memory_kb(int pid, const char *field)
{
	char path[64], line[LINE_BYTES], name[64];
	unsigned long long kb, found = 0;
	FILE *f;

	if (pid == 0)
		pid = getpid();
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "r");
	if (f == NULL)
		return 0;
	while (fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "%63[^:]: %llu", name, &kb) == 2 && strcmp(name, field) == 0)
			found = kb;
	fclose(f);
	return found;
}

void
bench_progress(const char *words, uint64_t done, uint64_t all)
{
	static _Thread_local uint64_t said_ns;
	const uint64_t now = bench_ns();

	if (now - said_ns < PROGRESS_NS)
		return;
	said_ns = now;
	/* A line of its own: tools/bench shows the latest one beside its clock. */
	fprintf(stderr, "%s %llu %%\n", words,
		(unsigned long long)(all != 0 ? done * PERCENT / all : 0));
}

/* Returns the sum of i^-theta for i = 1..n; beyond ZIPF_EXACT the integral between the
 * midpoints. */
static double
zeta(double n, double theta)
{
	const double exact = n < ZIPF_EXACT ? n : ZIPF_EXACT;
	double sum = 0;

	for (double i = 1; i <= exact; i++)
		sum += pow(i, -theta);
	if (n > exact)
		sum += (pow(n + 0.5, 1 - theta) - pow(exact + 0.5, 1 - theta)) / (1 - theta);
	return sum;
}

void
zipf_init(struct zipf *z, uint32_t n, double theta)
{
	z->n = n;
	z->theta = theta;
	z->alpha = 1 / (1 - theta);
	z->zeta = zeta(n, theta);
	z->second = 1 + pow(0.5, theta);
	z->eta = (1 - pow(2.0 / n, 1 - theta)) / (1 - z->second / z->zeta);
}

uint32_t
zipf_next(const struct zipf *z, uint64_t *state)
{
	const double u = (double)(bench_random(state) >> 11) * 0x1p-53;
	const double uz = u * z->zeta;
	double n;

	if (uz < 1)
		return 0;
	if (uz < z->second)
		return 1;
	n = z->n * pow(z->eta * u - z->eta + 1, z->alpha);
	return n < z->n ? (uint32_t)n : (uint32_t)z->n - 1;
}
