/*
 * test_front_listing.c - connections in a server's list that belong to an earlier process.
 *
 * Goal:   a connection from our address that is unknown, or listed twice, is detected among any
 *         others; a list without the connection that carries it is no evidence.
 * Method: lists of one to four addresses, with rows of other kinds between them.
 */
#include "front/front_listing.h"
#include "support/test.h"

#define OWN   "tcp:10.99.0.1:40000"
#define OWN6  "tcp6:[fd00::1]:40000"
#define OTHER "tcp:10.99.0.1:40001"

static const struct {
	bool v6;
	enum front_listed end;
	const char *address[4];
} lists[] = {
	{false, FRONT_LISTING_UNABLE, {NULL}},
	{false, FRONT_LISTING_OURS, {OWN}},
	{false, FRONT_LISTING_OURS, {"tcp:10.99.0.9:11211", OWN, OTHER, "unix:/tmp/s"}},
	{false, FRONT_LISTING_OURS, {"tcp:10.99.0.10:1", OWN, "tcp:110.99.0.1:1", "tcp:10.99.0.1"}},
	{false, FRONT_LISTING_OURS, {OWN, "udp:10.99.0.1:7"}},
	{false, FRONT_LISTING_OTHERS, {OWN, "tcp:10.99.0.1:"}},
	{false, FRONT_LISTING_OTHERS, {"tcp:10.99.0.1:40002", OWN}},
	{false, FRONT_LISTING_OTHERS, {OWN, OTHER, OTHER}},
	{false, FRONT_LISTING_OTHERS, {OWN, OWN}},
	{false, FRONT_LISTING_OTHERS, {OWN, "tcp:10.99.0.1:0"}},
	{false, FRONT_LISTING_OTHERS, {OWN, "tcp:10.99.0.1:40001x"}},
	{false, FRONT_LISTING_OTHERS, {OWN, "tcp:10.99.0.1:105536"}},
	{false, FRONT_LISTING_UNABLE, {OTHER}},
	{false, FRONT_LISTING_UNABLE, {"tcp:10.99.0.1:40002"}},
	{false, FRONT_LISTING_UNABLE, {"tcp6:[::ffff:10.99.0.1]:40000"}},
	{true, FRONT_LISTING_OURS, {OWN6, "tcp6:[fd00::2]:1", OWN}},
	{true, FRONT_LISTING_OTHERS, {OWN6, "tcp6:[fd00::1]:1"}},
	{true, FRONT_LISTING_UNABLE, {OWN}},
};

TEST(each_list_of_connections_has_its_verdict)
{
	static const struct ip_addr v6 = {{0xfd, [15] = 1}};
	const struct ip_addr v4 = ip_addr_v4(0x0a630001);

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		struct front_listing l = {.port = {0, 40001, 0, 40000}};

		front_listing_begin(&l, lists[i].v6 ? &v6 : &v4, 40000);
		for (size_t k = 0; k < 4 && lists[i].address[k] != NULL; k++) {
			front_listing_row(&l, text_view("25:addr"), text_view(lists[i].address[k]));
			front_listing_row(&l, text_view("25:listen_addr"), text_view(OTHER));
			front_listing_row(&l, text_view("25:state"), text_view("conn_new_cmd"));
			front_listing_row(&l, text_view(":addr"), text_view(""));
		}
		if (front_listing_end(&l) != lists[i].end)
			print_error("list %zu\n", i);
		check_eq(front_listing_end(&l), lists[i].end);
	}
}
