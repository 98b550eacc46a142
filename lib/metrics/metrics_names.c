/*
 * metrics_names.c - what no rule tells: which rows count up, and names of memcached_exporter
 * (github.com/prometheus/memcached_exporter, metrics.md) for what means the same here.
 */
#include "metrics_internal.h"

/* Words with spaces around each. A row that is in no list is a level, which goes up and down. */
static const struct {
	const char *reply, *rows;
} counting[] = {
	{"stats",
	 " rusage_user rusage_system total_connections rejected_connections response_obj_oom "
	 "read_buf_oom cmd_get cmd_set cmd_flush cmd_touch cmd_meta get_hits get_misses "
	 "get_expired "
	 "get_flushed delete_misses delete_hits incr_misses incr_hits decr_misses decr_hits "
	 "cas_misses cas_hits cas_badval touch_hits touch_misses store_too_large store_no_memory "
	 "auth_cmds auth_errors idle_kicks bytes_read bytes_written listen_disabled_num "
	 "time_in_listen_disabled_us conn_yields slab_reassign_rescues slab_reassign_chunk_rescues "
	 "slab_reassign_inline_reclaim slab_reassign_busy_items slab_reassign_busy_deletes "
	 "slab_reassign_busy_nomem slabs_moved lru_crawler_starts lru_maintainer_juggles "
	 "malloc_fails log_worker_dropped log_worker_written log_watcher_skipped log_watcher_sent "
	 "unexpected_napi_ids round_robin_fallback total_items expired_unfetched evicted_unfetched "
	 "evicted_active evictions reclaimed crawler_reclaimed crawler_items_checked "
	 "lrutail_reflocked moves_to_cold moves_to_warm moves_within_lru direct_reclaims "
	 "lru_bumps_dropped turns_over_50us turns_over_100us turns_over_100us_host get_extstore "
	 "get_aborted_extstore get_oom_extstore recache_from_extstore miss_from_extstore "
	 "badcrc_from_extstore "},
	{"items", " evicted evicted_nonzero outofmemory tailrepairs reclaimed expired_unfetched "
		  "evicted_unfetched evicted_active crawler_reclaimed crawler_items_checked "
		  "lrutail_reflocked moves_to_cold moves_to_warm moves_within_lru direct_reclaims "
		  "hits_to_hot hits_to_warm hits_to_cold "},
	{"slabs",
	 " get_hits cmd_set delete_hits incr_hits decr_hits cas_hits cas_badval touch_hits "},
	{"front", " keys requests failed server_err server_timedout server_eof server_ejections "
		  "spared fills "
		  "joined writes_lost "},
	{"extstore",
	 " extstore_page_allocs extstore_page_evictions extstore_objects_read "
	 "extstore_objects_written extstore_bytes_read extstore_bytes_written flash_asked "
	 "flash_buffered flash_other_keys_read flash_looked_again flash_not_found "
	 "flash_read_errors flash_offered flash_admitted_bytes flash_refused_unused "
	 "flash_refused_large flash_refused_copies flash_refused_budget flash_refused_off "
	 "flash_refused_room flash_refused_index flash_refused_changed flash_tombstones "
	 "flash_erased flash_claimed flash_unjournaled flash_segments_lost flash_segments_given_up "
	 "flash_hash_made flash_hash_evictions flash_hash_reinserted flash_hash_other_keys_read "
	 "flash_converted flash_conversions_ended flash_convert_bytes_read "
	 "flash_convert_bytes_written "},
	{"latency", " count "},
	{"net", " nic_missed nic_no_buffer nic_rx_errors nic_tx_errors "},
};

/* Of the rooms' lists of counters, what is none. */
static const char levels[] = " turns_max_ns ";

static bool
has_word(const char *words, struct view word)
{
	const size_t len = strlen(words);

	for (const char *at = words; (size_t)(at - words) + word.len + 2 <= len; at++) {
		at = strchr(at, ' ');
		if (at == NULL || at[1] == '\0')
			return false;
		if (strncmp(at + 1, (const char *)word.data, word.len) == 0 &&
		    at[1 + word.len] == ' ')
			return true;
	}
	return false;
}

bool
metrics_counts_up(struct view reply, struct view name)
{
	for (size_t i = 0; i < sizeof counting / sizeof counting[0]; i++)
		if (view_is(reply, counting[i].reply) && has_word(counting[i].rows, name))
			return true;
	return false;
}

bool
metrics_is_level(struct view name)
{
	return has_word(levels, name);
}

const char *
metrics_index_label(struct view reply)
{
	static const char *const labels[][2] = {
		{"items", "class"},  {"slabs", "class"},     {"cores", "core"},
		{"front", "server"}, {"latency", "request"}, {"hotkeys", "rank"},
		{"sources", "rank"},
	};

	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
		if (view_is(reply, labels[i][0]))
			return labels[i][1];
	return "of";
}

#define COMMAND(row, command, status)                                                              \
	{                                                                                          \
		"commands", "Requests by command and status.", true, "stats", row,                 \
			"command=\"" command "\",status=\"" status "\""                            \
	}
#define BOTH(command)                                                                              \
	COMMAND(command "_hits", command, "hit"), COMMAND(command "_misses", command, "miss")
#define SLAB_COMMAND(row, command, status)                                                         \
	{                                                                                          \
		"slab_commands", "Requests by slab class, command and status.", true, "slabs",     \
			row, "command=\"" command "\",status=\"" status "\""                       \
	}
#define LEVEL(metric, row, help)                                                                   \
	{                                                                                          \
		metric, help, false, "stats", row, ""                                              \
	}
#define COUNT(metric, row, help)                                                                   \
	{                                                                                          \
		metric, help, true, "stats", row, ""                                               \
	}
#define OF(reply, metric, row, counter, help)                                                      \
	{                                                                                          \
		metric, help, counter, reply, row, ""                                              \
	}

/* Behind memcached_. */
const struct metrics_alias metrics_aliases[] = {
	LEVEL("uptime_seconds", "uptime", "Seconds since the start."),
	LEVEL("time_seconds", "time", "Wall clock."),
	{"version", "Version that clients are told.", false, "stats", "version", "version"},
	COUNT("process_user_cpu_seconds", "rusage_user", "CPU time in user mode."),
	COUNT("process_system_cpu_seconds", "rusage_system", "CPU time in the kernel."),
	COUNT("read_bytes", "bytes_read", "Bytes received, headers included."),
	COUNT("written_bytes", "bytes_written", "Bytes sent, headers included."),
	LEVEL("current_connections", "curr_connections", "Open connections."),
	OF("settings", "max_connections", "maxconns", false, "Connection limit (-c)."),
	COUNT("connections", "total_connections", "Connections opened."),
	COUNT("connections_rejected", "rejected_connections", "Refused: connection limit."),
	COUNT("connections_yielded", "conn_yields", "Connections deferred: request limit (-R)."),
	LEVEL("accepting_connections", "accepting_conns", "Is there room for another connection?"),
	LEVEL("current_bytes", "bytes", "Bytes of items."),
	LEVEL("limit_bytes", "limit_maxbytes", "Memory for items."),
	BOTH("get"),
	BOTH("delete"),
	BOTH("incr"),
	BOTH("decr"),
	BOTH("cas"),
	BOTH("touch"),
	COMMAND("cas_badval", "cas", "badval"),
	COMMAND("cmd_flush", "flush", "hit"),
	COMMAND("cmd_set", "set", "hit"),
	LEVEL("current_items", "curr_items", "Items stored."),
	COUNT("items", "total_items", "Items ever stored."),
	COUNT("items_evicted", "evictions", "Items evicted for memory."),
	COUNT("items_reclaimed", "reclaimed", "Expired items reclaimed for an allocation."),
	COUNT("item_too_large", "store_too_large", "Values refused for their size."),
	COUNT("item_no_memory", "store_no_memory", "Values refused for lack of memory."),
	OF("slabs", "malloced_bytes", "total_malloced", false, "Memory of slab pages."),
	OF("items", "slab_current_items", "number", false, "Items of a slab class."),
	OF("items", "slab_items_age_seconds", "age", false, "Since the hand was last here."),
	OF("items", "slab_items_evicted", "evicted", true, "Items evicted."),
	OF("items", "slab_items_evicted_nonzero", "evicted_nonzero", true,
	   "Evicted items that had an expiry."),
	OF("items", "slab_items_evicted_time_seconds", "evicted_time", false,
	   "Time since the last use of what is evicted."),
	OF("items", "slab_items_evicted_unfetched", "evicted_unfetched", true,
	   "Evicted items that were never fetched."),
	OF("items", "slab_items_expired_unfetched", "expired_unfetched", true,
	   "Expired items that were never fetched."),
	OF("items", "slab_items_outofmemory", "outofmemory", true, "Stores without memory."),
	OF("items", "slab_items_reclaimed", "reclaimed", true, "Expired items reclaimed."),
	OF("items", "slab_items_crawler_reclaimed", "crawler_reclaimed", true,
	   "Expired items that the sweep found."),
	OF("items", "slab_mem_requested_bytes", "mem_requested", false, "Bytes of items."),
	OF("slabs", "slab_chunk_size_bytes", "chunk_size", false, "Bytes of an object."),
	OF("slabs", "slab_chunks_per_page", "chunks_per_page", false, "Objects of a page."),
	OF("slabs", "slab_current_pages", "total_pages", false, "Pages."),
	OF("slabs", "slab_current_chunks", "total_chunks", false, "Objects."),
	OF("slabs", "slab_chunks_used", "used_chunks", false, "Objects in use."),
	OF("slabs", "slab_chunks_free", "free_chunks", false, "Free objects."),
	SLAB_COMMAND("get_hits", "get", "hit"),
	SLAB_COMMAND("delete_hits", "delete", "hit"),
	SLAB_COMMAND("incr_hits", "incr", "hit"),
	SLAB_COMMAND("decr_hits", "decr", "hit"),
	SLAB_COMMAND("cas_hits", "cas", "hit"),
	SLAB_COMMAND("touch_hits", "touch", "hit"),
	SLAB_COMMAND("cas_badval", "cas", "badval"),
	SLAB_COMMAND("cmd_set", "set", "hit"),
	OF("extstore", "extstore_pages_allocated", "extstore_page_allocs", true, "Segments begun."),
	OF("extstore", "extstore_pages_evicted", "extstore_page_evictions", true,
	   "Segments overwritten."),
	OF("extstore", "extstore_pages_free", "extstore_pages_free", false, "Free segments."),
	OF("extstore", "extstore_pages_used", "extstore_pages_used", false, "Segments in use."),
	OF("extstore", "extstore_objects_read", "extstore_objects_read", true, "Reads of flash."),
	OF("extstore", "extstore_objects_written", "extstore_objects_written", true,
	   "Items written to flash."),
	OF("extstore", "extstore_bytes_read", "extstore_bytes_read", true, "Bytes read."),
	OF("extstore", "extstore_bytes_written", "extstore_bytes_written", true, "Bytes written."),
	OF("extstore", "extstore_bytes_limit", "extstore_limit_maxbytes", false,
	   "Size of the tier."),
	OF("extstore", "extstore_io_queue_depth", "extstore_io_queue", false,
	   "Reads on their way."),
};
const uint32_t metrics_alias_count = sizeof metrics_aliases / sizeof metrics_aliases[0];
