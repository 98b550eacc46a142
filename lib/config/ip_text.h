/*
 * ip_text.h - parses addresses and networks at the beginning of a text.
 *
 * Thread: pure functions.
 * Errors: false or NULL; the position is then unchanged.
 */
#ifndef CLOCKOO_IP_TEXT_H
#define CLOCKOO_IP_TEXT_H

#include "config.h"

/* Parses an address of one family, up to one of the characters in ends or the end of the text, as
 * inet_pton does. */
bool ip_text_family(const char **p, int family, const char *ends, void *to);
bool ip_text_ipv4(const char **p, uint32_t *ip);
/* Parses an IPv6 address. An IPv4-mapped one is refused, since no packet has one. */
bool ip_text_ipv6(const char **p, struct ip_addr *ip);
/* Parses one network. Returns the text after it, or NULL. Bits beyond the prefix may be set; an
 * address alone is a network of one address. */
const char *option_parse_net(const char *p, struct config_net *net);

#endif
