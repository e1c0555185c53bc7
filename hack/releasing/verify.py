"""Checks of a release's files: each function raises a Failure that says which file is wrong, and what."""

import base64
import binascii
import gzip
import hashlib
import io
import json
import re
import struct
import subprocess
import tarfile
import tempfile
import zlib
from pathlib import Path

import image
import krew
import names
import sbom

# The ELF numbers of both architectures.
MACHINES = {"amd64": 62, "arm64": 183}
# The kind of ELF segment that names a dynamic linker, and that of a file that can be loaded at any address.
PT_INTERP = 3
ET_DYN = 3


class Failure(Exception):
    """A file that is not what was released."""


def require(condition, message):
    if not condition:
        raise Failure(message)


def unpacked(path, mode="r:*"):
    """The files of a tar archive by path, and its commit if `git archive` wrote it."""
    try:
        with tarfile.open(path, mode=mode) as archive:
            files = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}
            return files, archive.pax_headers.get("comment")
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise Failure(f"{path.name} can't be unpacked: {error}") from error


def sums(folder):
    """The version, if SHA256SUMS lists exactly the files of a release and each is unchanged."""
    listed = {}
    path = folder / names.SUMS
    require(path.is_file(), f"{names.SUMS} is missing in {folder}")
    for line in path.read_text(errors="replace").splitlines():
        found = re.fullmatch(r"([0-9a-f]{64})  (\S+)", line)
        require(found, f"{names.SUMS} has a line that sha256sum does not write: {line!r}")
        listed[found[2]] = found[1]
    versions = [found[1] for found in (re.fullmatch(rf"{names.PROGRAM}-(\S+)-oci\.tar", name) for name in listed) if found]
    require(len(versions) == 1, f"{names.SUMS} does not list one image")
    expected = set(names.artefacts(versions[0]))
    require(set(listed) == expected, f"{names.SUMS} does not list what a release has: {sorted(set(listed) ^ expected)}")
    for name, expected_sum in sorted(listed.items()):
        require((folder / name).is_file(), f"{name} is missing in {folder}")
        found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        require(found == expected_sum, f"{name} has the SHA-256 {found}, and {names.SUMS} says {expected_sum}")
    extra = {path.name for path in folder.iterdir()} - expected - {names.SUMS, names.SIGNATURE}
    require(not extra, f"files that are not part of the release: {sorted(extra)}")
    return versions[0]


def signature(folder, key):
    """SHA256SUMS was signed with the private key of this public one: SHA-256, in base64, as cosign writes it."""
    path = folder / names.SIGNATURE
    require(path.is_file(), f"{names.SIGNATURE} is missing in {folder}")
    try:
        raw = base64.b64decode(path.read_bytes(), validate=False)
    except binascii.Error as error:
        raise Failure(f"{names.SIGNATURE} is not base64: {error}") from error
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw)
        file.flush()
        command = ["openssl", "dgst", "-sha256", "-verify", key, "-signature", file.name, folder / names.SUMS]
        verified = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (verified.stdout + verified.stderr).strip()
    require(verified.returncode == 0, f"{names.SIGNATURE} is not a signature of {names.SUMS} by {key}: {said}")


def source(folder, version):
    """The Cargo.lock and the commit of the sources."""
    name = names.source(version)
    files, commit = unpacked(folder / name)
    lock = files.get(f"{names.PROGRAM}-{version}/Cargo.lock")
    require(lock, f"{name} has no Cargo.lock")
    require(commit, f"{name} does not name its commit")
    return lock.decode(), commit


def programs(folder, version, architecture, commit):
    """The files that the image has too, by their paths there, with the programs in an archive: for its architecture, static,
    position-independent, and of this commit."""
    name = names.archive(version, architecture)
    root = name.removesuffix(".tar.gz")
    files, _ = unpacked(folder / name)
    found = {}
    for path, program in zip(names.PROGRAM_PATHS, names.PROGRAMS, strict=True):
        found[path] = files.get(f"{root}/{program}", b"")
        executable(found[path], f"{program} of {name}", architecture, commit)
    licenses = {path.rpartition("/")[2]: text for path, text in files.items() if path.startswith(f"{root}/{names.LICENSES}/")}
    require(licenses, f"{name} lacks the licences of what the programs are built from")
    return found | {f"{names.LICENSES_PATH}/{path}": text for path, text in licenses.items()}


def executable(found, name, architecture, commit):
    """A program is for an architecture, static, position-independent, and of this commit."""
    require(found[:6] == b"\x7fELF\x02\x01", f"{name} is not a 64-bit ELF program")
    kind, machine = struct.unpack_from("<HH", found, 16)
    require(kind == ET_DYN, f"{name} has a fixed address")
    require(machine == MACHINES[architecture], f"{name} is for the ELF machine {machine}")
    start, = struct.unpack_from("<Q", found, 32)
    size, count = struct.unpack_from("<HH", found, 54)
    segments = [struct.unpack_from("<I", found, start + size * number)[0] for number in range(count)]
    require(PT_INTERP not in segments, f"{name} is not static")
    require(commit.encode() in found, f"{name} is not of the commit {commit}")


def oci(folder, version, commit, contents):
    """The layout: each digest and size, both platforms, and in each image exactly the programs and licences of the archive."""
    name = names.image(version)
    files, _ = unpacked(folder / name, "r:")
    used = {"oci-layout", "index.json"}

    def load(data):
        try:
            return json.loads(data)
        except ValueError as error:
            raise Failure(f"{name}: a JSON document is broken: {error}") from error

    def blob(descriptor, media_type):
        path = f"blobs/{descriptor['digest'].replace(':', '/')}"
        used.add(path)
        data = files.get(path)
        require(data is not None, f"{name} lacks {path}")
        require(descriptor["mediaType"] == media_type, f"{name}: {path} is said to be {descriptor['mediaType']}")
        require(len(data) == descriptor["size"], f"{name}: {path} has not the size that its descriptor says")
        require(image.digest(data) == descriptor["digest"], f"{name}: {path} has another digest than its name")
        return data

    require({"oci-layout", "index.json"} <= set(files), f"{name} is not an OCI image layout")
    require(load(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}, f"{name} has an unknown layout version")
    root = load(files["index.json"])["manifests"]
    require(len(root) == 1, f"{name} has {len(root)} images and not one")
    annotations = image.named(names.IMAGE, version)
    require(root[0].get("annotations") == annotations, f"{name}: the image is not called {annotations}")
    manifests = load(blob(root[0], image.INDEX))["manifests"]
    platforms = [{"architecture": architecture, "os": "linux"} for architecture in sorted(contents)]
    require([found.get("platform") for found in manifests] == platforms, f"{name} does not have the platforms {platforms}")
    for descriptor in manifests:
        architecture = descriptor["platform"]["architecture"]
        manifest = load(blob(descriptor, image.MANIFEST))
        config = load(blob(manifest["config"], image.CONFIG))
        layers = [gzip.decompress(blob(layer, image.LAYER)) for layer in manifest["layers"]]
        unpacked_digests = [image.digest(layer) for layer in layers]
        require(config["rootfs"]["diff_ids"] == unpacked_digests, f"{name}: a layer is not the one of its image")
        require(config["architecture"] == architecture, f"{name}: the image of {architecture} is for {config['architecture']}")
        labels = config["config"]["Labels"]
        said = labels["org.opencontainers.image.version"], labels["org.opencontainers.image.revision"]
        require(said == (version, commit), f"{name}: the image of {architecture} is of {said}")
        require(len(layers) == 1, f"{name}: the image of {architecture} has {len(layers)} layers and not one")
        with tarfile.open(fileobj=io.BytesIO(layers[0]), mode="r:") as layer:
            content = {entry.name: layer.extractfile(entry).read() for entry in layer if not entry.isdir()}
        found = f"{name}: the image of {architecture}"
        require(content == contents[architecture], f"{found} does not have the programs and licences of the archive")
    require(set(files) == used, f"{name} has files that no image needs: {sorted(set(files) - used)}")


def components(folder, version, architecture, lock, commit):
    """The SBOM names crates of Cargo.lock only, each with its checksum there."""
    name = names.sbom(version, architecture)
    wrong = sbom.differences((folder / name).read_bytes(), lock, version, commit)
    require(not wrong, f"{name}: {'; '.join(wrong)}")


def everything(folder, key, say=print):
    """All checks; says a line for each that has passed."""
    try:
        return each(folder, key, say)
    except (LookupError, TypeError, ValueError, AttributeError, struct.error, tarfile.TarError, EOFError, zlib.error) as error:
        raise Failure(f"a file lacks what each release has: {type(error).__name__}: {error}") from error


def each(folder, key, say):
    version = sums(folder)
    say(f"ok  {names.SUMS}: the files of {version}, unchanged")
    if key:
        signature(folder, key)
        say(f"ok  {names.SIGNATURE}: signed with the key of {key}")
    lock, commit = source(folder, version)
    say(f"ok  {names.source(version)}: of the commit {commit}")
    contents = {architecture: programs(folder, version, architecture, commit) for architecture in names.TARGETS}
    say(f"ok  programs of {' and '.join(contents)}: static, and of this commit")
    oci(folder, version, commit, contents)
    say(f"ok  {names.image(version)}: all digests, and in each image the programs and licences of the archive")
    archives = {architecture: (folder / names.archive(version, architecture)).read_bytes() for architecture in contents}
    manifest = (folder / names.krew(version)).read_bytes()
    require(manifest == krew.build(version, archives), f"{names.krew(version)} is not that of the archives")
    say(f"ok  {names.krew(version)}: installs the archives")
    for architecture in contents:
        components(folder, version, architecture, lock, commit)
        say(f"ok  {names.sbom(version, architecture)}: crates of Cargo.lock with its checksums")
    return version
