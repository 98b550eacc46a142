/*
 * command_socket.h - the socket by which a command of this program finds a running appliance.
 *
 * Shape:  an abstract Unix socket of messages (unix(7)). Its name is made of the appliance's
 *         --file-prefix and the command. It ends with the process and needs no folder. A message is
 *         a byte with its kind, and its contents. COMMAND_REFUSED has a line of text.
 *
 * Owner:  the caller has the descriptors.
 *
 * Thread: any.
 *
 * Errors: struct error, or -1 with errno.
 *
 * Bounds: COMMAND_BACKLOG connections wait to be accepted.
 */
#ifndef CLOCKOO_COMMAND_SOCKET_H
#define CLOCKOO_COMMAND_SOCKET_H

#include "config/config.h"

#include <sys/socket.h>
#include <sys/un.h>

#define COMMAND_BACKLOG    4
#define COMMAND_NAME_BYTES 16u /* name of a command, with its zero byte */
#define COMMAND_REFUSED    'E'

/* Fills in the socket's address. Returns its length. */
socklen_t command_socket_address(struct sockaddr_un *to, const char *file_prefix,
				 const char *command);
/* Returns a listening descriptor. -1: another process has the name; a warning on stderr names
 * it. */
int command_socket_listen(const char *file_prefix, const char *command);
/* True if the client is root or the user `starter`. */
bool command_socket_lets_in(int fd, uid_t starter);
/* Refuses a client with this line. */
void command_socket_refuse(int fd, const char *words);
/* Connects to the appliance of the name. Returns the descriptor, or -1 if none is there that may be
 * trusted. needs ends the reason, as " and memory.save": the facility that an appliance must have
 * for the command. */
int command_socket_connect(const char *file_prefix, const char *command, const char *needs,
			   struct error *err);
/* Sets *err to the line of a refusal. Bytes that could control a terminal become question marks,
 * since another program may have taken the name. Returns false. */
bool command_socket_refused(const char *command, const uint8_t *line, size_t bytes,
			    struct error *err);

#endif
