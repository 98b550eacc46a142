/*
 * mc_command.h - command lines that are not retrievals: the words after the verb.
 *
 * Private to lib/proto: mc_text.c finds the line and its verb, mc_command.c reads the rest, with
 * mc_meta_read.c and mc_admin.c.
 *
 * Thread: pure functions.
 * Errors: a line that is wrong becomes MC_BAD with the error to answer.
 */
#ifndef CLOCKOO_MC_COMMAND_H
#define CLOCKOO_MC_COMMAND_H

#include "mc_req.h"
#include "mc_tokens.h"

/* Returns the table's first row with this first word, MC_BAD if there is none. */
enum mc_verb mc_verb_of(struct view word);
/* Returns the row with this subcommand, MC_BAD if there is none; verb is the first row with the
 * first word. */
enum mc_verb mc_verb_subcommand(enum mc_verb verb, struct view subcommand);

/* Read the line (its end cut off, at least one byte) of verb into *req, whose fields before the
 * union are zero. False: not worth an answer, close the connection. */
bool mc_command_parse(struct mc_req *req, enum mc_verb verb, struct view line);

/* The length of a body of text, with its flag; false if it is none. */
bool mc_body_parse(struct mc_req *req, struct view word);

/* Meta commands (mc_meta_read.c). */
void mc_meta_read(struct mc_req *req, const struct mc_tokens *w);
void mc_meta_body_read(struct mc_req *req, const struct mc_tokens *w);
void mc_meta_debug_read(struct mc_req *req, const struct mc_tokens *w);

/* Administrative commands (mc_admin.c). */
void mc_admin_read(struct mc_req *req, const struct mc_tokens *w, enum mc_syntax syntax);
/* on, off, dump; false: none of them. */
bool mc_detail_parse(struct mc_admin *admin, struct view word);

#endif
