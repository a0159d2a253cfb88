#!/usr/bin/env python3
"""Records the order of operations that OpenTofu gives to the configurations in cases.txt.

    FLIGHTDECK_TOFU=path/to/tofu python3 src/engine/stage/tests/recorded_orders/record.py

Rewrites the sections `state` and `tofu` of each row. `before` is the configuration that is applied first, `config` the
one whose plan is drawn; `flags` are those of `flightdeck stage`. A lab_thing becomes a terraform_data, and a lab_data
a terraform_remote_state, which needs no provider plugin.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).with_name("cases.txt")
TOFU = os.environ.get("FLIGHTDECK_TOFU") or sys.exit("Set FLIGHTDECK_TOFU to the path of a tofu.")
KEYS = ["before", "config", "flags", "state", "says", "tofu", "order"]


def run(directory, *arguments):
    done = subprocess.run(
        [TOFU, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TF_CLI_CONFIG_FILE": "", "TF_IN_AUTOMATION": "1"},
    )
    if done.returncode not in (0, 2):
        sys.exit(f"tofu {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


def translated(text):
    """Returns the configuration with types that tofu has without a plugin."""
    data = r'data terraform_remote_state \1 { \2backend = "local"; config = { path = tostring(\3) } }'
    text = re.sub(r"data lab_data (\w+) \{ (.*?)name = (.*?) \}", data, text)
    text = re.sub(r"data\.lab_data\.(\w+(?:\[[^]]*\])?)\.value", r"data.terraform_remote_state.\1.backend", text)
    text = re.sub(r"(lab_thing\.\w+(?:\[[^]]*\])?)\.name", r"\1.output", text)
    text = re.sub(r"\bname = ", "input = ", re.sub(r"\bzone = ", "triggers_replace = ", text))
    text = text.replace("data.lab_data", "data.terraform_remote_state").replace("lab_thing", "terraform_data")
    return text.replace("; ", "\n").replace("{ ", "{\n").replace(" }", "\n}")


def write(directory, text):
    for old in directory.glob("**/main.tf"):
        old.unlink()
    for at, part in enumerate(text.split("@@")):
        name, text = (".", part) if at == 0 else part.split(" ", 1)
        (directory / name).mkdir(exist_ok=True)
        (directory / name / "main.tf").write_text(translated(text) + "\n")


def ours(address):
    return address.replace("terraform_remote_state", "lab_data").replace("terraform_data", "lab_thing")


def state_lines(directory):
    path = directory / "terraform.tfstate"
    if not path.exists():
        return []
    resources = [r for r in json.loads(path.read_text())["resources"] if r["mode"] == "managed"]
    objects = []
    for resource in resources:
        for instance in resource["instances"]:
            key = instance.get("index_key")
            key = "" if key is None else f"[{json.dumps(key)}]"
            module = f"{resource['module']}." if "module" in resource else ""
            address = ours(f"{module}{resource['type']}.{resource['name']}{key}")
            objects.append((address, instance))
    ids = {instance["attributes"]["id"]: address for address, instance in objects}
    lines = []
    for address, instance in objects:
        words = [address]
        for ours_name, name in (("name", "input"), ("zone", "triggers_replace")):
            value = instance["attributes"][name]
            value = value["value"] if isinstance(value, dict) else value
            if value is not None:
                words.append(f"{ours_name}={ids.get(value, value)}")
        words += ["<" + ours(on) for on in instance.get("dependencies", [])]
        if instance.get("create_before_destroy"):
            words.append("!create_first")
        lines.append(" ".join(words))
    return lines


def order(directory, flags):
    run(directory, "plan", "-out=plan", *(f.replace("lab_thing", "terraform_data") for f in flags))
    changes = json.loads(run(directory, "show", "-json", "plan")).get("resource_changes", [])
    operations = {}
    for change in changes:
        actions, address = change["change"]["actions"], change["address"]
        if {"create", "update", "read"} & set(actions):
            operations[address] = f"apply {ours(address)}"
        if "delete" in actions:
            operations[f"{address} (destroy)"] = f"destroy {ours(address)}"
    edges = {}
    for line in run(directory, "graph", "-plan=plan").splitlines():
        if found := re.match(r'\s*"\[root\] (.*)" -> "\[root\] (.*)"$', line):
            names = (re.sub(r" deposed \w+\)", ")", name.replace('\\"', '"')) for name in found.groups())
            one, other = names
            edges.setdefault(one, set()).add(other)

    def behind(start):
        seen, queue = set(), [start]
        while queue:
            for following in edges.get(queue.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
        return seen & operations.keys()

    everything = {name: behind(name) for name in operations}
    lines = []
    for name, line in operations.items():
        nearest = [n for n in everything[name] if not any(n in everything[o] for o in everything[name])]
        after = ", ".join(sorted(operations[n] for n in nearest))
        lines.append(f"{line} after {after}" if after else line)
    return sorted(lines)


def recorded(row):
    rule, *rest = row.strip().splitlines()
    sections = {}
    for line in rest:
        key, _, text = line.strip().partition(":")
        if key in KEYS:
            lines = sections.setdefault(key, [])
            line = text.strip()
        lines.append(line.strip())
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        if "before" in sections:
            write(directory, "\n".join(sections["before"]))
            run(directory, "init")
            run(directory, "apply", "-auto-approve")
        write(directory, "\n".join(sections["config"]))
        run(directory, "init")
        sections["state"] = state_lines(directory)
        sections["tofu"] = order(directory, " ".join(sections.get("flags", [])).split())
    text = rule
    for key in KEYS:
        if sections.get(key):
            indent = "\n" + " " * (len(key) + 2)
            text += f"\n{key}: " + indent.join(sections[key])
    return text


rows = CASES.read_text().strip().split("\n\n")
CASES.write_text("\n\n".join(recorded(row) for row in rows) + "\n")
print(f"{len(rows)} orders recorded")
