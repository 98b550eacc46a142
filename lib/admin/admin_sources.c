/*
 * admin_sources.c - stats sources: the sources with the most connections. The program's control
 * thread walks the cores' snapshots of connections, a part of them each second, and adds up those
 * of one source. Cores only read its result.
 *
 * As for --conns-per-source, a source is an IPv4 address, the /64 of an IPv6 address, or a
 * link-local address. If there are more sources than cells, the one of a set with the lowest count
 * loses its cell to a new one, which inherits the count (Metwally, Agrawal and El Abbadi,
 * "Efficient computation of frequent and top-k elements in data streams", 2005): a count is then at
 * most `error` too high.
 */
#include "admin_internal.h"
#include "stat_names.h"

#include "base/hash.h"

#define LOAD(word) atomic_load_explicit(&(word), memory_order_relaxed)

#define SOURCE_SETS    128u
#define SOURCE_WAYS    8u
#define SOURCES_LISTED 10u
#define SLOTS_A_TICK   65536u /* slots visited by a call, which takes about a millisecond */
#define WORK_READ      100u   /* estimated ns to read a source */

struct source {
	struct ip_addr ip;
	uint32_t conns; /* 0: the cell is free */
	uint32_t error;
	uint32_t active_s; /* second in which one of its connections was last active */
	uint32_t prefix_len;
};
#define SOURCE_WORDS (sizeof(struct source) / 8)
#define LIST_WORDS   (SOURCES_LISTED * SOURCE_WORDS)
static_assert(sizeof(struct source) % 8 == 0, "copied in words");

struct sources {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t version;
	_Atomic uint64_t words[LIST_WORDS];

	/* Used only by the thread that calls admin_sources_tick_mt(). */
	uint32_t core, slot; /* position of the walk */
	struct source cells[SOURCE_SETS][SOURCE_WAYS];
	struct source list[SOURCES_LISTED];
};

size_t
sources_bytes(void)
{
	return sizeof(struct sources);
}

void
sources_create(struct region *region, struct serve_shared *shared)
{
	shared->admin->sources =
		region_take(region, sizeof *shared->admin->sources, CACHE_LINE_BYTES);
}

/* ---- the walk ---- */

/* True for an address in fe80::/10. A host on the link has few such addresses, and other hosts have
 * none. */
static bool
is_of_the_link(const struct ip_addr *ip)
{
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
}

static struct source
source_of(const struct ip_addr *ip)
{
	struct source s = {.ip = *ip, .prefix_len = IP_ADDR_BITS};

	if (!ip_addr_is_v4(ip) && !is_of_the_link(ip)) {
		s.prefix_len = IP_ADDR_BITS / 2;
		memset(s.ip.b + sizeof s.ip.b / 2, 0, sizeof s.ip.b / 2);
	}
	return s;
}

static void
source_add(struct sources *all, const struct ip_addr *ip, uint32_t active_s)
{
	const struct source s = source_of(ip);
	struct source *set =
		all->cells[hash_bytes(s.ip.b, sizeof s.ip.b, (uintptr_t)all) % SOURCE_SETS];
	struct source *to = &set[0];

	for (uint32_t i = 0; i < SOURCE_WAYS; i++) {
		if (set[i].conns != 0 && ip_addr_equal(&set[i].ip, &s.ip)) {
			set[i].conns++;
			set[i].active_s = active_s > set[i].active_s ? active_s : set[i].active_s;
			return;
		}
		to = set[i].conns < to->conns ? &set[i] : to;
	}
	*to = (struct source){s.ip, to->conns + 1, to->conns, active_s, s.prefix_len};
}

/* Orders the list. Equal counts have an order, too, so that the list does not flicker. */
static bool
stands_before(const struct source *a, const struct source *b)
{
	return a->conns != b->conns ? a->conns > b->conns
				    : memcmp(a->ip.b, b->ip.b, sizeof a->ip.b) < 0;
}

static void
list_make(struct sources *all)
{
	const struct source *cell = &all->cells[0][0];

	memset(all->list, 0, sizeof all->list);
	for (uint32_t i = 0; i < SOURCE_SETS * SOURCE_WAYS; i++) {
		struct source s = cell[i];

		for (uint32_t at = 0; at < SOURCES_LISTED && s.conns != 0; at++) {
			const struct source there = all->list[at];

			if (there.conns != 0 && !stands_before(&s, &there))
				continue;
			all->list[at] = s;
			s = there;
		}
	}
}

static void
walk_end(struct sources *all)
{
	list_make(all);
	seq_words_write(&all->version, all->words, all->list, sizeof all->list);
	memset(all->cells, 0, sizeof all->cells);
	all->core = all->slot = 0;
}

void
admin_sources_tick_mt(struct serve_shared *shared)
{
	struct sources *all = shared->admin->sources;
	struct snapshot_peer peer;

	for (uint32_t n = 0; n < SLOTS_A_TICK; n++) {
		const struct serve *sv = shared->serves[all->core];
		const struct conn_snapshot *snapshot;

		if (sv == NULL || all->slot >= sv->cfg.conns_max) {
			all->slot = 0;
			if (++all->core < shared->cores)
				continue;
			walk_end(all);
			return;
		}
		snapshot = &sv->admin->snapshots[all->slot++];
		if (conn_snapshot_read(snapshot, &peer))
			source_add(all, &peer.ip, LOAD(snapshot->active_s));
	}
}

/* ---- rows ---- */

static struct view
source_text(const struct source *s, uint8_t text[IP_ADDR_TEXT_MAX + sizeof "/64"])
{
	struct out_buffer word = {text, text + IP_ADDR_TEXT_MAX + sizeof "/64"};

	out_put_ip(&word, &s->ip);
	if (s->prefix_len != IP_ADDR_BITS) {
		out_put_text(&word, "/");
		out_put_number(&word, s->prefix_len);
	}
	return (struct view){text, (uint32_t)(word.at - text)};
}

#define SOURCE_ROWS(X)                                                                             \
	X(text, "source", source_text(s, text))                                                    \
	X(number, "conns", s->conns)                                                               \
	X(number, "error", s->error)                                                               \
	X(number, "secs_since_last_cmd", now_s > s->active_s ? now_s - s->active_s : 0)

#define ROW_NAME(kind, name, value) name,
const char *const source_stat_names[] = {SOURCE_ROWS(ROW_NAME)};
const uint32_t source_stat_count = sizeof source_stat_names / sizeof source_stat_names[0];

#define PUT(kind, field, value)                                                                    \
	memcpy(end, field, sizeof(field));                                                         \
	row_##kind(buffer, st, name, value);

static void
source_rows(const struct stream *st, struct out_buffer *buffer, const struct source *s,
	    uint32_t now_s)
{
	char name[ROW_NAME_MAX + 1];
	uint8_t text[IP_ADDR_TEXT_MAX + sizeof "/64"];
	uint8_t *end = mc_put_u64((uint8_t *)name, st->row + 1);

	*end++ = ':';
	SOURCE_ROWS(PUT)
}

/* Writes the rows of one source in each step. */
static bool
sources_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct sources *all = sv->shared->admin->sources;
	struct source s;

	st->work += WORK_READ;
	if (st->row == SOURCES_LISTED)
		return false;
	if (seq_words_read(&all->version, all->words, st->row * SOURCE_WORDS, &s, sizeof s) &&
	    s.conns != 0)
		source_rows(st, buffer, &s, sv->clock.now_s);
	st->row++;
	return true;
}

const struct stream_kind sources_stream = {sources_step, 4 * ROW_MAX, MC_END};
