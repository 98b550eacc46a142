/*
 * command_socket.c - listens, connects, refuses.
 */
#include "command_socket.h"
#include "name_claim.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "clockoo/"

socklen_t
command_socket_address(struct sockaddr_un *to, const char *file_prefix, const char *command)
{
	char *const path = to->sun_path + 1; /* the name follows a zero byte: it is abstract */
	int len;

	static_assert(sizeof PREFIX + CONFIG_NAME_BYTES + COMMAND_NAME_BYTES <= sizeof to->sun_path,
		      "a prefix of any length has an address");
	memset(to, 0, sizeof *to);
	to->sun_family = AF_UNIX;
	len = snprintf(path, sizeof to->sun_path - 1, PREFIX "%.*s/%s", (int)CONFIG_NAME_BYTES,
		       file_prefix, command);
	return (socklen_t)(path + len - (char *)to);
}

static int
socket_make(int flags)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
}

/* ---- the appliance's side ---- */

static void
warn(const char *file_prefix, const char *command, int why)
{
	char words[NAME_CLAIM_WORDS_BYTES] = "";
	struct sockaddr_un address;
	const socklen_t len = command_socket_address(&address, file_prefix, command);
	const int fd = socket_make(SOCK_NONBLOCK);

	if (why == EADDRINUSE && fd >= 0 &&
	    connect(fd, (const struct sockaddr *)&address, len) == 0) {
		const struct name_holder holder = name_holder_of(fd);

		name_holder_words(words, &holder);
	}
	if (fd >= 0)
		close(fd);
	fprintf(stderr,
		"clockoo: warning: `clockoo %s` cannot be used: its socket for --file-prefix %s: "
		"%s%s%s\n",
		command, file_prefix, strerror(why), words[0] != '\0' ? ", held by " : "", words);
}

int
command_socket_listen(const char *file_prefix, const char *command)
{
	struct sockaddr_un address;
	const socklen_t len = command_socket_address(&address, file_prefix, command);
	const int fd = socket_make(SOCK_NONBLOCK);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, len) == 0 &&
	    listen(fd, COMMAND_BACKLOG) == 0)
		return fd;
	warn(file_prefix, command, errno);
	if (fd >= 0)
		close(fd);
	return -1;
}

bool
command_socket_lets_in(int fd, uid_t starter)
{
	struct ucred who;
	socklen_t len = sizeof who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	       (who.uid == 0 || who.uid == starter);
}

void
command_socket_refuse(int fd, const char *words)
{
	char line[ERROR_BYTES], byte;
	int len;

	/* Reads a byte of the request. If a socket is closed with unread data, the kernel reports
	 * an error to the client, which then misses the line. */
	recv(fd, &byte, sizeof byte, MSG_DONTWAIT);
	len = snprintf(line, sizeof line, "%c%s", COMMAND_REFUSED, words);
	send(fd, line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1,
	     MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- the command's side ---- */

int
command_socket_connect(const char *file_prefix, const char *command, const char *needs,
		       struct error *err)
{
	char words[NAME_CLAIM_WORDS_BYTES];
	struct sockaddr_un address;
	const socklen_t len = command_socket_address(&address, file_prefix, command);
	const int fd = socket_make(0);
	struct name_holder holder;

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, len) == 0) {
		holder = name_holder_of(fd);
		if (holder.kind == NAME_TRUSTED)
			return fd;
		error_set(err,
			  "%s: the name of --file-prefix %s is held by %s, neither root nor you "
			  "nor %s; if that is the appliance, run the command as its user",
			  command, file_prefix, name_holder_words(words, &holder),
			  NAME_CLAIM_SERVICE_USER);
	} else {
		error_set(err,
			  "%s: no appliance with --file-prefix %s%s is here: %s; name its "
			  "--file-prefix or --config, and go to its network namespace (nsenter "
			  "-n)",
			  command, file_prefix, needs, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

bool
command_socket_refused(const char *command, const uint8_t *line, size_t bytes, struct error *err)
{
	char text[ERROR_BYTES] = "";

	for (size_t i = 0; i < bytes && i < sizeof text - 1; i++)
		text[i] = line[i] >= ' ' && line[i] < 127 ? (char)line[i] : '?';
	return error_set(err, "%s: %s", command, text);
}
