/*
 * One process for an address and NIC, and one for a file prefix. Goal: a second process is refused,
 * with the number of the first; another address, another NIC, a NIC in another network namespace
 * and a stranger are not in the way; a crash leaves no claim. Method: children of this process
 * claim, meet a second claim, and are killed; a stranger is a child that took another user's ID.
 */
#include "nic_claim.h"

#include "support/test.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDRESS  0x0a630001u
#define STRANGER 54321u /* no user of any machine that runs tests */

static struct profile af_packet = {.device = "net_af_packet0,iface={iface}"};

static struct config
config_of(const char *iface, uint32_t ipv4)
{
	struct config cfg = {.ipv4 = ipv4};

	/* The name is unique to this run: others may test beside it. */
	snprintf(cfg.iface, sizeof cfg.iface, "%s%ld", iface, (long)getpid() % 100000);
	return cfg;
}

static bool
claim_of(const struct config *cfg, int *claim, struct error *err)
{
	err->text[0] = '\0';
	return nic_claim(cfg, &af_packet, claim, err);
}

/* Returns a child of that user that has the claim until it is killed. */
static pid_t
child_of(uid_t uid, const struct config *cfg)
{
	int ready[2];
	char word;
	pid_t pid;

	check_eq(pipe(ready), 0);
	pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		struct error err;
		int claim, prefix;

		word = (uid == getuid() || setuid(uid) == 0) && claim_of(cfg, &claim, &err) &&
				       name_claim_prefix(cfg->iface, &prefix, &err)
			       ? 'y'
			       : 'n';
		if (write(ready[1], &word, 1) == 1)
			pause();
		_exit(0);
	}
	check_eq(read(ready[0], &word, 1), 1);
	check_eq(word, 'y');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static pid_t
child_with(const struct config *cfg)
{
	return child_of(getuid(), cfg);
}

static void
kill_child(pid_t pid)
{
	check_eq(kill(pid, SIGKILL), 0);
	check_eq(waitpid(pid, NULL, 0), pid);
}

TEST(a_second_process_is_refused_by_name_until_the_first_is_gone)
{
	const struct config cfg = config_of("v", ADDRESS);
	const pid_t first = child_with(&cfg);
	struct error err;
	char words[128];
	int claim;

	snprintf(words, sizeof words, "process %ld already serves 10.99.0.1 on %s", (long)first,
		 cfg.iface);
	check(!claim_of(&cfg, &claim, &err));
	check_ptr(strstr(err.text, words));
	check_eq(claim, NAME_CLAIM_NONE);
	kill_child(first);
	check(claim_of(&cfg, &claim, &err));
	check(claim >= 0);
	close(claim);
}

TEST(another_address_or_nic_is_free)
{
	const struct config cfg = config_of("v", ADDRESS), nic = config_of("w", ADDRESS),
			    address = config_of("v", ADDRESS + 1);
	const pid_t first = child_with(&cfg);
	struct error err;
	int claim;

	check(claim_of(&nic, &claim, &err));
	close(claim);
	check(claim_of(&address, &claim, &err));
	close(claim);
	kill_child(first);
}

/* Without an IPv4 address the claim is to that of --address6. */
TEST(an_ipv6_address_alone_is_claimed)
{
	struct config cfg = config_of("v", 0), other = config_of("v", 0);
	struct error err;
	char words[128];
	pid_t first;
	int claim;

	cfg.ipv6 = (struct ip_addr){{0x20, 1, 0x0d, 0xb8, [15] = 1}};
	other.ipv6 = (struct ip_addr){{0x20, 1, 0x0d, 0xb8, [15] = 2}};
	first = child_with(&cfg);
	check(claim_of(&other, &claim, &err));
	close(claim);
	check(!claim_of(&cfg, &claim, &err));
	snprintf(words, sizeof words, "--address6: process %ld already serves 2001:db8::1 on %s",
		 (long)first, cfg.iface);
	check_ptr(strstr(err.text, words));
	kill_child(first);
}

TEST(a_port_of_ones_own_is_not_claimed)
{
	const struct profile ring = {.device = "net_null0"};
	const struct config cfg = config_of("v", ADDRESS);
	const pid_t first = child_with(&cfg);
	struct error err;
	int claim;

	check(nic_claim(&cfg, &ring, &claim, &err));
	check_eq(claim, NAME_CLAIM_NONE);
	kill_child(first);
}

TEST(an_interface_of_that_name_in_another_namespace_is_another_nic)
{
	const struct config cfg = config_of("v", ADDRESS);
	const pid_t first = child_with(&cfg);
	struct error err;
	int claim;

	if (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
		check(claim_of(&cfg, &claim, &err));
		close(claim);
	} else {
		print_message("no namespaces here: not judged\n");
	}
	kill_child(first);
}

TEST(a_prefix_is_claimed_once_until_its_holder_is_gone)
{
	const struct config cfg = config_of("p", ADDRESS);
	const pid_t first = child_with(&cfg);
	struct error err;
	char words[128];
	int claim;

	snprintf(words, sizeof words, "\"%s\" is in use by another instance, process %ld",
		 cfg.iface, (long)first);
	check(!name_claim_prefix(cfg.iface, &claim, &err));
	check_ptr(strstr(err.text, words));
	kill_child(first);
	check(name_claim_prefix(cfg.iface, &claim, &err));
	check(claim >= 0);
	close(claim);
}

/* Returns the text that a function prints on stderr, which goes to a file meanwhile. */
static const char *
stderr_of(void (*act)(const struct config *), const struct config *cfg)
{
	static char text[1024];
	FILE *kept = tmpfile();
	const int real = dup(STDERR_FILENO);
	size_t n;

	check_ptr(kept);
	dup2(fileno(kept), STDERR_FILENO);
	act(cfg);
	dup2(real, STDERR_FILENO);
	close(real);
	rewind(kept);
	n = fread(text, 1, sizeof text - 1, kept);
	text[n] = '\0';
	fclose(kept);
	return text;
}

static void
start_beside(const struct config *cfg)
{
	struct error err;
	int claim, prefix;

	check(claim_of(cfg, &claim, &err));
	check_eq(claim, NAME_CLAIM_NONE);
	check(name_claim_prefix(cfg->iface, &prefix, &err));
	check_eq(prefix, NAME_CLAIM_NONE);
}

TEST(a_stranger_keeps_nobody_from_starting_and_is_named)
{
	const struct config cfg = config_of("s", ADDRESS);
	char words[64];
	const char *said, *second;
	pid_t stranger;

	if (getuid() != 0) {
		print_message("not root, so no child can be another user: not judged\n");
		return;
	}
	stranger = child_of(STRANGER, &cfg);
	check_eq(nic_claim_holder(&cfg, &af_packet).kind, NAME_STRANGER);
	said = stderr_of(start_beside, &cfg);
	snprintf(words, sizeof words, "process %ld of user %u holds", (long)stranger, STRANGER);
	check_ptr(strstr(said, words));
	second = strchr(said, '\n');
	check_ptr(second);
	check_ptr(strstr(second, words));
	kill_child(stranger);
}

static void
start_once(const struct config *cfg)
{
	struct error err;
	int claim;

	check(claim_of(cfg, &claim, &err));
}

/* A stranger that takes no connection cannot hide who holds the name. */
TEST(a_holder_that_does_not_listen_is_a_stranger)
{
	const struct config cfg = config_of("q", ADDRESS);
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
				 "clockoo/nic/%s/10.99.0.1", cfg.iface);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check_eq(bind(fd, (const struct sockaddr *)&name,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)),
		 0);
	check_ptr(strstr(stderr_of(start_once, &cfg), "another process holds the name"));
	close(fd);
}
