/*
 * capture_filter.h - filters in pcap's language, by libpcap.
 *
 * The client compiles the filter: it looks host names up, and libpcap's parser never runs in the
 * server. The server checks that the received program ends.
 *
 * Thread: one thread at a time compiles; the other functions are pure.
 * Errors: struct error, one line. A program built without libpcap refuses each filter.
 * Bounds: CAPTURE_INSNS_MAX instructions. Jumps go forward, so a frame runs each of them once at
 *         most.
 */
#ifndef CLOCKOO_CAPTURE_FILTER_H
#define CLOCKOO_CAPTURE_FILTER_H

#include "capture_wire.h"

bool capture_filter_compile(struct capture_request *to, const char *text, struct error *err);
bool capture_filter_is_valid(const struct capture_insn *insns, uint32_t count);
/* Runs the filter on a frame; fits struct capture_rule. filter is a struct capture_request with
 * valid instructions. */
bool capture_filter_match(const void *filter, const uint8_t *data, uint32_t len);

#endif
