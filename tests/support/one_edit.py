"""Mutants that are one edit each, {MUTANT: (file, text, replacement)}, and the two calls of a script that has them:

SCRIPT MUTANT FOLDER OUT - the mutant's file of FOLDER, edited.
SCRIPT --caught PROGRAM [ARG]... - PROGRAM, built with it, must fail.

A text must be in its file exactly once, or the build fails, so that a mutant is updated with the code that it breaks.
"""

import pathlib
import subprocess
import sys

FAILURE = "Failure!"  # cmocka's word for a check that failed


def write(mutant, edit, folder, out):
    name, old, new = edit
    text = pathlib.Path(folder, name).read_text()
    if text.count(old) != 1:
        sys.exit(f"{mutant}: {name} has this {text.count(old)} times, not once:\n{old}")
    pathlib.Path(out).write_text(text.replace(old, new))


def caught(command):
    """True if the tests fail. The program is ended at the first failure."""
    said = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as program:
        for line in program.stdout:
            said.append(line)
            if FAILURE in line:
                program.kill()
                break
    print("".join(said)[-600:])
    return program.returncode != 0


def main(mutants, words):
    if words[0] == "--caught":
        sys.exit(0 if caught(words[1:]) else "the mutant was not caught")
    write(words[0], mutants[words[0]], *words[1:])
