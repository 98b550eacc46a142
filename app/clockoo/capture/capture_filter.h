/*
 * capture_filter.h - filters in pcap's language, by libpcap.
 *
 * The client compiles, so host names are looked up there and libpcap's parser never runs in the
 * server. The server checks that what it received is a program that ends.
 *
 * Thread: compile by one thread at a time; the others are pure.
 * Errors: struct error, one line. A program built without libpcap refuses each filter.
 * Bounds: CAPTURE_INSNS_MAX instructions, each run once a frame at most: jumps go forward.
 */
#ifndef CLOCKOO_CAPTURE_FILTER_H
#define CLOCKOO_CAPTURE_FILTER_H

#include "capture_wire.h"

bool capture_filter_compile(struct capture_request *to, const char *text, struct error *err);
bool capture_filter_is_valid(const struct capture_insn *insns, uint32_t count);
/* Runs the filter on a frame, for struct capture_rule. filter: a struct capture_request whose
 * instructions are valid. */
bool capture_filter_match(const void *filter, const uint8_t *data, uint32_t len);

#endif
