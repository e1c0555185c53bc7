#!/usr/bin/env python3
"""The licences of what the programs are built from, with their texts: hack/releasing/release runs it.

The crates' are in their packages; those of Rust's standard library, musl and LLVM's unwinder come with rustc and zig.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

import names
import sbom

# Files that are a licence, or notices that it asks for.
TEXT = re.compile(r"(licen[cs]es?|copying|copyright|notice|unlicense|authors)([-_.].*)?", re.IGNORECASE)
LINE = "=" * 80


def packages(folder="."):
    """The crates of others that are in either program, as `cargo metadata` has them."""
    metadata = json.loads(sbom.cargo(folder, "metadata", "--locked", "--format-version=1"))
    used = {crate for target in names.TARGETS.values() for crate in sbom.crates(folder, target)}
    found = [package for package in metadata["packages"]
             if package["source"] and (package["name"], package["version"]) in used]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The texts in a package: at its root, and at that of the C library that it may contain, such as jemalloc."""
    root = Path(package["manifest_path"]).parent
    files = [*root.iterdir(), *(path for folder in root.iterdir() if folder.is_dir() for path in folder.iterdir())]
    return [path.read_text(errors="replace").strip() for path in sorted(files) if path.is_file() and TEXT.fullmatch(path.name)]


def document(found):
    """All texts, each once, with the crates that it is of; `found` has the texts of each package."""
    crates = {}
    for package, each in found:
        for text in each:
            crates.setdefault(text, []).append(f"{package['name']} {package['version']}")
    lines = ["The crates that the program is built from, and their licences as SPDX expressions. Their texts follow.", ""]
    for package, each in found:
        note = "" if each else f"; the package has no text, its authors are {', '.join(package['authors']) or 'not named'}"
        lines.append(f"{package['name']} {package['version']}: {package['license'] or 'see its text'}{note}")
    for text, users in crates.items():
        lines += ["", LINE, *users, LINE, "", text]
    return "\n".join(lines) + "\n"


def write(output, sysroot, zig):
    """Writes the texts into a folder."""
    found = [(package, texts(package)) for package in packages()]
    output.mkdir(parents=True)
    (output / "crates.txt").write_text(document(found))
    copies = {
        "rust-standard-library.html": sysroot / "share/doc/rust/COPYRIGHT-library.html",
        "musl.txt": zig / "lib/libc/musl/COPYRIGHT",
        "libunwind.txt": zig / "lib/libunwind/LICENSE.TXT",
        "zig.txt": zig / "LICENSE",
    }
    for name, source in copies.items():
        shutil.copyfile(source, output / name)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ["output", "sysroot", "zig"]:
        arguments.add_argument(f"--{name}", type=Path, required=True)
    given = arguments.parse_args()
    write(given.output, given.sysroot, given.zig)
