/*
 * capture_command.c - `clockoo capture`: reads the options, asks the appliance for frames, and
 * writes them to the file.
 */
#include "capture_command.h"
#include "capture_filter.h"

#include "base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define USAGE                                                                                      \
	"clockoo capture FILE.pcapng [FILTER] [--count N] [--seconds N] [--snap BYTES] "           \
	"[--size BYTES] [--file-prefix NAME] [--config FILE]"
#define FILE_MODE      0600
#define KILLED         130
#define ANSWER_WAIT_MS 10000 /* for each message; the appliance sends more often */

struct words {
	const char *file, *prefix, *config;
	char filter[CAPTURE_FILTER_BYTES];
	struct capture_request request;
};

struct session {
	const struct words *words;
	int socket, file, signals;
	bool own_file; /* this command created the file, and it is no pipe */
	bool asked;    /* the appliance was asked to end the capture */
	uint64_t written;
	struct capture_summary sum;
	uint8_t message[CAPTURE_MESSAGE_BYTES];
};

/* ---- words ---- */

static bool
number_read(const char *text, uint64_t least, uint64_t most, uint64_t *to)
{
	static const char suffixes[] = "kmg";
	char *end;
	const char *found;

	errno = 0;
	if (text[0] < '0' || text[0] > '9')
		return false;
	*to = strtoull(text, &end, 10);
	if (errno != 0)
		return false;
	if (*end != '\0') {
		found = strchr(suffixes, *end);
		if (found == NULL || end[1] != '\0' || *to > most)
			return false;
		*to <<= 10 * (found - suffixes + 1);
	}
	return *to >= least && *to <= most;
}

static bool
filter_add(struct words *w, const char *word, struct error *err)
{
	const size_t used = strlen(w->filter);
	const int len = snprintf(w->filter + used, sizeof w->filter - used, "%s%s",
				 used != 0 ? " " : "", word);

	return (size_t)len < sizeof w->filter - used ||
	       error_set_code(err, ERROR_USAGE, "capture: a filter of more than %zu characters",
			      sizeof w->filter - 1);
}

/* True if the option takes a number. limits: its least and greatest value. *which: its index, for
 * number_set(). */
static bool
is_number_option(const char *word, uint64_t limits[2], uint32_t *which)
{
	static const struct {
		const char *name;
		uint64_t least, most;
	} rows[] = {{"--count", 1, UINT64_MAX >> 1},
		    {"--seconds", 1, CAPTURE_SECONDS_MAX},
		    {"--snap", CAPTURE_SNAP_MIN, CAPTURE_SNAP_MAX},
		    {"--size", CAPTURE_SIZE_MIN, CAPTURE_SIZE_MAX}};

	for (*which = 0; *which < sizeof rows / sizeof rows[0]; ++*which) {
		if (strcmp(word, rows[*which].name) != 0)
			continue;
		limits[0] = rows[*which].least;
		limits[1] = rows[*which].most;
		return true;
	}
	return false;
}

static void
number_set(struct capture_request *r, uint32_t which, uint64_t number)
{
	switch (which) {
	case 0:
		r->count = number;
		break;
	case 1:
		r->seconds = (uint32_t)number;
		break;
	case 2:
		r->snap = (uint32_t)number;
		break;
	default:
		r->size = number;
		break;
	}
}

/* Reads an option and its value. False with *err set if they are wrong. */
static bool
option_take(struct words *w, const char *name, const char *value, struct error *err)
{
	const bool is_prefix = strcmp(name, "--file-prefix") == 0;
	uint64_t limits[2] = {0}, number;
	uint32_t which = 0;

	if (!is_prefix && strcmp(name, "--config") != 0 && !is_number_option(name, limits, &which))
		return error_set_code(err, ERROR_USAGE, "capture: unknown option %s; %s", name,
				      USAGE);
	if (value == NULL)
		return error_set_code(err, ERROR_USAGE, "capture: %s needs a value", name);
	if (is_prefix)
		w->prefix = value;
	else if (strcmp(name, "--config") == 0)
		w->config = value;
	else if (number_read(value, limits[0], limits[1], &number))
		number_set(&w->request, which, number);
	else
		return error_set_code(err, ERROR_USAGE,
				      "capture: %s \"%s\": expected a number from %llu to %llu; k, "
				      "m and g are suffixes",
				      name, value, (unsigned long long)limits[0],
				      (unsigned long long)limits[1]);
	return true;
}

static bool
words_read(struct words *w, int argc, char **argv, struct error *err)
{
	*w = (struct words){.file = "",
			    .request = {.magic = CAPTURE_MAGIC,
					.snap = CAPTURE_SNAP_MAX,
					.seconds = CAPTURE_SECONDS,
					.size = CAPTURE_SIZE}};
	for (int i = 0; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1] == '-') {
			if (!option_take(w, argv[i], i + 1 < argc ? argv[i + 1] : NULL, err))
				return false;
			i++;
		} else if (w->file[0] == '\0') {
			w->file = argv[i];
		} else if (!filter_add(w, argv[i], err)) {
			return false;
		}
	}
	if (w->file[0] == '\0')
		return error_set_code(err, ERROR_USAGE, "capture: no file is named; %s", USAGE);
	memcpy(w->request.filter, w->filter, sizeof w->filter);
	return w->filter[0] == '\0' || capture_filter_compile(&w->request, w->filter, err);
}

/* Finds the file prefix: the given one, or that of the configuration file. */
static bool
prefix_find(struct words *w, char prefix[CONFIG_NAME_BYTES], const char *default_config,
	    struct error *err)
{
	char program[] = "clockoo", option[] = "--config";
	char *argv[] = {program, option, (char *)(uintptr_t)w->config, NULL};
	struct config_source source = {.default_file = default_config};
	struct config cfg;

	if (w->prefix != NULL && strlen(w->prefix) >= CONFIG_NAME_BYTES)
		return error_set_code(err, ERROR_USAGE, "capture: --file-prefix: too long");
	if (w->prefix != NULL) {
		snprintf(prefix, CONFIG_NAME_BYTES, "%s", w->prefix);
		return true;
	}
	if (config_parse(&cfg, &source, w->config != NULL ? 3 : 1, argv, err) != CONFIG_RUN) {
		config_error_locate(&source, err);
		return false;
	}
	memcpy(prefix, cfg.file_prefix, CONFIG_NAME_BYTES);
	return true;
}

/* ---- the file and the socket ---- */

static bool
file_open(struct session *s, struct error *err)
{
	const char *const name = s->words->file;
	const bool to_stdout = strcmp(name, "-") == 0;

	if (to_stdout && isatty(STDOUT_FILENO))
		return error_set(err, "capture: a capture is no text for a terminal: name a file, "
				      "or give it to a program: clockoo capture - | tshark -r -");
	s->own_file = !to_stdout;
	s->file = to_stdout ? dup(STDOUT_FILENO)
			    : open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				   FILE_MODE);
	if (s->file >= 0)
		return true;
	return error_set(err, "capture: %s: %s%s", name, strerror(errno),
			 errno == EEXIST   ? "; name another, nothing is written over"
			 : errno == EACCES ? "; name a folder that you may write to"
			 : errno == ENOENT ? "; its folder is not there"
					   : "");
}

/* Writes blocks to the file. If the disk takes only a part, the file is cut back to whole
 * blocks. */
static bool
file_write(struct session *s, size_t bytes, struct error *err)
{
	size_t done = 0;

	while (done < bytes) {
		const ssize_t n = write(s->file, s->message + 1 + done, bytes - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	if (done == bytes) {
		s->written += bytes;
		return true;
	}
	error_set(err, "capture: %s: %s; %llu bytes are whole", s->words->file, strerror(errno),
		  (unsigned long long)s->written);
	if (s->own_file && ftruncate(s->file, (off_t)s->written) != 0)
		error_set(err, "capture: %s: %s; its end is not whole", s->words->file,
			  strerror(errno));
	return false;
}

/* ---- messages of the appliance ---- */

static bool
message_take(struct session *s, size_t bytes, bool *over, struct error *err)
{
	switch (s->message[0]) {
	case CAPTURE_BEGUN:
		return true;
	case CAPTURE_BLOCKS:
		return s->written + bytes <= s->words->request.size + sizeof s->message
			       ? file_write(s, bytes - 1, err)
			       : error_set(err, "capture: more was sent than --size");
	case CAPTURE_REFUSED:
		return command_socket_refused(CAPTURE_COMMAND, s->message + 1, bytes - 1, err);
	case CAPTURE_OVER:
		*over = bytes == 1 + sizeof s->sum;
		if (*over)
			memcpy(&s->sum, s->message + 1, sizeof s->sum);
		return *over || error_set(err, "capture: the appliance is of another version");
	default:
		return error_set(err, "capture: the appliance is of another version");
	}
}

/* Handles a signal. The first one asks the appliance for the end, so that frames already captured
 * still arrive. The second one ends the command. */
static void
signal_take(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof info) != (ssize_t)sizeof info)
		return;
	if (s->asked)
		_exit(KILLED);
	s->asked = true;
	shutdown(s->socket, SHUT_WR);
}

static bool
messages_take(struct session *s, struct error *err)
{
	/* The appliance may send nothing until the capture ends, if no frame matches. */
	const int64_t wait_ms = (int64_t)s->words->request.seconds * 1000 + ANSWER_WAIT_MS;
	bool over = false;

	while (!over) {
		struct pollfd files[] = {{s->socket, POLLIN, 0}, {s->signals, POLLIN, 0}};
		const int n = poll(files, 2, (int)wait_ms);
		ssize_t got;

		if (n == 0)
			return error_set(err, "capture: the appliance does not answer");
		if (n > 0 && files[1].revents != 0)
			signal_take(s);
		if (n < 0 || files[0].revents == 0)
			continue;
		got = recv(s->socket, s->message, sizeof s->message, 0);
		/* The kernel reports it once, before the last message. */
		if (got < 0 && errno == ECONNRESET)
			got = recv(s->socket, s->message, sizeof s->message, 0);
		if (got <= 0)
			return error_set(err, "capture: the appliance has ended it: %s",
					 got < 0 ? strerror(errno) : "it was stopped, or is stuck");
		if (!message_take(s, (size_t)got, &over, err))
			return false;
	}
	return true;
}

static int
signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool
capture(struct session *s, const char *prefix, struct error *err)
{
	const struct capture_request *r = &s->words->request;

	s->socket = command_socket_connect(prefix, CAPTURE_COMMAND, "", err);
	if (s->socket < 0 || !file_open(s, err))
		return false;
	s->signals = signals_open();
	if (s->signals < 0)
		return error_set(err, "capture: signalfd: %s", strerror(errno));
	if (send(s->socket, r, capture_request_bytes(r->insn_count), MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE) /* after a refusal the appliance's reason can still be read */
		return error_set(err, "capture: %s", strerror(errno));
	if (!messages_take(s, err))
		return false;
	/* close() reports write errors that the kernel found later. */
	return !s->own_file || close(dup(s->file)) == 0 ||
	       error_set(err, "capture: %s: %s", s->words->file, strerror(errno));
}

static void
summary_print(const struct session *s)
{
	static const char *const reasons[] = {
		[CAPTURE_BY_COUNT] = "--count is reached",
		[CAPTURE_BY_SECONDS] = "--seconds are over",
		[CAPTURE_BY_SIZE] = "--size is reached",
		[CAPTURE_BY_CLIENT] = "ended",
		[CAPTURE_BY_STOP] = "the appliance stops",
	};
	const uint32_t reason = s->sum.reason;

	fprintf(stderr, "clockoo: capture: %s: %llu frames in %.1f s, %llu dropped: %s\n",
		s->words->file, (unsigned long long)s->sum.frames, (double)s->sum.ns / NS_PER_S,
		(unsigned long long)s->sum.dropped,
		reason < sizeof reasons / sizeof reasons[0] ? reasons[reason] : "ended");
}

int
capture_command(int argc, char **argv, const char *default_config)
{
	char prefix[CONFIG_NAME_BYTES];
	struct words words;
	struct session s = {.words = &words, .socket = -1, .file = -1, .signals = -1};
	struct error err = {.code = ERROR_GENERAL};

	if (words_read(&words, argc, argv, &err) &&
	    prefix_find(&words, prefix, default_config, &err) && capture(&s, prefix, &err)) {
		summary_print(&s);
		return 0;
	}
	if (s.file >= 0 && s.own_file && s.written == 0)
		unlink(words.file);
	fprintf(stderr, "clockoo: %s\n", err.text);
	return (int)err.code;
}
