#!/usr/bin/env python3
"""Tests of hack/releasing/verify-release on a small release with a key of its own: whatever is changed in it, verification fails.

Without a network and without building anything; a second. hack/verify runs these and those of scripts_tests.py.
"""

import base64
import contextlib
import gzip
import io
import json
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import image  # noqa: E402
import krew  # noqa: E402
import licenses  # noqa: E402
import names  # noqa: E402
import pack  # noqa: E402
import sbom  # noqa: E402
import verify  # noqa: E402

VERSION = "1.2.3"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
EPOCH = 1_700_000_000
CHECKSUM = "ab" * 32
LICENSE = "serde 1.0.0: MIT"
LOCK = f"""
[[package]]
name = "{names.PROGRAM}"
version = "{VERSION}"
dependencies = ["serde"]

[[package]]
name = "serde"
version = "1.0.0"
checksum = "{CHECKSUM}"

[[package]]
name = "windows-sys"
version = "0.1.0"
checksum = "{CHECKSUM}"
"""


def elf(architecture):
    """The head of a static program, and its commit."""
    kind = verify.ET_DYN, verify.MACHINES[architecture]
    head = struct.pack("<4sBB10xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, *kind, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<I52x", 1) + COMMIT.encode()


def document():
    """An SBOM with one dependency."""
    root, serde = (names.PROGRAM, VERSION), ("serde", "1.0.0")
    component = sbom.component(root, "application", None, {}) | {"properties": [{"name": "commit", "value": COMMIT}]}
    return {
        "metadata": {"component": component},
        "components": [sbom.component(serde, "library", CHECKSUM, {"license": "MIT/Apache-2.0"})],
        "dependencies": [{"ref": sbom.reference(root), "dependsOn": [sbom.reference(serde)]},
                         {"ref": sbom.reference(serde), "dependsOn": []}],
    }


def sources(lock=LOCK):
    """An archive as git makes it."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": COMMIT}) as archive:
        entry = tarfile.TarInfo(f"{names.PROGRAM}-{VERSION}/Cargo.lock")
        entry.size = len(lock)
        archive.addfile(entry, io.BytesIO(lock.encode()))
    return gzip.compress(output.getvalue())


def layer(architecture, text=LICENSE):
    with licensed(text) as folder:
        return pack.layer([elf(architecture)] * len(names.PROGRAMS), folder / names.LICENSES, EPOCH)


def archive(architecture, program):
    with licensed(LICENSE) as folder:
        return pack.program_archive(VERSION, architecture, [program] * len(names.PROGRAMS), [folder], EPOCH)


@contextlib.contextmanager
def licensed(text):
    """A folder as hack/releasing/release makes it for what the archives have besides the program."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, names.LICENSES).mkdir()
        Path(folder, names.LICENSES, "crates.txt").write_text(text)
        yield Path(folder)


def layout():
    return image.build(VERSION, COMMIT, EPOCH, {architecture: layer(architecture) for architecture in names.TARGETS})


class Made(unittest.TestCase):
    """A release in a folder of its own, and a key."""

    @classmethod
    def setUpClass(cls):
        cls.original = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.key, cls.public = cls.original / "key", cls.original / "key.pub"
        cls.openssl("genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", cls.key)
        cls.openssl("pkey", "-in", cls.key, "-pubout", "-out", cls.public)

    @staticmethod
    def openssl(*arguments):
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for architecture in names.TARGETS:
            program = archive(architecture, elf(architecture))
            self.write(names.archive(VERSION, architecture), program)
            self.write(names.sbom(VERSION, architecture), json.dumps(document()).encode())
        self.write(names.image(VERSION), layout().tar(EPOCH))
        self.write_krew()
        self.write(names.source(VERSION), sources())
        self.sign()

    def write(self, name, data):
        (self.folder / name).write_bytes(data)

    def write_krew(self):
        """Writes the manifest of the archives that are there."""
        archives = {architecture: (self.folder / names.archive(VERSION, architecture)).read_bytes() for architecture in names.TARGETS}
        self.write(names.krew(VERSION), krew.build(VERSION, archives))

    def sign(self, key=None):
        """Writes the checksums again, and signs them."""
        pack.write_sums(self.folder, VERSION)
        self.write(names.SIGNATURE, base64.b64encode(
            self.openssl("dgst", "-sha256", "-sign", key or self.key, self.folder / names.SUMS)))


class Release(Made):
    """The checks, each on a release with one fault."""

    def flip(self, name, position):
        data = bytearray((self.folder / name).read_bytes())
        data[position] ^= 1
        self.write(name, data)

    def assert_refused(self, because):
        with self.assertRaisesRegex(verify.Failure, because):
            verify.everything(self.folder, self.public, say=lambda _: None)

    def test_an_unchanged_release_is_verified(self):
        self.assertEqual(verify.everything(self.folder, self.public, say=lambda _: None), VERSION)

    def test_a_changed_byte_in_any_file_is_refused(self):
        for name in [*names.artefacts(VERSION), names.SUMS]:
            before = (self.folder / name).read_bytes()
            for position in (0, len(before) // 2, len(before) - 2):
                with self.subTest(name, position=position):
                    self.flip(name, position)
                    self.assert_refused("SHA-256" if name != names.SUMS else "SHA256SUMS")
            self.write(name, before)

    def test_new_checksums_without_the_key_are_refused(self):
        self.flip(names.image(VERSION), 100)
        pack.write_sums(self.folder, VERSION)
        self.assert_refused("is not a signature")

    def test_the_signature_of_another_key_is_refused(self):
        with tempfile.NamedTemporaryFile() as other:
            self.openssl("genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", other.name)
            self.sign(other.name)
        self.assert_refused("is not a signature")

    def test_a_broken_signature_is_refused(self):
        (self.folder / names.SIGNATURE).write_text("MEUC")
        self.assert_refused("is not a signature")

    def test_missing_and_foreign_files_are_refused(self):
        self.write("notes.txt", b"")
        self.assert_refused("not part of the release.*notes.txt")
        (self.folder / "notes.txt").unlink()
        for name in [*names.artefacts(VERSION), names.SUMS, names.SIGNATURE]:
            with self.subTest(name):
                shutil.move(self.folder / name, self.original / "aside")
                self.assert_refused(f"{name} is missing")
                shutil.move(self.original / "aside", self.folder / name)

    # From here on the files are signed, and don't fit together.

    def test_each_byte_of_the_image_counts(self):
        tar = layout().tar(EPOCH)
        for path, data in layout().files.items():
            with self.subTest(path):
                changed = bytearray(tar)
                changed[tar.index(data) + len(data) // 2] ^= 1
                self.write(names.image(VERSION), changed)
                self.sign()
                self.assert_refused("oci.tar")

    def test_an_image_with_another_program_is_refused(self):
        layers = {architecture: layer("amd64") for architecture in names.TARGETS}
        self.write(names.image(VERSION), image.build(VERSION, COMMIT, EPOCH, layers).tar(EPOCH))
        self.sign()
        self.assert_refused("arm64 does not have the program")

    def test_an_image_with_other_licences_is_refused(self):
        layers = {architecture: layer(architecture, "none") for architecture in names.TARGETS}
        self.write(names.image(VERSION), image.build(VERSION, COMMIT, EPOCH, layers).tar(EPOCH))
        self.sign()
        self.assert_refused("does not have the programs and licences of the archive")

    def test_an_archive_without_licences_is_refused(self):
        self.write(names.archive(VERSION, "amd64"), pack.program_archive(VERSION, "amd64", [elf("amd64")] * len(names.PROGRAMS), [], EPOCH))
        self.sign()
        self.assert_refused("lacks the licences")

    def test_each_text_is_there_once_with_the_crates_that_have_it(self):
        def package(name):
            return {"name": name, "version": "1.0.0", "license": "MIT", "authors": [f"{name}'s"]}

        text = licenses.document([(package("a"), ["A"]), (package("b"), ["A", "B"]), (package("c"), [])])
        self.assertIn(f"{licenses.LINE}\na 1.0.0\nb 1.0.0\n{licenses.LINE}\n\nA\n", text)
        self.assertIn(f"{licenses.LINE}\nb 1.0.0\n{licenses.LINE}\n\nB\n", text)
        self.assertIn("c 1.0.0: MIT; the package has no text, its authors are c's\n", text)

    def test_an_image_of_another_commit_is_refused(self):
        layers = {architecture: layer(architecture) for architecture in names.TARGETS}
        self.write(names.image(VERSION), image.build(VERSION, "f" * 40, EPOCH, layers).tar(EPOCH))
        self.sign()
        self.assert_refused("is of .*ffff")

    def test_an_image_with_another_name_is_refused(self):
        layers = {architecture: layer(architecture) for architecture in names.TARGETS}
        self.write(names.image(VERSION), image.build(VERSION, COMMIT, EPOCH, layers, "example.test/ecm").tar(EPOCH))
        self.sign()
        self.assert_refused("is not called")

    def test_a_manifest_of_other_archives_is_refused(self):
        self.write(names.krew(VERSION), krew.build(VERSION, {architecture: b"another" for architecture in names.TARGETS}))
        self.sign()
        self.assert_refused("krew.yaml is not that of the archives")

    def test_more_in_an_image_is_refused(self):
        more = layout()
        more.blob(image.LAYER, b"more")
        self.write(names.image(VERSION), more.tar(EPOCH))
        self.sign()
        self.assert_refused("no image needs")

    def test_a_program_for_another_machine_is_refused(self):
        self.write(names.archive(VERSION, "arm64"), archive("arm64", elf("amd64")))
        self.sign()
        self.assert_refused("ELF machine 62")

    def test_a_dynamic_program_is_refused(self):
        dynamic = elf("amd64")[:64] + struct.pack("<I52x", verify.PT_INTERP) + COMMIT.encode()
        self.write(names.archive(VERSION, "amd64"), archive("amd64", dynamic))
        self.sign()
        self.assert_refused("not static")

    def test_a_program_with_a_fixed_address_is_refused(self):
        fixed = elf("amd64")[:16] + struct.pack("<H", 2) + elf("amd64")[18:]
        self.write(names.archive(VERSION, "amd64"), archive("amd64", fixed))
        self.sign()
        self.assert_refused("fixed address")

    def test_an_sbom_that_is_not_that_of_cargo_lock_is_refused(self):
        def without_component(found):
            found["components"].clear()

        def without_edge(found):
            found["dependencies"][0]["dependsOn"].clear()

        def of_another_version(found):
            found["components"][0]["version"] = "1.0.1"

        def with_another_checksum(found):
            found["components"][0]["hashes"][0]["content"] = "cd" * 32

        def with_an_unused_crate(found):
            found["components"].append(sbom.component(("windows-sys", "0.1.0"), "library", CHECKSUM, {}))

        def twice(found):
            found["components"] *= 2

        def of_another_commit(found):
            found["metadata"]["component"]["properties"][0]["value"] = "f" * 40

        expected = {without_component: "not linked", without_edge: "not linked", of_another_version: "not in Cargo.lock",
                    with_another_checksum: "another checksum", with_an_unused_crate: "not linked", twice: "twice",
                    of_another_commit: "not of the commit"}
        for change, because in expected.items():
            with self.subTest(change.__name__):
                found = document()
                change(found)
                self.write(names.sbom(VERSION, "arm64"), json.dumps(found).encode())
                self.sign()
                self.assert_refused(because)

    def test_another_cargo_lock_is_refused(self):
        self.write(names.source(VERSION), sources(LOCK.replace(CHECKSUM, "cd" * 32)))
        self.sign()
        self.assert_refused("another checksum than in Cargo.lock")

    def test_what_can_not_be_read_is_refused(self):
        for name in names.artefacts(VERSION):
            for data in (b"", b"{}", gzip.compress(b"nothing")):
                with self.subTest(name, data=data):
                    self.setUp()
                    self.write(name, data)
                    self.sign()
                    self.assert_refused("")


class Compiled(unittest.TestCase):
    def test_build_dependencies_count_with_a_build_script(self):
        def package(name, *kinds):
            return {"id": name, "name": name, "version": "1", "targets": [{"kind": [kind]} for kind in kinds]}

        def node(name, **dependencies):
            kinds = {"build": "build", "dev": "dev", "normal": None}
            return {"id": name, "deps": [{"pkg": each, "dep_kinds": [{"kind": kinds[kind]}]} for each, kind in dependencies.items()]}

        every = [package("a", "bin"), package("with", "lib", "custom-build"), package("without", "proc-macro"),
                 *(package(name, "lib") for name in ["cc", "semver", "deep", "serde", "unused"])]
        nodes = [node("a", **{"with": "normal", "without": "normal", "serde": "dev", "unused": "normal"}),
                 node("with", cc="build"), node("without", semver="build"), node("semver", deep="normal"),
                 *(node(name) for name in ["cc", "deep", "serde", "unused"])]
        used = {(name, "1") for name in ["a", "with", "without", "cc", "semver", "deep"]}
        found = sbom.needed({"packages": every, "resolve": {"nodes": nodes}}, used, ("a", "1"))
        self.assertEqual(found, {("a", "1"): {("with", "1"), ("without", "1")}, ("with", "1"): {("cc", "1")},
                                 ("cc", "1"): set(), ("without", "1"): set()})

    def test_names_and_versions_are_read_from_cargos_messages(self):
        ids = ["registry+https://github.com/rust-lang/crates.io-index#serde@1.0.0", "path+file:///a/kube-api#0.1.0",
               "path+file:///a/tests/x#random-operations@0.2.0"]
        lines = [json.dumps({"reason": "compiler-artifact", "package_id": found}) for found in ids]
        lines.append(json.dumps({"reason": "build-finished", "success": True}))
        self.assertEqual(sbom.compiled("\n".join(lines)),
                         {("serde", "1.0.0"), ("kube-api", "0.1.0"), ("random-operations", "0.2.0")})


if __name__ == "__main__":
    unittest.main()
