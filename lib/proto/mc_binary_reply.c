/*
 * mc_binary_reply.c - responses of the binary protocol, composed at a pointer: header, extras,
 * key, value. mc_binary.h declares them.
 */
#include "mc_binary.h"

#include "mc_reply.h"

bool
mc_bin_shows_key(uint8_t opcode)
{
	switch (opcode) {
	case 0x0c: /* GetK */
	case 0x0d: /* GetKQ */
	case 0x23: /* GATK */
	case 0x24: /* GATKQ */
		return true;
	default:
		return false;
	}
}

/* Header fields of a response, except those that it echoes. Zero if not set. */
struct parts {
	enum mc_bin_status status;
	uint32_t extras_len, key_len;
	uint32_t body_len;
	uint64_t cas;
};

static uint8_t *
put_head(uint8_t *at, struct mc_bin_echo echo, const struct parts *parts)
{
	const struct mc_bin_head head = {
		.magic = MC_BIN_RESPONSE_MAGIC,
		.opcode = echo.opcode,
		.key_len = be16_of((uint16_t)parts->key_len),
		.extras_len = (uint8_t)parts->extras_len,
		.status = be16_of((uint16_t)parts->status),
		.body_len = be32_of(parts->body_len),
		.opaque = echo.opaque,
		.cas = be64_of(parts->cas),
	};

	memcpy(at, &head, sizeof head);
	return at + sizeof head;
}

uint8_t *
mc_put_bin_head(uint8_t *at, struct mc_bin_echo echo, enum mc_bin_status status, uint32_t body_len,
		uint64_t cas)
{
	const struct parts parts = {.status = status, .body_len = body_len, .cas = cas};

	return put_head(at, echo, &parts);
}

uint8_t *
mc_put_bin_status(uint8_t *at, struct mc_bin_echo echo, enum mc_bin_status status)
{
	const struct view text = mc_status_text(status);

	return mc_put_view(mc_put_bin_head(at, echo, status, text.len, 0), text);
}

uint8_t *
mc_put_bin_miss(uint8_t *at, struct mc_bin_echo echo, struct view key)
{
	const struct parts parts = {
		.status = MC_STATUS_NOT_FOUND, .key_len = key.len, .body_len = key.len};

	return mc_put_view(put_head(at, echo, &parts), key);
}

uint8_t *
mc_put_bin_value_head(uint8_t *at, struct mc_bin_echo echo, const struct mc_bin_value *v)
{
	const struct be32 flags = be32_of(v->client_flags);
	const struct parts parts = {
		.extras_len = sizeof flags,
		.key_len = v->key.len,
		.body_len = (uint32_t)sizeof flags + v->key.len + v->len,
		.cas = v->cas,
	};

	at = put_head(at, echo, &parts);
	memcpy(at, &flags, sizeof flags);
	at += sizeof flags;
	return v->key.len != 0 ? mc_put_view(at, v->key) : at;
}

uint8_t *
mc_put_bin_number(uint8_t *at, struct mc_bin_echo echo, uint64_t number, uint64_t cas)
{
	const struct be64 wire = be64_of(number);

	at = mc_put_bin_head(at, echo, MC_STATUS_OK, sizeof wire, cas);
	memcpy(at, &wire, sizeof wire);
	return at + sizeof wire;
}

uint8_t *
mc_put_bin_text(uint8_t *at, struct mc_bin_echo echo, struct view text)
{
	return mc_put_view(mc_put_bin_head(at, echo, MC_STATUS_OK, text.len, 0), text);
}

uint8_t *
mc_put_bin_stat(uint8_t *at, struct mc_bin_echo echo, struct view name, struct view value)
{
	const struct parts parts = {.key_len = name.len, .body_len = name.len + value.len};

	at = put_head(at, echo, &parts);
	if (name.len != 0)
		at = mc_put_view(at, name);
	return value.len != 0 ? mc_put_view(at, value) : at;
}
