/*
 * command_socket.h - the socket by which a command of this program finds a running appliance.
 *
 * Shape:  an abstract Unix socket of messages, named by the appliance's --file-prefix and the
 *         command (unix(7)). It ends with the process and needs no folder to write to. A message
 *         is a byte that says what it is, and its contents; COMMAND_REFUSED has a line of text.
 *
 * Owner:  descriptors are the caller's.
 *
 * Thread: any.
 *
 * Errors: struct error, or -1 with errno.
 *
 * Bounds: COMMAND_BACKLOG connections wait.
 */
#ifndef CLOCKOO_COMMAND_SOCKET_H
#define CLOCKOO_COMMAND_SOCKET_H

#include "config/config.h"

#include <sys/socket.h>
#include <sys/un.h>

#define COMMAND_BACKLOG    4
#define COMMAND_NAME_BYTES 16u /* of a command, with its zero */
#define COMMAND_REFUSED    'E'

/* Fills in the socket's address. Returns its length. */
socklen_t command_socket_address(struct sockaddr_un *to, const char *file_prefix,
				 const char *command);
/* Returns a listening descriptor. If there is none, prints a warning that names the holder of the
 * name, and returns -1. */
int command_socket_listen(const char *file_prefix, const char *command);
/* True if the peer is root or the user `starter`. */
bool command_socket_lets_in(int fd, uid_t starter);
/* Refuses a client with a line. */
void command_socket_refuse(int fd, const char *words);
/* Returns a connection to a holder of the name that may be trusted, or -1. needs: what an appliance
 * has to have to take the command, such as " and memory.save", for the reason. */
int command_socket_connect(const char *file_prefix, const char *command, const char *needs,
			   struct error *err);
/* Sets *err to the line of a refusal. Another program may have the name, so bytes that could
 * control a terminal become question marks. Returns false. */
bool command_socket_refused(const char *command, const uint8_t *line, size_t bytes,
			    struct error *err);

#endif
