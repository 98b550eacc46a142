/*
 * pcapng.c - writes blocks of pcapng in the byte order of this machine, which the section header
 * records.
 */
#include "pcapng.h"
#include "base/bytes.h"
#include "base/region.h"

#define WORD              4u
#define BLOCK_BYTES       12u /* type, and the length before and after the body */
#define OPTION_BYTES      4u  /* code and length */
#define LINKTYPE_ETHERNET 1u
#define MAC_BYTES         6u
#define NS_DIGITS         9u /* if_tsresol: 10^-9 s */

enum block_type {
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_FRAME = 6,
	BLOCK_SECTION = 0x0a0d0d0a,
};
#define SECTION_MAGIC  0x1a2b3c4du
#define SECTION_LENGTH UINT64_MAX /* not given */

enum option_code {
	OPT_END = 0,
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_MACADDR = 6,
	IF_TSRESOL = 9,
	IF_FILTER = 11,
	EPB_FLAGS = 2,
	EPB_QUEUE = 6,
	ISB_STARTTIME = 2,
	ISB_ENDTIME = 3,
	ISB_IFDROP = 5,
	ISB_FILTERACCEPT = 6,
};

/* ---- parts of blocks; the caller has checked the room ---- */

static uint8_t *
put32(uint8_t *at, uint32_t v)
{
	store_u32(at, v);
	return at + sizeof v;
}

static uint8_t *
put16s(uint8_t *at, uint16_t a, uint16_t b)
{
	store_u16(at, a);
	store_u16(at + sizeof a, b);
	return at + sizeof a + sizeof b;
}

static uint8_t *
put_padded(uint8_t *at, const void *bytes, uint32_t len)
{
	memcpy(at, bytes, len);
	memset(at + len, 0, align_up(len, WORD) - len);
	return at + align_up(len, WORD);
}

static uint8_t *
put_option(uint8_t *at, enum option_code code, const void *bytes, uint32_t len)
{
	return put_padded(put16s(at, (uint16_t)code, (uint16_t)len), bytes, len);
}

static uint8_t *
put_text(uint8_t *at, enum option_code code, const char *text)
{
	return put_option(at, code, text, (uint32_t)strnlen(text, PCAPNG_TEXT_MAX));
}

static uint8_t *
put_number(uint8_t *at, enum option_code code, uint64_t v)
{
	return put_option(at, code, &v, sizeof v);
}

/* Writes a time as two words, the upper one first in any byte order. */
static uint8_t *
put_time(uint8_t *at, enum option_code code, uint64_t ns)
{
	const uint32_t words[] = {(uint32_t)(ns >> 32), (uint32_t)ns};

	return put_option(at, code, words, sizeof words);
}

static uint8_t *
block_begin(uint8_t *at, enum block_type type)
{
	return put32(put32(at, (uint32_t)type), 0);
}

static uint8_t *
block_end(uint8_t *begin, uint8_t *at)
{
	const uint32_t bytes = (uint32_t)(at - begin) + WORD;

	store_u32(begin + WORD, bytes);
	return put32(at, bytes);
}

/* ---- blocks ---- */

static uint8_t *
put_section(uint8_t *to, const struct pcapng_about *about)
{
	const uint64_t length = SECTION_LENGTH;
	uint8_t *at = put32(block_begin(to, BLOCK_SECTION), SECTION_MAGIC);

	at = put_padded(put16s(at, 1, 0), &length, sizeof length);
	at = put16s(put_text(at, SHB_USERAPPL, about->program), OPT_END, 0);
	return block_end(to, at);
}

static uint8_t *
put_interface(uint8_t *to, const struct pcapng_about *about)
{
	/* Byte 0 names the filter's language; zero is pcap's. */
	char filter[PCAPNG_TEXT_MAX] = {0};
	const uint8_t digits = NS_DIGITS;
	uint8_t *at = put16s(block_begin(to, BLOCK_INTERFACE), LINKTYPE_ETHERNET, 0);

	at = put_text(put32(at, about->snap), IF_NAME, about->interface);
	at = put_option(at, IF_MACADDR, about->mac, MAC_BYTES);
	at = put_option(at, IF_TSRESOL, &digits, sizeof digits);
	if (about->filter != NULL) {
		const uint32_t len = (uint32_t)strnlen(about->filter, sizeof filter - 1);

		memcpy(filter + 1, about->filter, len);
		at = put_option(at, IF_FILTER, filter, len + 1);
	}
	return block_end(to, put16s(at, OPT_END, 0));
}

size_t
pcapng_head(uint8_t *to, size_t room, const struct pcapng_about *about)
{
	if (room < PCAPNG_HEAD_BYTES)
		return 0;
	return (size_t)(put_interface(put_section(to, about), about) - to);
}

size_t
pcapng_frame(uint8_t *to, size_t room, const struct pcapng_frame *frame, uint8_t **data)
{
	enum { INBOUND = 1, OUTBOUND = 2 };
	const uint32_t flags = frame->sent ? OUTBOUND : INBOUND;
	uint8_t *at = to;

	if (room < (size_t)PCAPNG_FRAME_BYTES + frame->kept)
		return 0;
	at = put32(block_begin(at, BLOCK_FRAME), 0); /* of interface 0 */
	at = put32(put32(at, (uint32_t)(frame->at_ns >> 32)), (uint32_t)frame->at_ns);
	at = put32(put32(at, frame->kept), frame->len);
	*data = at;
	at = put_padded(at, frame->data, frame->kept);
	at = put_option(at, EPB_FLAGS, &flags, sizeof flags);
	at = put_option(at, EPB_QUEUE, &frame->queue, sizeof frame->queue);
	return (size_t)(block_end(to, put16s(at, OPT_END, 0)) - to);
}

size_t
pcapng_stats(uint8_t *to, size_t room, const struct pcapng_stats *stats)
{
	uint8_t *at = to;

	if (room < PCAPNG_STATS_BYTES)
		return 0;
	at = put32(block_begin(at, BLOCK_STATISTICS), 0); /* of interface 0 */
	at = put32(put32(at, (uint32_t)(stats->end_ns >> 32)), (uint32_t)stats->end_ns);
	at = put_time(at, ISB_STARTTIME, stats->begin_ns);
	at = put_time(at, ISB_ENDTIME, stats->end_ns);
	at = put_number(at, ISB_IFDROP, stats->dropped);
	at = put_number(at, ISB_FILTERACCEPT, stats->received);
	return (size_t)(block_end(to, put16s(at, OPT_END, 0)) - to);
}
