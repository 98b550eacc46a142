/*
 * live.c - --live: computes and prints the line of the last second.
 */
#include "live.h"

#include "base/time_units.h"
#include "flash/flash_segment.h"

#include <stdio.h>

#define LINE_BYTES  1024u
#define SHARE_BYTES 8u

/* Counters whose sum is a figure. */
static const struct {
	enum live_figure figure;
	const char *symbol;
} parts[] = {
	{LIVE_GET, "CMD_GET"},
	{LIVE_SET, "CMD_SET"},
	{LIVE_OTHER, "CMD_FLUSH"},
	{LIVE_OTHER, "CMD_TOUCH"},
	{LIVE_OTHER, "DELETE_HITS"},
	{LIVE_OTHER, "DELETE_MISSES"},
	{LIVE_OTHER, "INCR_HITS"},
	{LIVE_OTHER, "INCR_MISSES"},
	{LIVE_OTHER, "DECR_HITS"},
	{LIVE_OTHER, "DECR_MISSES"},
	{LIVE_HITS, "GET_HITS"},
	{LIVE_MISSES, "GET_MISSES"},
	{LIVE_FROM_FLASH, "FLASH_ASK_TOLD"},
	{LIVE_READS, "FLASH_ASK_READS"},
	{LIVE_WRITTEN, "FLASH_SEGMENTS_WRITTEN"},
	{LIVE_CONVERTED, "FLASH_CONVERT_PAGES"},
};

static void
count(const struct live_source *from, uint64_t now[LIVE_FIGURES])
{
	for (uint32_t i = 0; i < LIVE_FIGURES; i++)
		now[i] = 0;
	for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		now[parts[i].figure] +=
			telemetry_sum(from->telemetry, parts[i].symbol, TELEMETRY_ALL_CORES);
}

uint64_t
live_requests(const struct live *live)
{
	uint64_t now[LIVE_FIGURES];

	count(&live->from, now);
	return now[LIVE_GET] + now[LIVE_SET] + now[LIVE_OTHER];
}

/* Returns the percentage of the last second in which the core had work. */
static uint32_t
busy_percent(struct live *live, uint32_t core)
{
	const uint64_t busy = telemetry_sum(live->from.telemetry, "CORE_BUSY_NS", core);
	const uint64_t total = telemetry_sum(live->from.telemetry, "CORE_TOTAL_NS", core);
	const uint64_t spent = total - live->total_ns[core];
	const uint64_t percent = spent == 0 ? 0 : (busy - live->busy_ns[core]) * 100 / spent;

	live->busy_ns[core] = busy;
	live->total_ns[core] = total;
	return (uint32_t)percent;
}

/* Returns part / whole in percent, or "-" if whole is 0. */
static const char *
share_of(char text[SHARE_BYTES], uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return "-";
	snprintf(text, SHARE_BYTES, "%.1f%%", 100.0 * (double)part / (double)whole);
	return text;
}

void
live_init(struct live *live, const struct live_source *from)
{
	*live = (struct live){.from = *from, .last_ns = process_now_ns(from->process)};
}

/* Writes " | front key/s 81000 busiest 1.08 servers 4 of 4". busiest is the load of the busiest
 * server by the mean of all servers. */
static int
front_print(const struct live *live, double seconds, char *to, size_t room)
{
	const struct front_load *load = &live->front;

	return snprintf(to, room, " | front key/s %.0f busiest %u.%02u servers %u of %u",
			(double)load->keys / seconds, load->by_mean / 1000,
			load->by_mean % 1000 / 10, load->live, live->from.fleet->hosts.count);
}

/* Writes " | memory 61.0% flash 36.2% of gets, reads/s 8123, 12 MB/s written". */
static int
flash_print(const uint64_t per_s[LIVE_FIGURES], char *to, size_t room)
{
	const uint64_t hits = per_s[LIVE_HITS], gets = hits + per_s[LIVE_MISSES];
	const uint64_t from_flash = per_s[LIVE_FROM_FLASH] < hits ? per_s[LIVE_FROM_FLASH] : hits;
	char memory[SHARE_BYTES], flash[SHARE_BYTES];

	return snprintf(to, room, " | memory %s flash %s of gets, reads/s %llu, %llu MB/s written",
			share_of(memory, hits - from_flash, gets),
			share_of(flash, from_flash, gets), (unsigned long long)per_s[LIVE_READS],
			(unsigned long long)(per_s[LIVE_WRITTEN] * FLASH_SEGMENT_BYTES +
					     per_s[LIVE_CONVERTED] * FLASH_PAGE_BYTES) >>
				20);
}

/* Reads the store's items and bytes. In shared mode a front's copies expire together, so the line
 * shows the most of the last RECENT_FIGURES seconds: the load, and not the time since the last
 * expiry. */
static void
usage_read(struct live *live, struct store_usage *use)
{
	store_usage_mt(live->from.store, use);
	if (live->from.fleet == NULL || live->from.copy_ns == 0)
		return;
	use->items = recent_most_of(&live->items, use->items);
	use->item_bytes = recent_most_of(&live->item_bytes, use->item_bytes);
}

static uint64_t
missed_of(struct nic *nic)
{
	struct device_losses losses;

	nic_losses(nic, &losses);
	return losses.missed + losses.no_buffer + losses.rx_errors;
}

void
live_print(struct live *live)
{
	const struct live_source *from = &live->from;
	const uint64_t now_ns = process_now_ns(from->process);
	const double seconds = (double)(now_ns - live->last_ns) / NS_PER_S;
	uint64_t now[LIVE_FIGURES], per_s[LIVE_FIGURES];
	struct store_usage use;
	char line[LINE_BYTES], share[SHARE_BYTES];
	size_t n;

	count(from, now);
	for (uint32_t i = 0; i < LIVE_FIGURES; i++) {
		per_s[i] = (uint64_t)((double)(now[i] - live->last[i]) / seconds + 0.5);
		live->last[i] = now[i];
	}
	live->last_ns = now_ns;
	usage_read(live, &use);
	n = (size_t)snprintf(
		line, sizeof line, "get/s %llu set/s %llu other/s %llu hit %s busy",
		(unsigned long long)per_s[LIVE_GET], (unsigned long long)per_s[LIVE_SET],
		(unsigned long long)per_s[LIVE_OTHER],
		share_of(share, per_s[LIVE_HITS], per_s[LIVE_HITS] + per_s[LIVE_MISSES]));
	for (uint32_t i = 0; i < from->config->cores && n < sizeof line; i++)
		n += (size_t)snprintf(line + n, sizeof line - n, " %u%%", busy_percent(live, i));
	if (n < sizeof line)
		n += (size_t)snprintf(
			line + n, sizeof line - n, " | items %llu memory %.1f of %u MB missed %llu",
			(unsigned long long)use.items, (double)use.item_bytes / (1 << 20),
			from->config->memory_mb, (unsigned long long)missed_of(from->nic));
	if (from->fleet != NULL && n < sizeof line)
		n += (size_t)front_print(live, seconds, line + n, sizeof line - n);
	if (from->flash && n < sizeof line)
		n += (size_t)flash_print(per_s, line + n, sizeof line - n);
	if (from->nic->user != NULL && n < sizeof line)
		snprintf(line + n, sizeof line - n, " | port user, not a NIC: frames dropped %llu",
			 (unsigned long long)user_net_dropped_mt(from->nic->user));
	puts(line);
	fflush(stdout);
}
