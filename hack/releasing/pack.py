#!/usr/bin/env python3
"""Turns the built programs into the files of a release: hack/releasing/release runs it."""

import argparse
import gzip
import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import image
import krew
import names
import sbom


def tar(entries, epoch):
    """A tar file of entries (path, content, executable), the same for the same content; a folder comes before its files."""
    output = io.BytesIO()
    folders = set()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content, executable in sorted(entries):
            for folder in reversed(Path(path).parents[:-1]):
                if folder not in folders:
                    folders.add(folder)
                    archive.addfile(entry(f"{folder}/", epoch, 0o755, kind=tarfile.DIRTYPE))
            archive.addfile(entry(path, epoch, 0o755 if executable else 0o644, len(content)), io.BytesIO(content))
    return output.getvalue()


def entry(path, epoch, mode, size=0, kind=tarfile.REGTYPE):
    """The head of a file or folder that belongs to root."""
    found = tarfile.TarInfo(path)
    found.mtime, found.mode, found.size, found.type = epoch, mode, size, kind
    found.uname = found.gname = "root"
    return found


def compressed(data):
    """Compressed by gzip, whose output, unlike that of zlib's forks, depends on its level only."""
    return subprocess.run(["gzip", "-9", "--no-name"], input=data, check=True, capture_output=True).stdout


def program_archive(version, architecture, programs, extras, epoch):
    """The programs, in the order of their names, with their licence, man pages and completions."""
    folder = names.archive(version, architecture).removesuffix(".tar.gz")
    files = [(f"{folder}/{name}", program, True) for name, program in zip(names.PROGRAMS, programs, strict=True)]
    for root in extras:
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            files.append((f"{folder}/{path.relative_to(root)}", path.read_bytes(), False))
    return compressed(tar(files, epoch))


def layer(programs, licenses, epoch):
    """The files of the image: the programs, and the licences of what they are built from."""
    files = [(path, program, True) for path, program in zip(names.PROGRAM_PATHS, programs, strict=True)]
    files += [(f"{names.LICENSES_PATH}/{path.name}", path.read_bytes(), False) for path in sorted(licenses.iterdir())]
    return compressed(tar(files, epoch))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ["version", "commit", "target-folder", "extras", "output"]:
        arguments.add_argument(f"--{name}", required=True)
    arguments.add_argument("--epoch", type=int, required=True)
    given = arguments.parse_args()
    output, layers, archives = Path(given.output), {}, {}
    for architecture, target in names.TARGETS.items():
        built = [Path(given.target_folder, target, "release", name).read_bytes() for name in names.PROGRAMS]
        archives[architecture] = program_archive(given.version, architecture, built, [Path(given.extras)], given.epoch)
        (output / names.archive(given.version, architecture)).write_bytes(archives[architecture])
        layers[architecture] = layer(built, Path(given.extras, names.LICENSES), given.epoch)
        components = sbom.build(given.version, given.commit, target, given.epoch)
        (output / names.sbom(given.version, architecture)).write_bytes(components)
    layout = image.build(given.version, given.commit, given.epoch, layers)
    (output / names.image(given.version)).write_bytes(layout.tar(given.epoch))
    (output / names.krew(given.version)).write_bytes(krew.build(given.version, archives))
    source = ["git", "archive", "--format=tar", f"--prefix={names.PROGRAM}-{given.version}/", given.commit]
    tree = subprocess.run(source, check=True, capture_output=True).stdout
    (output / names.source(given.version)).write_bytes(compressed(tree))
    write_sums(output, given.version)


def write_sums(output, version):
    """SHA256SUMS, as sha256sum writes and checks it."""
    lines = [f"{hashlib.sha256((output / name).read_bytes()).hexdigest()}  {name}\n" for name in names.artefacts(version)]
    (output / names.SUMS).write_text("".join(lines))


if __name__ == "__main__":
    main()
