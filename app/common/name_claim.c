/*
 * name_claim.c - binds an abstract name, and asks the kernel for the process that holds one.
 */
#include "name_claim.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAITING_MAX 64 /* Refused processes that may wait for the holder's ID at a time. */
#define TRY_NS      1000000L

static socklen_t
address_of(struct sockaddr_un *to, const char *name)
{
	const size_t len = strnlen(name, sizeof to->sun_path - 1);

	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(to->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static bool
is_trusted(uid_t uid)
{
	const struct passwd *service;

	if (uid == 0 || uid == geteuid())
		return true;
	service = getpwnam(NAME_CLAIM_SERVICE_USER);
	return service != NULL && service->pw_uid == uid;
}

struct name_holder
name_holder_of(int fd)
{
	struct ucred who;
	socklen_t bytes = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0)
		return (struct name_holder){.kind = NAME_STRANGER};
	return (struct name_holder){is_trusted(who.uid) ? NAME_TRUSTED : NAME_STRANGER, who.pid,
				    who.uid};
}

/* Looks once for the name's holder. *why is ECONNREFUSED if the name is free, or if its holder does
 * not listen yet. */
static struct name_holder
lookup_once(const struct sockaddr_un *address, socklen_t bytes, int *why)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct name_holder holder = {.kind = NAME_FREE};

	*why = 0;
	if (fd < 0)
		return holder;
	if (connect(fd, (const struct sockaddr *)address, bytes) == 0)
		holder = name_holder_of(fd);
	else
		*why = errno;
	close(fd);
	if (*why != 0 && *why != ECONNREFUSED)
		holder.kind = NAME_STRANGER;
	return holder;
}

struct name_holder
name_claim_lookup(const char *name)
{
	struct sockaddr_un address;
	const socklen_t bytes = address_of(&address, name);
	int why;

	return lookup_once(&address, bytes, &why);
}

/* Returns the holder of a name that is known to be held. */
static struct name_holder
holder_of(const struct sockaddr_un *address, socklen_t bytes)
{
	struct name_holder holder = {.kind = NAME_FREE};
	int why = ECONNREFUSED;

	for (uint32_t i = 0; i < NAME_CLAIM_TRIES && why == ECONNREFUSED; i++) {
		if (i != 0)
			nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
		holder = lookup_once(address, bytes, &why);
	}
	if (holder.kind == NAME_FREE)
		holder.kind = NAME_STRANGER;
	return holder;
}

int
name_claim_take(const char *name, struct name_holder *holder)
{
	struct sockaddr_un address;
	const socklen_t bytes = address_of(&address, name);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int why;

	*holder = (struct name_holder){.kind = NAME_FREE};
	if (fd < 0)
		return NAME_CLAIM_NONE;
	if (bind(fd, (const struct sockaddr *)&address, bytes) == 0 && listen(fd, WAITING_MAX) == 0)
		return fd;
	why = errno;
	close(fd);
	if (why == EADDRINUSE)
		*holder = holder_of(&address, bytes);
	errno = why;
	return NAME_CLAIM_NONE;
}

const char *
name_holder_words(char words[NAME_CLAIM_WORDS_BYTES], const struct name_holder *holder)
{
	if (holder->pid > 0)
		snprintf(words, NAME_CLAIM_WORDS_BYTES, "process %ld of user %ld",
			 (long)holder->pid, (long)holder->uid);
	else
		snprintf(words, NAME_CLAIM_WORDS_BYTES, "another process");
	return words;
}

void
name_claim_warn(FILE *to, const struct name_holder *holder, const char *what)
{
	char words[NAME_CLAIM_WORDS_BYTES];

	fprintf(to,
		"%s: warning: %s holds the name that keeps a second instance off %s, and is "
		"neither "
		"root nor this user nor %s; this one starts all the same\n",
		program_invocation_short_name, name_holder_words(words, holder), what,
		NAME_CLAIM_SERVICE_USER);
}

bool
name_claim_prefix(const char *prefix, int *claim, struct error *err)
{
	char name[sizeof "clockoo/" + CONFIG_NAME_BYTES], what[CONFIG_NAME_BYTES + 16];
	struct name_holder holder;

	snprintf(name, sizeof name, "clockoo/%s", prefix);
	*claim = name_claim_take(name, &holder);
	if (*claim != NAME_CLAIM_NONE)
		return true;
	if (holder.kind == NAME_FREE)
		return error_set(err, "--file-prefix: cannot claim \"%s\": %s", prefix,
				 strerror(errno));
	if (holder.kind == NAME_TRUSTED)
		return error_set(err,
				 "--file-prefix: \"%s\" is in use by another instance, process "
				 "%ld; give this one another name",
				 prefix, (long)holder.pid);
	snprintf(what, sizeof what, "--file-prefix %s", prefix);
	name_claim_warn(stderr, &holder, what);
	return true;
}
