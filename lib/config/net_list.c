/*
 * net_list.c - reads lists of networks, word by word.
 */
#include "net_list.h"
#include "ip_text.h"
#include "options.h"
#include "text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES   (IP_ADDR_TEXT_MAX + 5) /* with /128 and a zero byte; shown in errors */
#define OPTION_BYTES 32u                    /* for "--OPTION: " */

static const char separators[] = " \t\r\n,#";

bool
list_place_error(const struct list_place *at, const char *word, const char *what, struct error *err)
{
	if (at->where == NULL)
		return error_set(err, "--%s: \"%s\": %s", at->option, word, what);
	return error_set(err, "--%s: %s: line %u: \"%s\": %s", at->option, at->where, at->line,
			 word, what);
}

static void
clear_host_bits(struct ip_addr *ip, uint32_t prefix_len)
{
	for (uint32_t i = 0; i < IP_ADDR_BYTES; i++) {
		const uint32_t from = 8 * i;
		const uint32_t keep = prefix_len <= from       ? 0
				      : prefix_len >= from + 8 ? 8
							       : prefix_len - from;

		ip->b[i] &= (uint8_t)(0xff00u >> keep);
	}
}

/* Writes a network as "10.0.0.0/8". */
static void
net_text(char text[WORD_BYTES], const struct config_net *net)
{
	const uint32_t below = ip_addr_is_v4(&net->ip) ? IP_ADDR_V4_BITS : 0;
	char ip[IP_ADDR_TEXT_MAX + 1];

	*ip_addr_text(ip, &net->ip) = '\0';
	snprintf(text, WORD_BYTES, "%s/%u", ip, (net->prefix_len - below) & 0xff);
}

static bool
add_word(struct net_list *list, const struct list_place *at, const char *word, size_t len,
	 struct error *err)
{
	char text[WORD_BYTES], meant[WORD_BYTES], what[WORD_BYTES + 64];
	struct config_net net, cleared;
	const char *end;

	/* Bytes that cannot be part of an address are shown as question marks. */
	snprintf(text, sizeof text, "%.*s", (int)len, word);
	for (char *c = text; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	end = len < sizeof text ? option_parse_net(text, &net) : NULL;
	if (end == NULL || *end != '\0')
		return list_place_error(
			at, text, "expected a network such as 10.0.0.0/8 or 2001:db8::/32", err);
	cleared = net;
	clear_host_bits(&cleared.ip, net.prefix_len);
	if (!ip_addr_equal(&cleared.ip, &net.ip)) {
		net_text(meant, &cleared);
		snprintf(what, sizeof what, "bits behind the prefix are set; did you mean %s?",
			 meant);
		return list_place_error(at, text, what, err);
	}
	if (list->count == list->max) {
		snprintf(what, sizeof what, "more than %u networks in all", list->max);
		return list_place_error(at, text, what, err);
	}
	list->nets[list->count++] = net;
	return true;
}

bool
net_list_read(struct net_list *list, const char *option, const char *where, const char *text,
	      size_t len, struct error *err)
{
	struct list_place at = {option, where, 1};

	for (size_t i = 0; i < len;) {
		size_t n = 0;

		if (text[i] == '#')
			while (i < len && text[i] != '\n')
				i++;
		if (i < len && text[i] == '\n')
			at.line++;
		while (i + n < len &&
		       memchr(separators, text[i + n], sizeof separators - 1) == NULL)
			n++;
		if (n != 0 && !add_word(list, &at, text + i, n, err))
			return false;
		i += n != 0 ? n : 1;
	}
	return true;
}

bool
net_list_load(struct net_list *list, const char *option, const char *value, struct error *err)
{
	char before[OPTION_BYTES], *text;
	ssize_t len;
	bool ok;

	if (value[0] != '/')
		return net_list_read(list, option, NULL, value, strlen(value), err);
	snprintf(before, sizeof before, "--%s: ", option);
	text = malloc(NET_LIST_FILE_BYTES + 1);
	if (text == NULL)
		return error_set(err, "%sno memory to read %s", before, value);
	len = text_file_read(text, NET_LIST_FILE_BYTES, before, value, err);
	ok = len >= 0 && net_list_read(list, option, value, text, (size_t)len, err);
	free(text);
	return ok;
}
