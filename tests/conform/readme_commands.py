"""The commands that a page shows, in its order, and what tests/conform/readme.index says of each.

A command is a line of an indented block or a span of code that begins with a program and has an argument: a program's
name alone is no command. A line that ends in a backslash continues; # begins a comment.
"""

import dataclasses
import re

PROGRAM = re.compile(r"(?:\./)?(?:tools|build|tests)/[\w/-]+ |(?:[A-Z]+=\w+ )?meson |"
                     r"(?:clockoo(?:-\w+)?|apt|cp|editor|systemctl|echo|printf|ip|nc|man|ninja|mkdir) |"
                     r"\./tools/\w+$")
CODE = re.compile(r"(?m)^    (?P<line>.*)$|`(?P<span>[^`]+)`")
COMMENT = re.compile(r"\s+#\s.*")
WAYS = ("run", "until", "served", "shown")
# The server's address in a page's commands, which tools/run's appliance replaces.
SERVER = re.compile(r"\b10\.(?:0\.0|99\.0)\.1\b")


@dataclasses.dataclass(frozen=True)
class Entry:
    way: str       # one of WAYS
    argument: str


class Wrong(Exception):
    """The index is wrong."""


def commands_of(text):
    found = []
    for code in CODE.finditer(text.replace("\\\n", " ")):
        words = code["span"] or COMMENT.sub("", code["line"].strip())
        found.append(" ".join(words.split()))
    return list(dict.fromkeys(command for command in found if PROGRAM.match(command)))


def index_of(text):
    """Returns {command: Entry}. A command stands at the start of a line, and below it how it is run."""
    found, command = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            command = line.strip()
            continue
        way, _, argument = line.strip().partition(" ")
        if command is None or command in found or way not in WAYS or (way in ("until", "shown")) > bool(argument):
            raise Wrong(f"line {number}: expected a command, and below it one of {', '.join(WAYS)}")
        found[command] = Entry(way, argument)
    return found


def file_of(text, name):
    """Returns a file that a page shows in a block: the lines after a comment with its name."""
    block = re.search(rf"(?m)^    # {re.escape(name)}\n((?:    .*\n|\n(?=    ))+)", text)
    return re.sub(r"(?m)^    ", "", block[1])


def command_to_run(command, entry):
    if entry.way == "served":
        # The command fails without an answer, since grep then ends with 1.
        asked = SERVER.sub("$CLOCKOO_HOST", command).replace("'", "'\\''")
        return f"./tools/run -q --exec '{asked} | grep .'"
    return entry.argument if entry.way == "run" and entry.argument else command
