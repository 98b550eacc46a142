/*
 * http_absent.c - telemetry.http of a program built without libmicrohttpd: refuses it.
 */
#include "http_server.h"

bool
http_is_built(struct error *err)
{
	return error_set(err, "--telemetry-http: this program was built without libmicrohttpd; "
			      "install libmicrohttpd-dev and build it again, or leave it out");
}

bool
http_start(struct http_server **server, const struct http_at *at, struct error *err)
{
	*server = NULL;
	return at->fd < 0 || http_is_built(err);
}

bool
http_serve(struct http_server *server, const struct stat_source *rows, struct error *err)
{
	(void)server, (void)rows, (void)err;
	return true;
}

void
http_stopping(struct http_server *server)
{
	(void)server;
}

void
http_draining(struct http_server *server)
{
	(void)server;
}

void
http_set_stuck(struct http_server *server, bool stuck)
{
	(void)server, (void)stuck;
}

int
http_fd(const struct http_server *server)
{
	(void)server;
	return -1;
}

bool
http_run(struct http_server *server, uint64_t now_ns)
{
	(void)server, (void)now_ns;
	return false;
}

void
http_stop(struct http_server *server)
{
	(void)server;
}
