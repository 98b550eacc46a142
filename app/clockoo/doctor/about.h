/*
 * about.h - the releases and features in the program: --version, and doctor's line about DPDK.
 */
#ifndef CLOCKOO_ABOUT_H
#define CLOCKOO_ABOUT_H

#include "topology/advice.h"

#include <stdio.h>

/* Prints the releases of --version. The first line is "clockoo RELEASE": tools for memcached read
 * only that. */
void about_print(FILE *out);

/* Adds a warning if DPDK's release gets no more fixes at now_s, seconds since 1970. */
void about_advise(struct advice_list *list, int64_t now_s);

#endif
