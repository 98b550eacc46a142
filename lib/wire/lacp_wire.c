/*
 * lacp_wire.c - parses and writes LACPDUs, and answers markers.
 */
#include "lacp_wire.h"

#define SUBTYPE_LACP      1u
#define SUBTYPE_MARKER    2u
#define VERSION           1u
#define TLV_ACTOR         1u
#define TLV_PARTNER       2u
#define TLV_COLLECTOR     3u
#define INFO_BYTES        20u
#define COLLECTOR_BYTES   16u
#define MARKER_BYTES      16u
#define MARKER_ASKS       1u
#define MARKER_ANSWERS    2u
#define MARKER_TLV_OFFSET (ETH_HEADER_BYTES + 2u)

/* Actor or partner information, clause 6.4.2.3 (e) to (n). */
struct info_tlv {
	uint8_t type, length;
	struct be16 system_priority;
	uint8_t system[ETH_MAC_BYTES];
	struct be16 key, port_priority, port;
	uint8_t state, reserved[3];
};
static_assert(sizeof(struct info_tlv) == INFO_BYTES, "IEEE 802.1AX, figure 6-7");

struct lacp_frame {
	struct eth_header eth;
	uint8_t subtype, version;
	struct info_tlv actor, partner;
	uint8_t collector_type, collector_length;
	struct be16 collector_max_delay;
	uint8_t reserved[12], terminator[2], padding[50];
};
static_assert(sizeof(struct lacp_frame) == LACP_FRAME_BYTES, "IEEE 802.1AX, figure 6-7");

static const uint8_t slow_group[ETH_MAC_BYTES] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x02};

static void
info_read(struct lacp_info *info, const struct info_tlv *t)
{
	memcpy(info->system, t->system, sizeof info->system);
	info->system_priority = be16_get(t->system_priority);
	info->key = be16_get(t->key);
	info->port_priority = be16_get(t->port_priority);
	info->port = be16_get(t->port);
	info->state = t->state;
}

static void
info_write(struct info_tlv *t, uint8_t type, const struct lacp_info *info)
{
	t->type = type;
	t->length = INFO_BYTES;
	memcpy(t->system, info->system, sizeof t->system);
	t->system_priority = be16_of(info->system_priority);
	t->key = be16_of(info->key);
	t->port_priority = be16_of(info->port_priority);
	t->port = be16_of(info->port);
	t->state = info->state;
}

static enum lacp_parse_result
marker_parse(const uint8_t *p)
{
	if (p[MARKER_TLV_OFFSET + 1] != MARKER_BYTES)
		return LACP_WIRE_FORMAT;
	return p[MARKER_TLV_OFFSET] == MARKER_ASKS ? LACP_WIRE_MARKER : LACP_WIRE_RESPONSE;
}

enum lacp_parse_result
lacp_parse(struct lacp_pdu *pdu, const uint8_t *p, uint32_t len)
{
	const struct lacp_frame *f = (const struct lacp_frame *)p;

	if (len < ETH_HEADER_BYTES + 1 || !lacp_is_slow(p) ||
	    (f->subtype != SUBTYPE_LACP && f->subtype != SUBTYPE_MARKER))
		return LACP_WIRE_OTHER;
	if (len < LACP_FRAME_BYTES)
		return LACP_WIRE_TRUNCATED;
	if (f->subtype == SUBTYPE_MARKER)
		return marker_parse(p);
	if (f->actor.length != INFO_BYTES || f->partner.length != INFO_BYTES)
		return LACP_WIRE_FORMAT;
	info_read(&pdu->actor, &f->actor);
	info_read(&pdu->partner, &f->partner);
	return LACP_WIRE_OK;
}

void
lacp_emit(uint8_t *p, const uint8_t src[ETH_MAC_BYTES], const struct lacp_pdu *pdu)
{
	struct lacp_frame *f = (struct lacp_frame *)p;

	memset(f, 0, sizeof *f);
	eth_emit(p, slow_group, src, ETH_TYPE_SLOW);
	f->subtype = SUBTYPE_LACP;
	f->version = VERSION;
	info_write(&f->actor, TLV_ACTOR, &pdu->actor);
	info_write(&f->partner, TLV_PARTNER, &pdu->partner);
	f->collector_type = TLV_COLLECTOR;
	f->collector_length = COLLECTOR_BYTES;
}

void
lacp_marker_answer(uint8_t *p, const uint8_t src[ETH_MAC_BYTES])
{
	eth_emit(p, slow_group, src, ETH_TYPE_SLOW);
	p[MARKER_TLV_OFFSET] = MARKER_ANSWERS;
}
