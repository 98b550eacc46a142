/*
 * http_value.c - telemetry.http: an address and port of the kernel, or the path of a Unix socket.
 */
#include "options.h"

#include <arpa/inet.h>
#include <string.h>

/* Parses "127.0.0.1:9150" or "[::1]:9150". */
static bool
parse_address(struct config_http *http, const char *value)
{
	const bool six = value[0] == '[';
	const char *at = value + six;
	const size_t len = strcspn(at, six ? "]" : ":");
	char text[INET6_ADDRSTRLEN];
	struct be32 four;

	if (len >= sizeof text || at[len] == '\0' || (six && at[len + 1] != ':'))
		return false;
	memcpy(text, at, len);
	text[len] = '\0';
	if (inet_pton(six ? AF_INET6 : AF_INET, text, six ? (void *)http->ip.b : (void *)&four) !=
	    1)
		return false;
	if (!six)
		http->ip = ip_addr_v4(be32_get(four));
	return parse_decimal(at + len + 1 + six, &http->port) && http->port != 0 &&
	       http->port <= 65535;
}

bool
option_set_http(struct config_http *http, const char *value, struct error *err)
{
	struct config_http read = {.port = 0};

	if (strcmp(value, "none") == 0) {
		memset(http, 0, sizeof *http);
		return true;
	}
	if (strlen(value) >= sizeof read.text)
		return error_set(err, "--telemetry-http: more than %zu characters",
				 sizeof read.text - 1);
	memset(&read, 0, sizeof read);
	if (value[0] != '/' && !parse_address(&read, value))
		return error_set(err,
				 "--telemetry-http: \"%s\": expected IP:PORT such as "
				 "127.0.0.1:9150 or [::1]:9150, the path of a Unix socket, or none",
				 value);
	strcpy(read.text, value);
	*http = read;
	return true;
}
