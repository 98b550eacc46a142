#include "script_reader.h"

#include <stdlib.h>

#define DEFAULT_WIN   60000u
#define TIMES_MAX     256u
#define TEXT_IN_FRAME 1500u

/* ---- segments ---- */

static const char *const flag_names[] = {"FIN", "SYN", "RST", "PSH", "ACK",
					 "URG", "ECE", "CWR", "AE"};
#define FLAG_COUNT (sizeof flag_names / sizeof *flag_names)
static const char *const ecn_names[] = {
	[IP_ECN_ECT1] = "ect1", [IP_ECN_ECT0] = "ect0", [IP_ECN_CE] = "ce"};

/* Reads flags as "SYN-ACK" or "none". */
static bool
read_flags(struct reader *r, uint16_t *flags)
{
	const char *word = words_next(&r->w);

	*flags = 0;
	if (words_is(&r->w, "none"))
		return true;
	while (*word != 0) {
		const uint32_t n = (uint32_t)strcspn(word, "-");
		uint32_t i = 0;

		while (i < FLAG_COUNT &&
		       !(n == strlen(flag_names[i]) && strncmp(word, flag_names[i], n) == 0))
			i++;
		if (i == FLAG_COUNT)
			return reader_bad(r, "flags such as SYN, FIN-ACK or none");
		*flags |= (uint16_t)(1u << i);
		word += n + (word[n] == '-');
	}
	return *flags != 0 ? words_skip(&r->w)
			   : reader_bad(r, "flags such as SYN, FIN-ACK or none");
}

static bool
read_number(struct reader *r, int64_t least, int64_t most, int64_t *to)
{
	const struct words before = r->w;

	if (words_number(&r->w, to) && *to >= least && *to <= most)
		return true;
	r->w = before;
	return reader_bad(r, "a number that fits here");
}

bool
reader_u32(struct reader *r, uint32_t *to)
{
	int64_t n;

	if (!read_number(r, INT32_MIN, UINT32_MAX, &n))
		return false;
	*to = (uint32_t)n;
	return true;
}

/* Reads a time stamp, or * for any. */
static bool
read_stamp(struct reader *r, uint32_t *to, bool *any)
{
	*any = words_is(&r->w, "*");
	return *any || reader_u32(r, to);
}

/* Reads blocks as in "sack 1461:2921 4381:5841". */
static bool
read_sacks(struct reader *r, struct script_options *o)
{
	do {
		if (o->sacks == SCRIPT_SACKS_MAX)
			return reader_bad(r, "at most four blocks");
		if (!reader_u32(r, &o->sack[o->sacks][0]))
			return false;
		if (!words_is(&r->w, ":"))
			return reader_bad(r, "':' between the edges of a block");
		if (!reader_u32(r, &o->sack[o->sacks][1]))
			return false;
		o->sacks++;
	} while (words_is_number(&r->w));
	return true;
}

static bool
read_option(struct reader *r, struct script_options *o)
{
	int64_t n = 0;

	if (words_is(&r->w, "mss")) {
		o->seen |= OPT_MSS;
		if (!read_number(r, 0, UINT16_MAX, &n))
			return false;
		o->mss = (uint16_t)n;
		return true;
	}
	if (words_is(&r->w, "wscale")) {
		o->seen |= OPT_WSCALE;
		if (!read_number(r, 0, UINT8_MAX, &n))
			return false;
		o->wscale = (uint8_t)n;
		return true;
	}
	if (words_is(&r->w, "sackok")) {
		o->seen |= OPT_SACK_PERMITTED;
		return true;
	}
	if (words_is(&r->w, "ts")) {
		o->seen |= OPT_TIMESTAMPS;
		return read_stamp(r, &o->ts_value, &o->any_value) && words_is(&r->w, "ecr")
			       ? read_stamp(r, &o->ts_echo, &o->any_echo)
			       : reader_bad(r, "ts VALUE ecr VALUE");
	}
	if (words_is(&r->w, "sack")) {
		o->seen |= OPT_SACK;
		return read_sacks(r, o);
	}
	if (words_is(&r->w, "raw")) {
		o->seen |= OPT_RAW;
		o->raw_len = (uint8_t)words_hex(&r->w, o->raw, sizeof o->raw);
		return o->raw_len > 0 ? true : reader_bad(r, "bytes in hexadecimal");
	}
	return reader_bad(r, "mss, wscale, sackok, ts, sack or raw");
}

static bool
read_options(struct reader *r, struct script_options *o)
{
	o->given = true;
	if (words_is(&r->w, ">"))
		return true;
	do {
		if (!read_option(r, o))
			return false;
	} while (words_is(&r->w, ","));
	return words_is(&r->w, ">") ? true : reader_bad(r, "',' or '>'");
}

/* Reads FLAGS SEQ[+LEN] [ack N] [win N] [<options>] [xN]. */
static bool
read_segment(struct reader *r, struct script_step *st)
{
	struct script_seg *seg = &st->seg;
	int64_t n = 0;

	seg->window = DEFAULT_WIN;
	st->times = 1;
	if (!read_flags(r, &seg->flags) || !reader_u32(r, &seg->seq))
		return false;
	if (words_is(&r->w, "+") && !read_number(r, 1, TEXT_IN_FRAME, &n))
		return false;
	seg->len = (uint32_t)n;
	if (!!(seg->flags & FLAG_ACK) != words_is(&r->w, "ack"))
		return reader_bad(r, "'ack N' where the flags say ACK, and only there");
	if (seg->flags & FLAG_ACK && !reader_u32(r, &seg->ack))
		return false;
	if (words_is(&r->w, "win")) {
		if (!read_number(r, 0, UINT16_MAX, &n))
			return false;
		seg->window = (uint16_t)n;
		seg->window_given = true;
	}
	for (uint8_t ecn = IP_ECN_ECT1; ecn <= IP_ECN_CE; ecn++)
		if (words_is(&r->w, ecn_names[ecn]))
			seg->ecn = ecn;
	if (words_is(&r->w, "<") && !read_options(r, &seg->opt))
		return false;
	if (words_is(&r->w, "x")) {
		if (!read_number(r, 1, TIMES_MAX, &n))
			return false;
		st->times = (uint32_t)n;
	}
	return true;
}

static bool
parse_in(struct reader *r, struct script_step *st)
{
	if (!read_segment(r, st))
		return false;
	st->seg.bad_cksum = words_is(&r->w, "bad-checksum");
	st->seg.other_text = words_is(&r->w, "other-data");
	return !st->seg.opt.any_value && !st->seg.opt.any_echo ? true : reader_bad(r, "no * here");
}

static bool
parse_out(struct reader *r, struct script_step *st)
{
	return read_segment(r, st);
}

/* Reads icmp TYPE/CODE [mtu N] quoting SEQ. */
static bool
parse_icmp(struct reader *r, struct script_step *st)
{
	int64_t type, code, mtu = 0;

	if (!read_number(r, 0, UINT8_MAX, &type))
		return false;
	if (!words_is(&r->w, "/"))
		return reader_bad(r, "TYPE/CODE");
	if (!read_number(r, 0, UINT8_MAX, &code))
		return false;
	if (words_is(&r->w, "mtu") && !read_number(r, 0, UINT16_MAX, &mtu))
		return false;
	st->which = (uint32_t)(type << 8 | code);
	st->number = (uint64_t)mtu;
	return words_is(&r->w, "quoting") ? read_number(r, INT32_MIN, UINT32_MAX, &st->seq)
					  : reader_bad(r, "quoting SEQ");
}

/* ---- the other verbs ---- */

static bool
parse_none(struct reader *r, struct script_step *st)
{
	return true;
}

static bool
parse_connect(struct reader *r, struct script_step *st)
{
	st->number = words_is(&r->w, "refused");
	return true;
}

static bool
parse_count(struct reader *r, struct script_step *st)
{
	int64_t n;

	if (!read_number(r, 0, UINT32_MAX, &n))
		return false;
	st->number = (uint64_t)n;
	return true;
}

bool
reader_time(struct reader *r, uint64_t *ns)
{
	return words_time(&r->w, ns) ? true : reader_bad(r, "a time such as 40ms, 1.5s or 20us");
}

static bool
parse_time(struct reader *r, struct script_step *st)
{
	return reader_time(r, &st->number);
}

static bool
parse_yes(struct reader *r, struct script_step *st)
{
	st->number = words_is(&r->w, "yes");
	return st->number || words_is(&r->w, "no") ? true : reader_bad(r, "yes or no");
}

static bool
parse_state(struct reader *r, struct script_step *st)
{
	for (st->which = 0; st->which < SCRIPT_STATES; st->which++)
		if (words_is(&r->w, script_states[st->which]))
			return true;
	return reader_bad(r, "a state of RFC 9293");
}

static bool
parse_counter(struct reader *r, struct script_step *st)
{
	for (st->which = 0; st->which < STACK_COUNTER_COUNT; st->which++)
		if (words_is(&r->w, stack_counter_names[st->which].symbol))
			return parse_count(r, st);
	return reader_bad(r, "a counter of net_counters.h or tcp_counters.h");
}

static const struct {
	const char *word;
	enum script_verb verb;
	bool (*parse)(struct reader *r, struct script_step *st);
} verbs[] = {
	{"in", DO_IN, parse_in},
	{"out", DO_OUT, parse_out},
	{"icmp", DO_ICMP, parse_icmp},
	{"silence", DO_SILENCE, parse_none},
	{"wait", DO_WAIT, parse_time},
	{"from", DO_FROM, parse_count},
	{"to", DO_TO, parse_count},
	{"read", DO_READ, parse_count},
	{"reading", DO_READING, parse_none},
	{"write", DO_WRITE, parse_count},
	{"connect", DO_CONNECT, parse_connect},
	{"close", DO_CLOSE, parse_none},
	{"leave", DO_LEAVE, parse_none},
	{"abort", DO_ABORT, parse_none},
	{"drain", DO_DRAIN, parse_none},
	{"deny", DO_DENY, parse_none},
	{"move", DO_MOVE, parse_none},
	{"refuse", DO_REFUSE, parse_none},
	{"silent", DO_SILENT, parse_none},
	{"pause", DO_PAUSE, parse_none},
	{"resume", DO_RESUME, parse_none},
	{"opened", DO_OPENED, parse_count},
	{"gone", DO_GONE, parse_count},
	{"failed", DO_FAILED, parse_count},
	{"eof", DO_EOF, parse_yes},
	{"readable", DO_READABLE, parse_count},
	{"held", DO_HELD, parse_count},
	{"state", DO_STATE, parse_state},
	{"count", DO_COUNT, parse_counter},
};

bool
reader_step(struct reader *r)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		struct script_step st = {.verb = verbs[i].verb, .at = r->at};

		if (!words_is(&r->w, verbs[i].word))
			continue;
		if (r->into == NULL)
			return reader_bad(r, "script or define before the first step");
		if (!verbs[i].parse(r, &st))
			return false;
		reader_add(r, &st);
		return true;
	}
	return reader_bad(r, "a verb");
}
