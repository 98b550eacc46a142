#include "options.h"

#include <ctype.h>
#include <string.h>

#define AT(field)   offsetof(struct config, field)
#define SIZE(field) (uint32_t)sizeof(((struct config *)0)->field)

/* The letters and their long names are memcached's where it has the option. --port is not: there
 * it is the TCP port, here a NIC (README, decisions). */
const struct option_row option_rows[] = {
	{"memory-limit", 'm', OPTION_NUMBER, AT(memory_mb), 8, 1u << 20, "MB",
	 "memory for stored items (64)"},
	{"max-item-size", 'I', OPTION_SIZE, AT(item_max_bytes), 1u << 10, 128u << 20, "BYTES",
	 "largest value; k and m multiply (1m, up to 128m)"},
	{"tcp-port", 'p', OPTION_NUMBER, AT(tcp_port), 0, 65535, "PORT",
	 "TCP port, 0 is off (11211)"},
	{"udp-port", 'U', OPTION_NUMBER, AT(udp_port), 0, 65535, "PORT", "UDP port, 0 is off (0)"},
	{"conn-limit", 'c', OPTION_NUMBER, AT(conns_max), 1, 4u << 20, "N",
	 "connections at a time, all cores together (1024)"},
	{"threads", 't', OPTION_NUMBER, AT(cores), 1, CORES_MAX, "N",
	 "worker cores, each with a CPU of its own (1)"},
	{"cores", 0, OPTION_NUMBER, AT(cores), 1, CORES_MAX, "N", "the same as -t"},
	{"lcores", 0, OPTION_LCORES, AT(lcores), 0, 0, "LIST",
	 "worker cores and their CPUs, such as 0@0,1@1"},
	{"max-reqs-per-event", 'R', OPTION_NUMBER, AT(conn_requests_max), 1, 65535, "N",
	 "requests of one connection before others have their turn (20)"},
	{"port", 0, OPTION_PORT, AT(port), 0, SIZE(port), "NIC",
	 "a profile of drivers-config (af_packet) or a PCI address"},
	{"iface", 0, OPTION_TEXT, AT(iface), 0, 15 + 1, "NAME",
	 "kernel interface for af_packet and tap"},
	{"socket", 0, OPTION_TEXT, AT(socket), 0, 107 + 1, "PATH",
	 "socket of vhost, virtio_user and memif"},
	{"vdev-args", 0, OPTION_TEXT, AT(vdev_args), 0, SIZE(vdev_args), "ARGS",
	 "more driver arguments, after the profile's"},
	{"address", 0, OPTION_ADDRESS, AT(ipv4), 0, 32, "IP/LEN",
	 "our IPv4 address and prefix length (10.99.0.1/24)"},
	{"gateway", 0, OPTION_GATEWAY, AT(gateway), 0, 0, "IP", "router for other networks (none)"},
	{"mtu", 0, OPTION_NUMBER, AT(mtu), 576, 9000, "BYTES", "largest IP packet (1500)"},
	{"no-huge", 0, OPTION_FLAG, AT(no_huge), 0, 0, NULL,
	 "ordinary memory instead of hugepages: slower, needs no setup"},
	{"yield", 0, OPTION_FLAG, AT(yield), 0, 0, NULL,
	 "idle cores give their CPU away (automatic when cores share one)"},
	{"file-prefix", 0, OPTION_TEXT, AT(file_prefix), 1, SIZE(file_prefix), "NAME",
	 "name of this instance; each running one needs its own (clockoo)"},
	{"data-dir", 0, OPTION_TEXT, AT(data_dir), 1, SIZE(data_dir), "DIR",
	 "where the NIC profiles are (drivers-config beside the program)"},
	{"live", 0, OPTION_FLAG, AT(live), 0, 0, NULL, "print one line of figures every second"},
	{"verbose", 'v', OPTION_COUNT, AT(verbosity), 0, 3, NULL,
	 "say more at start; twice: EAL too"},
	{"help", 'h', OPTION_HELP, 0, 0, 0, NULL, "print this and stop"},
	{"version", 'V', OPTION_VERSION, 0, 0, 0, NULL, "print the version and stop"},
};
const uint32_t option_row_count = sizeof option_rows / sizeof option_rows[0];

/* A decimal number and nothing else. Anything beyond 32 bits is beyond every limit here. */
static bool
number_of(const char *text, uint32_t *n)
{
	uint64_t v = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (!isdigit((unsigned char)*text))
			return false;
		v = v * 10 + (uint64_t)(*text - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*n = (uint32_t)v;
	return true;
}

/* Four decimals with dots between, from the front of *p. */
static bool
take_ipv4(const char **p, uint32_t *ip)
{
	*ip = 0;
	for (uint32_t part = 0; part < 4; part++) {
		uint32_t n = 0, digits = 0;

		if (part != 0 && *(*p)++ != '.')
			return false;
		for (; isdigit((unsigned char)**p) && digits < 3; (*p)++, digits++)
			n = n * 10 + (uint32_t)(**p - '0');
		if (digits == 0 || n > 255)
			return false;
		*ip = *ip << 8 | n;
	}
	return true;
}

static bool
store_address(struct config *cfg, const char *value, struct fault *f)
{
	const char *p = value;
	uint32_t ip, len;

	if (!take_ipv4(&p, &ip) || *p != '/' || !number_of(p + 1, &len) || len > 32)
		return fault_say(f,
				 "--address: \"%s\": expected an IPv4 address and prefix length "
				 "such as 10.99.0.1/24",
				 value);
	if (ip >> 28 >= 0xe || ip >> 24 == 0 || ip >> 24 == 127)
		return fault_say(f,
				 "--address: \"%s\": expected the address of a host, not of a "
				 "group, this host or none",
				 value);
	cfg->ipv4 = ip;
	cfg->prefix_len = len;
	return true;
}

static bool
store_gateway(struct config *cfg, const char *value, struct fault *f)
{
	const char *p = value;

	if (!take_ipv4(&p, &cfg->gateway) || *p != '\0')
		return fault_say(f,
				 "--gateway: \"%s\": expected an IPv4 address such as 10.99.0.254",
				 value);
	return true;
}

/* 0000:03:00.0 or 03:00.0, as lspci prints them. */
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

	/* A name becomes a file name: nothing that could leave the folder. */
	return len > 0 && len < CONFIG_NAME_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static bool
store_port(struct config *cfg, const char *value, struct fault *f)
{
	uint32_t n;

	if (number_of(value, &n))
		return fault_say(f,
				 "--port: \"%s\" is a number; --port names a NIC (a profile or a "
				 "PCI address), the TCP port is -p %s",
				 value, value);
	if (is_pci_address(value)) {
		strcpy(cfg->port, "pci");
		snprintf(cfg->pci, sizeof cfg->pci, "%s", value);
		return true;
	}
	if (!is_profile_name(value))
		return fault_say(f,
				 "--port: \"%s\": expected a profile of drivers-config such as "
				 "af_packet, or a PCI address such as 0000:03:00.0",
				 value);
	strcpy(cfg->port, value);
	cfg->pci[0] = '\0';
	return true;
}

static bool
store_number(uint32_t *field, const struct option_row *row, const char *value, struct fault *f)
{
	uint32_t n;

	if (!number_of(value, &n) || n < row->min || n > row->max)
		return fault_say(f, "--%s: \"%s\": expected a number from %u to %u", row->name,
				 value, row->min, row->max);
	*field = n;
	return true;
}

/* As memcached reads -I: bytes, or with a letter behind, kilobytes or megabytes. */
static bool
store_size(uint32_t *field, const struct option_row *row, const char *value, struct fault *f)
{
	const size_t len = strlen(value);
	const char letter = len != 0 ? (char)tolower((unsigned char)value[len - 1]) : 0;
	const uint32_t shift = letter == 'k' ? 10 : letter == 'm' ? 20 : 0;
	char digits[CONFIG_NAME_BYTES];
	uint32_t n;

	snprintf(digits, sizeof digits, "%.*s", (int)(len - (shift != 0)), value);
	if (len >= sizeof digits || !number_of(digits, &n) || n > row->max >> shift ||
	    n << shift < row->min)
		return fault_say(f, "--%s: \"%s\": expected %uk to %um, in bytes or with a k or m",
				 row->name, value, row->min >> 10, row->max >> 20);
	*field = n << shift;
	return true;
}

static bool
store_text(char *field, const struct option_row *row, const char *value, struct fault *f)
{
	const size_t len = strlen(value);

	if (len < row->min || len >= row->max)
		return fault_say(f, "--%s: expected %u to %u characters, not %zu", row->name,
				 row->min, row->max - 1, len);
	memcpy(field, value, len + 1);
	return true;
}

static bool
store_flag(bool *field, const struct option_row *row, const char *value, struct fault *f)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return fault_say(f, "--%s: \"%s\": expected yes or no", row->name, value);
	*field = value[0] == 'y';
	return true;
}

bool
option_store(struct config *cfg, const struct option_row *row, const char *value, struct fault *f)
{
	void *field = (char *)cfg + row->at;

	switch (row->kind) {
	case OPTION_NUMBER:
	case OPTION_COUNT:
		return store_number(field, row, value, f);
	case OPTION_SIZE:
		return store_size(field, row, value, f);
	case OPTION_TEXT:
		return store_text(field, row, value, f);
	case OPTION_FLAG:
		return store_flag(field, row, value, f);
	case OPTION_PORT:
		return store_port(cfg, value, f);
	case OPTION_ADDRESS:
		return store_address(cfg, value, f);
	case OPTION_GATEWAY:
		return store_gateway(cfg, value, f);
	case OPTION_LCORES:
		return lcores_parse(&cfg->lcores, value, f);
	case OPTION_HELP:
	case OPTION_VERSION:
		break;
	}
	return fault_say(f, "--%s cannot be set", row->name);
}
