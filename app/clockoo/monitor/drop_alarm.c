/*
 * drop_alarm.c - chooses the reason to report.
 */
#include "drop_alarm.h"

struct reason {
	uint32_t least;
	const char *words, *cure;
	const char *symbols[DROP_SYMBOLS_MAX];
};

#define DROP_ROW(symbol, least, words, cure, ...) {least, words, cure, {__VA_ARGS__}},
static const struct reason reasons[DROP_REASON_COUNT] = {DROP_REASONS(DROP_ROW)};

static uint64_t
count_of(uint32_t i, const struct telemetry *t, const struct drop_nic *nic)
{
	uint64_t sum = i == DROP_NIC_MISSED      ? nic->missed
		       : i == DROP_NIC_NO_BUFFER ? nic->no_buffer
		       : i == DROP_ALLOWANCES    ? nic->over_allowance
						 : 0;

	for (uint32_t s = 0; s < DROP_SYMBOLS_MAX && reasons[i].symbols[s] != NULL; s++)
		sum += telemetry_sum(t, reasons[i].symbols[s], TELEMETRY_ALL_CORES);
	return sum;
}

bool
drop_alarm_check(struct drop_alarm *alarm, const struct telemetry *t, const struct drop_nic *nic,
		 uint64_t now_ns, struct drop_line *line)
{
	uint32_t due = DROP_REASON_COUNT;

	if (alarm->line_ns != 0 && now_ns - alarm->line_ns < DROP_ALARM_NS)
		return false;
	for (uint32_t i = 0; i < DROP_REASON_COUNT; i++) {
		const uint64_t count = count_of(i, t, nic);

		if (count < alarm->said[i] || count - alarm->said[i] < reasons[i].least ||
		    (due != DROP_REASON_COUNT && alarm->said_ns[i] >= alarm->said_ns[due]))
			continue;
		due = i;
		*line = (struct drop_line){count, reasons[i].words, reasons[i].cure};
	}
	if (due == DROP_REASON_COUNT)
		return false;
	alarm->said[due] = line->count;
	alarm->said_ns[due] = alarm->line_ns = now_ns;
	return true;
}
