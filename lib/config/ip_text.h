/*
 * ip_text.h - parses addresses and networks from the front of a text.
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
/* An IPv4-mapped address is refused: it never stands in a packet. */
bool ip_text_ipv6(const char **p, struct ip_addr *ip);
/* Parses one network. Returns what follows it, or NULL. Bits beyond the prefix may be set; a bare
 * address is a network of one address. */
const char *option_parse_net(const char *p, struct config_net *net);

#endif
