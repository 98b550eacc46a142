"""tools/bench loss: the appliance and Debian's memcached on the kernel's stack, behind links that
lose, double and reorder the same share of frames; goodput, wrong bytes, stalls, resets, and timeouts
of the clients' kernel. Then sets of 1 MiB over long paths that lose nothing.

Each server has its turn in every round, so that other work of the machine affects all. Ratios are taken within
a round.
"""

import statistics

from bench_figures import Figures, spread, table
from links import PORT, Links

LOSSES = (0, 1, 5, 10)      # percent each way
QUICK_LOSSES = (0, 1)
LATE_PERCENT, TWICE_PERCENT = 1, 0.5
LATE_US, DELAY_US = 1000, 500  # a round trip of 1 ms; a late frame takes 1 ms more
CONNECTIONS = 50
ROUNDS, QUICK_ROUNDS = 5, 2
MS, QUICK_MS = 8000, 3000
WARM_MS, DRAIN_MS = 700, 30_000
CEILING_MS = 1500
# Ratios refer to the second server. Full runs add BBR where the kernel has it, for comparison only, since it does not
# treat losses as congestion.
WHO = ("clockoo", "memcached")
BBR = "memcached bbr"
STALL_S = 3.0  # four timeouts of one frame in a row
BULK_RTT_MS = (20, 100)
BULK_ROUNDS, QUICK_BULK_ROUNDS = 3, 1
BULK_MS, QUICK_BULK_MS = 5000, 2500
BULK_WARM_MS = 1500  # time for the windows of both ends to grow
BULK_BYTES = 1 << 20
BULK = "bulk"
STRAY_MAC = "02:de:ad:00:00:01"


class LossBench(Figures):
    def __init__(self, links, quick):
        super().__init__()
        self.links, self.quick = links, quick
        self.rounds = QUICK_ROUNDS if quick else ROUNDS
        self.runs = []
        self.who = [*WHO, *([BBR] if not quick and links.has_bbr else [])]

    def ceiling(self):
        """Measures what the link carries with full-sized frames in one direction and no other work."""
        link = self.links.memcached
        with self.links.impaired(link) as row:
            self.links.row("what the link carries", link.client, "frame_flood", link.near, STRAY_MAC,
                           link.host, PORT, "--kind", "blank", "--ms", CEILING_MS)
        self.keep("link_frames_s", [row["out"] / (CEILING_MS / 1e3)], 0)
        self.keep("link_mbs", [row["out"] * 1448 / (CEILING_MS / 1e3) / 1e6], 1)

    def run(self, loss, number, who):
        """Measures one turn of a server. Returns its row, with that of its link."""
        link = getattr(self.links, who.split()[0])
        self.links.set_congestion(link, "bbr" if who == BBR else self.links.congestion)
        seed = 1000 * loss + number
        bad = () if loss == 0 else ("--lose", loss, "--late", LATE_PERCENT, "--late-us", LATE_US,
                                    "--twice", TWICE_PERCENT)
        before = self.links.client_counts(link)
        with self.links.impaired(link, *bad, "--delay-us", DELAY_US, "--seed", seed) as impair:
            row = self.links.row(f"{loss} % lost, round {number + 1} of {self.rounds}, {who}",
                                 link.client, "talk", link.host, PORT, "--connections", CONNECTIONS,
                                 "--warm-ms", WARM_MS, "--ms", QUICK_MS if self.quick else MS,
                                 "--drain-ms", DRAIN_MS, "--seed", seed)
        row |= timeouts(before, self.links.client_counts(link)) | {"link": impair}
        self.runs.append({"who": who, "loss": loss, "round": number, **row})
        return row

    def at(self, loss):
        """Measures all rounds at one rate of loss."""
        by = {who: [] for who in self.who}
        for number in range(self.rounds):
            for who in self.who:
                by[who].append(self.run(loss, number, who))
        for who, rows in by.items():
            name = who.replace(" ", "_")
            self.keep(f"goodput_mbs_{name}_{loss}pct", [r["goodput_mbs"] for r in rows], 2)
            self.figures[f"longest_stall_s_{name}_{loss}pct"] = max(r["longest_stall_s"] for r in rows)
        if loss > 0:
            ours, theirs = (per_10k(by[who]) for who in WHO)
            self.figures[f"client_timeouts_per_10k_{loss}pct"] = ours
            self.figures[f"client_timeouts_per_10k_memcached_{loss}pct"] = theirs
            self.figures[f"client_timeouts_vs_kernel_{loss}pct"] = round(ours / max(theirs, 1e-6), 3)
        for name, theirs in (("kernel", by["memcached"]), ("bbr", by.get(BBR))):
            if theirs is not None:
                self.keep(f"goodput_vs_{name}_{loss}pct",
                          [a["goodput_mbs"] / max(b["goodput_mbs"], 1e-6)
                           for a, b in zip(by["clockoo"], theirs)])
        return by

    def sums(self):
        """Returns sums over all rates of loss that must be zero, and the longest stall."""
        for who, suffix in (("clockoo", ""), ("memcached", "_memcached")):
            rows = [r for r in self.runs if r["who"] == who]
            for name, figure in (("wrong_bytes", "wrong_bytes"), ("wrong_answers", "wrong_answers"),
                                 ("resets", "connections_reset"), ("stuck", "connections_stuck"),
                                 ("misses", "misses"), ("refused", "sets_refused")):
                self.figures[figure + suffix] = sum(r[name] for r in rows)
            self.figures["longest_stall_s" + suffix] = max(r["longest_stall_s"] for r in rows)
            self.figures["stalls_above_3s" + suffix] = sum(r["longest_stall_s"] > STALL_S for r in rows)
            self.figures["client_timeouts_per_10k" + suffix] = per_10k(rows)

    def bulk_run(self, rtt_ms, number, who):
        """Measures one connection that sets values of 1 MiB, in MB/s."""
        link = getattr(self.links, who)
        rounds = QUICK_BULK_ROUNDS if self.quick else BULK_ROUNDS
        self.links.set_congestion(link, self.links.congestion)
        with self.links.impaired(link, "--delay-us", rtt_ms * 500):
            row = self.links.row(f"sets of 1 MiB at {rtt_ms} ms, round {number + 1} of {rounds}, {who}",
                                 link.client, "talk", link.host, PORT, "--connections", 1, "--depth",
                                 1, "--sets", 100, "--keys", 4, "--value-min", BULK_BYTES,
                                 "--value-max", BULK_BYTES, "--warm-ms", BULK_WARM_MS, "--ms",
                                 QUICK_BULK_MS if self.quick else BULK_MS)
        self.runs.append({"who": who, "rtt_ms": rtt_ms, "round": number, **row})
        return row["set_mbs"]

    def bulk(self):
        """Returns rows of the table: the rate of one connection's uploads, by round trip."""
        lines = []
        for rtt_ms in BULK_RTT_MS:
            by = {who: [] for who in WHO}
            for number in range(QUICK_BULK_ROUNDS if self.quick else BULK_ROUNDS):
                for who in WHO:
                    by[who].append(self.bulk_run(rtt_ms, number, who))
            for who, rates in by.items():
                self.keep(f"bulk_set_mbs_{who}_{rtt_ms}ms", rates, 2)
            ratios = [ours / max(theirs, 1e-6) for ours, theirs in zip(*by.values())]
            self.keep(f"bulk_set_vs_kernel_{rtt_ms}ms", ratios)
            lines.append([f"{rtt_ms} ms", *(spread(by[who]) for who in WHO), spread(ratios, 2)])
        return lines


def timeouts(before, after):
    """Returns the client's segments and timeouts between two readings, without those of SYNs, which our ACKs do
    not affect."""
    more = {name: after[name] - before[name]
            for name in ("TcpOutSegs", "TcpExtTCPTimeouts", "TcpExtTCPSynRetrans")}
    return {"client_segments": more["TcpOutSegs"],
            "client_timeouts": max(0, more["TcpExtTCPTimeouts"] - more["TcpExtTCPSynRetrans"])}


def per_10k(rows):
    segments = sum(r["client_segments"] for r in rows)
    return round(1e4 * sum(r["client_timeouts"] for r in rows) / max(segments, 1), 3)


def line(bench, loss, who, rows):
    link = [r["link"] for r in rows]
    return [f"{loss} %", who, spread(r["goodput_mbs"] for r in rows),
            spread((bench.figures[f"goodput_vs_kernel_{loss}pct_spread"]
                    + [bench.figures[f"goodput_vs_kernel_{loss}pct"]]), 2) if who == WHO[0] else "",
            sum(r["wrong_bytes"] + r["wrong_answers"] for r in rows),
            sum(r["resets"] for r in rows), sum(r["stuck"] for r in rows),
            f"{max(r['longest_stall_s'] for r in rows):.2f}", f"{per_10k(rows):.2f}",
            f"{100 * statistics.median(i['busy_peak'] for i in link):.0f} %",
            f"{statistics.median(i['frames_s_peak'] for i in link) / 1e3:.0f}",
            sum(i["overrun"] + i["no_slot"] + i["refused"] for i in link)]


def measure(programs, quick, parts, keep):
    """Measures, and calls keep(figures) after each part: a loss in percent, or BULK."""
    losses = [part for part in parts if part != BULK] if parts else \
        QUICK_LOSSES if quick else LOSSES
    with Links(programs) as links:
        bench = LossBench(links, quick)
        bench.ceiling()
        lines = []
        for loss in losses:
            by = bench.at(loss)
            lines += [line(bench, loss, who, by[who]) for who in bench.who]
            bench.sums()
            keep(bench.figures | {"loss_runs": bench.runs})
        bulk = bench.bulk() if not parts or BULK in parts else []
        bench.figures["loss_appliance_counters"] = links.stop_appliance()
        keep(bench.figures | {"loss_runs": bench.runs})
    if lines:
        table(f"{CONNECTIONS} connections, sets and gets of 1 byte to 1 MiB, {DELAY_US / 500:g} ms of "
              f"round trip, lost each way; with losses {LATE_PERCENT} % are\nlate and {TWICE_PERCENT} % "
              "double. MB/s of values that arrived: median (least..most);\n"
              "timeouts: of the clients' kernel, in 10,000 segments that it sent;\n"
              "link busy, frames: of its busiest second; lost unasked: by queues that were full",
              ["lost", "who", "MB/s", f"by {links.congestion}", "wrong", "resets", "stuck", "stall s",
               "timeouts", "link busy", "k frames/s", "lost unasked"], lines)
    if bulk:
        table("one connection sets 1 MiB after 1 MiB, nothing is lost. MB/s: median (least..most)",
              ["round trip", *WHO, "ratio"], bulk)
    print(f"\n  the link alone carries {bench.figures['link_frames_s'] / 1e3:.0f} thousand full frames "
          f"a second, {bench.figures['link_mbs']:.0f} MB/s", flush=True)
    return bench.figures
