/*
 * about.h - releases and features of the program and its libraries, for --version and doctor.
 */
#ifndef CLOCKOO_ABOUT_H
#define CLOCKOO_ABOUT_H

#include "topology/advice.h"

#include <stdio.h>

/* Prints the text of --version. The first line is "clockoo RELEASE" and no more, since tools for
 * memcached read it. */
void about_print(FILE *out);

/* Adds a warning if DPDK's release gets no more fixes at now_s, in seconds since 1970. */
void about_advise(struct advice_list *list, int64_t now_s);

#endif
