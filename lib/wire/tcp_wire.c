/*
 * tcp_wire.c - parses and writes TCP headers. Timestamps alone, the options of nearly every
 * segment, are recognised without the loop over options.
 */
#include "tcp_wire.h"

/* Kinds of options (RFC 9293 section 3.2 and the registry that it names), and the length of each
 * that has a fixed one. */
enum tcp_option_kind {
	OPT_END = 0,
	OPT_NOP = 1,
	OPT_MSS = 2,            /* RFC 9293 */
	OPT_WSCALE = 3,         /* RFC 7323 */
	OPT_SACK_PERMITTED = 4, /* RFC 2018 */
	OPT_SACK = 5,           /* RFC 2018 */
	OPT_TIMESTAMPS = 8,     /* RFC 7323 */
};

enum tcp_option_bytes {
	OPT_MSS_BYTES = 4,
	OPT_WSCALE_BYTES = 3,
	OPT_SACK_PERMITTED_BYTES = 2,
	OPT_SACK_BYTES = 2, /* without its blocks */
	OPT_TIMESTAMPS_BYTES = 10,
};

static uint16_t
get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void
put32(uint8_t *p, uint32_t v)
{
	const struct be32 wire = be32_of(v);

	memcpy(p, &wire, sizeof wire);
}

/* Parses SACK blocks. RFC 2018 section 3: at least one block, and only whole ones. */
static bool
parse_sack(struct tcp_options *opt, const uint8_t *p, uint32_t len)
{
	const uint32_t bytes = len - OPT_SACK_BYTES;
	const uint32_t count = bytes / sizeof(struct tcp_sack_block);

	if (count == 0 || count > TCP_SACK_MAX || bytes % sizeof(struct tcp_sack_block) != 0)
		return false;
	opt->seen |= TCP_HAS_SACK;
	opt->sack_count = count;
	opt->sack = (const struct tcp_sack_block *)(p + OPT_SACK_BYTES);
	return true;
}

/* Parses one option with a length byte, which is len; len bytes are present. Returns false if a
 * known option has a wrong length; then it is ignored. */
static bool
parse_option(struct tcp_options *opt, const uint8_t *p, uint32_t len)
{
	switch (p[0]) {
	case OPT_MSS:
		if (len != OPT_MSS_BYTES)
			return false;
		opt->seen |= TCP_HAS_MSS;
		opt->mss = get16(p + 2);
		return true;
	case OPT_WSCALE:
		if (len != OPT_WSCALE_BYTES)
			return false;
		opt->seen |= TCP_HAS_WSCALE;
		opt->wscale = p[2] < TCP_WSCALE_MAX ? p[2] : TCP_WSCALE_MAX;
		return true;
	case OPT_SACK_PERMITTED:
		if (len != OPT_SACK_PERMITTED_BYTES)
			return false;
		opt->seen |= TCP_HAS_SACK_PERMITTED;
		return true;
	case OPT_SACK:
		return parse_sack(opt, p, len);
	case OPT_TIMESTAMPS:
		if (len != OPT_TIMESTAMPS_BYTES)
			return false;
		opt->seen |= TCP_HAS_TIMESTAMPS;
		opt->ts_value = get32(p + 2);
		opt->ts_echo = get32(p + 6);
		return true;
	default:
		return true; /* MUST-6: an unknown option is skipped by its length */
	}
}

/* Parses the layout that RFC 7323 appendix A recommends and that nearly every segment has: NOP,
 * NOP, timestamps, and nothing else. */
static inline bool
parse_timestamps_only(struct tcp_options *opt, const uint8_t *p, uint32_t len)
{
	static const uint8_t layout[4] = {OPT_NOP, OPT_NOP, OPT_TIMESTAMPS, OPT_TIMESTAMPS_BYTES};

	if (len != TCP_TIMESTAMPS_BYTES || memcmp(p, layout, sizeof layout) != 0)
		return false;
	opt->seen = TCP_HAS_TIMESTAMPS;
	opt->ts_value = get32(p + 4);
	opt->ts_echo = get32(p + 8);
	return true;
}

/* MUST-7: an illegal length must be survived. As in Linux and BSD, a known option of another length
 * is skipped. As in BSD, a length beyond the header ends the list, and the options read so far are
 * valid. Otherwise hosts behind a middlebox that writes such options could not connect. */
static void
parse_tcp_options(struct tcp_options *opt, const uint8_t *p, uint32_t len)
{
	if (parse_timestamps_only(opt, p, len))
		return;
	for (uint32_t at = 0; at < len && p[at] != OPT_END;) {
		if (p[at] == OPT_NOP) {
			at++;
			continue;
		}
		/* A length includes its own two bytes, so with 0 or 1 the loop would make no
		 * progress. */
		if (len - at < 2 || p[at + 1] < 2 || p[at + 1] > len - at) {
			opt->seen |= TCP_HAS_MALFORMED;
			return;
		}
		if (!parse_option(opt, p + at, p[at + 1]))
			opt->seen |= TCP_HAS_MALFORMED;
		at += p[at + 1];
	}
}

enum tcp_parse_result
tcp_parse(struct tcp_seg *seg, const uint8_t *p, uint32_t len)
{
	const struct tcp_header *h = (const struct tcp_header *)p;

	if (len < TCP_HEADER_BYTES)
		return TCP_WIRE_TRUNCATED;

	const uint32_t header_len = (uint32_t)(h->data_offset >> 4) * 4;

	if (header_len < TCP_HEADER_BYTES || header_len > len)
		return TCP_WIRE_BAD_OFFSET;
	*seg = (struct tcp_seg){
		.src_port = be16_get(h->src_port),
		.dst_port = be16_get(h->dst_port),
		.seq = be32_get(h->seq),
		.ack = be32_get(h->ack),
		.window = be16_get(h->window),
		.flags = h->flags,
		.header_len = (uint8_t)header_len,
		.payload = {p + header_len, len - header_len},
	};
	if (header_len > TCP_HEADER_BYTES)
		parse_tcp_options(&seg->opt, p + TCP_HEADER_BYTES, header_len - TCP_HEADER_BYTES);
	return TCP_WIRE_OK;
}

/* Writes timestamps as in RFC 7323 appendix A, after two NOPs, so that the numbers are aligned to
 * words. A SYN has SACK-permitted in place of the two NOPs. */
static uint32_t
emit_timestamps(uint8_t *p, const struct tcp_options *opt)
{
	const bool permitted = opt->seen & TCP_HAS_SACK_PERMITTED;

	p[0] = permitted ? OPT_SACK_PERMITTED : OPT_NOP;
	p[1] = permitted ? OPT_SACK_PERMITTED_BYTES : OPT_NOP;
	p[2] = OPT_TIMESTAMPS;
	p[3] = OPT_TIMESTAMPS_BYTES;
	put32(p + 4, opt->ts_value);
	put32(p + 8, opt->ts_echo);
	return TCP_TIMESTAMPS_BYTES;
}

static uint32_t
emit_sack(uint8_t *p, const struct tcp_options *opt, uint32_t room)
{
	const uint32_t fits = (room - OPT_SACK_BYTES - 2) / sizeof *opt->sack;
	const uint32_t count = opt->sack_count < fits ? opt->sack_count : fits;
	const uint32_t bytes = count * (uint32_t)sizeof *opt->sack;

	p[0] = OPT_NOP;
	p[1] = OPT_NOP;
	p[2] = OPT_SACK;
	p[3] = (uint8_t)(OPT_SACK_BYTES + bytes);
	memcpy(p + 4, opt->sack, bytes);
	return 4 + bytes;
}

/* Writes the options that only a SYN has; not SACK-permitted, if timestamps have it. */
static uint32_t
emit_syn_options(uint8_t *p, const struct tcp_options *opt)
{
	uint32_t at = 0;

	if (opt->seen & TCP_HAS_MSS) {
		p[at++] = OPT_MSS;
		p[at++] = OPT_MSS_BYTES;
		p[at++] = (uint8_t)(opt->mss >> 8);
		p[at++] = (uint8_t)opt->mss;
	}
	if (opt->seen & TCP_HAS_WSCALE) {
		p[at++] = OPT_NOP;
		p[at++] = OPT_WSCALE;
		p[at++] = OPT_WSCALE_BYTES;
		p[at++] = opt->wscale;
	}
	if ((opt->seen & (TCP_HAS_SACK_PERMITTED | TCP_HAS_TIMESTAMPS)) == TCP_HAS_SACK_PERMITTED) {
		p[at++] = OPT_NOP;
		p[at++] = OPT_NOP;
		p[at++] = OPT_SACK_PERMITTED;
		p[at++] = OPT_SACK_PERMITTED_BYTES;
	}
	return at;
}

/* Writes the options; each takes a whole number of words. */
static uint32_t
emit_options(uint8_t *p, const struct tcp_options *opt)
{
	uint32_t at = 0;

	if (opt->seen == 0)
		return 0;
	if (opt->seen != TCP_HAS_TIMESTAMPS)
		at = emit_syn_options(p, opt);
	if (opt->seen & TCP_HAS_TIMESTAMPS)
		at += emit_timestamps(p + at, opt);
	if (opt->seen & TCP_HAS_SACK && opt->sack_count > 0)
		at += emit_sack(p + at, opt, TCP_OPTIONS_MAX - at);
	return at;
}

uint32_t
tcp_emit(uint8_t *p, const struct tcp_seg *seg)
{
	const uint32_t header_len =
		TCP_HEADER_BYTES + emit_options(p + TCP_HEADER_BYTES, &seg->opt);
	const struct tcp_header h = {
		.src_port = be16_of(seg->src_port),
		.dst_port = be16_of(seg->dst_port),
		.seq = be32_of(seg->seq),
		.ack = be32_of(seg->ack),
		.data_offset = (uint8_t)(header_len / 4 << 4),
		.flags = seg->flags,
		.window = be16_of(seg->window),
	};

	memcpy(p, &h, sizeof h);
	return header_len;
}
