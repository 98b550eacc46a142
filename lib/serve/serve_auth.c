/*
 * serve_auth.c - authentication: the table of users, and the check of every request. In text the
 * first command is `set <any key> <flags> <exptime> <bytes>` with "user password" as its body
 * (memcached doc/protocol.txt); in binary it is SASL PLAIN (RFC 4616). A token, which is the body,
 * has at most AUTH_TOKEN_MAX bytes.
 */
#include "serve_access.h"
#include "serve_execute.h"

#define AUTH_TOKEN_MAX 16384u /* as in memcached */
#define AUTH_LINE_MIN  6u     /* as in memcached: no set is shorter */
#define ROLES_A_TURN   1024u  /* sessions whose role is refreshed in one turn */

/* ---- the table ---- */

/* True if the bytes differ. All bytes are compared, so that the time does not show how many are
 * equal. */
static bool
bytes_differ(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	uint8_t differ = 0;

	for (uint32_t i = 0; i < len; i++)
		differ |= a[i] ^ b[i];
	return differ != 0;
}

/* Returns the first user with this name and password, or NULL. */
static const struct serve_user *
users_match(const struct serve *sv, struct view name, struct view password)
{
	const struct serve_users *users = &sv->shared->users[sv->users_version % 2];
	const struct serve_user *found = NULL;

	for (uint32_t i = 0; i < users->count; i++) {
		const struct serve_user *u = &users->user[i];

		if (u->name_len == name.len && u->password_len == password.len &&
		    !bytes_differ(u->bytes, name.data, name.len) &&
		    !bytes_differ(u->bytes + u->name_len, password.data, password.len))
			found = found == NULL ? u : found;
	}
	return found;
}

/* Applies the state of a drain to this core's connections. */
static void
drain_refresh(struct serve *sv, enum serve_drain how)
{
	static const enum conn_refusal refusal[] = {
		[SERVE_DRAIN_RESET] = REFUSE_RESET,
		[SERVE_DRAIN_SILENT] = REFUSE_SILENT,
		[SERVE_DRAIN_CLOSE_LAST] = REFUSE_SILENT,
		[SERVE_DRAIN_CLOSE_IDLE] = REFUSE_SILENT,
	};

	stack_refuse(sv->stack, refusal[how]);
	sv->closes_behind = how >= SERVE_DRAIN_CLOSE;
	sv->closes_idle = how == SERVE_DRAIN_CLOSE_IDLE;
}

/* Applies a new access list or table of addresses to some connections in each turn. False: more are
 * left. Until none is, the old user table stays in use. */
static bool
access_refresh(struct serve *sv)
{
	const struct serve_shared *shared = sv->shared;

	drain_refresh(sv, (enum serve_drain)shared->drain);
	if (sv->access == shared->access && sv->addrs == shared->addrs && sv->access_slot == 0)
		return true;
	sv->access = shared->access;
	stack_access_set(sv->stack, sv->access);
	if (sv->addrs != shared->addrs)
		stack_addrs_set(sv->stack, shared->addrs);
	sv->addrs = shared->addrs;
	sv->access_slot = stack_access_enforce(sv->stack, sv->access_slot);
	return sv->access_slot == 0;
}

/* Returns the role of the user with this ID; MC_ROLE_NONE if the current table has no such user. */
static enum mc_role
role_of(const struct serve *sv, uint32_t user)
{
	const struct serve_users *users = &sv->shared->users[sv->users_version % 2];

	for (uint32_t i = 0; i < users->count; i++)
		if (users->user[i].id == user)
			return (enum mc_role)users->user[i].role;
	return MC_ROLE_NONE;
}

/* Gives the session the present role of its user. A watcher sends no requests that could be refused
 * later, so it is closed here. */
static void
role_refresh(struct serve *sv, struct session *ss)
{
	ss->role = role_of(sv, ss->user);
	if (ss->role == MC_ROLE_NONE)
		ss->user = 0;
	if (ss->sched == SCHED_WATCHER && ss->role != MC_ROLE_ADMIN)
		session_close(sv, ss);
}

/* Refreshes the roles of some sessions in each turn after the table has changed. */
static void
roles_refresh(struct serve *sv)
{
	for (uint32_t i = 0; i < ROLES_A_TURN && sv->role_slot < sv->cfg.conns_max; i++) {
		struct session *ss = &sv->sessions[sv->role_slot++];

		if (ss->conn != NULL && ss->user != 0)
			role_refresh(sv, ss);
	}
}

/* Switches to the current tables. Called once a turn. */
void
users_refresh(struct serve *sv)
{
	/* Acquire: pairs with the release in serve_users_replace_mt and serve_access_replace_mt;
	 * makes the tables visible. */
	const uint32_t turn =
		atomic_load_explicit(&sv->shared->users_version, memory_order_acquire);

	if (unlikely(sv->role_slot < sv->cfg.conns_max))
		roles_refresh(sv);
	if (likely(turn == sv->users_version) || !access_refresh(sv))
		return;
	sv->users_version = turn;
	sv->role_slot = 0;
	roles_refresh(sv);
	/* Release: pairs with the acquire in users_grace_period_over; this core has stopped
	 * reading the other table. */
	atomic_store_explicit(&sv->shared->users_version_seen[sv->cfg.core], turn,
			      memory_order_release);
}

static bool
authenticate(struct serve *sv, struct session *ss, struct view name, struct view password)
{
	const struct serve_user *user = users_match(sv, name, password);

	ss->user = user != NULL ? user->id : 0;
	ss->role = user != NULL ? user->role : MC_ROLE_NONE;
	serve_count(sv, AUTH_CMDS);
	if (ss->role == MC_ROLE_NONE)
		serve_count(sv, AUTH_ERRORS);
	return ss->role != MC_ROLE_NONE;
}

/* ---- text ---- */

static void
auth_refuse(struct session *ss, struct mc_req *req, enum mc_error error)
{
	/* A line gets one reply, even if it has several keys or noreply. */
	if (ss->parser.in_line)
		ss->parser = (struct mc_parser){.swallow = MC_SWALLOW_LINE,
						.protocol = ss->parser.protocol};
	req->verb = MC_BAD;
	req->error = (uint8_t)error;
	req->flags = MC_FIRST | MC_LAST;
}

static bool
auth_check_text(struct session *ss, struct mc_req *req, uint32_t line_len)
{
	if (line_len < AUTH_LINE_MIN)
		return false;
	if (req->verb != MC_SET) {
		auth_refuse(ss, req, MC_ERR_UNAUTHENTICATED);
	} else if (req->body_len > AUTH_TOKEN_MAX) {
		auth_refuse(ss, req, MC_ERR_AUTH_LONG);
	} else {
		req->verb = OP_AUTH;
		req->flags &= (uint8_t)~MC_NOREPLY;
	}
	return true;
}

static void
auth_check_binary(struct mc_req *req)
{
	if (req->verb == MC_BIN_VERSION ||
	    (req->verb >= MC_BIN_SASL_LIST && req->verb <= MC_BIN_SASL_STEP))
		return;
	req->verb = MC_BAD;
	req->error = MC_ERR_UNAUTHENTICATED;
	req->flags = (uint8_t)((req->flags | MC_CLOSE_AFTER) & ~(MC_HAS_BODY | MC_QUIET));
}

/* Refuses a request that the user's role does not permit. The connection stays open, and the
 * request's body is skipped. */
static bool
role_check(struct session *ss, struct mc_req *req)
{
	if (req->verb == MC_BAD || mc_req_role(req) <= ss->role)
		return true;
	if (ss->parser.in_line) {
		auth_refuse(ss, req, MC_ERR_ROLE);
		return true;
	}
	req->flags &= (uint8_t)~MC_QUIET;
	mc_bad(req, MC_ERR_ROLE);
	return true;
}

bool
auth_check(struct session *ss, struct mc_req *req, uint32_t line_len)
{
	if (ss->role != MC_ROLE_NONE)
		return role_check(ss, req);
	if ((req->flags & MC_BINARY) == 0)
		return auth_check_text(ss, req, line_len);
	auth_check_binary(req);
	return true;
}

/* Authenticates by "user password". The name ends at the first space. */
static void
token_verify(struct serve *sv, struct op *op, struct view token)
{
	const uint8_t *space = memchr(token.data, ' ', token.len);
	struct view name, password;

	if (space == NULL) {
		reply_error(sv, op, MC_ERR_AUTH_FORMAT);
		return;
	}
	name = (struct view){token.data, (uint32_t)(space - token.data)};
	password = (struct view){space + 1, token.len - name.len - 1};
	if (authenticate(sv, op->session, name, password))
		reply_line(sv, op, mc_reply_line[MC_STORED]);
	else
		reply_error(sv, op, MC_ERR_AUTH_FAILED);
}

enum exec_status
execute_auth(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const uint32_t len = op->req.body_len;

	if (op->body.data == NULL) {
		ss->token.bytes = stack_chunk_get(sv->stack);
		ss->token.len = 0;
		ss->filling_req = op->req;
		ss->bad_end = false;
		ss->body_left = (uint64_t)len + 2;
		ss->body_end = 2;
		ss->body = ss->token.bytes != NULL ? BODY_TOKEN : BODY_SWALLOW;
		if (ss->token.bytes == NULL)
			reply_error(sv, op, MC_ERR_OUT_OF_MEMORY);
	} else if (memcmp(op->body.data + len, "\r\n", 2) != 0) {
		reply_error(sv, op, MC_ERR_AUTH_END);
	} else {
		token_verify(sv, op, (struct view){op->body.data, len});
	}
	return EXEC_DONE;
}

/* Stores bytes of a token, up to one chunk. A longer token is read to its end, and matches no
 * user. */
uint32_t
auth_token_append(struct session *ss, struct view src)
{
	const uint64_t left = ss->body_left > 2 ? ss->body_left - 2 : 0;
	const uint32_t n = src.len < left ? src.len : (uint32_t)left;
	const uint32_t room = CHUNK_BYTES - ss->token.len;
	const uint32_t kept = n < room ? n : room;

	if (left == 0) {
		if (src.data[0] != (ss->body_left == 2 ? '\r' : '\n'))
			ss->bad_end = true;
		return 1;
	}
	memcpy(ss->token.bytes + ss->token.len, src.data, kept);
	ss->token.len += kept;
	return n;
}

enum exec_status
execute_auth_end(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	if (ss->bad_end)
		reply_error(sv, op, MC_ERR_AUTH_END);
	else
		token_verify(sv, op, (struct view){ss->token.bytes, ss->token.len});
	auth_token_free(sv, ss);
	return EXEC_DONE;
}

void
auth_token_free(struct serve *sv, struct session *ss)
{
	if (ss->token.bytes == NULL)
		return;
	stack_chunk_put(sv->stack, ss->token.bytes);
	ss->token.bytes = NULL;
}

/* ---- SASL ---- */

#define MECHANISM "PLAIN"

static bool
is_plain(struct view mechanism)
{
	return view_equal(mechanism,
			  (struct view){(const uint8_t *)MECHANISM, sizeof MECHANISM - 1});
}

/* The message is [authzid] NUL authcid NUL passwd (RFC 4616). The authzid is ignored. */
static bool
plain_verify(struct serve *sv, struct session *ss, struct view text)
{
	const uint8_t *end = text.data + text.len;
	const uint8_t *name = text.len > 0 ? memchr(text.data, '\0', text.len) : NULL;
	const uint8_t *password =
		name != NULL ? memchr(name + 1, '\0', (size_t)(end - name - 1)) : NULL;

	if (password == NULL) {
		serve_count(sv, AUTH_CMDS);
		serve_count(sv, AUTH_ERRORS);
		return false;
	}
	return authenticate(sv, ss, (struct view){name + 1, (uint32_t)(password - name - 1)},
			    (struct view){password + 1, (uint32_t)(end - password - 1)});
}

static void
reply_text(struct serve *sv, struct op *op, const char *text)
{
	const struct view v = {(const uint8_t *)text, (uint32_t)strlen(text)};
	uint8_t *at = reply_begin(sv, op, MC_BIN_HEAD_BYTES + v.len);

	reply_end(sv, op, at, mc_put_bin_text(at, mc_bin_echo(&op->req), v));
}

enum exec_status
execute_sasl(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	if (!sv->auth)
		reply_status(sv, op, MC_STATUS_UNKNOWN);
	else if (op->req.verb == MC_BIN_SASL_LIST)
		reply_text(sv, op, MECHANISM);
	else if (is_plain(op->req.key) && plain_verify(sv, ss, op->req.admin.text))
		reply_text(sv, op, "Authenticated");
	else
		reply_status(sv, op, MC_STATUS_AUTH);
	return EXEC_DONE;
}
