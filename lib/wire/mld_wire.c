/*
 * mld_wire.c - parses queries of multicast listener discovery, and writes reports.
 */
#include "mld_wire.h"

#define OPTION_PAD_1        0u
#define OPTION_PAD_N        1u
#define OPTION_ROUTER_ALERT 5u
#define ALERT_LEN           2u /* bytes of the alert's value; 0: the packet is of MLD */

#define QUERY2_BYTES   28u /* a query of MLDv2 without sources */
#define QUERY_DELAY_AT 4u
#define GROUP_AT       8u
#define SOURCES_AT     26u
#define RECORD_GROUP   4u
#define RECORDS_AT     6u

/* RFC 3810 section 5.1.3: from this code on, a 3-bit exponent and a 12-bit mantissa. */
#define DELAY_FLOATS 0x8000u

static uint16_t
get16_at(const uint8_t *p, uint32_t at)
{
	return be16_get(*(const struct be16 *)(p + at));
}

static uint32_t
delay_of(uint16_t code, bool is_v1)
{
	if (is_v1 || code < DELAY_FLOATS)
		return code;
	return ((code & 0xfffu) | 0x1000u) << ((code >> 12 & 7u) + 3);
}

enum mld_parse_result
mld_query_parse(struct mld_query *q, const uint8_t *p, uint32_t len)
{
	if (len != MLD1_BYTES &&
	    (len < QUERY2_BYTES || len - QUERY2_BYTES < get16_at(p, SOURCES_AT) * IP_ADDR_BYTES))
		return MLD_WIRE_LEN;
	q->is_v1 = len == MLD1_BYTES;
	q->delay_ms = delay_of(get16_at(p, QUERY_DELAY_AT), q->is_v1);
	memcpy(q->group.b, p + GROUP_AT, sizeof q->group.b);
	return ipv6_is_group(&q->group) || ip_addr_is_zero(&q->group) ? MLD_WIRE_OK
								      : MLD_WIRE_GROUP;
}

bool
mld_has_alert(const uint8_t *ext, uint32_t len)
{
	for (uint32_t at = 2; at < len;) {
		if (ext[at] == OPTION_PAD_1) {
			at++;
			continue;
		}
		if (len - at < 2 || ext[at + 1] > len - at - 2)
			return false;
		if (ext[at] == OPTION_ROUTER_ALERT && ext[at + 1] == ALERT_LEN)
			return true;
		at += 2u + ext[at + 1];
	}
	return false;
}

void
mld_alert_emit(uint8_t *ext)
{
	const uint8_t bytes[MLD_ALERT_BYTES] = {IPV6_ICMP, 0, OPTION_ROUTER_ALERT, ALERT_LEN,
						0,         0, OPTION_PAD_N,        0};

	memcpy(ext, bytes, sizeof bytes);
}

void
mld1_emit(uint8_t *p, enum mld_type type, const struct ip_addr *group)
{
	memset(p, 0, GROUP_AT);
	p[0] = (uint8_t)type;
	memcpy(p + GROUP_AT, group->b, sizeof group->b);
}

void
mld_report_emit(uint8_t *p, uint32_t records)
{
	const struct be16 count = be16_of((uint16_t)records);

	memset(p, 0, MLD_HEADER_BYTES);
	p[0] = MLD2_REPORT;
	memcpy(p + RECORDS_AT, &count, sizeof count);
}

void
mld_record_emit(uint8_t *p, enum mld_record what, const struct ip_addr *group)
{
	memset(p, 0, RECORD_GROUP);
	p[0] = (uint8_t)what;
	memcpy(p + RECORD_GROUP, group->b, sizeof group->b);
}

struct ip_addr
mld_routers(void)
{
	return (struct ip_addr){{0xff, 0x02, [15] = 0x16}};
}

struct ip_addr
mld1_routers(void)
{
	return (struct ip_addr){{0xff, 0x02, [15] = 2}};
}
