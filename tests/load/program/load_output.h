/*
 * load_output.h - output of clockoo-load after the table: the knee, counts, the JSON file.
 *
 * Thread: main, or the coordinator before it ends.
 * Errors: struct error: the file cannot be written.
 */
#ifndef CLOCKOO_LOAD_OUTPUT_H
#define CLOCKOO_LOAD_OUTPUT_H

#include "load_program.h"

/* Prints one line: the rate at which the SLO was violated. */
void load_output_knee(const struct load_program *p, uint32_t conns, uint32_t depth);
/* Prints the counts of the last run, and the first wrong value if there was one. */
void load_output_counts(const struct load_program *p);
/* Writes the file of --json, if that was given. False with an error if it cannot be written. */
bool load_output_file(const struct load_program *p, struct error *err);

#endif
