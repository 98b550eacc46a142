/*
 * front_servers.c - reads a list of servers, each entry from its end. It refuses, in one line, what
 * nutcracker refuses or misreads.
 */
#include "front_servers.h"
#include "config/text_file.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#define DEFAULT_PORT 11211u
#define ENTRY_FORM   "host:port:weight and maybe a name, such as 10.0.0.1:11211:1 a"
#define WORDS_BYTES  256u
#define SHOWN        60 /* bytes of an entry that an error quotes */

/* The place of an entry, for its error. */
struct place {
	const char *file; /* NULL: a list */
	uint32_t line;
	struct view entry;
};

static bool __attribute__((format(printf, 3, 4)))
server_error(struct error *err, const struct place *at, const char *format, ...)
{
	char words[WORDS_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	if (at->file != NULL)
		return error_set(err, "--front-servers: %s:%u: %s", at->file, at->line, words);
	return error_set(err, "--front-servers: \"%.*s\": %s",
			 (int)(at->entry.len < SHOWN ? at->entry.len : SHOWN),
			 (const char *)at->entry.data, words);
}

static struct view
trimmed(struct view text)
{
	while (text.len != 0 && isspace(text.data[0]))
		text.data++, text.len--;
	while (text.len != 0 && isspace(text.data[text.len - 1]))
		text.len--;
	return text;
}

/* Cuts text at the last `byte`; *behind is what followed it. False: there is no such byte. */
static bool
cut_last(struct view *text, char byte, struct view *behind)
{
	const uint8_t *at = memrchr(text->data, byte, text->len);

	if (at == NULL)
		return false;
	behind->data = at + 1;
	behind->len = (uint32_t)(text->data + text->len - behind->data);
	text->len = (uint32_t)(at - text->data);
	return true;
}

/* Reads a decimal number. False: text has anything else, or the number exceeds most. */
static bool
read_number(struct view text, uint32_t most, uint32_t *number)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < text.len && n <= most; i++) {
		if (!isdigit(text.data[i]))
			return false;
		n = n * 10 + (uint64_t)(text.data[i] - '0');
	}
	*number = (uint32_t)n;
	return text.len != 0 && n <= most;
}

/* True if host has only characters of names and addresses. */
static bool
is_host(struct view host)
{
	for (uint32_t i = 0; i < host.len; i++)
		if (!isalnum(host.data[i]) && memchr(".-_:%", host.data[i], 5) == NULL)
			return false;
	return host.len != 0;
}

static bool
is_name(struct view name)
{
	for (uint32_t i = 0; i < name.len; i++)
		if (!isgraph(name.data[i]))
			return false;
	return name.len != 0;
}

static bool
read_host(struct front_host *to, struct view host, const struct place *at, struct error *err)
{
	if (host.len != 0 && host.data[0] == '/')
		return server_error(
			err, at,
			"a Unix socket stands as unix:/path:weight, with nutcracker's name "
			"behind it");
	if (host.len != 0 && host.data[0] == '[')
		return server_error(err, at,
				    "an IPv6 address stands without brackets, as in nutcracker: "
				    "2001:db8::1:11211:1");
	if (!is_host(host))
		return server_error(err, at, "expected " ENTRY_FORM);
	if (host.len >= sizeof to->host)
		return server_error(err, at, "a host of %u bytes; at most %zu", host.len,
				    sizeof to->host - 1);
	memcpy(to->host, host.data, host.len);
	to->host[host.len] = '\0';
	return true;
}

/* Reads the path of a Unix socket, which must not have spaces. */
static bool
read_path(struct front_host *to, struct view path, const struct place *at, struct error *err)
{
	if (path.len == 0 || path.data[0] != '/' || !is_name(path))
		return server_error(err, at,
				    "expected an absolute path: unix:/run/memcached.sock:1");
	if (path.len >= FRONT_PATH_BYTES)
		return server_error(err, at, "a path of %u bytes; at most %u", path.len,
				    FRONT_PATH_BYTES - 1);
	memcpy(to->host, path.data, path.len);
	to->host[path.len] = '\0';
	to->port = 0;
	return true;
}

static bool
read_port(struct front_host *to, struct view port, const struct place *at, struct error *err)
{
	uint32_t number;

	if (!read_number(port, UINT16_MAX, &number) || number == 0)
		return server_error(err, at, "port \"%.*s\": expected a number from 1 to %u",
				    (int)(port.len < SHOWN ? port.len : SHOWN),
				    (const char *)port.data, UINT16_MAX);
	to->port = (uint16_t)number;
	return true;
}

/* Cuts word off the beginning of text. False: text does not begin with it. */
static bool
cut_word(struct view *text, const char *word)
{
	const uint32_t len = (uint32_t)strlen(word);

	if (text->len < len || memcmp(text->data, word, len) != 0)
		return false;
	text->data += len;
	text->len -= len;
	return true;
}

/* Reads what precedes the weight: host:port, kernel:host:port or unix:/path. */
static bool
read_where(struct front_host *to, struct view where, const struct place *at, struct error *err)
{
	struct view port;

	if (cut_word(&where, "unix:")) {
		to->by_kernel = true;
		return read_path(to, where, at, err);
	}
	to->by_kernel = cut_word(&where, "kernel:");
	if (!cut_last(&where, ':', &port))
		return server_error(err, at, "expected " ENTRY_FORM);
	return read_host(to, where, at, err) && read_port(to, port, at, err);
}

/* Uses the given name; without one, the name that nutcracker and libmemcached compute. */
static bool
read_name(struct front_server *to, struct view name, const struct front_host *host,
	  const struct place *at, struct error *err)
{
	int len;

	if (name.len == 0 && host->port == 0)
		len = snprintf(to->name, sizeof to->name, "%s:", host->host);
	else if (name.len != 0)
		len = snprintf(to->name, sizeof to->name, "%.*s", (int)name.len,
			       (const char *)name.data);
	else if (host->port == DEFAULT_PORT)
		len = snprintf(to->name, sizeof to->name, "%s", host->host);
	else
		len = snprintf(to->name, sizeof to->name, "%s:%u", host->host, host->port);
	return len < (int)sizeof to->name ||
	       server_error(err, at,
			    "a name of %d bytes; at most %zu: give a shorter one behind it", len,
			    sizeof to->name - 1);
}

static bool
read_entry(struct front_server *server, struct front_host *host, const struct place *at,
	   struct error *err)
{
	struct view rest = at->entry, name = {0}, weight;

	if (cut_last(&rest, ' ', &name)) {
		rest = trimmed(rest);
		if (!is_name(name))
			return server_error(err, at,
					    "a name that is no plain word; expected " ENTRY_FORM);
	}
	if (!cut_last(&rest, ':', &weight))
		return server_error(err, at, "expected " ENTRY_FORM);
	if (!read_where(host, rest, at, err))
		return false;
	if (!read_number(weight, FRONT_WEIGHT_MAX, &server->weight))
		return server_error(err, at, "weight \"%.*s\": expected a number from 1 to %u",
				    (int)(weight.len < SHOWN ? weight.len : SHOWN),
				    (const char *)weight.data, FRONT_WEIGHT_MAX);
	if (server->weight == 0)
		return server_error(err, at,
				    "weight 0: no key would be there; leave the server out");
	return read_name(server, name, host, at, err);
}

static bool
add_entry(struct front_servers *servers, const struct place *at, struct error *err)
{
	const uint32_t n = servers->count;
	struct front_server server;
	struct front_host host;

	if (n == FRONT_SERVERS_MAX)
		return server_error(err, at, "more than %u servers", FRONT_SERVERS_MAX);
	if (!read_entry(&server, &host, at, err))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(servers->server[i].name, server.name) == 0)
			return server_error(err, at,
					    "the second server of the name %s; give each another",
					    server.name);
	servers->server[n] = server;
	servers->host[n] = host;
	servers->count++;
	return true;
}

/* Cuts off the first line of text, and returns it without its end. */
static struct view
cut_line(struct view *text)
{
	const uint8_t *at = memchr(text->data, '\n', text->len);
	const uint32_t len = at != NULL ? (uint32_t)(at - text->data) : text->len;
	const struct view line = {.data = text->data, .len = len};

	text->data += len + (at != NULL);
	text->len -= len + (at != NULL);
	return line;
}

bool
front_servers_read(struct front_servers *servers, const char *list, struct error *err)
{
	servers->count = 0;
	for (const char *p = list;; p++) {
		const struct view entry = {.data = (const uint8_t *)p,
					   .len = (uint32_t)strcspn(p, ",")};
		const struct place at = {.entry = trimmed(entry)};

		if (!add_entry(servers, &at, err))
			return false;
		p += entry.len;
		if (*p == '\0')
			return true;
	}
}

/* Returns the entry of a file's line, without a dash before it and a comment behind it. */
static struct view
entry_of(struct view line)
{
	for (uint32_t i = 0; i < line.len; i++)
		if (line.data[i] == '#' && (i == 0 || isspace(line.data[i - 1])))
			line.len = i;
	line = trimmed(line);
	if (line.len > 1 && line.data[0] == '-' && isspace(line.data[1]))
		line = trimmed((struct view){.data = line.data + 1, .len = line.len - 1});
	return line;
}

bool
front_servers_read_lines(struct front_servers *servers, const char *file, struct view text,
			 struct error *err)
{
	struct place at = {.file = file};

	servers->count = 0;
	while (text.len != 0) {
		at.line++;
		at.entry = entry_of(cut_line(&text));
		if (at.entry.len != 0 && !add_entry(servers, &at, err))
			return false;
	}
	return servers->count != 0 || error_set(err, "--front-servers: %s: no server in it", file);
}

bool
front_servers_load(struct front_servers *servers, const char *file, struct error *err)
{
	char text[FRONT_FILE_BYTES + 1];
	const ssize_t len = text_file_read(text, FRONT_FILE_BYTES, "--front-servers: ", file, err);

	if (len < 0)
		return false;
	return front_servers_read_lines(
		servers, file, (struct view){.data = (const uint8_t *)text, .len = (uint32_t)len},
		err);
}

uint32_t
front_servers_find(const struct front_servers *servers, const struct front_server *server,
		   const struct front_host *host)
{
	uint32_t i = 0;

	while (i < servers->count && (strcmp(servers->server[i].name, server->name) != 0 ||
				      strcmp(servers->host[i].host, host->host) != 0 ||
				      servers->host[i].port != host->port ||
				      servers->host[i].by_kernel != host->by_kernel))
		i++;
	return i;
}

const char *
front_host_text(const struct front_host *host, char text[FRONT_HOST_TEXT_BYTES])
{
	if (host->port == 0)
		snprintf(text, FRONT_HOST_TEXT_BYTES, "unix:%s", host->host);
	else
		snprintf(text, FRONT_HOST_TEXT_BYTES, "%s%s:%u", host->by_kernel ? "kernel:" : "",
			 host->host, host->port);
	return text;
}

bool
front_servers_same(const struct front_servers *a, const struct front_servers *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = strcmp(a->server[i].name, b->server[i].name) == 0 &&
		       a->server[i].weight == b->server[i].weight &&
		       strcmp(a->host[i].host, b->host[i].host) == 0 &&
		       a->host[i].port == b->host[i].port &&
		       a->host[i].by_kernel == b->host[i].by_kernel;
	return same;
}
