#!/usr/bin/env python3
"""An image of programs that were built on this machine, for nodes of its architecture: hack/image runs it."""

import argparse
from pathlib import Path

import image
import names
import pack


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ["version", "commit", "architecture", "name", "programs", "output"]:
        arguments.add_argument(f"--{name}", required=True)
    arguments.add_argument("--epoch", type=int, required=True)
    given = arguments.parse_args()
    built = [Path(given.programs, program).read_bytes() for program in names.PROGRAMS]
    files = [(path, program, True) for path, program in zip(names.PROGRAM_PATHS, built, strict=True)]
    files.append((f"{names.LICENSES_PATH}/LICENSE", Path("LICENSE").read_bytes(), False))
    layers = {given.architecture: pack.compressed(pack.tar(files, given.epoch))}
    layout = image.build(given.version, given.commit, given.epoch, layers, given.name)
    image.for_docker(layout, f"{given.name}:{given.version}")
    Path(given.output).write_bytes(layout.tar(given.epoch))


if __name__ == "__main__":
    main()
