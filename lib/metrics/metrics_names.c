/*
 * metrics_names.c - tables that no rule can replace: the rows that count up, and the names of
 * memcached_exporter (github.com/prometheus/memcached_exporter, metrics.md) that mean the same as
 * a row here.
 */
#include "metrics_internal.h"

/* Names of rows that are counters, each between spaces. A row in no list is a level, which goes
 * up and down. */
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
		  "hits_to_hot hits_to_warm hits_to_cold hits_to_temp "},
	{"slabs",
	 " get_hits cmd_set delete_hits incr_hits decr_hits cas_hits cas_badval touch_hits "},
	{"front", " keys requests failed server_err server_timedout server_eof server_ejections "
		  "spared fills joined writes_lost handed_in handed_out peers_told peers_lost "
		  "peers_heard peers_refused "},
	{"extstore",
	 " extstore_page_allocs extstore_page_evictions extstore_objects_read "
	 "extstore_objects_written extstore_bytes_read extstore_bytes_written flash_asked "
	 "flash_buffered flash_other_keys_read flash_looked_again flash_not_found "
	 "flash_read_errors flash_offered flash_admitted_bytes flash_refused_unused "
	 "flash_refused_large flash_refused_device flash_refused_budget flash_refused_off "
	 "flash_packed flash_packed_saved flash_unpacked flash_unpack_errors "
	 "flash_refused_index flash_refused_changed flash_tombstones "
	 "flash_erased flash_claimed flash_unjournaled flash_segments_lost flash_segments_given_up "
	 "flash_hash_made flash_hash_evictions flash_hash_reinserted flash_hash_other_keys_read "
	 "flash_converted flash_conversions_ended flash_convert_bytes_read "
	 "flash_convert_bytes_written "},
	{"latency", " count "},
	{"net",
	 " nic_rx_frames nic_tx_frames nic_missed nic_no_buffer nic_rx_errors nic_tx_errors "
	 "nic_bw_in_allowance_exceeded nic_bw_out_allowance_exceeded nic_pps_allowance_exceeded "
	 "nic_conntrack_allowance_exceeded nic_linklocal_allowance_exceeded "},
};

/* Rows of the rooms' lists of counters that are levels. */
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
		{"sources", "rank"}, {"slow", "rank"},
	};

	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
		if (view_is(reply, labels[i][0]))
			return labels[i][1];
	return "of";
}

#define REQUESTS      "Requests by command and status."
#define SLAB_REQUESTS "Requests by slab class, command and status."

#define NONE "", ""

/* Names without their prefix memcached_. */
const struct metrics_alias metrics_aliases[] = {
	{"uptime_seconds", "stats", "uptime", false, "Seconds since the start.", NONE},
	{"time_seconds", "stats", "time", false, "Wall clock.", NONE},
	{"version", "stats", "version", false, "Version that clients get as the answer to version.",
	 NONE},
	{"process_user_cpu_seconds", "stats", "rusage_user", true, "CPU time in user mode.", NONE},
	{"process_system_cpu_seconds", "stats", "rusage_system", true, "CPU time in the kernel.",
	 NONE},
	{"read_bytes", "stats", "bytes_read", true, "Bytes received, headers included.", NONE},
	{"written_bytes", "stats", "bytes_written", true, "Bytes sent, headers included.", NONE},
	{"current_connections", "stats", "curr_connections", false, "Open connections.", NONE},
	{"max_connections", "settings", "maxconns", false, "Connection limit (-c).", NONE},
	{"connections", "stats", "total_connections", true, "Connections opened.", NONE},
	{"connections_rejected", "stats", "rejected_connections", true,
	 "Refused: connection limit.", NONE},
	{"connections_yielded", "stats", "conn_yields", true,
	 "Connections deferred: request limit (-R).", NONE},
	{"accepting_connections", "stats", "accepting_conns", false,
	 "Is there room for another connection?", NONE},
	{"current_bytes", "stats", "bytes", false, "Bytes of items.", NONE},
	{"limit_bytes", "stats", "limit_maxbytes", false, "Memory for items.", NONE},
	{"commands", "stats", "get_hits", true, REQUESTS, "get", "hit"},
	{"commands", "stats", "get_misses", true, REQUESTS, "get", "miss"},
	{"commands", "stats", "delete_hits", true, REQUESTS, "delete", "hit"},
	{"commands", "stats", "delete_misses", true, REQUESTS, "delete", "miss"},
	{"commands", "stats", "incr_hits", true, REQUESTS, "incr", "hit"},
	{"commands", "stats", "incr_misses", true, REQUESTS, "incr", "miss"},
	{"commands", "stats", "decr_hits", true, REQUESTS, "decr", "hit"},
	{"commands", "stats", "decr_misses", true, REQUESTS, "decr", "miss"},
	{"commands", "stats", "cas_hits", true, REQUESTS, "cas", "hit"},
	{"commands", "stats", "cas_misses", true, REQUESTS, "cas", "miss"},
	{"commands", "stats", "touch_hits", true, REQUESTS, "touch", "hit"},
	{"commands", "stats", "touch_misses", true, REQUESTS, "touch", "miss"},
	{"commands", "stats", "cas_badval", true, REQUESTS, "cas", "badval"},
	{"commands", "stats", "cmd_flush", true, REQUESTS, "flush", "hit"},
	{"commands", "stats", "cmd_set", true, REQUESTS, "set", "hit"},
	{"current_items", "stats", "curr_items", false, "Items stored.", NONE},
	{"items", "stats", "total_items", true, "Items ever stored.", NONE},
	{"items_evicted", "stats", "evictions", true, "Items evicted for memory.", NONE},
	{"items_reclaimed", "stats", "reclaimed", true,
	 "Expired items reclaimed for an allocation.", NONE},
	{"item_too_large", "stats", "store_too_large", true, "Values refused for their size.",
	 NONE},
	{"item_no_memory", "stats", "store_no_memory", true, "Values refused for lack of memory.",
	 NONE},
	{"malloced_bytes", "slabs", "total_malloced", false, "Memory of slab pages.", NONE},
	{"slab_current_items", "items", "number", false, "Items of a slab class.", NONE},
	{"slab_items_age_seconds", "items", "age", false, "Since the hand was last here.", NONE},
	{"slab_items_evicted", "items", "evicted", true, "Items evicted.", NONE},
	{"slab_items_evicted_nonzero", "items", "evicted_nonzero", true,
	 "Evicted items that had an expiry.", NONE},
	{"slab_items_evicted_time_seconds", "items", "evicted_time", false,
	 "Time since the last use of what is evicted.", NONE},
	{"slab_items_evicted_unfetched", "items", "evicted_unfetched", true,
	 "Evicted items that were never fetched.", NONE},
	{"slab_items_expired_unfetched", "items", "expired_unfetched", true,
	 "Expired items that were never fetched.", NONE},
	{"slab_items_outofmemory", "items", "outofmemory", true, "Stores without memory.", NONE},
	{"slab_items_reclaimed", "items", "reclaimed", true, "Expired items reclaimed.", NONE},
	{"slab_items_crawler_reclaimed", "items", "crawler_reclaimed", true,
	 "Expired items that the sweep found.", NONE},
	{"slab_mem_requested_bytes", "items", "mem_requested", false, "Bytes of items.", NONE},
	{"slab_chunk_size_bytes", "slabs", "chunk_size", false, "Bytes of an object.", NONE},
	{"slab_chunks_per_page", "slabs", "chunks_per_page", false, "Objects of a page.", NONE},
	{"slab_current_pages", "slabs", "total_pages", false, "Pages.", NONE},
	{"slab_current_chunks", "slabs", "total_chunks", false, "Objects.", NONE},
	{"slab_chunks_used", "slabs", "used_chunks", false, "Objects in use.", NONE},
	{"slab_chunks_free", "slabs", "free_chunks", false, "Free objects.", NONE},
	{"slab_commands", "slabs", "get_hits", true, SLAB_REQUESTS, "get", "hit"},
	{"slab_commands", "slabs", "delete_hits", true, SLAB_REQUESTS, "delete", "hit"},
	{"slab_commands", "slabs", "incr_hits", true, SLAB_REQUESTS, "incr", "hit"},
	{"slab_commands", "slabs", "decr_hits", true, SLAB_REQUESTS, "decr", "hit"},
	{"slab_commands", "slabs", "cas_hits", true, SLAB_REQUESTS, "cas", "hit"},
	{"slab_commands", "slabs", "touch_hits", true, SLAB_REQUESTS, "touch", "hit"},
	{"slab_commands", "slabs", "cas_badval", true, SLAB_REQUESTS, "cas", "badval"},
	{"slab_commands", "slabs", "cmd_set", true, SLAB_REQUESTS, "set", "hit"},
	{"extstore_pages_allocated", "extstore", "extstore_page_allocs", true, "Segments begun.",
	 NONE},
	{"extstore_pages_evicted", "extstore", "extstore_page_evictions", true,
	 "Segments overwritten.", NONE},
	{"extstore_pages_free", "extstore", "extstore_pages_free", false, "Free segments.", NONE},
	{"extstore_pages_used", "extstore", "extstore_pages_used", false, "Segments in use.", NONE},
	{"extstore_objects_read", "extstore", "extstore_objects_read", true, "Reads of flash.",
	 NONE},
	{"extstore_objects_written", "extstore", "extstore_objects_written", true,
	 "Items written to flash.", NONE},
	{"extstore_bytes_read", "extstore", "extstore_bytes_read", true, "Bytes read.", NONE},
	{"extstore_bytes_written", "extstore", "extstore_bytes_written", true, "Bytes written.",
	 NONE},
	{"extstore_bytes_limit", "extstore", "extstore_limit_maxbytes", false, "Size of the tier.",
	 NONE},
	{"extstore_io_queue_depth", "extstore", "extstore_io_queue", false, "Reads on their way.",
	 NONE},
};
const uint32_t metrics_alias_count = sizeof metrics_aliases / sizeof metrics_aliases[0];
