/*
 * http_listen.c - opens, checks and removes the listening socket of telemetry.http.
 */
#include "http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_MODE 0660

union any_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
};

static socklen_t
address_of(union any_address *to, const struct config_http *http)
{
	memset(to, 0, sizeof *to);
	if (config_http_is_path(http)) {
		to->path.sun_family = AF_UNIX;
		memcpy(to->path.sun_path, http->text, sizeof to->path.sun_path);
		return sizeof to->path;
	}
	if (ip_addr_is_v4(&http->ip)) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons((uint16_t)http->port);
		to->v4.sin_addr.s_addr = htonl(ip_addr_v4_get(&http->ip));
		return sizeof to->v4;
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons((uint16_t)http->port);
	memcpy(&to->v6.sin6_addr, http->ip.b, sizeof to->v6.sin6_addr);
	return sizeof to->v6;
}

static const char *
cure_of(int error, const struct config_http *http)
{
	switch (error) {
	case EADDRINUSE:
		return config_http_is_path(http)
			       ? "another program has it; name another path"
			       : "another program has it (ss -ltnp names it); give another port";
	case EADDRNOTAVAIL:
		return "no interface of the kernel has that address (ip addr lists them)";
	case EACCES:
		return config_http_is_path(http) ? "name a folder that this user may write to"
						 : "give a port above 1023";
	case ENOENT:
		return "its folder is not there";
	default:
		return "give another place, or leave it out";
	}
}

/* Removes a socket file that a killed process has left. */
static bool
path_clear(const union any_address *address, socklen_t len)
{
	struct stat st;
	int fd, rc;

	if (lstat(address->path.sun_path, &st) != 0)
		return true;
	if (!S_ISSOCK(st.st_mode))
		return errno = EEXIST, false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	rc = connect(fd, &address->any, len);
	close(fd);
	if (rc == 0 || errno != ECONNREFUSED)
		return errno = EADDRINUSE, false;
	return unlink(address->path.sun_path) == 0;
}

static int
listening(const struct config_http *http)
{
	const int on = 1;
	union any_address address;
	const socklen_t len = address_of(&address, http);
	const bool path = config_http_is_path(http);
	int fd, error;

	if (path && !path_clear(&address, len))
		return -1;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (!path)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (address.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, &address.any, len) == 0 && listen(fd, HTTP_BACKLOG) == 0 &&
	    (!path || chmod(http->text, SOCKET_MODE) == 0))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

bool
http_listen(int *fd, const struct config_http *http, struct error *err)
{
	*fd = -1;
	if (http->text[0] == '\0')
		return true;
	*fd = listening(http);
	return *fd >= 0 || error_set(err, "--telemetry-http: %s: %s: %s", http->text,
				     strerror(errno), cure_of(errno, http));
}

int
http_connect(const struct config_http *http, uint32_t wait_ms)
{
	const struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
	union any_address address;
	const socklen_t len = address_of(&address, http);
	const int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	if (connect(fd, &address.any, len) == 0)
		return fd;
	close(fd);
	return -1;
}

void
http_unlisten(int fd, const struct config_http *http)
{
	if (fd < 0)
		return;
	if (config_http_is_path(http))
		unlink(http->text);
	close(fd);
}

enum http_place
http_place_check(const struct config_http *http, struct error *err)
{
	int fd;

	if (http_listen(&fd, http, err)) {
		http_unlisten(fd, http);
		return HTTP_PLACE_FREE;
	}
	return errno == EADDRINUSE ? HTTP_PLACE_TAKEN : HTTP_PLACE_BAD;
}

bool
http_place_is_open(const struct config_http *http)
{
	const struct ip_addr one = {.b = {[15] = 1}};

	return !config_http_is_path(http) && !ip_addr_equal(&http->ip, &one) &&
	       !(ip_addr_is_v4(&http->ip) && ip_addr_v4_get(&http->ip) >> 24 == 127);
}
