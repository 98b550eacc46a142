/*
 * get_codec.c - writes and checks a get and its reply as text, meta and binary commands.
 */
#include "get_codec.h"

#include "proto/mc_binary.h"

#include <stdio.h>

const char *const get_protocol_names[GET_PROTOCOLS] = {
	[GET_TEXT] = "text",
	[GET_META] = "meta",
	[GET_BINARY] = "binary",
};

static uint32_t
binary_put(uint8_t *at, const char *key)
{
	const uint32_t len = (uint32_t)strlen(key);
	const struct mc_bin_head head = {
		.magic = MC_BIN_REQUEST_MAGIC,
		.key_len = be16_of((uint16_t)len),
		.body_len = be32_of(len),
	};

	memcpy(at, &head, sizeof head);
	memcpy(at + sizeof head, key, len);
	return (uint32_t)sizeof head + len;
}

uint32_t
get_request_put(uint8_t *at, enum get_protocol protocol, const char *key)
{
	if (protocol == GET_BINARY)
		return binary_put(at, key);
	return (uint32_t)snprintf((char *)at, GET_CODEC_MAX,
				  protocol == GET_META ? "mg %s v f k\r\n" : "get %s\r\n", key);
}

static bool
binary_is(struct view answer, const char *value)
{
	const uint32_t len = (uint32_t)strlen(value);
	struct mc_bin_head head;

	if (answer.len != sizeof head + 4 + len)
		return false;
	memcpy(&head, answer.data, sizeof head);
	return head.magic == MC_BIN_RESPONSE_MAGIC && be16_get(head.status) == 0 &&
	       be32_get(head.body_len) == 4 + len &&
	       memcmp(answer.data + sizeof head + 4, value, len) == 0;
}

bool
get_answer_is(struct view answer, enum get_protocol protocol, const char *key, const char *value)
{
	char want[GET_CODEC_MAX];
	const uint32_t value_len = (uint32_t)strlen(value);
	int len;

	if (protocol == GET_BINARY)
		return binary_is(answer, value);
	if (protocol == GET_META)
		len = snprintf(want, sizeof want, "VA %u f0 k%s\r\n%s\r\n", value_len, key, value);
	else
		len = snprintf(want, sizeof want, "VALUE %s 0 %u\r\n%s\r\nEND\r\n", key, value_len,
			       value);
	return answer.len == (uint32_t)len && memcmp(answer.data, want, (size_t)len) == 0;
}
