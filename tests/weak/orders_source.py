"""orders_source.py - the atomic operations of lib whose order is stronger than relaxed, read from its source.

A row is (path, function, object, part). object is the last name of the operation's first argument, or fence; the second
operation on an object in a function has /2 after it. Parts: acquire, release, and seq_cst for what seq_cst adds to
both.
"""

import collections
import re

CALL = re.compile(r"\b(?:atomic|__atomic)_(?P<what>\w+)\s*\(")
ORDER = re.compile(r"\bmemory_order_(\w+)|\b__ATOMIC_([A-Z_]+)")
FUNCTION = re.compile(r"(\w+)\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
NO_ORDER = ("init", "signal_fence")


def _without_comments(text):
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _arguments(text, at):
    """Returns the arguments of the call whose parenthesis is before `at`, and the call's end."""
    depth, begin, found = 0, at, []
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}" and depth == 0:
            return [*found, text[begin:i].strip()], i
        elif text[i] in ")]}":
            depth -= 1
        elif text[i] == "," and depth == 0:
            found.append(text[begin:i].strip())
            begin = i + 1
    raise ValueError("a call without an end")


def _object_of(argument):
    """Returns the object's name: ref for &b->ref[slot], slot_at for slot_at(b, slot)."""
    bare = re.sub(r"\[[^][]*\]", "", re.sub(r"\[[^][]*\]", "", argument))
    called = re.match(r"&?\s*(\w+)\(", bare)
    return called[1] if called else re.findall(r"\w+", bare)[-1]


def _parts(what, arguments):
    if what.startswith(NO_ORDER):
        return []
    orders = {(a or b).lower() for text in arguments[1:] or arguments for a, b in ORDER.findall(text)}
    if what.endswith("fence"):
        orders = {(a or b).lower() for text in arguments for a, b in ORDER.findall(text)}
    elif not what.endswith("explicit") and not orders:
        orders = {"seq_cst"}
    strong = "seq_cst" in orders
    loads = not what.startswith("store")
    stores = not what.startswith("load")
    return [part for part, is_there in (
        ("acquire", loads and (strong or orders & {"acquire", "consume", "acq_rel"})),
        ("release", stores and (strong or orders & {"release", "acq_rel"})),
        ("seq_cst", strong)) if is_there]


def _function_at(lines, number):
    for line in reversed(lines[:number]):
        found = FUNCTION.match(line)
        if found:
            return found[1]
    return "-"


def orders_of_file(path, name):
    """{row: (first line, last line)}"""
    text = _without_comments(path.read_text())
    lines = text.splitlines()
    found, seen = {}, collections.Counter()
    for call in CALL.finditer(text):
        if text[text.rfind("\n", 0, call.start()) + 1:call.start()].lstrip().startswith("#"):
            continue
        arguments, end = _arguments(text, call.end())
        parts = _parts(call["what"], arguments)
        first, last = text.count("\n", 0, call.start()) + 1, text.count("\n", 0, end) + 1
        function = _function_at(lines, first)
        thing = "fence" if call["what"].endswith("fence") else _object_of(arguments[0])
        if not parts:
            continue
        seen[function, thing] += 1
        if seen[function, thing] > 1:
            thing += f"/{seen[function, thing]}"
        for part in parts:
            found[name, function, thing, part] = (first, last)
    return found


def orders_of(root):
    """{row: (first line, last line)} of all files of root/lib."""
    found = {}
    for path in sorted((root / "lib").rglob("*.[ch]")):
        found.update(orders_of_file(path, str(path.relative_to(root))))
    return found
