/*
 * fuzz_target.h - the one function of a fuzz target; libFuzzer or replay.c calls it.
 *
 * Errors: a target finds a bug by crashing: a sanitizer's report, ensure(), or abort().
 */
#ifndef CLOCKOO_FUZZ_TARGET_H
#define CLOCKOO_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
