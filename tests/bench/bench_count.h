/*
 * bench_count.h - instructions of a kind of request, by callgrind.
 *
 * They do not depend on other processes. Under
 *
 *     valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no --callgrind-out-file=F
 *
 * the program dumps the counts itself, as F.1, F.2 and so on; what it says of them (JSON) names
 * what each dump holds: "turn" for whole turns, then the stages, one dump a stage a turn.
 */
#ifndef CLOCKOO_BENCH_COUNT_H
#define CLOCKOO_BENCH_COUNT_H

#include "bench_pair.h"

#include <stdio.h>

/* False: this is not valgrind, or its header was not there when this was built. */
bool bench_count_can(void);

/* Members of a JSON object, each with a comma before it, are written to out. */
void bench_count(struct bench_pair *b, FILE *out);

#endif
