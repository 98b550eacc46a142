/*
 * reload.h - SIGHUP: reads the configuration and the users' file again.
 *
 * Shape:  applies each key that can change while the cores turn, and reports each other changed key
 *         in one line. A file with an error changes nothing.
 * Thread: the control thread. Reading the file uses the heap.
 * Errors: lines on stderr.
 */
#ifndef CLOCKOO_RELOAD_H
#define CLOCKOO_RELOAD_H

struct control;

void reload_all(struct control *c);
/* With --gateway6 auto: gives the cores a default route to the router that advertises itself.
 * Called once a second. */
void follow_router(struct control *c);
/* Reads the certificates again, and answers the clients that have requested it. */
void reload_certs(struct control *c);

#endif
