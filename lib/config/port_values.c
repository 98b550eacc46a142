/*
 * port_values.c - the options of the NIC: profile, PCI address and offloads.
 */
#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

const char *const config_offloads[] = {"rx_cksum",     "tx_ip_cksum",  "tx_udp_cksum",
				       "tx_tcp_cksum", "tx_fast_free", NULL};
static_assert(OFFLOAD_TX_FAST_FREE == 1u << 4, "the names stand in the order of the bits");

/* Returns the bit of the offload whose name is text[0..len), or 0. */
static uint32_t
offload_named(const char *text, size_t len)
{
	for (uint32_t i = 0; config_offloads[i] != NULL; i++)
		if (strlen(config_offloads[i]) == len && memcmp(config_offloads[i], text, len) == 0)
			return 1u << i;
	return 0;
}

/* Parses names of offloads separated by commas, or "none". */
bool
option_set_offloads(uint32_t *field, const char *value, struct error *err)
{
	const bool none = strcmp(value, "none") == 0;
	uint32_t wanted = 0;
	const char *p = value;

	while (!none) {
		const size_t len = strcspn(p, ",");
		const uint32_t bit = offload_named(p, len);

		if (bit == 0)
			return error_set(err,
					 "--offloads: \"%.*s\": expected none, or some of "
					 "rx_cksum, tx_ip_cksum, tx_udp_cksum, tx_tcp_cksum, "
					 "tx_fast_free",
					 (int)len, p);
		wanted |= bit;
		p += len;
		if (*p++ == '\0')
			break;
	}
	*field = wanted;
	return true;
}

/* True if text is a PCI address as lspci prints it: 0000:03:00.0 or 03:00.0. */
static bool
is_pci_address(const char *text)
{
	static const char *const forms[] = {"xxxx:xx:xx.x", "xx:xx.x"};

	for (uint32_t i = 0; i < 2; i++) {
		const char *form = forms[i], *p = text;

		for (; *form != '\0'; form++, p++)
			if (*form == 'x' ? !isxdigit((unsigned char)*p) : *p != *form)
				break;
		if (*form == '\0' && *p == '\0')
			return true;
	}
	return false;
}

static bool
is_profile_name(const char *text)
{
	const size_t len = strlen(text);

	/* The name becomes a file name, so it has no character that could leave the directory. */
	return len > 0 && len < CONFIG_NAME_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

bool
option_set_port(struct config *cfg, const char *value, struct error *err)
{
	uint32_t n;

	if (parse_decimal(value, &n))
		return error_set(err,
				 "--port: \"%s\" is a number; --port names a NIC (a profile or a "
				 "PCI address), the TCP port is -p %s",
				 value, value);
	if (is_pci_address(value)) {
		strcpy(cfg->port, "pci");
		snprintf(cfg->pci, sizeof cfg->pci, "%s", value);
		/* sysfs uses lower case. */
		for (char *c = cfg->pci; *c != '\0'; c++)
			*c = (char)tolower((unsigned char)*c);
		return true;
	}
	if (!is_profile_name(value))
		return error_set(err,
				 "--port: \"%s\": expected a profile of drivers-config such as "
				 "af_packet, or a PCI address such as 0000:03:00.0",
				 value);
	strcpy(cfg->port, value);
	cfg->pci[0] = '\0';
	return true;
}

bool
option_set_profile(struct config *cfg, const char *value, struct error *err)
{
	if (!is_profile_name(value))
		return error_set(
			err,
			"--profile: \"%s\": expected a profile of drivers-config such as ixgbe",
			value);
	strcpy(cfg->profile, value);
	return true;
}
