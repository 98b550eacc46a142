/*
 * reload.h - SIGHUP: the configuration and the users' file are read again.
 *
 * Shape:  settings that can change while cores turn change; each other key that differs is reported
 *         in a line. A file with an error changes nothing.
 * Thread: the control thread; the heap is used while the file is read.
 * Errors: lines on stderr.
 */
#ifndef CLOCKOO_RELOAD_H
#define CLOCKOO_RELOAD_H

struct control;

void reload_all(struct control *c);
/* Gives the cores a default route to the router that advertises itself, with --gateway6 auto.
 * Called once a second. */
void follow_router(struct control *c);
/* Reads the certificates again, and answers the clients that asked for it. */
void reload_certs(struct control *c);

#endif
