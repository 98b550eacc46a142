/*
 * profile.c - the schema of a NIC profile, its reader, and checks across several keys.
 */
#include "profile.h"
#include "config/nearest.h"
#include "config/yaml_keys.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum field_kind {
	FIELD_TEXT,   /* char[max] */
	FIELD_NUMBER, /* uint32_t */
	FIELD_YES_NO, /* bool */
	FIELD_ONE,    /* uint32_t: the index of one of the words */
	FIELD_SOME,   /* uint32_t: a bit for each of the words */
	FIELD_IDS,
	FIELD_DRIVERS,
	FIELD_NOTE, /* a text for people: required, and not empty */
};

struct field {
	const char *key;
	enum field_kind kind;
	bool optional;
	size_t at;
	uint32_t min, max;
	const char *const *words;
};

static const char *const spreads[] = {
	[SPREAD_NONE] = "none",
	[SPREAD_RSS] = "rss",
	[SPREAD_FANOUT] = "fanout",
	[SPREAD_KERNEL] = "kernel",
	[SPREAD_PEER] = "peer",
	[SPREAD_CABLE] = "cable",
	NULL,
};

/* Names of the bits of enum need and of enum rss_kind: bit i is word i. */
static const char *const needs[] = {"iface", "net_raw", "net_admin", "socket_free", "socket_there",
				    "root",  "lock",    "tun",       NULL};
static const char *const key_ways[] = {[RSS_KEY_BY_CONFIGURE] = "configure",
				       [RSS_KEY_BY_UPDATE] = "update",
				       [RSS_KEY_BY_NONE] = "none",
				       NULL};
static const char *const rss_kinds[] = {"ip4", "tcp4", "udp4", "ip6", "tcp6", "udp6", NULL};

static_assert(NEED_TUN == 1u << 7 && RSS_KIND_UDP6 == 1u << 5,
	      "the words stand in the order of the bits");

#define AT(field)             offsetof(struct profile, field)
#define TEXT(key)             #key, FIELD_TEXT, false, AT(key), 1, sizeof(((struct profile *)0)->key), NULL
#define NUMBER(key, min, max) #key, FIELD_NUMBER, false, AT(key), min, max, NULL
#define YES_NO(key)           #key, FIELD_YES_NO, false, AT(key), 0, 0, NULL
#define SOME(key, words)      #key, FIELD_SOME, false, AT(key), 0, 0, words
#define NOTE(key, optional)   key, FIELD_NOTE, optional, 0, 0, 0, NULL

/* The schema, which is the reference for the file format. Ranges are the widest that any supported
 * driver accepts; the driver itself may accept less. */
static const struct field fields[] = {
	{TEXT(name)},
	{TEXT(summary)},
	{TEXT(device)},
	{"drivers", FIELD_DRIVERS, false, AT(drivers), 0, PROFILE_DRIVERS_MAX, NULL},
	{"pci_ids", FIELD_IDS, false, AT(pci_ids), 0, PROFILE_IDS_MAX, NULL},
	{"spread", FIELD_ONE, false, AT(spread), 0, 0, spreads},
	{SOME(needs, needs)},
	{NUMBER(queues_max, 1, CORES_MAX)},
	{NUMBER(rx_ring, CONFIG_RING_MIN, CONFIG_RING_MAX)},
	{NUMBER(tx_ring, CONFIG_RING_MIN, CONFIG_RING_MAX)},
	{NUMBER(ring_max, CONFIG_RING_MIN, CONFIG_RING_MAX)},
	{NUMBER(burst, 1, PROFILE_BURST_MAX)},
	{NUMBER(mbuf_bytes, 2048, 16384)},
	{NUMBER(mtu_max, 576, 9000)},
	{SOME(offloads, config_offloads)},
	{YES_NO(udp_cksum_unknown)},
	{SOME(rss_fields, rss_kinds)},
	{NUMBER(rss_queues_max, 0, CORES_MAX)},
	{NUMBER(rss_key_bytes, 0, 64)},
	{NUMBER(reta_size, 0, 2048)},
	{NUMBER(rss_since, 0, 9912)},
	{"rss_key_by", FIELD_ONE, false, AT(rss_key_by), 0, 0, key_ways},
	{YES_NO(reta_fixed)},
	{YES_NO(queues_power_of_two)},
	{"flow.ethertype_max", FIELD_NUMBER, false, AT(flow.ethertype_max), 0, 65536, NULL},
	{"flow.five_tuple_max", FIELD_NUMBER, false, AT(flow.five_tuple_max), 0, 1u << 20, NULL},
	{"flow.director_max", FIELD_NUMBER, false, AT(flow.director_max), 0, 1u << 20, NULL},
	{"flow.one_mask", FIELD_YES_NO, false, AT(flow.one_mask), 0, 0, NULL},
	{"flow.needs_proto", FIELD_YES_NO, false, AT(flow.needs_proto), 0, 0, NULL},
	{"flow.needs_mark", FIELD_YES_NO, false, AT(flow.needs_mark), 0, 0, NULL},
	{"flow.masked_ports", FIELD_YES_NO, false, AT(flow.masked_ports), 0, 0, NULL},
	{"flow.ipv6", FIELD_YES_NO, false, AT(flow.ipv6), 0, 0, NULL},
	{"flow.isolate", FIELD_YES_NO, false, AT(flow.isolate), 0, 0, NULL},
	{YES_NO(promiscuous)},
	{YES_NO(another_mac)},
	{YES_NO(wait_link)},
	{NOTE("sources.rings", false)},
	{NOTE("sources.offloads", false)},
	{NOTE("sources.rss", true)},
	{NOTE("sources.flow", true)},
};
#define FIELDS (sizeof fields / sizeof fields[0])

/* Lists whose entries have `what` and `source`: quirks, what the driver's vector path needs, and
 * the driver's own counters of lost packets. */
static const char *const note_lists[] = {"vector", "xstats", "quirks"};
#define NOTE_LISTS (sizeof note_lists / sizeof note_lists[0])

struct reader {
	struct profile *p;
	uint32_t line[FIELDS]; /* line of each field in the file; 0: not set yet */
	bool listed[NOTE_LISTS];
	char entry[YAML_PATH_BYTES]; /* the entry of a list of notes that is being read */
	uint32_t entry_line;
	bool what, source;
};

/* Returns the index of the word, or -1 after writing the allowed words to *err. */
static int
word_in(const char *const *words, const char *text, const struct yaml_key *key, struct error *err)
{
	char list[256] = "";
	size_t used = 0;

	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0)
			return i;
		if (used < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
						 i == 0 ? "" : ", ", words[i]);
	}
	yaml_key_error(err, key, "\"%.40s\": expected one of %s", text, list);
	return -1;
}

static bool
parse_number(uint32_t *to, const struct field *field, const struct yaml_key *key, struct error *err)
{
	uint32_t n;

	if (!parse_decimal(key->text, &n) || n < field->min || n > field->max)
		return yaml_key_error(err, key, "%.40s: expected a number from %u to %u", key->text,
				      field->min, field->max);
	*to = n;
	return true;
}

static bool
parse_text(char *to, const struct field *field, const struct yaml_key *key, struct error *err)
{
	const size_t len = strlen(key->text);

	if (len < field->min || len >= field->max)
		return yaml_key_error(err, key, "%zu characters; expected %u to %u", len,
				      field->min, field->max - 1);
	memcpy(to, key->text, len + 1);
	return true;
}

static bool
parse_value(struct reader *r, const struct field *field, const struct yaml_key *key,
	    struct error *err)
{
	static const char *const answers[] = {"no", "yes", NULL};
	void *to = (char *)r->p + field->at;
	int word;

	switch (field->kind) {
	case FIELD_TEXT:
		return parse_text(to, field, key, err);
	case FIELD_NUMBER:
		return parse_number(to, field, key, err);
	case FIELD_YES_NO:
		word = word_in(answers, key->text, key, err);
		*(bool *)to = word == 1;
		return word >= 0;
	case FIELD_ONE:
		word = word_in(field->words, key->text, key, err);
		*(uint32_t *)to = (uint32_t)word;
		return word >= 0;
	case FIELD_NOTE:
		return key->text[0] != '\0' || yaml_key_error(err, key, "empty; name the source");
	case FIELD_SOME:
	case FIELD_IDS:
	case FIELD_DRIVERS:
		break;
	}
	return yaml_key_error(err, key, "expected a list in brackets: [], [a, b]");
}

/* Parses a PCI ID such as "8086:10fb". */
static bool
parse_id(struct pci_id *id, const struct yaml_item *item, const struct yaml_key *key,
	 struct error *err)
{
	unsigned int vendor, device;
	int len = 0;

	if (strlen(item->text) != 9 ||
	    sscanf(item->text, "%4x:%4x%n", &vendor, &device, &len) != 2 || len != 9)
		return yaml_key_error(err, key,
				      "\"%.40s\": expected vendor:device, such as 8086:10fb",
				      item->text);
	*id = (struct pci_id){(uint16_t)vendor, (uint16_t)device};
	return true;
}

static bool
parse_driver(char driver[CONFIG_NAME_BYTES], const struct yaml_item *item,
	     const struct yaml_key *key, struct error *err)
{
	if (item->text[0] == '\0' || strlen(item->text) >= CONFIG_NAME_BYTES)
		return yaml_key_error(err, key,
				      "\"%.40s\": expected a DPDK driver, such as net_ixgbe",
				      item->text);
	strcpy(driver, item->text);
	return true;
}

static bool
parse_item(struct reader *r, const struct field *field, uint32_t i, const struct yaml_key *key,
	   struct error *err)
{
	const struct yaml_item *item = &key->items[i];
	int word;

	switch (field->kind) {
	case FIELD_IDS:
		r->p->pci_id_count = i + 1;
		return parse_id(&r->p->pci_ids[i], item, key, err);
	case FIELD_DRIVERS:
		return parse_driver(r->p->drivers[i], item, key, err);
	default:
		word = word_in(field->words, item->text, key, err);
		*(uint32_t *)(void *)((char *)r->p + field->at) |= word < 0 ? 0 : 1u << word;
		return word >= 0;
	}
}

static bool
parse_list(struct reader *r, const struct field *field, const struct yaml_key *key,
	   struct error *err)
{
	struct yaml_key at = *key;

	if (field->kind != FIELD_SOME && field->kind != FIELD_IDS && field->kind != FIELD_DRIVERS)
		return yaml_key_error(err, key, "a list; expected one value");
	if (field->kind != FIELD_SOME && key->count > field->max)
		return yaml_key_error(err, key, "more than %u items", field->max);
	for (uint32_t i = 0; i < key->count; i++) {
		at.line = key->items[i].line;
		if (!parse_item(r, field, i, &at, err))
			return false;
	}
	return true;
}

static bool
entry_is_whole(const struct reader *r, const char *file, struct error *err)
{
	if (r->entry[0] == '\0' || (r->what && r->source))
		return true;
	return error_set(err, "%s:%u: %s: %s is missing; an entry has what and source", file,
			 r->entry_line, r->entry, r->what ? "source" : "what");
}

/* Reads a key of a list of notes: "quirks", "quirks[2]" or "quirks[2].what". *mine: whether the key
 * is one. */
static bool
parse_note(struct reader *r, const struct yaml_key *key, bool *mine, struct error *err)
{
	const size_t len = strcspn(key->path, "[.");
	const char *dot = strchr(key->path, '.');

	*mine = false;
	for (uint32_t i = 0; i < NOTE_LISTS; i++) {
		if (strlen(note_lists[i]) == len && memcmp(key->path, note_lists[i], len) == 0) {
			*mine = true;
			r->listed[i] = true;
		}
	}
	if (!*mine || (key->shape == YAML_LIST && key->count == 0))
		return true;
	if (key->shape == YAML_SECTION && key->path[len] == '[' && dot == NULL) {
		if (!entry_is_whole(r, key->file, err))
			return false;
		strcpy(r->entry, key->path);
		r->entry_line = key->line;
		r->what = r->source = false;
		return true;
	}
	if (key->shape != YAML_VALUE || dot == NULL || key->text[0] == '\0' ||
	    (strcmp(dot, ".what") != 0 && strcmp(dot, ".source") != 0))
		return yaml_key_error(err, key, "expected a list of entries with what and source");
	*(strcmp(dot, ".what") == 0 ? &r->what : &r->source) = true;
	return true;
}

static bool
unknown(const struct yaml_key *key, struct error *err)
{
	struct nearest n;

	nearest_begin(&n, key->path);
	for (uint32_t i = 0; i < FIELDS; i++)
		nearest_offer(&n, fields[i].key, fields[i].key);
	if (n.best != NULL)
		return yaml_key_error(err, key, "unknown key; did you mean %s?", n.best);
	return yaml_key_error(err, key, "unknown key; drivers-config/README.md lists them");
}

static bool
parse_key(void *ctx, const struct yaml_key *key, struct error *err)
{
	struct reader *r = ctx;
	bool mine;

	if (key->shape == YAML_SECTION && (key->path[0] == '\0' || strcmp(key->path, "flow") == 0 ||
					   strcmp(key->path, "sources") == 0))
		return true;
	if (!parse_note(r, key, &mine, err))
		return false;
	if (mine)
		return true;
	for (uint32_t i = 0; i < FIELDS; i++) {
		if (strcmp(fields[i].key, key->path) != 0)
			continue;
		r->line[i] = key->line;
		if (key->shape == YAML_VALUE)
			return parse_value(r, &fields[i], key, err);
		if (key->shape == YAML_LIST)
			return parse_list(r, &fields[i], key, err);
		return yaml_key_error(err, key, "a mapping; expected one value");
	}
	return unknown(key, err);
}

static uint32_t
line_of(const struct reader *r, const char *key)
{
	for (uint32_t i = 0; i < FIELDS; i++)
		if (strcmp(fields[i].key, key) == 0)
			return r->line[i];
	return 0;
}

static bool
check_all_there(const struct reader *r, const char *path, struct error *err)
{
	for (uint32_t i = 0; i < FIELDS; i++)
		if (r->line[i] == 0 && !fields[i].optional)
			return error_set(err, "%s: %s: missing; every key is required", path,
					 fields[i].key);
	for (uint32_t i = 0; i < NOTE_LISTS; i++)
		if (!r->listed[i])
			return error_set(err,
					 "%s: %s: missing; every key is required, if only as []",
					 path, note_lists[i]);
	if (r->p->rss_fields != 0 && line_of(r, "sources.rss") == 0)
		return error_set(err, "%s: sources.rss: missing; name the source of rss_fields",
				 path);
	if ((r->p->flow.ethertype_max | r->p->flow.five_tuple_max | r->p->flow.director_max) != 0 &&
	    line_of(r, "sources.flow") == 0)
		return error_set(err, "%s: sources.flow: missing; name the source of flow", path);
	return entry_is_whole(r, path, err);
}

static bool
check_profile(const struct reader *r, const char *path, const char *name, struct error *err)
{
	const struct profile *p = r->p;
	const uint32_t rings[] = {p->rx_ring, p->tx_ring};
	const char *const ring_keys[] = {"rx_ring", "tx_ring"};

	if (!check_all_there(r, path, err))
		return false;
	if (strcmp(p->name, name) != 0)
		return error_set(err, "%s:%u: name: \"%s\": expected \"%s\", as the file is called",
				 path, line_of(r, "name"), p->name, name);
	if (p->mbuf_bytes < p->mtu_max + 18) /* room for the Ethernet header and one VLAN tag */
		return error_set(err,
				 "%s:%u: mbuf_bytes: %u: too small for mtu_max %u and 18 bytes of "
				 "Ethernet header",
				 path, line_of(r, "mbuf_bytes"), p->mbuf_bytes, p->mtu_max);
	for (uint32_t i = 0; i < 2; i++)
		if (rings[i] > p->ring_max)
			return error_set(err, "%s:%u: %s: %u: expected at most ring_max, %u", path,
					 line_of(r, ring_keys[i]), ring_keys[i], rings[i],
					 p->ring_max);
	if (p->rss_fields != 0 && p->rss_queues_max == 0)
		return error_set(err,
				 "%s:%u: rss_queues_max: 0: expected how many queues "
				 "rss_fields reach",
				 path, line_of(r, "rss_queues_max"));
	return true;
}

bool
profile_read(struct profile *p, const char *path, const char *name, const char *text, size_t len,
	     struct error *err)
{
	struct reader r = {.p = p};
	const struct yaml_visitor v = {parse_key, &r};

	memset(p, 0, sizeof *p);
	return yaml_keys_of_text(path, text, len, &v, err) && check_profile(&r, path, name, err);
}

bool
profile_load(struct profile *p, const char *path, const char *name, struct error *err)
{
	struct reader r = {.p = p};
	const struct yaml_visitor v = {parse_key, &r};

	if (access(path, R_OK) != 0)
		return error_set(err,
				 "no profile \"%s\": cannot read %s; --profile or --port names one "
				 "of the files in drivers-config, --data-dir says where they are",
				 name, path);
	memset(p, 0, sizeof *p);
	return yaml_keys_of_file(path, &v, err) && check_profile(&r, path, name, err);
}

static uint32_t
max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void
profile_suppose(struct profile *p, const struct config *cfg)
{
	p->ring_max = max_u32(p->ring_max, max_u32(cfg->rx_ring, cfg->tx_ring));
	p->mtu_max = max_u32(p->mtu_max, cfg->mtu);
	if (config_shares_nic(cfg))
		p->flow = (struct flow_limits){
			.five_tuple_max = UINT16_MAX,
			.director_max = UINT16_MAX,
			.masked_ports = true,
			.ipv6 = true,
			.isolate = true,
		};
}

bool
profile_apply(struct profile *p, const struct config *cfg, struct error *err)
{
	if (cfg->rx_ring > p->ring_max || cfg->tx_ring > p->ring_max)
		return error_set(err, "--%s-ring: %u: port %s takes at most %u",
				 cfg->rx_ring > p->ring_max ? "rx" : "tx",
				 cfg->rx_ring > p->ring_max ? cfg->rx_ring : cfg->tx_ring, p->name,
				 p->ring_max);
	if (cfg->mtu > p->mtu_max)
		return error_set(err, "--mtu: %u: port %s takes at most %u", cfg->mtu, p->name,
				 p->mtu_max);
	if (config_shares_nic(cfg) && !p->flow.isolate)
		return error_set(err,
				 "--kernel nic: port %s cannot leave frames to the kernel; name a "
				 "tap interface",
				 p->name);
	if (cfg->offloads != CONFIG_PROFILE_OFFLOADS && (cfg->offloads & OFFLOAD_TX_LOANS) &&
	    !(p->offloads & OFFLOAD_TX_LOANS) && !profile_is_pci(p))
		return error_set(err, "--offloads: tx_loans: port %s takes none", p->name);
	if (cfg->rx_ring != 0)
		p->rx_ring = cfg->rx_ring;
	if (cfg->tx_ring != 0)
		p->tx_ring = cfg->tx_ring;
	if (cfg->burst != 0)
		p->burst = cfg->burst;
	if (cfg->offloads != CONFIG_PROFILE_OFFLOADS)
		p->offloads = cfg->offloads;
	return true;
}

void
profile_apply_release(struct profile *p, uint32_t release)
{
	if (release >= p->rss_since)
		return;
	p->spread = SPREAD_NONE;
	p->rss_fields = p->rss_queues_max = p->rss_key_bytes = p->reta_size = 0;
}
