/*
 * mld_wire.h - multicast listener discovery in wire format: queries, and the reports of a listener
 * that filters no source. MLDv2 (RFC 3810) and MLDv1 (RFC 2710).
 *
 * Shape:  p is the ICMPv6 header. A packet of MLD has a hop-by-hop header with a router alert (RFC
 *         2711) in front of it.
 * Units:  delays in ms.
 * Thread: pure functions.
 * Errors: enum mld_parse_result. The caller checks hop limit, source and checksum.
 */
#ifndef CLOCKOO_MLD_WIRE_H
#define CLOCKOO_MLD_WIRE_H

#include "base/ip_addr.h"
#include "ipv6_wire.h"

#define MLD_HOP_LIMIT    1u
#define MLD_ALERT_BYTES  8u  /* the hop-by-hop header that mld_alert_emit() writes */
#define MLD1_BYTES       24u /* a message of MLDv1 */
#define MLD_HEADER_BYTES 8u  /* a report of MLDv2 without records */
#define MLD_RECORD_BYTES 20u /* a record without sources */
/* Most records of a packet that every link can carry. */
#define MLD_RECORDS_MAX                                                                            \
	((IPV6_MTU_MIN - IPV6_HEADER_BYTES - MLD_ALERT_BYTES - MLD_HEADER_BYTES) / MLD_RECORD_BYTES)

enum mld_type {
	MLD_QUERY = 130,
	MLD1_REPORT = 131,
	MLD1_DONE = 132,
	MLD2_REPORT = 143,
};

/* The types of a record about a group (RFC 3810 section 5.2.12). Filter mode EXCLUDE without
 * sources means that all sources are listened to, INCLUDE without sources that none is. */
enum mld_record {
	MLD_NO_RECORD = 0,
	MLD_IS_EXCLUDE = 2,
	MLD_TO_INCLUDE = 3,
	MLD_TO_EXCLUDE = 4,
};

struct mld_query {
	bool is_v1;
	uint32_t delay_ms;    /* the Maximum Response Delay */
	struct ip_addr group; /* zero: the query is about all groups */
};

enum mld_parse_result {
	MLD_WIRE_OK,
	/* A length of neither version (RFC 3810 section 8.1), or too short for its sources. */
	MLD_WIRE_LEN,
	MLD_WIRE_GROUP, /* not a group */
};

/* Parses a query. Its sources are skipped, since a listener to all sources reports the group in any
 * case. */
enum mld_parse_result mld_query_parse(struct mld_query *q, const uint8_t *p, uint32_t len);

/* True if a router alert is among the options of a hop-by-hop header of len bytes. */
bool mld_has_alert(const uint8_t *ext, uint32_t len);
/* Writes a hop-by-hop header with the router alert of MLD. */
void mld_alert_emit(uint8_t *ext);

/* Write a message with checksum zero. mld1_emit: MLD1_REPORT or MLD1_DONE, in MLD1_BYTES.
 * mld_report_emit: the header of a report of MLDv2, whose records follow. */
void mld1_emit(uint8_t *p, enum mld_type type, const struct ip_addr *group);
void mld_report_emit(uint8_t *p, uint32_t records);
void mld_record_emit(uint8_t *p, enum mld_record what, const struct ip_addr *group);

/* Returns ff02::16, to which reports of MLDv2 go, and ff02::2, to which MLDv1's Done goes. */
struct ip_addr mld_routers(void);
struct ip_addr mld1_routers(void);

#endif
