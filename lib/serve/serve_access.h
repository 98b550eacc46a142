/*
 * serve_access.h - what the policy and the table of users allow: requests, replies over UDP.
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
/* In a core's first turn: the fields of the policy that do not change later. */
void policy_obey(struct serve *sv);

/* Whether the policy lets a reply go out over UDP. asked and answer are bytes behind the frame
 * header, of a request and of all its datagrams. */
bool udp_reply_allowed(struct serve *sv, const struct udp_peer *to, uint32_t asked,
		       uint32_t answer);
/* Whether what is no request may be answered with an error. Always asked: a peer that takes our
 * error for something to answer, and answers with what we take for none, would go on for ever. */
bool udp_error_allowed(struct serve *sv, const struct udp_peer *to);

/* ---- users (serve_auth.c) ---- */

/* Turns the request of a connection without a user into an error, or OP_AUTH. line_len is of its
 * line. False: the connection is closed unanswered. */
bool auth_check(struct session *ss, struct mc_req *req, uint32_t line_len);
/* Part of a token that comes in pieces; returns the bytes taken. */
uint32_t auth_token_append(struct session *ss, struct view src);
void auth_token_free(struct serve *sv, struct session *ss);
/* Once a turn: the current table. */
void users_refresh(struct serve *sv);

enum exec_status execute_auth(struct serve *sv, struct op *op);
enum exec_status execute_auth_end(struct serve *sv, struct op *op);
enum exec_status execute_sasl(struct serve *sv, struct op *op);

#endif
