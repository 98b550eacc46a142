#include "script_show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct shown {
	char *to;
	uint32_t len;
};

static void __attribute__((format(printf, 2, 3))) say(struct shown *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->to + s->len, SHOW_BYTES - s->len, format, args);
	va_end(args);
	if (n > 0)
		s->len += (uint32_t)n < SHOW_BYTES - s->len ? (uint32_t)n : SHOW_BYTES - s->len - 1;
}

static void
show_flags(struct shown *s, uint16_t flags)
{
	static const struct {
		uint16_t flag;
		const char *name;
	} order[] = {
		{FLAG_SYN, "SYN"}, {FLAG_FIN, "FIN"}, {FLAG_RST, "RST"},
		{FLAG_PSH, "PSH"}, {FLAG_URG, "URG"}, {FLAG_ECE, "ECE"},
		{FLAG_CWR, "CWR"}, {FLAG_AE, "AE"},   {FLAG_ACK, "ACK"},
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (!(flags & order[i].flag))
			continue;
		say(s, "%s%s", between, order[i].name);
		between = "-";
	}
	if (flags == 0)
		say(s, "none");
}

static void
show_stamp(struct shown *s, const char *name, uint32_t value, bool any)
{
	if (any)
		say(s, "%s *", name);
	else
		say(s, "%s %d", name, (int)value);
}

static void
show_options(struct shown *s, const struct script_options *o)
{
	const char *between = "";

	say(s, " <");
	if (o->seen & OPT_MSS) {
		say(s, "mss %u", o->mss);
		between = ", ";
	}
	if (o->seen & OPT_WSCALE) {
		say(s, "%swscale %u", between, o->wscale);
		between = ", ";
	}
	if (o->seen & OPT_SACK_PERMITTED) {
		say(s, "%ssackok", between);
		between = ", ";
	}
	if (o->seen & OPT_TIMESTAMPS) {
		say(s, "%s", between);
		show_stamp(s, "ts", o->ts_value, o->any_value);
		show_stamp(s, " ecr", o->ts_echo, o->any_echo);
		between = ", ";
	}
	if (o->seen & OPT_SACK) {
		say(s, "%ssack", between);
		for (uint32_t i = 0; i < o->sacks; i++)
			say(s, " %d:%d", (int)o->sack[i][0], (int)o->sack[i][1]);
	}
	say(s, ">");
}

void
script_show(char to[SHOW_BYTES], const struct script_seg *seg, const struct script_seg *like)
{
	static const char *const ecn[] = {
		[IP_ECN_ECT1] = "ect1", [IP_ECN_ECT0] = "ect0", [IP_ECN_CE] = "ce"};
	struct shown s = {.to = to};

	show_flags(&s, seg->flags);
	say(&s, " %d", (int)seg->seq);
	if (seg->len > 0)
		say(&s, "+%u", seg->len);
	if (seg->flags & FLAG_ACK)
		say(&s, " ack %d", (int)seg->ack);
	if (like == NULL || like->window_given)
		say(&s, " win %u", seg->window);
	if (seg->ecn != IP_ECN_NOT_ECT)
		say(&s, " %s", ecn[seg->ecn]);
	if (like == NULL ? seg->opt.seen != 0 : like->opt.given)
		show_options(&s, &seg->opt);
}
