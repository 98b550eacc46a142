/*
 * mc_command.h - command lines that are not retrievals: the words after the verb.
 *
 * Private to lib/proto: mc_text.c finds the line and its verb, mc_command.c reads the rest, with
 * mc_meta_read.c and mc_admin.c.
 *
 * Thread: pure functions.
 * Errors: a wrong line becomes MC_BAD with the error to answer.
 */
#ifndef CLOCKOO_MC_COMMAND_H
#define CLOCKOO_MC_COMMAND_H

#include "mc_req.h"
#include "mc_tokens.h"

/* Returns the table's first row with this first word; MC_BAD: there is none. */
enum mc_verb mc_verb_of(struct view word);
/* Returns the row of a command of two words, given the first row with its first word; MC_BAD: no
 * such subcommand. */
enum mc_verb mc_verb_subcommand(enum mc_verb verb, struct view subcommand);

/* Reads the arguments of a command into *req, whose fields before the union are zero. line: the
 * whole line without its end, at least one byte. False: close the connection without an answer. */
bool mc_command_parse(struct mc_req *req, enum mc_verb verb, struct view line);

/* Reads the length of a text body, and sets its flag. False if it is no length. */
bool mc_body_parse(struct mc_req *req, struct view word);

/* Reads a meta command (mc_meta_read.c). */
void mc_meta_read(struct mc_req *req, const struct mc_tokens *w);
void mc_meta_body_read(struct mc_req *req, const struct mc_tokens *w);
void mc_meta_debug_read(struct mc_req *req, const struct mc_tokens *w);

/* Reads an administrative command (mc_admin.c). */
void mc_admin_read(struct mc_req *req, const struct mc_tokens *w, enum mc_syntax syntax);
/* Reads on, off or dump. False if it is none of them. */
bool mc_detail_parse(struct mc_admin *admin, struct view word);

#endif
