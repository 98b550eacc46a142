/*
 * users.c - reads the users of the file that -Y names, and gives them to the cores.
 */
#include "users.h"
#include "paths.h"
#include "proto/mc_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)AUTH_READ == MC_ROLE_READ && (int)AUTH_ADMIN == MC_ROLE_ADMIN,
	      "the file's roles are serve's");
static_assert(AUTH_USERS_MAX <= SERVE_USERS_MAX && AUTH_USER_BYTES <= SERVE_USER_BYTES,
	      "serve takes whatever the file may hold");

/* Returns the name of the users' file. With -S the environment names it, as for memcached's SASL
 * build. */
static const char *
file_of(const struct config *cfg)
{
	if (cfg->auth_file[0] != '\0')
		return cfg->auth_file;
	return cfg->sasl ? getenv("MEMCACHED_SASL_PWDB") : NULL;
}

bool
users_begin(struct users *u, const struct config *cfg, struct error *err)
{
	const char *file = file_of(cfg);

	*u = (struct users){0};
	if (file == NULL && cfg->sasl)
		return error_set(err, "--enable-sasl: no users; name their file with -Y or "
				      "MEMCACHED_SASL_PWDB");
	if (file == NULL)
		return true;
	if (!paths_make_absolute(u->path, sizeof u->path, file))
		return error_set(err, "--auth-file: cannot determine the current directory");
	u->pending = true;
	if (!auth_file_load(&u->now, file, err))
		return false;
	if (auth_file_is_open(u->path))
		fprintf(stderr, "clockoo: " AUTH_FILE_OPEN_FORMAT "\n", "auth.file", u->path);
	return true;
}

bool
users_file_is_open(const struct config *cfg, const char **file)
{
	*file = file_of(cfg);
	return *file != NULL && auth_file_is_open(*file);
}

void
users_reload(struct users *u)
{
	struct error err;

	if (u->path[0] == '\0')
		return;
	if (!auth_file_load(&u->now, u->path, &err)) {
		fprintf(stderr, "clockoo: %s; the users are unchanged\n", err.text);
		return;
	}
	u->pending = true;
	fprintf(stderr, "clockoo: reload: %s: %u user%s\n", u->path, u->now.count,
		u->now.count == 1 ? "" : "s");
}

void
users_apply(struct users *u, struct serve_shared *shared)
{
	struct serve_users table = {.count = u->now.count};

	if (!u->pending)
		return;
	for (uint32_t i = 0; i < u->now.count; i++) {
		const struct auth_user *from = &u->now.user[i];
		struct serve_user *to = &table.user[i];

		to->role = from->role;
		to->name_len = from->name_len;
		to->password_len = from->word_len;
		memcpy(to->bytes, from->bytes, sizeof from->bytes);
	}
	u->pending = !serve_users_replace_mt(shared, &table);
}
