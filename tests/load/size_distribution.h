/*
 * size_distribution.h - lengths of keys and values: fixed, uniform, or as Facebook measured them.
 *
 * Source: Atikoglu, Xu, Frachtenberg, Jiang, Paleczny, "Workload Analysis of a Large-Scale
 * Key-Value Store", SIGMETRICS 2012.
 *   ETC keys    generalized extreme value, mu 30.7984, sigma 8.20449, k 0.078688 (section 5)
 *   ETC values  0..14 bytes by its table of frequencies, 44 % of all; the others generalized
 *               Pareto from 15 bytes up, sigma 214.476, k 0.348238
 *   USR         keys of 16 and 21 bytes, values of 2; the paper gives no share, so half and half
 *
 * Shape:  SIZE_STEPS quantiles, so that a size costs one look-up: the size of a key is a function
 *         of its number, and a reply's length can be checked without a copy.
 * Units:  bytes.
 * Thread: immutable once it is made.
 * Bounds: every size in least .. most; tails beyond are cut there. A tail above the last quantile
 *         (1 in 2 * SIZE_STEPS) is cut at it.
 */
#ifndef CLOCKOO_SIZE_DISTRIBUTION_H
#define CLOCKOO_SIZE_DISTRIBUTION_H

#include <stdint.h>

#define SIZE_STEP_BITS 12u
#define SIZE_STEPS     (1u << SIZE_STEP_BITS)

struct size_distribution {
	uint32_t least, most;
	double mean;
	uint32_t at[SIZE_STEPS]; /* the size of each equal share of keys */
};

void size_distribution_uniform(struct size_distribution *dist, uint32_t least, uint32_t most);
void size_distribution_etc_keys(struct size_distribution *dist, uint32_t least, uint32_t most);
void size_distribution_etc_values(struct size_distribution *dist, uint32_t least, uint32_t most);
void size_distribution_usr_keys(struct size_distribution *dist);
void size_distribution_usr_values(struct size_distribution *dist);

/* Returns the size. hash: any well mixed 64 bits of the key's number. */
static inline uint32_t
size_distribution_of(const struct size_distribution *dist, uint64_t hash)
{
	return dist->at[hash >> (64 - SIZE_STEP_BITS)];
}

#endif
