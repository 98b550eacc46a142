#include "every_command.h"

#include "binary_packet.h"
#include "proto/mc_table.h"

#include <stdlib.h>

static const char *const lines[] = {
	/* classic */
	"get key\r\n",
	"get a\n",
	"get a bb ccc  dddd \r\n",
	"gets a\r\n",
	"gets a b\r\n",
	"gat 60 a\r\n",
	"gat x a\r\n",
	"gats 0 a b\r\n",
	"set key 1 0 5\r\nhello\r\n",
	"set key 1 0 5 noreply\r\nhello\r\n",
	"set key 1 0 0\r\n\r\n",
	"set key 1 0 5\r\nhelloXX",
	"set key 1 0 4\r\nget \r\n",
	"set key x 0 5\r\nhello\r\n",
	"set key 1 0 -1\r\n",
	"set key\r\n",
	"add key 0 60 3\r\nabc\r\n",
	"replace key 0 -1 3\r\nabc\r\n",
	"append key 0 0 3\r\nabc\r\n",
	"prepend key 0 0 3 noreply\r\nabc\r\n",
	"cas key 0 0 3 77\r\nabc\r\n",
	"cas key 0 0 3 x\r\nabc\r\n",
	"delete key\r\n",
	"delete key 0 noreply\r\n",
	"delete key 5\r\n",
	"incr n 1\r\n",
	"incr n 1 noreply\r\n",
	"incr n x\r\n",
	"decr n 18446744073709551615\r\n",
	"touch key 60\r\n",
	"touch key x\r\n",
	/* meta */
	"mg key\r\n",
	"mg key v t k s c f h l O123 q\r\n",
	"mg Zm9v b k v\r\n",
	"mg key N30 R10 T60 u E9\r\n",
	"mg foo b\r\n",
	"mg foo z\r\n",
	"mg\r\n",
	"ms key 2\r\nhi\r\n",
	"ms key 2 T60 F7 C9 E10 I MS k c q O1\r\nhi\r\n",
	"ms Zm9v 0 b MA N0\r\n\r\n",
	"ms key 2 MX\r\nhi\r\n",
	"ms key x\r\n",
	"md key\r\n",
	"md key q I T30 C1 E2 x O9 k\r\n",
	"md key C-\r\n",
	"ma n\r\n",
	"ma n N0 J10 D5 MD v t c k O q T9 C3 E4\r\n",
	"ma n Mx\r\n",
	"me key\r\n",
	"me Zm9v b\r\n",
	"mn\r\n",
	"mn \n",
	/* administrative */
	"flush_all\r\n",
	"flush_all 100 noreply\r\n",
	"flush_all x\r\n",
	"version\r\n",
	"version 1\r\n",
	"stats\r\n",
	"stats settings\r\n",
	"stats items\r\n",
	"stats slabs\r\n",
	"stats sizes\r\n",
	"stats conns\r\n",
	"stats front\r\n",
	"stats extstore\r\n",
	"stats net\r\n",
	"stats stack\r\n",
	"stats cores\r\n",
	"stats counters\r\n",
	"stats latency\r\n",
	"stats hotkeys\r\n",
	"stats sources\r\n",
	"stats slow\r\n",
	"stats reset\r\n",
	"stats detail on\r\n",
	"stats detail off\r\n",
	"stats detail dump\r\n",
	"stats detail\r\n",
	"stats cachedump 1 10\r\n",
	"stats cachedump 1\r\n",
	"stats bogus\r\n",
	"verbosity 1\r\n",
	"verbosity\r\n",
	"cache_memlimit 64\r\n",
	"cache_memlimit 1\r\n",
	"lru_crawler enable\r\n",
	"lru_crawler disable\r\n",
	"lru_crawler sleep 100\r\n",
	"lru_crawler tocrawl 0\r\n",
	"lru_crawler crawl 1,2\r\n",
	"lru_crawler crawl all\r\n",
	"lru_crawler\r\n",
	"slabs reassign -1 2\r\n",
	"slabs reassign 1\r\n",
	"slabs automove 1\r\n",
	"slabs automove window 10\r\n",
	"lru tune 10 25 0.1 2.0\r\n",
	"lru mode flat\r\n",
	"lru temp_ttl 60\r\n",
	"extstore free_memchunks 1 2\r\n",
	"extstore item_size 512\r\n",
	"extstore item_age 10\r\n",
	"extstore low_ttl 0\r\n",
	"extstore recache_rate 2000\r\n",
	"extstore compact_under 4\r\n",
	"extstore drop_under 4\r\n",
	"extstore max_sleep 1000\r\n",
	"extstore drop_unread 1\r\n",
	"extstore max_frag 0.8\r\n",
	"refresh_certs\r\n",
	/* these take a connection for themselves */
	"lru_crawler metadump all\r\n",
	"lru_crawler metadump 1 2\r\n",
	"lru_crawler mgdump hash\r\n",
	"watch\r\n",
	"watch mutations evictions\r\n",
	"watch bogus\r\n",
	"shutdown now\r\n",
	"shutdown\r\n",
	"quit\r\n",
	"quit now\r\n",
	/* unknown */
	"\r\n",
	"a\n",
	"bogus\r\n",
	"bogus noreply\r\n",
	" get a\r\n",
	"mx key\r\n",
	"extstore item_age 1\r\n",
};

uint32_t
every_text(struct view streams[EVERY_TEXT_MAX])
{
	uint32_t count = 0;

	for (; count < sizeof lines / sizeof lines[0]; count++)
		streams[count] = (struct view){(const uint8_t *)lines[count],
					       (uint32_t)strlen(lines[count])};
	return count;
}

/* A block that has all packets. */
struct block {
	uint8_t bytes[8192];
	uint32_t used;
};

static struct view
packet_put(struct block *b, const struct packet *p)
{
	uint8_t *const at = b->bytes + b->used;
	const uint32_t len = (uint32_t)(put_packet(at, p) - at);

	b->used += len;
	if (b->used > sizeof b->bytes - 512)
		abort();
	return (struct view){at, len};
}

/* Makes two packets of a row: the shortest one, and one with a longer key and a value. Returns
 * 2. */
static uint32_t
row_packets(struct block *b, const struct mc_opcode *o, struct view *streams)
{
	struct packet p = {.opcode = o->opcode, .extras_len = o->extras, .opaque = 0x01020304};

	p.key_len = o->key == MC_PART_REQUIRED ? 1 : 0;
	streams[0] = packet_put(b, &p);
	p.key_len = o->key == MC_PART_NONE ? 0 : 9;
	p.key = p.key_len != 0 ? "settings " : NULL;
	p.value_len = o->value == MC_PART_OPTIONAL ? 7 : 0;
	p.extras_len = o->verb == MC_BIN_FLUSH ? 0 : o->extras;
	p.cas = 0x0a0b;
	streams[1] = packet_put(b, &p);
	return 2;
}

uint32_t
every_binary(struct view streams[EVERY_BINARY_MAX])
{
	const struct packet unknown = P(0x1b, 4, 0, 0), set_range = P(0x31, 3, 4, 5);
	static struct block block;
	uint32_t count = 0;

	block.used = 0;
	for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++)
		count += row_packets(&block, &mc_opcodes[i], &streams[count]);
	streams[count++] = packet_put(&block, &unknown);
	streams[count++] = packet_put(&block, &set_range);
	return count;
}
