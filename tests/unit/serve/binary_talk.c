#include "binary_talk.h"

#include "support/test.h"

struct header {
	uint8_t magic, op;
	struct be16 key_len;
	uint8_t extras_len, data_type;
	struct be16 status;
	struct be32 body_len;
	struct be32 opaque;
	struct be64 cas;
};

static const char *
text_of(uint16_t status)
{
	switch (status) {
	case 0x01:
		return "Not found";
	case 0x02:
		return "Data exists for key.";
	case 0x03:
		return "Too large.";
	case 0x04:
		return "Invalid arguments";
	case 0x05:
		return "Not stored.";
	case 0x06:
		return "Non-numeric server-side value for incr or decr";
	case 0x20:
		return "Auth failure.";
	case 0x81:
		return "Unknown command";
	default:
		return NULL;
	}
}

static uint32_t
length(const char *text)
{
	return text == NULL ? 0 : (uint32_t)strlen(text);
}

static uint8_t *
put(uint8_t *at, const void *bytes, uint32_t len)
{
	if (len > 0)
		memcpy(at, bytes, len);
	return at + len;
}

uint32_t
packets_put(uint8_t *to, const struct packet *list)
{
	uint8_t *at = to;

	for (uint32_t i = 0; list[i].op != BINARY_END; i++) {
		const struct packet *p = &list[i];
		const uint32_t key_len = length(p->key), value_len = length(p->value);
		const struct header h = {
			.magic = 0x80,
			.op = p->op,
			.key_len = be16_of((uint16_t)key_len),
			.extras_len = p->extras_len,
			.body_len = be32_of(p->extras_len + key_len + value_len),
			.opaque = be32_of(BINARY_OPAQUE + i),
			.cas = be64_of(p->cas),
		};

		at = put(at, &h, sizeof h);
		at = put(at, p->extras, p->extras_len);
		at = put(at, p->key, key_len);
		at = put(at, p->value, value_len);
	}
	return (uint32_t)(at - to);
}

/* Checks that the bytes begin with this packet. Returns the packet's bytes. */
static uint32_t
packet_matches(struct view bytes, const struct packet *p)
{
	const char *value = p->value != NULL ? p->value : text_of(p->status);
	const uint32_t key_len = length(p->key);
	const uint32_t value_len = p->value_len != 0 ? p->value_len : length(value);
	const uint32_t body_len = p->extras_len + key_len + value_len;
	const uint8_t *at = bytes.data + sizeof(struct header);
	struct header h;
	bool has_cas;

	check(bytes.len >= sizeof h);
	memcpy(&h, bytes.data, sizeof h);
	check_eq(h.magic, 0x81);
	check_eq(h.op, p->op);
	check_eq(be16_get(h.status), p->status);
	check_eq(be32_get(h.opaque), BINARY_OPAQUE + p->to);
	check_eq(be16_get(h.key_len), key_len);
	check_eq(h.extras_len, p->extras_len);
	check_eq(h.data_type, 0);
	check_eq(be32_get(h.body_len), body_len);
	has_cas = be64_get(h.cas) != 0;
	check_eq(has_cas, p->cas != 0);
	check(bytes.len >= sizeof h + body_len);
	if (p->extras_len > 0)
		check_bytes(at, p->extras, p->extras_len);
	if (key_len > 0)
		check_bytes(at + p->extras_len, p->key, key_len);
	if (value_len > 0)
		check_bytes(at + p->extras_len + key_len, value, value_len);
	return (uint32_t)sizeof h + body_len;
}

void
packets_match(struct view bytes, const struct packet *list)
{
	for (; list->op != BINARY_END; list++) {
		const uint32_t len = packet_matches(bytes, list);

		bytes = (struct view){bytes.data + len, bytes.len - len};
	}
	check_eq(bytes.len, 0);
}
