/*
 * stat_names.h - every name that stats shows, for STATS.md and the test that compares.
 *
 * Shape:  in the order shown, made from the tables that also make the replies.
 */
#ifndef CLOCKOO_STAT_NAMES_H
#define CLOCKOO_STAT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct stat_name {
	const char *name;
	bool unsupported; /* a name that tools expect, for a mechanism that does not exist here: 0
			     or none */
};

/* From a row of such a table: X(kind, name, value). */
#define STAT_IS_UNSUPPORTED          true
#define STAT_IS_NONE                 true
#define STAT_IS_NUMBER               false
#define STAT_IS_TEXT                 false
#define STAT_IS_SECONDS              false
#define STAT_IS_LETTER               false
#define STAT_NAME(kind, name, value) {name, STAT_IS_##kind},

extern const struct stat_name stats_names[], settings_names[], items_names[], slabs_names[];
/* Of stats net and stack, what is no counter. */
extern const char *const net_gauge_names[], *const stack_gauge_names[];
extern const uint32_t net_gauge_count, stack_gauge_count;
/* Of stats latency: each of the first has all of the second. */
extern const char *const latency_row_names[], *const latency_figure_names[];
extern const uint32_t latency_row_count, latency_figure_count;
/* Of stats slow: each request has them. */
extern const char *const slow_names[];
extern const uint32_t slow_name_count;
/* Of stats hotkeys: each key asked for most has the first, each large one the second. */
extern const char *const hotkeys_hot_names[], *const hotkeys_big_names[];
extern const uint32_t hotkeys_hot_count, hotkeys_big_count;
/* Of stats sources: each source. */
extern const char *const source_stat_names[];
extern const uint32_t source_stat_count;
extern const uint32_t stats_name_count, settings_name_count, items_name_count, slabs_name_count;

#endif
