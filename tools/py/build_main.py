"""The program behind the shell script tools/build."""

import argparse
import os
import sys

import build_tree
import cross
from progress import Failed

PROGRAM = "app/clockoo"


def main(argv):
    parser = argparse.ArgumentParser(prog="tools/build")
    parser.add_argument("--arch", choices=cross.FAMILIES)
    parser.add_argument("--build", metavar="DIR")
    args = parser.parse_args(argv)
    if args.build is not None:
        os.environ["CLOCKOO_BUILD"] = args.build
    if args.arch is None or cross.is_native(args.arch):
        folder = build_tree.default_folder()
        build_tree.build(folder, targets=[PROGRAM], bench=False)
    else:
        folder = cross.folder(args.arch)
        cross.build(args.arch, folder, targets=[PROGRAM], bench=False)
    print(folder / PROGRAM)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Failed, cross.Missing) as failed:
        print(failed, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
