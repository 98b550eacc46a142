/*
 * Multicast listener discovery. Goal: every verdict has bytes that cause it, no parser reads past
 * its bytes, and what is written has the bytes of the RFCs. Method: tables of changed queries and
 * options; each cut at every byte, the last one at a page's end.
 */
#include "support/guard.h"
#include "support/test.h"
#include "wire/mld_wire.h"

#include <stdlib.h>

#define ROWS(t) (sizeof(t) / sizeof(t)[0])

/* A query of MLDv2 about ff02::1:ff00:77 from two sources, within 1 s. */
static const uint8_t query[60] = {130,        0,    0,        0,    0x03, 0xe8, 0,    0,
				  0xff,       0x02, [19] = 1, 0xff, 0,    0,    0x77,
				  /* 24 */ 2, 125,  0,        2};

static const struct {
	const char *what;
	uint32_t at;
	uint8_t value[2];
	uint32_t value_len, len;
	enum mld_parse_result verdict;
	uint32_t delay_ms;
	bool is_v1;
} queries[] = {
	{"with two sources", 0, {0}, 0, 60, MLD_WIRE_OK, 1000, false},
	{"with bytes behind its sources", 27, {1}, 1, 60, MLD_WIRE_OK, 1000, false},
	{"with a source too many", 27, {3}, 1, 60, MLD_WIRE_LEN, 0, false},
	{"with 65535 sources", 26, {255, 255}, 2, 60, MLD_WIRE_LEN, 0, false},
	{"without sources", 27, {0}, 1, 28, MLD_WIRE_OK, 1000, false},
	{"of MLDv1", 0, {0}, 0, 24, MLD_WIRE_OK, 1000, true},
	{"too long for MLDv1", 27, {0}, 1, 25, MLD_WIRE_LEN, 0, false},
	{"too short for MLDv2", 27, {0}, 1, 27, MLD_WIRE_LEN, 0, false},
	{"too short for both", 27, {0}, 1, 23, MLD_WIRE_LEN, 0, false},
	{"about an address", 8, {0xfe}, 1, 60, MLD_WIRE_GROUP, 0, false},
	{"with the last linear delay", 4, {0x7f, 0xff}, 2, 60, MLD_WIRE_OK, 32767, false},
	{"with the first delay of an exponent", 4, {0x80, 0}, 2, 60, MLD_WIRE_OK, 32768, false},
	{"with mantissa and exponent", 4, {0xa0, 1}, 2, 60, MLD_WIRE_OK, 0x1001 << 5, false},
	{"with the longest delay", 4, {0xff, 0xff}, 2, 60, MLD_WIRE_OK, 0x1fff << 10, false},
	{"of MLDv1 with the longest delay", 4, {0xff, 0xff}, 2, 24, MLD_WIRE_OK, 65535, true},
};

TEST(a_query_has_the_verdict_of_its_row)
{
	for (size_t i = 0; i < ROWS(queries); i++) {
		uint8_t bytes[sizeof query];
		enum mld_parse_result got;
		struct mld_query q;

		memcpy(bytes, query, sizeof bytes);
		memcpy(bytes + queries[i].at, queries[i].value, queries[i].value_len);
		got = mld_query_parse(&q, at_page_end(bytes, queries[i].len), queries[i].len);
		if (got != queries[i].verdict)
			print_error("%s\n", queries[i].what);
		check_eq(got, queries[i].verdict);
		if (got != MLD_WIRE_OK)
			continue;
		check_eq(q.delay_ms, queries[i].delay_ms);
		check_eq(q.is_v1, queries[i].is_v1);
		check_bytes(q.group.b, query + 8, 16);
	}
}

TEST(a_query_about_all_groups_has_none)
{
	const uint8_t all[MLD1_BYTES] = {130};
	struct mld_query q;

	check_eq(mld_query_parse(&q, all, sizeof all), MLD_WIRE_OK);
	check(ip_addr_is_zero(&q.group));
}

TEST(a_cut_query_is_never_read_past_its_end)
{
	for (uint32_t len = 0; len < sizeof query; len++) {
		struct mld_query q;

		check_eq(mld_query_parse(&q, at_page_end(query, len), len),
			 len == MLD1_BYTES ? MLD_WIRE_OK : MLD_WIRE_LEN);
	}
}

TEST(a_router_alert_is_found_among_options)
{
	static const struct {
		uint8_t ext[16];
		uint32_t len;
		bool has;
	} rows[] = {
		{{58, 0, 5, 2, 0, 0, 1, 0}, 8, true},  {{58, 0, 0, 0, 5, 2, 0, 0}, 8, true},
		{{58, 0, 1, 0, 5, 2, 0, 0}, 8, true},  {{58, 0, 1, 4, 5, 2, 0, 0}, 8, false},
		{{58, 0, 5, 1, 0, 0, 0, 0}, 8, false}, {{58, 0, 1, 0, 1, 0, 5, 2}, 8, false},
		{{58, 0, 0, 0, 0, 0, 0, 5}, 8, false}, {{58, 1, 1, 8, [12] = 5, 2}, 16, true},
		{{58, 0, 1, 5, 5, 2, 0, 0}, 8, false},
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		check_eq(mld_has_alert(at_page_end(rows[i].ext, rows[i].len), rows[i].len),
			 rows[i].has);
	for (uint32_t salt = 0; salt < 20000; salt++) {
		uint8_t ext[24];

		srand(salt);
		for (uint32_t i = 0; i < sizeof ext; i++)
			ext[i] = (uint8_t)(rand() % 7);
		(void)mld_has_alert(at_page_end(ext, 8 + salt % 17), 8 + salt % 17);
	}
}

TEST(messages_have_the_bytes_of_the_rfcs)
{
	static const uint8_t alert[] = {58, 0, 5, 2, 0, 0, 1, 0},
			     report[] = {143, 0, 0, 0, 0, 0, 1, 2};
	static const uint8_t record[] = {4, 0, 0, 0}, done[] = {132, 0, 0, 0, 0, 0, 0, 0};
	const struct ip_addr group = {{0xff, 2, [11] = 1, 0xff, 1, 2, 3}};
	uint8_t p[32];

	memset(p, 0xaa, sizeof p);
	mld_alert_emit(p);
	check_bytes(p, alert, sizeof alert);
	check(mld_has_alert(p, sizeof alert));
	memset(p, 0xaa, sizeof p);
	mld_report_emit(p, 0x102);
	check_bytes(p, report, sizeof report);
	memset(p, 0xaa, sizeof p);
	mld_record_emit(p, MLD_TO_EXCLUDE, &group);
	check_bytes(p, record, sizeof record);
	check_bytes(p + 4, group.b, 16);
	memset(p, 0xaa, sizeof p);
	mld1_emit(p, MLD1_DONE, &group);
	check_bytes(p, done, sizeof done);
	check_bytes(p + 8, group.b, 16);
	check_eq(MLD_RECORDS_MAX, 61);
}
