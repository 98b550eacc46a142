/*
 * load_output.h - output of clockoo-load after the table: the knee, counts, the JSON file.
 *
 * Thread: main, or the coordinator before it ends.
 * Errors: struct error: the file cannot be written.
 */
#ifndef CLOCKOO_LOAD_OUTPUT_H
#define CLOCKOO_LOAD_OUTPUT_H

#include "load_program.h"

/* One line: where the slo broke. */
void load_output_knee(const struct load_program *p, uint32_t conns, uint32_t depth);
/* Counts of the last run, and the first wrong value if there was one. */
void load_output_counts(const struct load_program *p);
/* --json, if it was given. */
bool load_output_file(const struct load_program *p, struct error *err);

#endif
