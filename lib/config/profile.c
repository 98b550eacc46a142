#include "profile.h"

#include <cyaml/cyaml.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A quirk is documentation that cannot be forgotten: what is odd, and who says so. */
struct quirk {
	char *what;
	char *source;
};

struct profile_file {
	struct profile profile;
	struct quirk *quirks;
	uint32_t quirks_count;
};

static const cyaml_strval_t spreads[] = {
	{"none", SPREAD_NONE},     {"rss", SPREAD_RSS},   {"fanout", SPREAD_FANOUT},
	{"kernel", SPREAD_KERNEL}, {"peer", SPREAD_PEER},
};

static const cyaml_strval_t needs[] = {
	{"iface", NEED_IFACE},
	{"net_raw", NEED_NET_RAW},
	{"net_admin", NEED_NET_ADMIN},
	{"socket_free", NEED_SOCKET_FREE},
	{"socket_there", NEED_SOCKET_THERE},
	{"root", NEED_ROOT},
	{"lock", NEED_LOCK},
};

static const cyaml_strval_t answers[] = {{"no", false}, {"yes", true}};

static const cyaml_strval_t offloads[] = {
	{"rx_cksum", OFFLOAD_RX_CKSUM},         {"tx_ip_cksum", OFFLOAD_TX_IP_CKSUM},
	{"tx_udp_cksum", OFFLOAD_TX_UDP_CKSUM}, {"tx_tcp_cksum", OFFLOAD_TX_TCP_CKSUM},
	{"tx_fast_free", OFFLOAD_TX_FAST_FREE},
};

#define TEXT(key)    CYAML_FIELD_STRING(#key, CYAML_FLAG_DEFAULT, struct profile_file, profile.key, 1)
#define NUMBER(key)  CYAML_FIELD_UINT(#key, CYAML_FLAG_DEFAULT, struct profile_file, profile.key)
#define STRICT_FLAGS (CYAML_FLAG_DEFAULT | CYAML_FLAG_STRICT)
#define ONE_OF(key, table)                                                                         \
	CYAML_FIELD_ENUM(#key, STRICT_FLAGS, struct profile_file, profile.key, table,              \
			 sizeof table / sizeof table[0])
/* libcyaml's own bool takes any word it does not know for yes. */
#define YES_NO(key) ONE_OF(key, answers)
#define SOME_OF(key, table)                                                                        \
	CYAML_FIELD_FLAGS(#key, STRICT_FLAGS, struct profile_file, profile.key, table,             \
			  sizeof table / sizeof table[0])

static const cyaml_schema_field_t quirk_fields[] = {
	CYAML_FIELD_STRING_PTR("what", CYAML_FLAG_POINTER, struct quirk, what, 1, CYAML_UNLIMITED),
	CYAML_FIELD_STRING_PTR("source", CYAML_FLAG_POINTER, struct quirk, source, 1,
			       CYAML_UNLIMITED),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t quirk_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct quirk, quirk_fields),
};

/* The reference of the file format. */
static const cyaml_schema_field_t profile_fields[] = {
	TEXT(name),
	TEXT(summary),
	TEXT(device),
	ONE_OF(spread, spreads),
	SOME_OF(needs, needs),
	NUMBER(queues_max),
	NUMBER(rx_ring),
	NUMBER(tx_ring),
	NUMBER(burst),
	NUMBER(mbuf_bytes),
	NUMBER(mtu_max),
	SOME_OF(offloads, offloads),
	YES_NO(promiscuous),
	YES_NO(another_mac),
	YES_NO(wait_link),
	CYAML_FIELD_SEQUENCE("quirks", CYAML_FLAG_POINTER, struct profile_file, quirks,
			     &quirk_schema, 0, CYAML_UNLIMITED),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t profile_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct profile_file, profile_fields),
};

/* libcyaml reports an error as one line, then where it stood, from the inside out. The first two
 * lines say all: "Unexpected key: x" and "in root mapping (line: 3, column: 1)". */
struct complaint {
	uint32_t lines;
	char words[2][128];
};

static void __attribute__((format(printf, 3, 0)))
listen_to_cyaml(cyaml_log_t level, void *ctx, const char *format, va_list args)
{
	struct complaint *c = ctx;
	char *line;

	if (level < CYAML_LOG_ERROR || c->lines >= 2)
		return;
	line = c->words[c->lines];
	vsnprintf(line, sizeof c->words[0], format, args);
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "Load: Backtrace:") != 0)
		c->lines++;
}

static const char *
without_prefix(const char *line)
{
	line += strncmp(line, "Load: ", 6) == 0 ? 6 : 0;
	return line + strspn(line, " ");
}

struct bound {
	const char *key;
	uint32_t value, min, max;
};

/* The widest range any driver of ours takes; the driver itself has the last word. */
static bool
check_bounds(const struct profile *p, const char *path, struct fault *f)
{
	const struct bound bounds[] = {
		{"queues_max", p->queues_max, 1, CORES_MAX},
		{"rx_ring", p->rx_ring, 64, 32768},
		{"tx_ring", p->tx_ring, 64, 32768},
		{"burst", p->burst, 1, PROFILE_BURST_MAX},
		{"mbuf_bytes", p->mbuf_bytes, 2048, 16384},
		{"mtu_max", p->mtu_max, 576, 9000},
	};

	for (uint32_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
		const struct bound *b = &bounds[i];

		if (b->value < b->min || b->value > b->max)
			return fault_say(f, "%s: %s: %u: expected a number from %u to %u", path,
					 b->key, b->value, b->min, b->max);
	}
	return true;
}

static bool
check_profile(const struct profile *p, const char *path, const char *name, struct fault *f)
{
	if (strcmp(p->name, name) != 0)
		return fault_say(f, "%s: name: \"%s\": expected \"%s\", as the file is called",
				 path, p->name, name);
	if (p->mbuf_bytes < p->mtu_max + 18) /* Ethernet header, one VLAN tag */
		return fault_say(f,
				 "%s: mbuf_bytes: %u: too small for mtu_max %u and 18 bytes of "
				 "Ethernet header",
				 path, p->mbuf_bytes, p->mtu_max);
	return check_bounds(p, path, f);
}

bool
profile_load(struct profile *p, const char *path, const char *name, struct fault *f)
{
	struct complaint complaint = {0};
	const cyaml_config_t how = {
		.log_fn = listen_to_cyaml,
		.log_ctx = &complaint,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_DEFAULT,
	};
	struct profile_file *file = NULL;
	cyaml_err_t err;

	if (access(path, R_OK) != 0)
		return fault_say(f,
				 "--port: no profile \"%s\": cannot read %s; name one of the files "
				 "in drivers-config, or say where they are with --data-dir",
				 name, path);
	err = cyaml_load_file(path, &how, &profile_schema, (cyaml_data_t **)&file, NULL);
	if (err != CYAML_OK)
		return fault_say(f, "%s: %s%s%s", path,
				 complaint.lines > 0 ? without_prefix(complaint.words[0])
						     : cyaml_strerror(err),
				 complaint.lines > 1 ? ", " : "",
				 complaint.lines > 1 ? without_prefix(complaint.words[1]) : "");
	*p = file->profile;
	cyaml_free(&how, &profile_schema, file, 0);
	return check_profile(p, path, name, f);
}

/* One {placeholder} of a device template. */
struct blank {
	const char *name;
	const char *value;
	const char *missing; /* what to say when the operator gave no value */
};

struct writer {
	char *at;
	size_t room; /* with the zero byte */
};

static bool
put(struct writer *w, const char *text, size_t len)
{
	if (len >= w->room)
		return false;
	memcpy(w->at, text, len);
	w->at += len;
	w->room -= len;
	*w->at = '\0';
	return true;
}

static const struct blank *
blank_named(const struct blank *blanks, const char *name, size_t len)
{
	for (; blanks->name != NULL; blanks++)
		if (strlen(blanks->name) == len && memcmp(blanks->name, name, len) == 0)
			return blanks;
	return NULL;
}

static bool
fill_template(struct writer *w, const struct profile *p, const struct blank *blanks,
	      struct fault *f)
{
	const char *t = p->device;

	while (*t != '\0') {
		const size_t plain = strcspn(t, "{");
		const struct blank *b;
		size_t len;

		if (!put(w, t, plain))
			return fault_say(f, "profile %s: device: too long", p->name);
		t += plain;
		if (*t == '\0')
			break;
		len = strcspn(t + 1, "}");
		b = blank_named(blanks, t + 1, len);
		if (b == NULL || t[1 + len] != '}')
			return fault_say(f, "profile %s: device: %.*s is no placeholder", p->name,
					 (int)len + 1 + (t[1 + len] == '}'), t);
		if (b->value[0] == '\0')
			return fault_say(f, "--port %s: needs %s", p->name, b->missing);
		if (!put(w, b->value, strlen(b->value)))
			return fault_say(f, "profile %s: device: too long", p->name);
		t += 1 + len + 1;
	}
	return true;
}

bool
profile_device(const struct profile *p, const struct config *cfg, uint32_t queues,
	       char device[DEVICE_BYTES], struct fault *f)
{
	char count[16];
	const struct blank blanks[] = {
		{"iface", cfg->iface, "--iface NAME, the kernel interface to use"},
		{"socket", cfg->socket, "--socket PATH, where to meet the other side"},
		{"pci", cfg->pci, "the NIC's PCI address: --port 0000:03:00.0"},
		{"queues", count, ""},
		{NULL, NULL, NULL},
	};
	struct writer w = {device, DEVICE_BYTES};

	snprintf(count, sizeof count, "%u", queues);
	if (!fill_template(&w, p, blanks, f))
		return false;
	if (cfg->vdev_args[0] != '\0' &&
	    (!put(&w, ",", 1) || !put(&w, cfg->vdev_args, strlen(cfg->vdev_args))))
		return fault_say(f, "--vdev-args: too long");
	return true;
}

bool
profile_is_pci(const struct profile *p)
{
	return strncmp(p->device, "{pci}", 5) == 0;
}

const char *
spread_name(enum spread spread)
{
	for (uint32_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++)
		if (spreads[i].val == (int64_t)spread)
			return spreads[i].str;
	return "?";
}
