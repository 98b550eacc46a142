/*
 * zipf.h - ranks 1..n with chance proportional to rank^-s, in constant time and without a table.
 *
 * Rejection-inversion: W. Hoermann, G. Derflinger, "Rejection-inversion to generate variates from
 * monotone discrete distributions", ACM TOMACS 6(3), 1996. The area under the hat x^-s is inverted
 * in closed form; most draws are accepted by a comparison alone.
 *
 * Shape:  four numbers computed once.
 * Thread: immutable after zipf_init.
 * Bounds: s in ]0, ZIPF_S_MAX]; n at least 1. ZIPF_TRIES_MAX draws, each accepted with a chance
 *         above one half; then rank 1, which is the likeliest.
 */
#ifndef CLOCKOO_ZIPF_H
#define CLOCKOO_ZIPF_H

#include "load_rng.h"

#define ZIPF_S_MAX     8.0
#define ZIPF_TRIES_MAX 64u

struct zipf {
	double s;
	double low, span; /* the range of areas drawn: low .. low + span */
	double squeeze;   /* a draw closer to its rank than this needs no second check */
	uint32_t n;
};

void zipf_init(struct zipf *z, uint32_t n, double s);
uint32_t zipf_draw(const struct zipf *z, struct load_rng *r);

#endif
