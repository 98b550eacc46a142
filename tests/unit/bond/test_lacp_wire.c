/*
 * LACPDUs and markers as bytes. Goal: what the standard's figures say is read and written; what is
 * too short or has another length is refused. Method: a LACPDU written out by IEEE 802.1AX figure
 * 6-7, with the values that Linux's bonding sends by default.
 */
#include "support/guard.h"
#include "support/test.h"
#include "wire/lacp_wire.h"

/* clang-format off */
static const uint8_t linux_pdu[LACP_FRAME_BYTES] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x88, 0x09,
	0x01, 0x01,
	0x01, 0x14, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x0f, 0x00, 0xff, 0x00, 0x02, 0x3d, 0, 0, 0,
	0x02, 0x14, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0xff, 0x00, 0x01, 0x3f, 0, 0, 0,
	0x03, 0x10, 0x00, 0x00,
};
/* clang-format on */

#define ACTOR_LENGTH_AT   17u
#define PARTNER_LENGTH_AT 37u
#define SUBTYPE_AT        14u

static const uint8_t us[6] = {2, 0, 0, 0, 0, 1};

static enum lacp_parse_result
parse_with(uint32_t at, uint8_t value)
{
	uint8_t frame[LACP_FRAME_BYTES];
	struct lacp_pdu pdu;

	memcpy(frame, linux_pdu, sizeof frame);
	frame[at] = value;
	return lacp_parse(&pdu, frame, sizeof frame);
}

TEST(a_lacpdu_of_linux_is_read)
{
	struct lacp_pdu pdu;

	check_eq(lacp_parse(&pdu, linux_pdu, sizeof linux_pdu), LACP_WIRE_OK);
	check_eq(pdu.actor.system_priority, 0xffff);
	check_eq(pdu.actor.system[5], 9);
	check_eq(pdu.actor.key, 15);
	check_eq(pdu.actor.port, 2);
	check_eq(pdu.actor.state, 0x3d);
	check_eq(pdu.partner.system[5], 1);
	check_eq(pdu.partner.port_priority, 0xff);
	check_eq(pdu.partner.state, 0x3f);
}

TEST(what_is_written_is_what_linux_writes)
{
	static const uint8_t linux_mac[6] = {2, 0, 0, 0, 0, 9};
	uint8_t frame[LACP_FRAME_BYTES];
	struct lacp_pdu pdu;

	lacp_parse(&pdu, linux_pdu, sizeof linux_pdu);
	memset(frame, 0xee, sizeof frame);
	lacp_emit(frame, linux_mac, &pdu);
	check_bytes(frame, linux_pdu, sizeof frame);
}

TEST(a_frame_that_is_too_short_is_refused)
{
	for (uint32_t len = 0; len < LACP_FRAME_BYTES; len++) {
		struct lacp_pdu pdu;

		check_ne(lacp_parse(&pdu, at_page_end(linux_pdu, len), len), LACP_WIRE_OK);
	}
}

TEST(lengths_are_checked_and_versions_are_not)
{
	check_eq(parse_with(ACTOR_LENGTH_AT, 19), LACP_WIRE_FORMAT);
	check_eq(parse_with(PARTNER_LENGTH_AT, 0), LACP_WIRE_FORMAT);
	check_eq(parse_with(SUBTYPE_AT + 1, 2), LACP_WIRE_OK);
	check_eq(parse_with(ACTOR_LENGTH_AT - 1, 9), LACP_WIRE_OK);
}

TEST(other_slow_protocols_are_not_ours)
{
	check_eq(parse_with(SUBTYPE_AT, 3), LACP_WIRE_OTHER);  /* OAM */
	check_eq(parse_with(SUBTYPE_AT, 10), LACP_WIRE_OTHER); /* synchronous Ethernet */
	check_eq(parse_with(12, 0x08), LACP_WIRE_OTHER);
}

TEST(a_marker_is_answered_with_its_own_bytes)
{
	uint8_t frame[LACP_FRAME_BYTES] = {[12] = 0x88, 0x09, 2, 1, 1, 16, 0, 7, [26] = 0xab};
	struct lacp_pdu pdu;

	check_eq(lacp_parse(&pdu, frame, sizeof frame), LACP_WIRE_MARKER);
	lacp_marker_answer(frame, us);
	check_eq(lacp_parse(&pdu, frame, sizeof frame), LACP_WIRE_RESPONSE);
	check_bytes(frame + 6, us, 6);
	check_eq(frame[26], 0xab);
	frame[17] = 15;
	check_eq(lacp_parse(&pdu, frame, sizeof frame), LACP_WIRE_FORMAT);
}
