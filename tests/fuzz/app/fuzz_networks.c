/*
 * Files of networks that are let in and kept out. Goal: for any bytes, a refusal is one line
 * that begins with the option; otherwise the table decides for each network's first and last
 * address, and for their neighbours, as the network with the longest prefix does. Method: the
 * bytes as one file or, cut at the first zero byte, as two; a loop over all networks as the
 * model.
 */
#include "access/access.h"
#include "fuzz_file.h"
#include "fuzz_target.h"

#include <string.h>

#define JUDGED_MAX 64u /* networks whose addresses are judged */

static void
check_line(const struct error *err)
{
	ensure(memchr(err->text, 0, sizeof err->text) != NULL);
	ensure(strncmp(err->text, "--allow: ", 9) == 0 || strncmp(err->text, "--deny: ", 8) == 0);
	for (const char *c = err->text; *c != '\0'; c++)
		ensure(*c >= ' ' && *c < 0x7f);
}

static bool
has(const struct access_net *net, const struct ip_addr *ip)
{
	for (uint32_t bit = 0; bit < net->prefix_len; bit++)
		if (((net->ip.b[bit / 8] ^ ip->b[bit / 8]) & 0x80u >> bit % 8) != 0)
			return false;
	return true;
}

static bool
model_allows(const struct access_lists *look, const struct ip_addr *ip)
{
	const struct access_net *longest = NULL;

	for (uint32_t i = 0; i < look->count; i++)
		if (has(&look->nets[i], ip) &&
		    (longest == NULL || look->nets[i].prefix_len > longest->prefix_len))
			longest = &look->nets[i];
	return longest != NULL ? longest->allow : look->allowed == 0;
}

/* True for addresses that no host can have: they are denied by any list. */
static bool
may_be_nobodys(const struct ip_addr *ip)
{
	const uint8_t first = ip->b[ip_addr_is_v4(ip) ? 12 : 0];

	return first == 0 || first == 127 || first >= 224;
}

static void
check_address(const struct access_lists *look, const struct ip_addr *ip)
{
	const bool allowed = access_allows(look->list, ip), wanted = model_allows(look, ip);

	ensure(allowed == wanted || (!allowed && may_be_nobodys(ip)));
}

/* Returns the neighbouring address ip + step, with carry. */
static struct ip_addr
beside(struct ip_addr ip, int step)
{
	for (uint32_t i = IP_ADDR_BYTES; i > 0;) {
		const uint8_t was = ip.b[--i];

		ip.b[i] = (uint8_t)(was + step);
		if (step > 0 ? ip.b[i] > was : ip.b[i] < was)
			break;
	}
	return ip;
}

static void
check_table(const struct access_lists *look)
{
	for (uint32_t i = 0; i < look->count && i < JUDGED_MAX; i++) {
		const struct access_net *net = &look->nets[i];
		struct ip_addr last = net->ip, ip;

		for (uint32_t bit = net->prefix_len; bit < IP_ADDR_BITS; bit++)
			last.b[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
		check_address(look, &net->ip);
		check_address(look, &last);
		ip = beside(net->ip, -1);
		check_address(look, &ip);
		ip = beside(last, 1);
		check_address(look, &ip);
	}
}

/* The value of an option: a file, whose path begins with a slash. */
static void
value_put(char value[CONFIG_SERVERS_BYTES], const uint8_t *data, size_t size)
{
	char path[FUZZ_FILE_PATH_BYTES];

	fuzz_file_put(path, data, size);
	memcpy(value, path, sizeof path);
}

/* The shorter part is a list on the command line, if it may be one. */
static void
list_put(char value[CONFIG_SERVERS_BYTES], const uint8_t *data, size_t size)
{
	if (size >= CONFIG_SERVERS_BYTES || (size > 0 && data[0] == '/'))
		return;
	memcpy(value, data, size);
	value[size] = '\0';
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config cfg;
	const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
	const size_t first = end != NULL ? (size_t)(end - data) : 0;
	struct access_lists look;
	struct error err;

	cfg.allow[0] = cfg.deny[0] = '\0';
	if (end != NULL)
		list_put(cfg.allow, data, first);
	value_put(cfg.deny, end != NULL ? end + 1 : data, end != NULL ? size - first - 1 : size);
	if (!access_lists_read(&look, &cfg, &err)) {
		check_line(&err);
		return 0;
	}
	if (look.list != NULL)
		check_table(&look);
	access_lists_free(&look);
	return 0;
}
