#include "tcp_wire.h"

/* RFC 9293 section 3.2 and the registry it names: kind, and whole length where it is fixed. */
enum tcp_option_kind {
	OPT_END = 0,
	OPT_NOP = 1,
	OPT_MSS = 2,            /* RFC 9293 */
	OPT_WSCALE = 3,         /* RFC 7323 */
	OPT_SACK_PERMITTED = 4, /* RFC 2018 */
	OPT_TIMESTAMPS = 8,     /* RFC 7323 */
};

enum tcp_option_bytes {
	OPT_MSS_BYTES = 4,
	OPT_WSCALE_BYTES = 3,
	OPT_SACK_PERMITTED_BYTES = 2,
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

/* One option with a length byte; len is that byte, and so many bytes are there. */
static bool
take_option(struct tcp_options *opt, const uint8_t *p, uint32_t len)
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
		opt->seen |= TCP_HAS_SACK_PERMITTED;
		return len == OPT_SACK_PERMITTED_BYTES;
	case OPT_TIMESTAMPS:
		if (len != OPT_TIMESTAMPS_BYTES)
			return false;
		opt->seen |= TCP_HAS_TIMESTAMPS;
		opt->ts_value = get32(p + 2);
		opt->ts_echo = get32(p + 6);
		return true;
	default:
		return true; /* MUST-6: an unknown option is stepped over by its length */
	}
}

static bool
parse_options(struct tcp_options *opt, const uint8_t *p, uint32_t len)
{
	for (uint32_t at = 0; at < len;) {
		if (p[at] == OPT_END)
			return true;
		if (p[at] == OPT_NOP) {
			at++;
			continue;
		}
		/* A length counts its own two bytes: 0 or 1 would hold the loop where it is
		 * (MUST-7: be prepared to handle an illegal option length). */
		if (len - at < 2 || p[at + 1] < 2 || p[at + 1] > len - at)
			return false;
		if (!take_option(opt, p + at, p[at + 1]))
			return false;
		at += p[at + 1];
	}
	return true;
}

enum tcp_verdict
tcp_parse(struct tcp_seg *seg, const uint8_t *p, uint32_t len)
{
	const struct tcp_header *h = (const struct tcp_header *)p;

	if (len < TCP_HEADER_BYTES)
		return TCP_WIRE_CUT;

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
	if (header_len > TCP_HEADER_BYTES &&
	    !parse_options(&seg->opt, p + TCP_HEADER_BYTES, header_len - TCP_HEADER_BYTES))
		return TCP_WIRE_BAD_OPTIONS;
	return TCP_WIRE_OK;
}

/* Each option is a whole number of words: window scale has a NOP in front. */
static uint32_t
emit_options(uint8_t *p, const struct tcp_options *opt)
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
