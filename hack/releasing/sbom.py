#!/usr/bin/env python3
"""The SBOM of a program in CycloneDX's JSON: the crates that it is built from, by `cargo tree`, with Cargo.lock's checksums.

Written here because cargo-cyclonedx takes the features that all packages of the workspace need together, tests included
(CycloneDX/cyclonedx-rust-cargo#760), and names the folder of the build. Run by hack/releasing/release, this compares the SBOMs with the crates that cargo has compiled.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import uuid
from pathlib import Path

import names

SPECIFICATION = "1.6"
# hack/releasing/release builds on no other platform.
BUILDER = "x86_64-unknown-linux-gnu"


def cargo(folder, *arguments):
    """The output of cargo in a folder."""
    run = subprocess.run(["cargo", *arguments], cwd=folder, check=True, stdout=subprocess.PIPE)
    return run.stdout.decode()


def crates(folder, target):
    """The crates that the programs for a target are built from, as (name, version)."""
    packages = [word for name in names.PROGRAMS for word in ("--package", name)]
    tree = cargo(folder, "tree", "--locked", *packages, "--edges", "normal,build", "--target", target,
                 "--prefix", "none", "--format", "{p}")
    found = {re.match(r"(\S+) v(\S+)", line) for line in tree.split("\n") if line}
    return {(crate[1], crate[2]) for crate in found}


def locked(lock):
    """The checksum of each crate of a Cargo.lock; None for those of this repository."""
    packages = tomllib.loads(lock)["package"]
    return {(package["name"], package["version"]): package.get("checksum") for package in packages}


def reference(crate):
    return f"pkg:cargo/{crate[0]}@{crate[1]}"


def component(crate, kind, checksum, package):
    """A crate as CycloneDX has it."""
    found = {"type": kind, "bom-ref": reference(crate), "name": crate[0], "version": crate[1]}
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package.get("license"):
        # Old manifests write a slash.
        found["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    return found | {"purl": reference(crate)}


def needed(metadata, used, root, *others):
    """The crates that each crate is compiled with, of those that are used, from the root on, which has the others."""
    identity = {package["id"]: (package["name"], package["version"]) for package in metadata["packages"]}
    all_edges = {}
    scripted = {package["id"] for package in metadata["packages"] if any("custom-build" in target["kind"] for target in package["targets"])}
    for node in metadata["resolve"]["nodes"]:
        # Build dependencies without a build script are not compiled.
        kinds = {None, "build"} if node["id"] in scripted else {None}
        edges = {identity[edge["pkg"]] for edge in node["deps"] if any(kind["kind"] in kinds for kind in edge["dep_kinds"])}
        all_edges[identity[node["id"]]] = edges & used
    all_edges[root] |= set(others)
    found, waiting = {}, [root]
    while waiting:
        crate = waiting.pop()
        if crate not in found:
            found[crate] = all_edges[crate]
            waiting += found[crate]
    return found


def build(version, commit, target, epoch, folder="."):
    """The SBOM of the programs for a target, the same for the same commit."""
    # Procedural macros and build scripts are compiled for the machine that builds.
    platforms = [f"--filter-platform={platform}" for platform in (target, BUILDER)]
    metadata = json.loads(cargo(folder, "metadata", "--locked", "--format-version=1", *platforms))
    packages = {package["id"]: package for package in metadata["packages"]}
    identity = {key: (package["name"], package["version"]) for key, package in packages.items()}
    checksums = locked(Path(folder, "Cargo.lock").read_text())
    root, *others = [(name, version) for name in names.PROGRAMS]
    edges = needed(metadata, crates(folder, target), root, *others)
    described = {identity[key]: component(identity[key], "library", checksums[identity[key]], package)
                 for key, package in packages.items() if identity[key] in edges}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{names.REPOSITORY}/{commit}/{target}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": described.pop(root) | {
                "type": "application",
                "externalReferences": [{"type": "vcs", "url": names.REPOSITORY}],
                "properties": [{"name": "commit", "value": commit}, {"name": "target", "value": target}],
            },
        },
        "components": [described[crate] for crate in sorted(described)],
        "dependencies": [{"ref": reference(crate), "dependsOn": [reference(each) for each in sorted(edges[crate])]}
                         for crate in sorted(edges)],
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def named(document):
    """The crates of an SBOM, with their checksums."""
    found = json.loads(document)
    every = [found["metadata"]["component"], *found["components"]]
    return {(entry["name"], entry["version"]): entry.get("hashes", [{}])[0].get("content") for entry in every}


def differences(document, lock, version, commit):
    """Sentences about what an SBOM has and Cargo.lock does not have."""
    found = json.loads(document)
    root = found["metadata"]["component"]
    wrong = []
    if (root["name"], root["version"]) != (names.PROGRAM, version):
        wrong.append(f"it is that of {root['name']} {root['version']}")
    if {"name": "commit", "value": commit} not in root["properties"]:
        wrong.append(f"it is not of the commit {commit}")
    checksums, listed = locked(lock), [(entry["name"], entry["version"]) for entry in found["components"]]
    if len(set(listed)) != len(listed):
        wrong.append("it lists a crate twice")
    for crate, checksum in sorted(named(document).items()):
        if crate not in checksums:
            wrong.append(f"{crate[0]} {crate[1]} is not in Cargo.lock")
        elif checksum != checksums[crate]:
            wrong.append(f"{crate[0]} {crate[1]} has another checksum than in Cargo.lock")
    return wrong + unlinked(found)


def unlinked(found):
    """Components that nothing depends on, and dependencies that are not components."""
    edges = {entry["ref"]: entry["dependsOn"] for entry in found["dependencies"]}
    reached, waiting = set(), [found["metadata"]["component"]["bom-ref"]]
    while waiting:
        reference_ = waiting.pop()
        if reference_ not in reached:
            reached.add(reference_)
            waiting += edges.get(reference_, [])
    every = {entry["bom-ref"] for entry in [found["metadata"]["component"], *found["components"]]}
    return [f"{reference_} is not linked to its component and its dependents" for reference_ in sorted(reached ^ every)]


def compiled(messages):
    """The crates that cargo has compiled, from its messages."""
    found = set()
    for line in messages.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact":
            place, _, crate = message["package_id"].rpartition("#")
            name, _, version = crate.rpartition("@")
            found.add((name or os.path.basename(place), version))
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sbom", type=Path, required=True)
    arguments.add_argument("--messages", type=Path, required=True, help="what cargo has printed with --message-format=json")
    given = arguments.parse_args()
    has, should = set(named(given.sbom.read_bytes())), compiled(given.messages.read_text())
    wrong = [f"{name} {version} is missing" for name, version in sorted(should - has)]
    wrong += [f"{name} {version} was not compiled" for name, version in sorted(has - should)]
    if wrong or not should:
        sys.exit(f"{given.sbom}: {'; '.join(wrong) or 'no crate was compiled'}")
    print(f"{given.sbom.name}: the {len(has)} crates that were compiled")


if __name__ == "__main__":
    main()
