/*
 * mc_table.h - every command, text and binary, in one row each.
 *
 * The verbs of mc_req.h, the parsers, the table in README.md and the help are made from these
 * rows; a test compares them.
 *
 * Shape:  MC_COMMANDS(X) X(symbol, word, subcommand or "", syntax, over UDP, role, arguments,
 *         help); a subcommand makes a separate command; those of one word are in adjacent rows.
 *         MC_OPCODES(X) X(opcode, name, verb, quiet, extras, key, value).
 * Bounds: words of at most MC_NAME_MAX bytes.
 * Source: memcached doc/protocol.txt and doc/protocol-binary.xml; 1.6.45 as observed.
 */
#ifndef CLOCKOO_MC_TABLE_H
#define CLOCKOO_MC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define MC_NAME_MAX 15u

/* The syntax of the words after a command. */
enum mc_syntax {
	MC_SYNTAX_KEYS,         /* <key>+ */
	MC_SYNTAX_EXPTIME_KEYS, /* <exptime> <key>+ */
	MC_SYNTAX_STORAGE,
	MC_SYNTAX_DELETE,
	MC_SYNTAX_KEY_DELTA,
	MC_SYNTAX_KEY_EXPTIME,
	MC_SYNTAX_META,
	MC_SYNTAX_META_BODY,
	MC_SYNTAX_META_DEBUG,
	MC_SYNTAX_ANYTHING, /* any words, ignored */
	MC_SYNTAX_FLUSH,
	MC_SYNTAX_LEVEL,
	MC_SYNTAX_MEGABYTES,
	MC_SYNTAX_SHUTDOWN,
	MC_SYNTAX_DETAIL,
	MC_SYNTAX_CACHEDUMP,
	MC_SYNTAX_STREAMS,
	MC_SYNTAX_TWO_TOKENS, /* exactly these two words */
	MC_SYNTAX_SLEEP,
	MC_SYNTAX_COUNT,
	MC_SYNTAX_CLASSES,
	MC_SYNTAX_REASSIGN,
	MC_SYNTAX_AUTOMOVE,
	MC_SYNTAX_LRU_TUNE,
	MC_SYNTAX_LRU_MODE,
	MC_SYNTAX_LRU_TTL,
	MC_SYNTAX_EXT_CHUNKS,
	MC_SYNTAX_EXT_NUMBER,
	MC_SYNTAX_EXT_SHARE,
	MC_SYNTAX_END,
};

/* Whether a command is allowed over UDP, where a source can be forged. ADMIN: if the operator
 * allows it. NO includes commands that need a connection. */
enum mc_udp { MC_UDP_NO, MC_UDP_ADMIN, MC_UDP_YES };

/* The role that a command needs. */
enum mc_role { MC_ROLE_NONE, MC_ROLE_READ, MC_ROLE_WRITE, MC_ROLE_ADMIN };

/* clang-format off */
#define MC_COMMANDS(X) \
	X(MC_GET, "get", "", KEYS, YES, READ, "<key>+", "the values of these keys") \
	X(MC_GETS, "gets", "", KEYS, YES, READ, "<key>+", "the same with their cas") \
	X(MC_GAT, "gat", "", EXPTIME_KEYS, YES, WRITE, "<exptime> <key>+", "values, with a new exptime set") \
	X(MC_GATS, "gats", "", EXPTIME_KEYS, YES, WRITE, "<exptime> <key>+", "the same with their cas") \
	X(MC_SET, "set", "", STORAGE, YES, WRITE, "<key> <flags> <exptime> <bytes> [noreply]", "store") \
	X(MC_ADD, "add", "", STORAGE, YES, WRITE, "<key> <flags> <exptime> <bytes> [noreply]", "store if absent") \
	X(MC_REPLACE, "replace", "", STORAGE, YES, WRITE, "<key> <flags> <exptime> <bytes> [noreply]", "store if present") \
	X(MC_APPEND, "append", "", STORAGE, YES, WRITE, "<key> <flags> <exptime> <bytes> [noreply]", "append to the value") \
	X(MC_PREPEND, "prepend", "", STORAGE, YES, WRITE, "<key> <flags> <exptime> <bytes> [noreply]", "prepend to the value") \
	X(MC_CAS, "cas", "", STORAGE, YES, WRITE, "<key> <flags> <exptime> <bytes> <cas> [noreply]", "store if unchanged") \
	X(MC_DELETE, "delete", "", DELETE, YES, WRITE, "<key> [noreply]", "delete a key; one or two further words are ignored") \
	X(MC_INCR, "incr", "", KEY_DELTA, YES, WRITE, "<key> <delta> [noreply]", "add to a number") \
	X(MC_DECR, "decr", "", KEY_DELTA, YES, WRITE, "<key> <delta> [noreply]", "subtract from a number") \
	X(MC_TOUCH, "touch", "", KEY_EXPTIME, YES, WRITE, "<key> <exptime> [noreply]", "set a new exptime") \
	X(MC_MG, "mg", "", META, YES, READ, "<key> <flag>*", "meta get") \
	X(MC_MS, "ms", "", META_BODY, YES, WRITE, "<key> <bytes> <flag>*", "meta set") \
	X(MC_MD, "md", "", META, YES, WRITE, "<key> <flag>*", "meta delete") \
	X(MC_MA, "ma", "", META, YES, WRITE, "<key> <flag>*", "meta arithmetic") \
	X(MC_ME, "me", "", META_DEBUG, YES, READ, "<key> [b]", "meta debug: an item's metadata") \
	X(MC_MN, "mn", "", ANYTHING, YES, READ, "", "meta no-op: the end of a pipeline") \
	X(MC_FLUSH_ALL, "flush_all", "", FLUSH, ADMIN, ADMIN, "[<exptime>] [noreply]", "invalidate all items, now or at a given time") \
	X(MC_VERSION, "version", "", ANYTHING, YES, READ, "", "the server's version") \
	X(MC_QUIT, "quit", "", ANYTHING, YES, READ, "", "close the connection") \
	X(MC_STATS, "stats", "", ANYTHING, YES, READ, "", "counters and gauges") \
	X(MC_STATS_SETTINGS, "stats", "settings", ANYTHING, YES, READ, "", "configuration") \
	X(MC_STATS_ITEMS, "stats", "items", ANYTHING, YES, READ, "", "items by slab class") \
	X(MC_STATS_SLABS, "stats", "slabs", ANYTHING, YES, READ, "", "memory by slab class") \
	X(MC_STATS_SIZES, "stats", "sizes", ANYTHING, YES, READ, "", "items by size") \
	X(MC_STATS_FRONT, "stats", "front", ANYTHING, NO, READ, "", "servers behind a front") \
	X(MC_STATS_EXTSTORE, "stats", "extstore", ANYTHING, NO, READ, "", "the second tier, on flash") \
	X(MC_STATS_NET, "stats", "net", ANYTHING, NO, READ, "", "the NIC, frames and what was dropped") \
	X(MC_STATS_STACK, "stats", "stack", ANYTHING, NO, READ, "", "TCP: connections by state, drops, retransmissions") \
	X(MC_STATS_CORES, "stats", "cores", ANYTHING, NO, READ, "", "core by core: busy share, turns, stages") \
	X(MC_STATS_COUNTERS, "stats", "counters", ANYTHING, NO, READ, "", "all that is counted and in no other reply") \
	X(MC_STATS_LATENCY, "stats", "latency", ANYTHING, NO, READ, "", "how long requests were in the server, by kind") \
	X(MC_STATS_HOTKEYS, "stats", "hotkeys", ANYTHING, NO, READ, "", "keys asked for most, and those with the largest values") \
	X(MC_STATS_SOURCES, "stats", "sources", ANYTHING, NO, READ, "", "who has most connections") \
	X(MC_STATS_SLOW, "stats", "slow", ANYTHING, NO, READ, "", "requests that were here longest, and why") \
	X(MC_STATS_CONNS, "stats", "conns", ANYTHING, NO, READ, "", "open connections") \
	X(MC_STATS_RESET, "stats", "reset", ANYTHING, ADMIN, ADMIN, "", "set the counters to zero") \
	X(MC_STATS_DETAIL, "stats", "detail", DETAIL, NO, ADMIN, "on|off|dump", "counters by key prefix") \
	X(MC_STATS_CACHEDUMP, "stats", "cachedump", CACHEDUMP, NO, ADMIN, "<class> <limit>", "keys of a slab class") \
	X(MC_VERBOSITY, "verbosity", "", LEVEL, ADMIN, ADMIN, "<level> [noreply]", "accepted, no effect") \
	X(MC_SHUTDOWN, "shutdown", "", SHUTDOWN, ADMIN, ADMIN, "[graceful]", "stop the server (-A)") \
	X(MC_CACHE_MEMLIMIT, "cache_memlimit", "", MEGABYTES, ADMIN, ADMIN, "<megabytes> [noreply]", "how much memory to use") \
	X(MC_WATCH, "watch", "", STREAMS, NO, ADMIN, "[<stream>]*", "turn the connection into a log") \
	X(MC_CRAWLER_ENABLE, "lru_crawler", "enable", TWO_TOKENS, ADMIN, ADMIN, "", "allow crawls and dumps") \
	X(MC_CRAWLER_DISABLE, "lru_crawler", "disable", TWO_TOKENS, ADMIN, ADMIN, "", "refuse crawls and dumps") \
	X(MC_CRAWLER_SLEEP, "lru_crawler", "sleep", SLEEP, ADMIN, ADMIN, "<microseconds>", "accepted, no effect") \
	X(MC_CRAWLER_TOCRAWL, "lru_crawler", "tocrawl", COUNT, ADMIN, ADMIN, "<items>", "accepted, no effect") \
	X(MC_CRAWLER_CRAWL, "lru_crawler", "crawl", CLASSES, ADMIN, ADMIN, "<classes>|all", "accepted, no effect: expired items are reclaimed anyway") \
	X(MC_METADUMP, "lru_crawler", "metadump", CLASSES, NO, ADMIN, "<classes>|all|hash", "all keys with their metadata") \
	X(MC_MGDUMP, "lru_crawler", "mgdump", CLASSES, NO, ADMIN, "<classes>|all|hash", "all keys as mg commands") \
	X(MC_SLABS_REASSIGN, "slabs", "reassign", REASSIGN, ADMIN, ADMIN, "<from>|-1 <to>", "move a page between classes") \
	X(MC_SLABS_AUTOMOVE, "slabs", "automove", AUTOMOVE, ADMIN, ADMIN, "0|1|2|ratio <f>|freeratio <f>|window <n>", "accepted, no effect") \
	X(MC_LRU_TUNE, "lru", "tune", LRU_TUNE, ADMIN, ADMIN, "<hot> <warm> <hotf> <warmf>", "accepted, no effect") \
	X(MC_LRU_MODE, "lru", "mode", LRU_MODE, ADMIN, ADMIN, "flat|segmented", "accepted, no effect") \
	X(MC_LRU_TEMP_TTL, "lru", "temp_ttl", LRU_TTL, ADMIN, ADMIN, "<seconds>", "accepted, no effect") \
	X(MC_EXT_FREE_MEMCHUNKS, "extstore", "free_memchunks", EXT_CHUNKS, ADMIN, ADMIN, "<class> <n>", "accepted, no effect") \
	X(MC_EXT_ITEM_SIZE, "extstore", "item_size", EXT_NUMBER, ADMIN, ADMIN, "<n>", "accepted, no effect") \
	X(MC_EXT_ITEM_AGE, "extstore", "item_age", EXT_NUMBER, ADMIN, ADMIN, "<n>", "accepted, no effect") \
	X(MC_EXT_LOW_TTL, "extstore", "low_ttl", EXT_NUMBER, ADMIN, ADMIN, "<n>", "accepted, no effect") \
	X(MC_EXT_RECACHE_RATE, "extstore", "recache_rate", EXT_NUMBER, ADMIN, ADMIN, "<n>", "accepted, no effect") \
	X(MC_EXT_COMPACT_UNDER, "extstore", "compact_under", EXT_NUMBER, ADMIN, ADMIN, "<n>", "accepted, no effect") \
	X(MC_EXT_DROP_UNDER, "extstore", "drop_under", EXT_NUMBER, ADMIN, ADMIN, "<n>", "accepted, no effect") \
	X(MC_EXT_MAX_SLEEP, "extstore", "max_sleep", EXT_NUMBER, ADMIN, ADMIN, "<n>", "accepted, no effect") \
	X(MC_EXT_MAX_FRAG, "extstore", "max_frag", EXT_SHARE, ADMIN, ADMIN, "<f>", "accepted, no effect") \
	X(MC_EXT_DROP_UNREAD, "extstore", "drop_unread", EXT_NUMBER, ADMIN, ADMIN, "0|1", "accepted, no effect") \
	X(MC_REFRESH_CERTS, "refresh_certs", "", ANYTHING, ADMIN, ADMIN, "", "read the certificates again, as SIGHUP does")

/* extras are in bytes; FLUSH takes 0 or 4. */
#define MC_OPCODES(X) \
	X(0x00, "Get", MC_BIN_GET, false, 0, REQUIRED, NONE) \
	X(0x01, "Set", MC_BIN_SET, false, 8, REQUIRED, OPTIONAL) \
	X(0x02, "Add", MC_BIN_ADD, false, 8, REQUIRED, OPTIONAL) \
	X(0x03, "Replace", MC_BIN_REPLACE, false, 8, REQUIRED, OPTIONAL) \
	X(0x04, "Delete", MC_BIN_DELETE, false, 0, REQUIRED, NONE) \
	X(0x05, "Increment", MC_BIN_INCR, false, 20, REQUIRED, NONE) \
	X(0x06, "Decrement", MC_BIN_DECR, false, 20, REQUIRED, NONE) \
	X(0x07, "Quit", MC_BIN_QUIT, false, 0, NONE, NONE) \
	X(0x08, "Flush", MC_BIN_FLUSH, false, 4, NONE, NONE) \
	X(0x09, "GetQ", MC_BIN_GET, true, 0, REQUIRED, NONE) \
	X(0x0a, "No-op", MC_BIN_NOOP, false, 0, NONE, NONE) \
	X(0x0b, "Version", MC_BIN_VERSION, false, 0, NONE, NONE) \
	X(0x0c, "GetK", MC_BIN_GET, false, 0, REQUIRED, NONE) \
	X(0x0d, "GetKQ", MC_BIN_GET, true, 0, REQUIRED, NONE) \
	X(0x0e, "Append", MC_BIN_APPEND, false, 0, REQUIRED, OPTIONAL) \
	X(0x0f, "Prepend", MC_BIN_PREPEND, false, 0, REQUIRED, OPTIONAL) \
	X(0x10, "Stat", MC_BIN_STAT, false, 0, OPTIONAL, NONE) \
	X(0x11, "SetQ", MC_BIN_SET, true, 8, REQUIRED, OPTIONAL) \
	X(0x12, "AddQ", MC_BIN_ADD, true, 8, REQUIRED, OPTIONAL) \
	X(0x13, "ReplaceQ", MC_BIN_REPLACE, true, 8, REQUIRED, OPTIONAL) \
	X(0x14, "DeleteQ", MC_BIN_DELETE, true, 0, REQUIRED, NONE) \
	X(0x15, "IncrementQ", MC_BIN_INCR, true, 20, REQUIRED, NONE) \
	X(0x16, "DecrementQ", MC_BIN_DECR, true, 20, REQUIRED, NONE) \
	X(0x17, "QuitQ", MC_BIN_QUIT, true, 0, NONE, NONE) \
	X(0x18, "FlushQ", MC_BIN_FLUSH, true, 4, NONE, NONE) \
	X(0x19, "AppendQ", MC_BIN_APPEND, true, 0, REQUIRED, OPTIONAL) \
	X(0x1a, "PrependQ", MC_BIN_PREPEND, true, 0, REQUIRED, OPTIONAL) \
	X(0x1c, "Touch", MC_BIN_TOUCH, false, 4, REQUIRED, NONE) \
	X(0x1d, "GAT", MC_BIN_GAT, false, 4, REQUIRED, NONE) \
	X(0x1e, "GATQ", MC_BIN_GAT, true, 4, REQUIRED, NONE) \
	X(0x20, "SASL list", MC_BIN_SASL_LIST, false, 0, NONE, NONE) \
	X(0x21, "SASL auth", MC_BIN_SASL_AUTH, false, 0, REQUIRED, OPTIONAL) \
	X(0x22, "SASL step", MC_BIN_SASL_STEP, false, 0, REQUIRED, OPTIONAL) \
	X(0x23, "GATK", MC_BIN_GAT, false, 4, REQUIRED, NONE) \
	X(0x24, "GATKQ", MC_BIN_GAT, true, 4, REQUIRED, NONE)
/* clang-format on */

#define MC_TABLE_SYMBOL(symbol, ...) symbol,

enum mc_verb {
	MC_COMMANDS(MC_TABLE_SYMBOL) MC_COMMAND_COUNT,
	/* Binary verbs: first those with a key to look up. */
	MC_BIN_GET = MC_COMMAND_COUNT,
	MC_BIN_GAT,
	MC_BIN_TOUCH,
	MC_BIN_SET,
	MC_BIN_ADD,
	MC_BIN_REPLACE,
	MC_BIN_APPEND,
	MC_BIN_PREPEND,
	MC_BIN_DELETE,
	MC_BIN_INCR,
	MC_BIN_DECR,
	MC_BIN_QUIT,
	MC_BIN_FLUSH,
	MC_BIN_NOOP,
	MC_BIN_VERSION,
	MC_BIN_STAT, /* admin.stats is the command, key its words */
	MC_BIN_SASL_LIST,
	MC_BIN_SASL_AUTH, /* key is the mechanism, admin.text its message */
	MC_BIN_SASL_STEP,
	MC_BAD, /* answer req.error */
	MC_VERB_COUNT,
};

struct mc_command {
	char name[MC_NAME_MAX + 1]; /* zero-filled, as subcommand */
	char subcommand[MC_NAME_MAX + 1];
	uint8_t syntax; /* enum mc_syntax */
	uint8_t udp;    /* enum mc_udp */
	uint8_t role;   /* enum mc_role */
	const char *arguments;
	const char *help;
};

/* Indexed by verb. */
extern const struct mc_command mc_commands[MC_COMMAND_COUNT];

enum mc_part { MC_PART_NONE, MC_PART_REQUIRED, MC_PART_OPTIONAL };

struct mc_opcode {
	uint8_t opcode;
	const char *name;
	uint8_t verb;
	bool quiet;
	uint8_t extras; /* bytes */
	uint8_t key;    /* enum mc_part */
	uint8_t value;
};

#define MC_TABLE_ONE(...) +1
enum { MC_OPCODE_COUNT = 0 MC_OPCODES(MC_TABLE_ONE) };
extern const struct mc_opcode mc_opcodes[MC_OPCODE_COUNT];

/* Returns whether a binary command may arrive in a datagram: all but flush and those that need a
 * connection. */
static inline enum mc_udp
mc_verb_over_udp(uint8_t verb)
{
	if (verb < MC_COMMAND_COUNT)
		return (enum mc_udp)mc_commands[verb].udp;
	if (verb == MC_BIN_FLUSH)
		return MC_UDP_ADMIN;
	return verb < MC_BIN_SASL_LIST || verb > MC_BIN_SASL_STEP ? MC_UDP_YES : MC_UDP_NO;
}

static inline enum mc_role
mc_verb_role(uint8_t verb)
{
	if (verb < MC_COMMAND_COUNT)
		return (enum mc_role)mc_commands[verb].role;
	if (verb == MC_BIN_FLUSH)
		return MC_ROLE_ADMIN;
	return verb >= MC_BIN_GAT && verb <= MC_BIN_DECR ? MC_ROLE_WRITE : MC_ROLE_READ;
}

#endif
