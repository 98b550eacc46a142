/*
 * doctor.c - `clockoo doctor`: makes a dry run, looks at the running appliance, and prints the
 * findings as a table.
 */
#include "about.h"
#include "access/tls_servers.h"
#include "access/users.h"
#include "dpdk/host.h"
#include "dry_run.h"
#include "file_check.h"
#include "flash_doctor.h"
#include "keep/arena_check.h"
#include "kernel_doctor.h"
#include "keep/memory_save.h"
#include "memfile/memory_file.h"
#include "monitor/http_listen.h"
#include "monitor/http_server.h"
#include "nic.h"
#include "nic_claim.h"
#include "plan_print.h"
#include "process/pid_file.h"
#include "user_net.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LET_IN_WORDS_BYTES 32u
/* A longer keepalive time lets connections that routers lead elsewhere fill conn_limit. */
#define KEEPALIVE_ANYCAST_S 600u

/* Checks that the VFIO group is free: opening its file fails while a process uses it. */
static void
check_vfio_group(struct dry_run *p)
{
	const struct pci_nic *nic = &p->machine.nic;
	char path[128];
	struct advice *a;
	int fd;

	if (!tree_is_live(&p->machine.tree) || nic->iommu_group[0] == '\0' ||
	    strcmp(nic->driver, "vfio-pci") != 0)
		return;
	snprintf(path, sizeof path, "/dev/vfio/%s%s", nic->noiommu ? "noiommu-" : "",
		 nic->iommu_group);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		advice_add(&p->advice, ADVICE_OK, "VFIO group", "not in use");
	} else if (errno == EBUSY) {
		a = advice_add(&p->advice, ADVICE_FAIL, "VFIO group", "in use by another program");
		advice_fix(a, "fuser -v %s names it", path);
	} else {
		a = advice_add(&p->advice, ADVICE_FAIL, "VFIO group", "cannot open %s: %s", path,
			       strerror(errno));
		advice_fix(a, "run as root, or: chown clockoo %s", path);
	}
}

/* Checks the address of port user. An address in use is no failure, since the service itself may
 * use it. */
static void
check_user_port(struct dry_run *p, const struct config *cfg)
{
	struct error err;

	advice_fix(advice_add(&p->advice, ADVICE_WARN, "port user", CONFIG_USER_LIMITS),
		   "a NIC: README, \"On a real NIC\"");
	if (!user_net_is_built(&err))
		advice_fix(advice_add(&p->advice, ADVICE_FAIL, "port user", "%s", err.text),
			   "tools/install build, and build it again");
	else if (user_net_check(cfg, &err))
		advice_add(&p->advice, ADVICE_OK, "listen", "the addresses are free");
	else
		advice_add(&p->advice, ADVICE_UNKNOWN, "listen", "%s, if it is not this service",
			   err.text);
}

static void
check_iface(struct dry_run *p, const struct config *cfg)
{
	struct advice *a;
	struct host host;

	host_probe(&host, cfg);
	if (host.iface == PRESENCE_READY) {
		advice_add(&p->advice, ADVICE_OK, "interface", "%s is up", cfg->iface);
	} else if (host.iface == PRESENCE_DOWN) {
		a = advice_add(&p->advice, ADVICE_FAIL, "interface", "%s is down", cfg->iface);
		advice_fix(a, "ip link set %s up", cfg->iface);
	} else {
		a = advice_add(&p->advice, ADVICE_FAIL, "interface", "there is no %s", cfg->iface);
		advice_fix(a, "ip link lists the interfaces");
	}
}

/* Checks the bond's second NIC, and that it can take over the flows of the first. */
static void
check_bond(struct dry_run *p, const struct config *cfg)
{
	const struct config other = nic_other_config(cfg);
	struct error err;

	if (!nic_members_spread_alike(&p->steer, &p->profile, cfg, &err) ||
	    !file_check_nic(&other, &err))
		advice_fix(advice_add(&p->advice, ADVICE_FAIL, "bond", "%s", err.text),
			   "see network.bond in man clockoo.yaml");
	else if (p->profile.needs & NEED_IFACE)
		check_iface(p, &other);
	else
		advice_add(&p->advice, ADVICE_OK, "bond", "%s is bound, too", other.pci);
}

/* Checks for a missing interface and a missing file of users. Skipped if --sysfs names another
 * machine. */
static void
check_port(struct dry_run *p, const struct config *cfg)
{
	struct advice *a;
	struct error err;

	if (!tree_is_live(&p->machine.tree))
		return;
	if (config_is_user(cfg)) {
		check_user_port(p, cfg);
	} else if (!file_check_complete(cfg, &err)) {
		a = advice_add(&p->advice, ADVICE_FAIL, "configuration", "%s", err.text);
		advice_fix(a, "set what is missing, as an option or in the configuration file");
	} else if (p->profile.needs & NEED_IFACE) {
		check_iface(p, cfg);
	}
	if (config_has_bond(cfg))
		check_bond(p, cfg);
}

/* Warns if an untrusted process holds the claim on this address. */
static void
check_claim(struct dry_run *p, const struct name_holder *holder)
{
	char words[NAME_CLAIM_WORDS_BYTES];
	struct advice *a;

	if (holder->kind != NAME_STRANGER)
		return;
	a = advice_add(&p->advice, ADVICE_WARN, "instance",
		       "%s holds the name that keeps a second instance off this address, and is "
		       "neither root nor this user nor " NAME_CLAIM_SERVICE_USER,
		       name_holder_words(words, holder));
	advice_fix(a, "end process %ld; a start does not heed it", (long)holder->pid);
}

/* Checks on which nodes the memory of the running process is. Skipped if --sysfs names another
 * machine, or no process runs. */
static void
check_running(struct dry_run *p, const struct config *cfg)
{
	const struct name_holder holder = nic_claim_holder(cfg, &p->profile);
	struct arena_check check;
	uint32_t pid;

	if (!tree_is_live(&p->machine.tree))
		return;
	check_claim(p, &holder);
	pid = pid_file_read(cfg->pid_file);
	if (pid == 0 && holder.kind == NAME_TRUSTED)
		pid = (uint32_t)holder.pid;
	if (pid == 0 && cfg->memory_file[0] != '\0') {
		arena_check_configured(&check, cfg);
		pid = check.state == ARENA_IN_USE ? check.pid : 0;
	}
	if (pid != 0)
		dry_run_check_process(p, cfg, pid);
}

/* Reports whether the next start would keep the items of --memory-file. */
static void
check_memory_file(struct dry_run *p, const struct config *cfg)
{
	static const enum advice_severity severities[] = {
		[ARENA_ABSENT] = ADVICE_OK, [ARENA_UNKNOWN] = ADVICE_UNKNOWN,
		[ARENA_IN_USE] = ADVICE_OK, [ARENA_WHOLE] = ADVICE_OK,
		[ARENA_LOST] = ADVICE_WARN,
	};
	struct memory_warning warnings[MEMORY_PLACE_WARNINGS_MAX];
	struct arena_check check;
	struct advice *a;
	struct error err;
	uint32_t warned;
	bool huge;

	if (cfg->memory_file[0] == '\0' || !tree_is_live(&p->machine.tree))
		return;
	if (!memory_file_place_ok(MEMORY_OPTION, cfg->memory_file, &huge, &err)) {
		advice_fix(advice_add(&p->advice, ADVICE_FAIL, "memory file", "%s", err.text),
			   "hugeadm --create-user-mounts=clockoo makes "
			   "/var/lib/hugetlbfs/user/clockoo");
		return;
	}
	arena_check_configured(&check, cfg);
	a = advice_add(&p->advice, severities[check.state], "memory file", "%s%s",
		       check.state == ARENA_LOST ? "the next start is empty: " : "", check.words);
	if (check.state == ARENA_LOST)
		advice_fix(a, "nothing, or clockoo arena remove, which gives its memory back now");
	warned = arena_place_warnings(cfg, warnings);
	for (uint32_t i = 0; i < warned; i++)
		advice_fix(
			advice_add(&p->advice, ADVICE_WARN, "memory file", "%s", warnings[i].words),
			"%s", warnings[i].fix);
}

/* Reports whether a stop could save, and which saved items the next start would load. */
static void
check_memory_save(struct dry_run *p, const struct config *cfg)
{
	char words[SAVE_WORDS_BYTES];
	struct error err;

	if (cfg->memory_save[0] == '\0' || !tree_is_live(&p->machine.tree))
		return;
	if (!memory_save_check(cfg, &err)) {
		advice_fix(advice_add(&p->advice, ADVICE_FAIL, "memory save", "%s", err.text),
			   "a folder on a disk that the service's user may write to");
		return;
	}
	memory_save_words(cfg, words);
	if (!memory_save_has_room(cfg, &err))
		advice_fix(advice_add(&p->advice, ADVICE_WARN, "memory save", "%s", err.text),
			   "more room there, or a lower memory.limit");
	if (cfg->keep_for_s < SAVE_KEEP_FOR_MIN_S)
		advice_fix(advice_add(&p->advice, ADVICE_WARN, "memory save",
				      "%s; memory.keep_for is %u s, and a reboot takes longer",
				      words, cfg->keep_for_s),
			   "memory.keep_for: 600");
	else
		advice_add(&p->advice, ADVICE_OK, "memory save", "%s", words);
}

/* Reports which source addresses are accepted, and what their clients may do without a password. */
static void
check_let_in(struct dry_run *p, const struct config *cfg)
{
	const bool users = cfg->auth_file[0] != '\0' || cfg->sasl;
	char who[ACCESS_WORDS_BYTES], conns[LET_IN_WORDS_BYTES] = "any number of";

	access_lists_words(&p->access, who);
	if (cfg->conns_per_source != 0)
		snprintf(conns, sizeof conns, "%u", cfg->conns_per_source);
	advice_add(&p->advice, ADVICE_OK, "let in", "%s; %s; %s connections a source%s%s", who,
		   users ? "users of the file, over TCP" : "no users", conns,
		   cfg->udp_port != 0 && !users ? "; UDP" : "",
		   cfg->tls.plain_port != 0 ? "; a port in the clear beside that of TLS" : "");
	if (cfg->udp_port != 0 && cfg->udp_admin && !users)
		advice_fix(
			advice_add(&p->advice, ADVICE_WARN, "UDP commands",
				   "--udp-admin: who forges a source that is let in can flush the "
				   "cache"),
			"protocol.udp_admin: no");
	if (cfg->shutdown && !users && p->access.list == NULL)
		advice_fix(
			advice_add(
				&p->advice, ADVICE_WARN, "shutdown",
				"--enable-shutdown: whoever reaches the port can stop the cache"),
			"auth.file with roles, or network.allow with the networks of operators");
}

/* Says how long a stop takes if routers lead clients to other hosts first. */
static void
check_drain(struct dry_run *p, const struct config *cfg)
{
	if (cfg->drain != CONFIG_DRAIN_ANYCAST)
		return;
	if (cfg->keepalive_s > KEEPALIVE_ANYCAST_S && cfg->idle_timeout_s == 0)
		advice_fix(advice_add(&p->advice, ADVICE_WARN, "drain",
				      "anycast: connections that a router leads elsewhere stay "
				      "open here for %u s",
				      cfg->keepalive_s),
			   "network.keepalive: 20");
	if (cfg->http.text[0] == '\0')
		advice_fix(advice_add(&p->advice, ADVICE_WARN, "drain",
				      "anycast: no router leaves, as clockoo ready has no answer"),
			   "telemetry.http: 127.0.0.1:9150");
	else
		advice_add(&p->advice, ADVICE_OK, "drain",
			   "routers leave before a stop, which takes up to %u s; a second SIGTERM "
			   "is at once",
			   cfg->drain_time_s);
}

static void
advise_open_file(struct dry_run *p, const char *what, const char *file)
{
	advice_fix(advice_add(&p->advice, ADVICE_WARN, what,
			      "%.100s: any user of this machine can read or change it", file),
		   "chmod o= %s", file);
}

/* Warns of files of passwords that every user of the machine may read: the users' file, and the
 * login of a front. */
static void
check_users(struct dry_run *p, const struct config *cfg)
{
	const char *file;

	if (!tree_is_live(&p->machine.tree))
		return;
	if (users_file_is_open(cfg, &file))
		advise_open_file(p, "users", file);
	if (auth_file_is_open(cfg->front.login))
		advise_open_file(p, "front.login", cfg->front.login);
}

/* Warns of certificates that clients, or servers of a front, refuse for their dates, now or soon;
 * and of issuers whose servers a front will refuse. */
static void
check_certificates(struct dry_run *p, const struct config *cfg)
{
	struct error err;

	if (!tree_is_live(&p->machine.tree))
		return;
	if (tls_files_date_is_near(cfg, &err))
		advice_fix(advice_add(&p->advice, ADVICE_WARN, "certificates", "%s", err.text),
			   "renew it, then a reload (SIGHUP) or refresh_certs takes it");
	if (tls_servers_date_is_near(cfg, &err))
		advice_fix(advice_add(&p->advice, ADVICE_WARN, "certificates", "%s", err.text),
			   "renew it, then a reload (SIGHUP) takes it");
}

/* Reports the process that listens at the address of telemetry.http. It is usually this service. */
static void
check_http(struct dry_run *p, const struct config *cfg)
{
	const struct config_http *http = &cfg->http;
	enum http_place place;
	struct error err;

	if (http->text[0] == '\0' || !tree_is_live(&p->machine.tree))
		return;
	place = http_is_built(&err) ? http_place_check(http, &err) : HTTP_PLACE_BAD;
	if (place == HTTP_PLACE_BAD)
		advice_fix(advice_add(&p->advice, ADVICE_FAIL, "telemetry http", "%s", err.text),
			   "telemetry.http: 127.0.0.1:9150, or none");
	else if (http_place_is_open(http))
		advice_fix(advice_add(&p->advice, ADVICE_WARN, "telemetry http",
				      "%s: whoever reaches it reads figures and keys", http->text),
			   "a firewall rule for the monitor alone, or telemetry.http: "
			   "127.0.0.1:9150");
	else
		advice_add(&p->advice, ADVICE_OK, "telemetry http", "%s: %s", http->text,
			   place == HTTP_PLACE_FREE
				   ? "free, for this machine only"
				   : "in use: by a clockoo that runs, or a start would fail");
}

static void
print_table(const struct advice_list *list, FILE *out)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct advice *a = &list->at[i];

		fprintf(out, "%-4s  %-15s  %s\n", advice_severity_name(a->severity), a->subject,
			a->words);
		if (a->severity >= ADVICE_WARN)
			fprintf(out, "      %-15s  -> %s\n", "", a->fix);
	}
}

static uint32_t
cpu_count(const struct config *cfg)
{
	struct machine machine;
	struct error err;
	uint32_t cpus;

	if (!machine_read(&machine, cfg, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", &err))
		return 0;
	cpus = machine.topology.cpus;
	machine_close(&machine);
	return cpus;
}

/* Makes the dry run. If the configuration asks for more workers than the machine has CPUs, uses as
 * many as there are, so that the rest can be judged; *err then has the line about it. Otherwise
 * *err is empty. */
static bool
dry_run_with_fallback(struct dry_run *p, struct config *cfg, struct error *err)
{
	const uint32_t asked = cfg->cores, there = cpu_count(cfg);
	const uint32_t fewer[] = {asked < there ? asked : there, 1};
	const struct config as_configured = *cfg;

	err->text[0] = '\0';
	if (dry_run_make(p, cfg, err))
		return true;
	for (uint32_t i = 0; i < sizeof fewer / sizeof fewer[0] && there != 0; i++) {
		struct error again;

		*cfg = as_configured;
		cfg->cores = cfg->queues = fewer[i];
		cfg->lcores.count = 0;
		cfg->control_cpu = CONFIG_NO_CPU;
		if (dry_run_make(p, cfg, &again))
			return true;
	}
	return false;
}

static void
count(const struct advice_list *list, uint32_t counts[ADVICE_FAIL + 1])
{
	for (uint32_t i = 0; i < list->count; i++)
		counts[list->at[i].severity]++;
}

int
doctor_print(struct config *cfg, const struct config_source *src, FILE *out, struct error *err)
{
	static const int statuses[] = {
		[ADVICE_UNKNOWN] = 0, [ADVICE_OK] = 0, [ADVICE_WARN] = 1, [ADVICE_FAIL] = 2};
	struct advice_list first = {0};
	struct dry_run p;
	uint32_t counts[ADVICE_FAIL + 1] = {0};
	int status;

	if (!dry_run_with_fallback(&p, cfg, err))
		return -1;
	if (err->text[0] != '\0') {
		config_error_locate(src, err);
		advice_fix(advice_add(&first, ADVICE_FAIL, "configuration", "%s", err->text),
			   "change that; what follows is checked for -t %u", cfg->cores);
	}
	check_vfio_group(&p);
	check_port(&p, cfg);
	check_running(&p, cfg);
	check_memory_file(&p, cfg);
	check_memory_save(&p, cfg);
	check_let_in(&p, cfg);
	check_drain(&p, cfg);
	check_users(&p, cfg);
	check_certificates(&p, cfg);
	if (tree_is_live(&p.machine.tree)) {
		flash_doctor(&p.advice, cfg);
		kernel_doctor(&p.advice, cfg);
		about_advise(&p.advice, time(NULL));
	}
	check_http(&p, cfg);
	print_table(&first, out);
	print_table(&p.advice, out);
	count(&first, counts);
	count(&p.advice, counts);
	fprintf(out, "%u ok, %u warning%s, %u failure%s, %u unknown\n", counts[ADVICE_OK],
		counts[ADVICE_WARN], counts[ADVICE_WARN] == 1 ? "" : "s", counts[ADVICE_FAIL],
		counts[ADVICE_FAIL] == 1 ? "" : "s", counts[ADVICE_UNKNOWN]);
	dry_run_close(&p);
	status = statuses[advice_worst(&p.advice)];
	return first.count != 0 ? statuses[ADVICE_FAIL] : status;
}
