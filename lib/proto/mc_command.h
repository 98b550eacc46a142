/*
 * mc_command.h - command lines that are not retrievals: what stands behind the verb.
 *
 * Private to lib/proto: mc_text.c finds the line and its verb, mc_command.c reads the rest.
 *
 * Thread: pure functions.
 * Errors: a line that is wrong becomes MC_BAD with the error to answer.
 */
#ifndef CLOCKOO_MC_COMMAND_H
#define CLOCKOO_MC_COMMAND_H

#include "mc_req.h"

/* The verb a word names; MC_BAD if it is none. */
enum mc_verb mc_verb_of(struct view word);

/* Read the line (its end cut off, at least one byte) of verb into *req, which holds zeros.
 * False: not worth an answer, close the connection. */
bool mc_command_parse(struct mc_req *req, enum mc_verb verb, struct view line);

#endif
