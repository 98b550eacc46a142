/*
 * Another host uses our address. Goal: the operator learns at once which address and whose MAC,
 * and then once a minute while the conflict lasts, however many packets arrive. Method: figures
 * and a clock moved by hand.
 */
#include "support/test.h"
#include "monitor/conflict_alarm.h"

#include <string.h>

#define S 1000000000ull

static const struct ip_addr ours[] = {
	{{[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 99, [15] = 1}},
	{{0xfe, 0x80, [15] = 1}},
	{{0x20, 0x01, 0x0d, 0xb8, [15] = 1}},
};

TEST(it_says_which_address_and_whose_mac)
{
	static const char *const texts[] = {"10.99.0.1 is used by 02:00:00:00:0a:ff, too (7 ",
					    "fe80::1 is used by", "2001:db8::1 is used by"};
	char line[CONFLICT_LINE_BYTES];

	for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const struct neigh_conflicts seen = {7, i, {2, 0, 0, 0, 10, 255}};
		struct conflict_alarm alarm = {0};

		check(conflict_alarm_check(&alarm, &seen, &ours[i], S, line));
		check_eq(strncmp(line, texts[i], strlen(texts[i])), 0);
		check_ptr(strstr(line, "give it another address"));
		check(strlen(line) + 1 < sizeof line);
	}
}

TEST(a_flood_is_a_line_a_minute_and_an_end_is_silence)
{
	struct neigh_conflicts seen = {0, 0, {2, 0, 0, 0, 0, 9}};
	struct conflict_alarm alarm = {0};
	char line[CONFLICT_LINE_BYTES];
	uint32_t lines = 0;

	for (uint32_t s = 1; s <= 600; s++) {
		seen.count += 100000;
		lines += conflict_alarm_check(&alarm, &seen, &ours[0], s * S, line);
	}
	check_eq(lines, 10);
	lines = conflict_alarm_check(&alarm, &seen, &ours[0], 661 * S, line); /* the last of them */
	check_eq(lines, 1);
	for (uint32_t s = 662; s <= 1200; s++)
		lines += conflict_alarm_check(&alarm, &seen, &ours[0], s * S, line);
	check_eq(lines, 1);
}
