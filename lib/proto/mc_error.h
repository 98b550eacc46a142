/*
 * mc_error.h - errors, each with its line and its binary status.
 *
 * Shape:  X(symbol, line without its end, status of a binary response with the same meaning).
 * Bounds: MC_FIXED_LINE_MAX bytes for a line with its end.
 * Source: memcached's texts as observed on 1.6.45 and 1.6.18; clients compare them.
 */
#ifndef CLOCKOO_MC_ERROR_H
#define CLOCKOO_MC_ERROR_H

#include "base/bytes.h"

#define MC_FIXED_LINE_MAX 80u

/* Status words of the binary protocol: X(symbol, code, text). */
#define MC_STATUSES(X)                                                                             \
	X(MC_STATUS_OK, 0x00, "")                                                                  \
	X(MC_STATUS_NOT_FOUND, 0x01, "Not found")                                                  \
	X(MC_STATUS_EXISTS, 0x02, "Data exists for key.")                                          \
	X(MC_STATUS_TOO_LARGE, 0x03, "Too large.")                                                 \
	X(MC_STATUS_INVALID, 0x04, "Invalid arguments")                                            \
	X(MC_STATUS_NOT_STORED, 0x05, "Not stored.")                                               \
	X(MC_STATUS_NOT_NUMERIC, 0x06, "Non-numeric server-side value for incr or decr")           \
	X(MC_STATUS_AUTH, 0x20, "Auth failure.")                                                   \
	X(MC_STATUS_AUTH_CONTINUE, 0x21, "")                                                       \
	X(MC_STATUS_UNKNOWN, 0x81, "Unknown command")                                              \
	X(MC_STATUS_MEMORY, 0x82, "Out of memory")                                                 \
	X(MC_STATUS_TEMPORARY, 0x86, "Temporary failure")

#define MC_STATUS_SYMBOL(symbol, code, text) symbol = code,
enum mc_bin_status { MC_STATUSES(MC_STATUS_SYMBOL) };

/* Returns the text of a status, empty for MC_STATUS_OK. */
struct view mc_status_text(enum mc_bin_status status);

/* clang-format off */
#define MC_ERRORS(X) \
	X(MC_ERR_UNKNOWN, "ERROR", UNKNOWN) \
	X(MC_ERR_FORMAT, "CLIENT_ERROR bad command line format", INVALID) \
	X(MC_ERR_EXPTIME, "CLIENT_ERROR invalid exptime argument", INVALID) \
	X(MC_ERR_DELTA, "CLIENT_ERROR invalid numeric delta argument", INVALID) \
	X(MC_ERR_CHUNK, "CLIENT_ERROR bad data chunk", INVALID) \
	X(MC_ERR_NUMBER, "CLIENT_ERROR cannot increment or decrement non-numeric value", NOT_NUMERIC) \
	X(MC_ERR_TOO_LARGE, "SERVER_ERROR object too large for cache", TOO_LARGE) \
	X(MC_ERR_MEMORY, "SERVER_ERROR out of memory storing object", MEMORY) \
	X(MC_ERR_OUT_OF_MEMORY, "SERVER_ERROR out of memory", MEMORY) \
	X(MC_ERR_NEW_ITEM, "SERVER_ERROR Out of memory allocating new item", MEMORY) \
	X(MC_ERR_NO_ANSWER, "SERVER_ERROR no answer in time", TEMPORARY) \
	X(MC_ERR_REFUSED, "SERVER_ERROR the server of this key refuses the request", TEMPORARY) \
	X(MC_ERR_UDP, "CLIENT_ERROR not allowed over UDP", UNKNOWN) \
	/* meta commands */ \
	X(MC_ERR_OPTIONS, "CLIENT_ERROR options flags are too long", INVALID) \
	X(MC_ERR_DUPLICATE, "CLIENT_ERROR duplicate flag", INVALID) \
	X(MC_ERR_FLAG, "CLIENT_ERROR invalid flag", INVALID) \
	X(MC_ERR_FLAGS_MA, "CLIENT_ERROR invalid or duplicate flag", INVALID) \
	X(MC_ERR_TOKEN, "CLIENT_ERROR bad token in command line format", INVALID) \
	X(MC_ERR_INITIAL, "CLIENT_ERROR invalid numeric initial value", INVALID) \
	X(MC_ERR_META_DELTA, "CLIENT_ERROR invalid numeric delta value", INVALID) \
	X(MC_ERR_BASE64, "CLIENT_ERROR error decoding key", INVALID) \
	X(MC_ERR_OPAQUE, "CLIENT_ERROR opaque token too long", INVALID) \
	X(MC_ERR_MODE_MS, "CLIENT_ERROR invalid mode for ms M token", INVALID) \
	X(MC_ERR_MODE_MA, "CLIENT_ERROR invalid mode for ma M token", INVALID) \
	/* administration */ \
	X(MC_ERR_FLUSH_OFF, "CLIENT_ERROR flush_all not allowed", AUTH) \
	X(MC_ERR_FLUSH_BUSY, "SERVER_ERROR flushes come too fast, try again", TEMPORARY) \
	X(MC_ERR_SHUTDOWN_OFF, "SERVER_ERROR: shutdown not enabled", UNKNOWN) \
	X(MC_ERR_SHUTDOWN_MODE, "CLIENT_ERROR invalid shutdown mode", INVALID) \
	X(MC_ERR_MEMLIMIT_SMALL, "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m", INVALID) \
	X(MC_ERR_MEMLIMIT_BYTES, "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes", INVALID) \
	X(MC_ERR_MEMLIMIT, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust", INVALID) \
	X(MC_ERR_REASSIGN_CLASS, "BADCLASS invalid src or dst class id", INVALID) \
	X(MC_ERR_REASSIGN_BUSY, "BUSY currently processing reassign request", TEMPORARY) \
	X(MC_ERR_REASSIGN_SPARE, "NOSPARE source class has no spare pages", INVALID) \
	X(MC_ERR_REASSIGN_SAME, "SAME src and dst class are identical", INVALID) \
	X(MC_ERR_AUTOMOVE_WINDOW, "CLIENT_ERROR automove window too low or too high", INVALID) \
	X(MC_ERR_NO_TLS, "Error TLS not enabled", INVALID) \
	X(MC_ERR_LRU_PERCENT, "ERROR hot and warm pcts must not exceed 80", INVALID) \
	X(MC_ERR_LRU_FACTOR, "ERROR hot/warm age factors must be greater than 0", INVALID) \
	X(MC_ERR_CRAWLER_START, "ERROR failed to start lru crawler thread", INVALID) \
	X(MC_ERR_CRAWLER_STOP, "ERROR failed to stop lru crawler thread", INVALID) \
	X(MC_ERR_CRAWLER_SLEEP, "CLIENT_ERROR sleep must be one second or less", INVALID) \
	X(MC_ERR_CRAWLER_OFF, "CLIENT_ERROR lru crawler disabled", INVALID) \
	X(MC_ERR_CRAWLER_CLASS, "BADCLASS invalid class id", INVALID) \
	X(MC_ERR_METADUMP_OFF, "ERROR metadump not allowed", INVALID) \
	X(MC_ERR_MGDUMP_OFF, "ERROR key dump not allowed", INVALID) \
	X(MC_ERR_WATCH_OFF, "CLIENT_ERROR watch commands not allowed", INVALID) \
	X(MC_ERR_WATCH_MANY, "WATCHER_TOO_MANY log watcher limit reached", INVALID) \
	X(MC_ERR_DETAIL_USAGE, "CLIENT_ERROR usage: stats detail on|off|dump", NOT_FOUND) \
	X(MC_ERR_DETAIL_OFF, "CLIENT_ERROR stats detail not allowed", NOT_FOUND) \
	X(MC_ERR_CACHEDUMP_OFF, "CLIENT_ERROR stats cachedump not allowed", NOT_FOUND) \
	X(MC_ERR_CACHEDUMP_LINE, "CLIENT_ERROR bad command line", NOT_FOUND) \
	X(MC_ERR_SLAB_ID, "CLIENT_ERROR Illegal slab id", NOT_FOUND) \
	/* authentication */ \
	X(MC_ERR_UNAUTHENTICATED, "CLIENT_ERROR unauthenticated", AUTH) \
	X(MC_ERR_ROLE, "CLIENT_ERROR not allowed for this user", AUTH) \
	X(MC_ERR_AUTH_FAILED, "CLIENT_ERROR authentication failure", AUTH) \
	X(MC_ERR_AUTH_FORMAT, "CLIENT_ERROR bad authentication token format", AUTH) \
	X(MC_ERR_AUTH_END, "CLIENT_ERROR bad command line termination", AUTH) \
	X(MC_ERR_AUTH_LONG, "CLIENT_ERROR auth token too long", AUTH)
/* clang-format on */

#define MC_ERROR_SYMBOL(symbol, text, status) symbol,
enum mc_error { MC_ERR_NONE, MC_ERRORS(MC_ERROR_SYMBOL) MC_ERR_COUNT };

extern const struct view mc_error_line[MC_ERR_COUNT]; /* empty for MC_ERR_NONE */
extern const uint8_t mc_error_status[MC_ERR_COUNT];   /* enum mc_bin_status */

#endif
