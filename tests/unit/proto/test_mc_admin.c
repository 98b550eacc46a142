/*
 * Administrative commands. Goal: each is read with memcached's count of words, numbers and error
 * texts; a second word must match as a whole. Method: tables of streams and requests
 * (request_trace.h).
 */
#include "request_rows.h"

TEST(stats_is_a_command_for_each_second_word)
{
	const struct row rows[] = {
		{"stats\r\n", "stats\n"},
		{"stats settings\r\n", "stats settings\n"},
		{"stats settings and more\r\n", "stats settings\n"},
		{"stats items\r\n", "stats items\n"},
		{"stats slabs\r\n", "stats slabs\n"},
		{"stats sizes\r\n", "stats sizes\n"},
		{"stats conns\r\n", "stats conns\n"},
		{"stats front\r\n", "stats front\n"},
		{"stats extstore\r\n", "stats extstore\n"},
		{"stats net\r\n", "stats net\n"},
		{"stats stack\r\n", "stats stack\n"},
		{"stats cores\r\n", "stats cores\n"},
		{"stats counters\r\n", "stats counters\n"},
		{"stats latency\r\n", "stats latency\n"},
		{"stats hotkeys\r\n", "stats hotkeys\n"},
		{"stats sources\r\n", "stats sources\n"},
		{"stats slow\r\n", "stats slow\n"},
		{"stats reset\r\n", "stats reset\n"},
		{"stats rese\r\n", "bad unknown\n"},
		{"stats enable\r\n", "bad unknown\n"},
		{"stats resets\r\n", "bad unknown\n"},
		{"stats bogus noreply\r\n", "bad unknown\n"},
		{"stats noreply\r\n", "bad unknown\n"},
		{"stats detail on\r\n", "stats detail on\n"},
		{"stats detail off\r\n", "stats detail off\n"},
		{"stats detail dump\r\n", "stats detail dump\n"},
		{"stats detail\r\n", "stats detail detail-usage\n"},
		{"stats detail o\r\n", "stats detail detail-usage\n"},
		{"stats cachedump 3 100\r\n", "stats cachedump 3 100\n"},
		{"stats cachedump 127 0\r\n", "stats cachedump 127\n"},
		{"stats cachedump 128 0\r\n", "stats cachedump 128 slab-id\n"},
		{"stats cachedump 3\r\n", "stats cachedump cachedump-line\n"},
		{"stats cachedump x 3\r\n", "stats cachedump format\n"},
		{"stats cachedump 3 -1\r\n", "stats cachedump 3 format\n"},
	};

	ROWS_HOLD(rows);
}

TEST(watch_takes_any_number_of_streams)
{
	const struct row rows[] = {
		{"watch\r\n", "watch streams=1\n"},
		{"watch fetchers mutations\r\n", "watch streams=3\n"},
		{"watch evictions connevents deletions sysevents rawcmds\r\n",
		 "watch streams=7c\n"},
		{"watch proxyreqs proxyevents proxyuser\r\n", "watch streams=380\n"},
		{"watch mutations mutations\r\n", "watch streams=2\n"},
		{"watch bogus\r\n", "watch unknown\n"},
		{"watch fetch\r\n", "watch unknown\n"},
		{"watch fetchers noreply\r\n", "watch streams=1 unknown\n"},
	};

	ROWS_HOLD(rows);
	check_ptr(strstr(requests_of(text_of("watch%s\r\n", run_of(' ', 90)), 97), "streams=1"));
	check_str(
		requests_of("watch rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds "
			    "rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds "
			    "rawcmds rawcmds rawcmds\r\n",
			    159),
		"watch streams=40\n");
	/* There are more words than the parser keeps: one of the others could be wrong. */
	check_str(
		requests_of("watch rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds "
			    "rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds rawcmds "
			    "rawcmds rawcmds rawcmds rawcmds x\r\n",
			    169),
		"watch streams=40 unknown\n");
}

TEST(shutdown_and_memory_limits_are_read)
{
	const struct row rows[] = {
		{"shutdown\r\n", "shutdown\n"},
		{"shutdown graceful\r\n", "shutdown graceful\n"},
		{"shutdown now\r\n", "shutdown shutdown-mode\n"},
		{"shutdown graceful now\r\n", "shutdown shutdown-mode\n"},
		{"shutdown noreply\r\n", "shutdown shutdown-mode noreply\n"},
		{"cache_memlimit 64\r\n", "cache_memlimit 64\n"},
		{"cache_memlimit 64 noreply\r\n", "cache_memlimit 64 noreply\n"},
		{"cache_memlimit 1000000000\r\n", "cache_memlimit 1000000000\n"},
		{"cache_memlimit 7\r\n", "bad memlimit-small\n"},
		{"cache_memlimit 1000000001\r\n", "bad memlimit-bytes\n"},
		{"cache_memlimit\r\n", "bad unknown\n"},
		{"cache_memlimit x\r\n", "bad unknown\n"},
		{"cache_memlimit noreply\r\n", "bad unknown noreply\n"},
		{"verbosity 2\r\n", "verbosity 2\n"},
		{"verbosity 0 1 2\r\n", "verbosity\n"},
	};

	ROWS_HOLD(rows);
}

TEST(the_crawler_words_are_read)
{
	const struct row rows[] = {
		{"lru_crawler\r\n", "bad unknown\n"},
		{"lru_crawler enable\r\n", "lru_crawler enable\n"},
		{"lru_crawler disable\r\n", "lru_crawler disable\n"},
		{"lru_crawler enable x\r\n", "bad unknown\n"},
		{"lru_crawler enable noreply\r\n", "bad unknown noreply\n"},
		{"lru_crawler bogus\r\n", "bad unknown\n"},
		{"lru_crawler sleep 1000000\r\n", "lru_crawler sleep 1000000\n"},
		{"lru_crawler sleep 1000001\r\n", "bad crawler-sleep\n"},
		{"lru_crawler sleep x\r\n", "bad format\n"},
		{"lru_crawler sleep\r\n", "bad unknown\n"},
		{"lru_crawler tocrawl 4294967295\r\n", "lru_crawler tocrawl 4294967295\n"},
		{"lru_crawler tocrawl 4294967296\r\n", "bad format\n"},
		{"lru_crawler tocrawl\r\n", "bad unknown\n"},
		{"lru_crawler crawl all\r\n", "lru_crawler crawl all\n"},
		{"lru_crawler crawl 1,2,64\r\n", "lru_crawler crawl only classes=6,1\n"},
		{"lru_crawler crawl 127\r\n",
		 "lru_crawler crawl only classes=0,8000000000000000\n"},
		{"lru_crawler crawl 128\r\n", "lru_crawler crawl only crawler-class\n"},
		{"lru_crawler crawl 0\r\n", "lru_crawler crawl only crawler-class\n"},
		{"lru_crawler crawl hash\r\n", "lru_crawler crawl only crawler-class\n"},
		{"lru_crawler crawl 1,,2,\r\n", "lru_crawler crawl only classes=6,0\n"},
		{"lru_crawler crawl 1 2\r\n", "bad unknown\n"},
		{"lru_crawler metadump all\r\n", "lru_crawler metadump all\n"},
		{"lru_crawler metadump hash\r\n", "lru_crawler metadump hash\n"},
		{"lru_crawler metadump 5\r\n", "lru_crawler metadump only classes=20,0\n"},
		{"lru_crawler metadump x\r\n", "lru_crawler metadump only crawler-class\n"},
		{"lru_crawler metadump\r\n", "bad unknown\n"},
		{"lru_crawler mgdump all\r\n", "lru_crawler mgdump all\n"},
		{"lru_crawler mgdump hash\r\n", "lru_crawler mgdump hash\n"},
	};

	ROWS_HOLD(rows);
}

TEST(the_slab_and_lru_words_are_read)
{
	const struct row rows[] = {
		{"slabs\r\n", "bad unknown\n"},
		{"slabs reassign 1 2\r\n", "slabs reassign 1 2\n"},
		{"slabs reassign -1 2\r\n", "slabs reassign -1 2\n"},
		{"slabs reassign 1\r\n", "bad unknown\n"},
		{"slabs reassign 1 2 3\r\n", "bad unknown\n"},
		{"slabs reassign 1 x\r\n", "bad format\n"},
		{"slabs automove\r\n", "bad unknown\n"},
		{"slabs automove 0\r\n", "slabs automove level\n"},
		{"slabs automove 2\r\n", "slabs automove level 2\n"},
		{"slabs automove 3\r\n", "bad unknown\n"},
		{"slabs automove x\r\n", "bad format\n"},
		{"slabs automove ratio 0.85\r\n", "slabs automove ratio 850\n"},
		{"slabs automove ratio x\r\n", "bad unknown\n"},
		{"slabs automove ratio 0.x\r\n", "bad unknown\n"},
		{"slabs automove ratio 0.5:\r\n", "bad unknown\n"},
		{"slabs automove ratio .\r\n", "bad unknown\n"},
		{"slabs automove ratio -\r\n", "bad unknown\n"},
		{"slabs automove ratio 1.\r\n", "slabs automove ratio 1000\n"},
		{"slabs automove ratio +2.0009\r\n", "slabs automove ratio 2000\n"},
		{"slabs automove ratio -0.5\r\n", "slabs automove ratio -500\n"},
		{"slabs automove ratio 999999999\r\n", "slabs automove ratio 999999999000\n"},
		{"slabs automove ratio 1000000000\r\n", "bad unknown\n"},
		{"slabs automove ratio\r\n", "bad unknown\n"},
		{"slabs automove freeratio .0125\r\n", "slabs automove free 12\n"},
		{"slabs automove window 3\r\n", "slabs automove window 3\n"},
		{"slabs automove window 1800\r\n", "slabs automove window 1800\n"},
		{"slabs automove window 2\r\n", "bad automove-window\n"},
		{"slabs automove window 1801\r\n", "bad automove-window\n"},
		{"slabs automove window\r\n", "bad format\n"},
		{"lru\r\n", "bad unknown\n"},
		{"lru tune 10 25 0.1 2.0\r\n", "lru tune\n"},
		{"lru tune 40 40 1 1\r\n", "lru tune\n"},
		{"lru tune 41 40 1 1\r\n", "bad lru-percent\n"},
		{"lru tune 4294967295 4294967295 1 1\r\n", "bad lru-percent\n"},
		{"lru tune 10 25 0 2.0\r\n", "bad lru-factor\n"},
		{"lru tune 10 25 1 -2\r\n", "bad lru-factor\n"},
		{"lru tune 10 25 1 0\r\n", "bad lru-factor\n"},
		{"lru tune 10 25 1\r\n", "bad unknown\n"},
		{"lru tune 10 25 1 two\r\n", "bad unknown\n"},
		{"lru mode flat\r\n", "lru mode flat\n"},
		{"lru mode segmented\r\n", "lru mode segmented\n"},
		{"lru mode round\r\n", "bad unknown\n"},
		{"lru mode\r\n", "bad unknown\n"},
		{"lru temp_ttl 60\r\n", "lru temp_ttl 60\n"},
		{"lru temp_ttl -1\r\n", "lru temp_ttl -1\n"},
		{"lru temp_ttl x\r\n", "bad unknown\n"},
		{"lru bogus noreply\r\n", "bad unknown noreply\n"},
	};

	ROWS_HOLD(rows);
}

TEST(what_a_build_does_not_have_is_an_unknown_command)
{
	const struct row rows[] = {
		{"extstore no_such_word 10\r\n", "bad unknown\n"},
		{"debugtime p\r\n", "bad unknown\n"},
		{"misbehave\r\n", "bad unknown\n"},
	};

	ROWS_HOLD(rows);
}
