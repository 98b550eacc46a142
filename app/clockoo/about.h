/*
 * about.h - what the program is made of: --version, and doctor's line about DPDK.
 */
#ifndef CLOCKOO_ABOUT_H
#define CLOCKOO_ABOUT_H

#include "topology/advice.h"

#include <stdio.h>

/* The first line is "clockoo RELEASE": tools for memcached read no further. */
void about_print(FILE *out);

/* A warning if DPDK's release gets no fixes any more at now_s, seconds since 1970. */
void about_advise(struct advice_list *list, int64_t now_s);

#endif
