#include "background.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The second process closes its end without a word only by ending. */
static int
wait_for(pid_t pid, int fd)
{
	char word;
	int status;

	if (read(fd, &word, 1) == 1)
		return 0;
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status);
	return FAULT_GENERAL;
}

bool
background_begin(struct background *b, int *status)
{
	int ends[2];
	pid_t pid;

	*status = FAULT_OS;
	if (pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
		perror("clockoo: -d: cannot fork");
		return false;
	}
	if (pid == 0) {
		close(ends[0]);
		b->ready_fd = ends[1];
		setsid();
		return true;
	}
	close(ends[1]);
	*status = wait_for(pid, ends[0]);
	return false;
}

void
background_ready(struct background *b, const struct config *cfg)
{
	int null_fd;

	if (b->ready_fd < 0)
		return;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (!cfg->coredumps && chdir("/") != 0)
		perror("clockoo: -d: cannot leave the folder");
	/* As memcached: who asked for words keeps hearing them. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && cfg->verbosity == 0; fd++)
		dup2(null_fd, fd);
	close(null_fd);
	if (write(b->ready_fd, "r", 1) != 1)
		perror("clockoo: -d: nobody waited");
	close(b->ready_fd);
	b->ready_fd = -1;
}
