/*
 * serve_access.h - checks requests, and replies over UDP, against the policy and the table of
 * users.
 *
 * Private to lib/serve: serve_policy.c, serve_auth.c.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_ACCESS_H
#define CLOCKOO_SERVE_ACCESS_H

#include "serve_internal.h"

/* ---- the policy (serve_policy.c) ---- */

size_t policy_bytes(void);
void policy_create(struct serve *sv, struct region *region);
/* Copies the fields of the policy that never change. Called in the core's first turn. */
void policy_obey(struct serve *sv);

/* True if the policy permits a reply over UDP. asked: the request's bytes; answer: the bytes of all
 * datagrams of the reply. Frame headers do not count. */
bool udp_reply_allowed(struct serve *sv, const struct udp_peer *to, uint32_t asked,
		       uint32_t answer);
/* True if a datagram that is no request may be answered with an error. Every such error must
 * pass this check, since a peer that answers our error with an error would otherwise keep us in
 * a loop. */
bool udp_error_allowed(struct serve *sv, const struct udp_peer *to);

/* ---- users (serve_auth.c) ---- */

/* Replaces a request that must not be executed: before authentication by an error or OP_AUTH, after
 * it, if the user's role does not permit the request, by an error. line_len: bytes of the request's
 * line. False: the connection must be closed without a reply. */
bool auth_check(struct session *ss, struct mc_req *req, uint32_t line_len);
/* Appends a part of a token that arrives in pieces. Returns the number of bytes taken. */
uint32_t auth_token_append(struct session *ss, struct view src);
void auth_token_free(struct serve *sv, struct session *ss);
/* Switches to the current tables of users and sources. Called once a turn. */
void users_refresh(struct serve *sv);

enum exec_status execute_auth(struct serve *sv, struct op *op);
enum exec_status execute_auth_end(struct serve *sv, struct op *op);
enum exec_status execute_sasl(struct serve *sv, struct op *op);

#endif
