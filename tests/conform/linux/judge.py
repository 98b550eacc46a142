"""Compares what two peers observed, and finds the least conversation that shows a difference."""

import segments as sg

FAR = 1 << 30  # largest distance ahead; numbers further away count as behind
FIELDS = ("syn_acks", "resets", "upto", "crc", "fin", "acked", "again", "window", "sack", "gap")


def plain(seen, parts, acked_before):
    """Returns the comparable part of an observation. Repetitions of an ACK are not compared;
    a D-SACK is no part of what is missing. A reset has the number that was acknowledged, with an ACK or without."""
    had_syn = any("S" in part.flags for part in parts)
    resets = seen["resets"]
    if all("A" in part.flags for part in parts):
        resets = [seq for _, seq, _ in resets]
    again = seen["again"] > 0 and seen["acked"] == acked_before
    return {
        **seen,
        "again": again,
        "syn_acks": seen["syn_acks"][:1] if had_syn else (),
        "resets": tuple(dict.fromkeys(resets)),
        "sack": missing(seen) if again else None,
    }


def missing(seen):
    """Returns the blocks that lie above what was acknowledged, joined."""
    edges = sorted(zip((seen["sack"] or ())[::2], (seen["sack"] or ())[1::2]))
    joined = []
    for start, end in edges:
        if (start - seen["acked"] - 1) % sg.NUMBERS >= FAR:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


def difference(conversation, theirs, ours):
    """Returns (number of the step, names of the fields that differ, both observations), None if there is none."""
    behind = [0, 0]
    for number, (left, right) in enumerate(zip(theirs, ours)):
        a, b = (plain(seen, conversation.steps[number], before) for seen, before in zip((left, right), behind))
        names = [name for name in FIELDS if a[name] != b[name]]
        is_last = number + 1 == len(theirs)
        # An ACK of new data may be delayed into the next step, and takes the place of a repeated one there.
        late = "acked" in names and not is_last and theirs[number + 1]["acked"] == ours[number + 1]["acked"]
        if late:
            names.remove("acked")
        if behind[0] != behind[1] and "again" in names:
            names.remove("again")
        if late or behind[0] != behind[1]:
            names = [name for name in names if name not in ("again", "sack", "window")]
        behind = [left["acked"], right["acked"]]
        if names:
            return number, tuple(names), {name: (a[name], b[name]) for name in names}
    return None


def without(conversation):
    """Yields the conversations that lack one of its segments."""
    for step, parts in enumerate(conversation.steps):
        for n in range(len(parts)):
            rest = parts[:n] + parts[n + 1 :]
            steps = conversation.steps[:step] + ([rest] if rest else []) + conversation.steps[step + 1 :]
            if steps:
                yield conversation._replace(steps=steps)


def cut(conversation, found):
    """Returns the conversation up to the step that differs."""
    return conversation._replace(steps=conversation.steps[: found[0] + 1])
