#!/usr/bin/env python3
"""Runs the recorded cases through a flightdeck binary and holds each group against its floor.

    .ci/cases.py --bin target/debug/flightdeck --floors tests/floors.toml [--cases ../shared/fidelity] [--raise]

A group below its floor, a group without one, and a case that crashes or hangs end with 1. --raise writes what is reached
into the file of floors: upwards alone.
"""
import argparse
import pathlib
import re
import subprocess
import sys

BAD = re.compile(r"^\S+: step \d+: (crashed|hung|unreadable output)")
COUNT = re.compile(r"^([a-z_]+): (\d+) of (\d+)$")
LINE = re.compile(r"^([a-z_]+)(\s*=\s*)(\d+)\s*$")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bin", required=True)
    ap.add_argument("--floors", type=pathlib.Path, required=True)
    ap.add_argument("--cases", type=pathlib.Path, default=pathlib.Path("../shared/fidelity"))
    ap.add_argument("--jobs", default="4")
    ap.add_argument("--raise", dest="upwards", action="store_true")
    o = ap.parse_args()

    lines = o.floors.read_text().splitlines()
    floors = {m[1]: int(m[3]) for m in map(LINE.match, lines) if m}
    command = [sys.executable, str(o.cases / "run.py"), "--bin", o.bin, "--cases", str(o.cases), "--jobs", o.jobs]
    reached, bad = {}, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            print(line, end="", flush=True)
            if BAD.match(line):
                bad.append(line.strip())
            if m := COUNT.match(line):
                reached[m[1]] = (int(m[2]), int(m[3]))
    if not reached:
        sys.exit("the cases did not run")

    wrong = [f"never to happen: {line}" for line in bad]
    for group, (good, total) in reached.items():
        floor = floors.get(group)
        if floor is None:
            wrong.append(f"{group} has no floor in {o.floors}")
        elif good < floor:
            wrong.append(f"{group}: {good} of {total} pass, fewer than the {floor} of its floor")
        elif good > floor:
            print(f"{group}: {good} pass, more than the {floor} of its floor: raise it (--raise)")
    wrong += [f"{group} has a floor and no cases" for group in floors if group not in reached]

    if o.upwards:
        def raised(line):
            m = LINE.match(line)
            return f"{m[1]}{m[2]}{max(int(m[3]), reached.get(m[1], (0, 0))[0])}" if m else line
        lines = [raised(line) for line in lines]
        lines += [f"{group} = {good}" for group, (good, _) in reached.items() if group not in floors]
        o.floors.write_text("\n".join(lines) + "\n")
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
