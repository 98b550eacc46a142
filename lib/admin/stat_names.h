/*
 * stat_names.h - every name that stats shows, for STATS.md and the test that compares the two.
 *
 * Shape:  the names are in the order in which they are shown, and come from the tables that make
 *         the replies.
 * Bounds: the reply to stats has less than STATS_BYTES_MAX bytes; the other replies have no bound.
 */
#ifndef CLOCKOO_STAT_NAMES_H
#define CLOCKOO_STAT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* The reply to stats is shorter than this, however long its numbers are. collectd reads it into a
 * buffer of this size, and writes beyond that if the reply has no END there. */
#define STATS_BYTES_MAX 4096u

struct stat_name {
	const char *name;
	bool unsupported; /* shown as 0 or "none": tools expect the name, but the mechanism does
			     not exist here */
};

/* Makes a struct stat_name of a row X(kind, name, value) of these tables. */
#define STAT_IS_UNSUPPORTED          true
#define STAT_IS_NONE                 true
#define STAT_IS_NUMBER               false
#define STAT_IS_TEXT                 false
#define STAT_IS_SECONDS              false
#define STAT_IS_LETTER               false
#define STAT_IS_TLS                  false
#define STAT_NAME(kind, name, value) {name, STAT_IS_##kind},

extern const struct stat_name stats_names[], settings_names[], items_names[], slabs_names[];
/* Names of rows in stats net and stack that are not counters. */
extern const char *const net_gauge_names[], *const stack_gauge_names[];
extern const uint32_t net_gauge_count, stack_gauge_count;
/* Names in stats latency: each row has all of the figures. */
extern const char *const latency_row_names[], *const latency_figure_names[];
extern const uint32_t latency_row_count, latency_figure_count;
/* Names in stats slow: each request has all of them. */
extern const char *const slow_names[];
extern const uint32_t slow_name_count;
/* Names in stats hotkeys: those of a hot key, and those of a large key. */
extern const char *const hotkeys_hot_names[], *const hotkeys_big_names[];
extern const uint32_t hotkeys_hot_count, hotkeys_big_count;
/* Names in stats sources: each source has all of them. */
extern const char *const source_stat_names[];
extern const uint32_t source_stat_count;
extern const uint32_t stats_name_count, settings_name_count, items_name_count, slabs_name_count;

#endif
