/*
 * bench_count.h - instructions of a kind of request, by callgrind.
 *
 * They do not depend on other processes. Under
 *
 *     valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no --callgrind-out-file=F
 *
 * the program dumps the counts itself, as F.1, F.2 and so on. Its JSON names the content of each
 * dump: "turn" for whole turns, then the stages, with one dump for each stage of a turn.
 */
#ifndef CLOCKOO_BENCH_COUNT_H
#define CLOCKOO_BENCH_COUNT_H

#include "bench_pair.h"

#include <stdio.h>

/* True if instructions can be counted: this is valgrind, and its header existed at the build. */
bool bench_count_can(void);

/* Writes members of a JSON object to out, each with a comma before it. */
void bench_count(struct bench_pair *b, FILE *out);

#endif
