/*
 * bench_load.h - shared parts of the store's benches: keys, random numbers, clocks, memory,
 * results.
 *
 * Shape:  a key is 16 bytes made from its number; numbers from keys on are absent keys. A result
 *         is one line of JSON on stdout; tools/bench reads it. Progress goes to stderr.
 * Units:  nanoseconds: bench_ns is the wall clock, bench_cpu_ns the calling thread's CPU time.
 */
#ifndef CLOCKOO_BENCH_LOAD_H
#define CLOCKOO_BENCH_LOAD_H

#include "../bench_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_KEY_BYTES   16u
#define BENCH_VALUE_BYTES 32u
#define BENCH_MIB         (1ull << 20)

struct bench_key {
	uint64_t word[2];
};

/* Mixes x by SplitMix64's finisher (Steele, Lea, Flood, OOPSLA 2014): a bijection, so keys
 * differ. */
static inline uint64_t
bench_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Returns key n. The first half takes few values, so a comparison must read the whole key. */
static inline struct bench_key
bench_key_of(uint64_t n)
{
	const struct bench_key k = {{bench_mix(n & 0xff), bench_mix(n + 0x9e3779b97f4a7c15ull)}};

	return k;
}

static inline uint64_t
bench_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return bench_mix(*state);
}

/* Returns a number in 0 .. n-1 (Lemire, 2016). */
static inline uint32_t
bench_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((bench_random(state) >> 32) * n >> 32);
}

static inline uint64_t
bench_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t
bench_ns(void)
{
	return bench_clock_ns(CLOCK_MONOTONIC);
}

/* Returns the CPU time of this thread alone. */
static inline uint64_t
bench_cpu_ns(void)
{
	return bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns zeroed memory for a region, in transparent huge pages if the kernel has them. */
void *bench_map(size_t bytes);
void bench_unmap(void *memory, size_t bytes);
/* Requests huge pages for everything large that is now on the process's heap. */
void bench_collapse(void);
/* Returns the kilobytes of a field of /proc/PID/smaps_rollup, this process's if pid is 0; 0: not
 * available. */
uint64_t bench_memory_kb(int pid, const char *field);

/* Prints "fill ... 40 %" at most once in a quarter of a second, if stderr is a terminal. */
void bench_progress(const char *words, uint64_t done, uint64_t all);

/* Zipf's distribution over 0..n-1, 0 the most frequent (Gray et al., SIGMOD 1994, as in YCSB). */
struct zipf {
	double n, theta, alpha, zeta, eta, second;
};
void zipf_init(struct zipf *z, uint32_t n, double theta);
uint32_t zipf_next(const struct zipf *z, uint64_t *state);

#ifdef __cplusplus
}
#endif

#endif
