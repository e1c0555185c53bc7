"""Tests of hack/releasing/sign-release and hack/releasing/publish-release on the small release of tests.py, with stand-ins for skopeo and gh."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import image  # noqa: E402
import names  # noqa: E402
import tests  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
# Says what it was asked, and what is in the archive and in the registry. A copy puts there what the test has as `pushed`.
SKOPEO = """#!/bin/sh
echo "skopeo $*" >>"$CALLS"
case $1,$3 in
  inspect,oci-archive:*) cat "$INDEX" ;;
  inspect,*) cat "$REGISTRY" 2>/dev/null || { cat "$REFUSAL" >&2; exit 1; } ;;
  copy,*) [ ! -e "$PUSHED" ] || cp "$PUSHED" "$REGISTRY" ;;
esac
"""
# Knows of a release if the test has one.
GH = """#!/bin/sh
echo "gh $*" >>"$CALLS"
[ "$2" != view ] || { cat "$RELEASED" 2>/dev/null || { cat "$UNRELEASED" >&2; exit 1; }; exit 0; }
while [ "$1" != --notes-file ]; do shift; done
cat "$2" >>"$CALLS"
"""
CHANGELOG = f"""# Changelog

## 2.0.0 - unreleased

## {tests.VERSION} - 2026-12-01

What is new.

## 1.0.0 - 2026-11-01

What was new.
"""


class Scripts(tests.Made):
    """The scripts in a checkout that has nothing else."""

    def setUp(self):
        super().setUp()
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(ROOT / "hack/releasing", self.root / "hack/releasing")
        (self.root / "hack/lib").mkdir()
        shutil.copy(ROOT / "hack/lib/common", self.root / "hack/lib")
        self.scratch = self.root / "scratch"
        self.scratch.mkdir()

    def run_script(self, name, *arguments, **variables):
        environment = os.environ | {"TMPDIR": str(self.scratch)} | variables
        ended = subprocess.run([self.root / "hack/releasing" / name, *arguments], env=environment, capture_output=True, text=True)
        self.assertEqual(list(self.scratch.iterdir()), [], "what is left of a key")
        return ended

    def assert_done(self, ended):
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def assert_fails(self, because, ended):
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn(because, ended.stderr)


class Sign(Scripts):
    def setUp(self):
        super().setUp()
        (self.folder / names.SIGNATURE).unlink()

    def digest(self):
        return hashlib.sha256((self.folder / names.SUMS).read_bytes()).hexdigest()

    def assert_not_signed(self, because, *arguments, **variables):
        self.assert_fails(because, self.run_script("sign-release", *arguments, self.folder, **variables))
        self.assertFalse((self.folder / names.SIGNATURE).exists())

    def assert_signed(self, *arguments, **variables):
        self.assert_done(self.run_script("sign-release", *arguments, self.folder, **variables))
        self.assertEqual(tests.verify.everything(self.folder, self.public, say=lambda _: None), tests.VERSION)

    def test_the_key_is_a_file_or_a_variable(self):
        self.assert_signed("--key", self.key)
        self.assert_signed("--expect", self.digest(), RELEASE_KEY=self.key.read_text())

    def test_without_a_key_nothing_is_signed(self):
        self.assert_not_signed("there is no key")
        self.assert_not_signed("there is no key", RELEASE_KEY="")

    def test_only_what_was_compared_is_signed(self):
        self.assert_not_signed("the one that was compared", "--key", self.key, "--expect", "0" * 64)

    def test_only_a_complete_release_is_signed(self):
        (self.folder / names.source(tests.VERSION)).write_bytes(b"")
        self.assert_not_signed("", "--key", self.key)

    def test_a_key_on_another_curve_is_refused(self):
        other = self.root / "other"
        self.openssl("genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", other)
        self.assert_not_signed("P-256", "--key", other)
        # Its copy is gone, too.
        self.assert_not_signed("P-256", RELEASE_KEY=other.read_text())


class Publish(Scripts):
    def setUp(self):
        super().setUp()
        shutil.copy(self.public, self.root / "release.pub")
        (self.root / "CHANGELOG.md").write_text(CHANGELOG)
        self.tools, self.calls = self.root / "tools", self.root / "calls"
        self.tools.mkdir()
        for name, text in (("skopeo", SKOPEO), ("gh", GH)):
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)
        self.calls.touch()
        for name in ("index", "pushed"):
            (self.root / name).write_text("the index of the image")
        (self.root / "refusal").write_text("reading manifest: manifest unknown")
        (self.root / "unreleased").write_text("release not found")
        subprocess.run(["git", "init", "--quiet", self.root], check=True)
        self.check_out(tests.COMMIT)

    def check_out(self, commit):
        """What git says is checked out; it does not ask for the commit itself."""
        (self.root / ".git/HEAD").write_text(f"{commit}\n")

    def publish(self):
        files = ("calls", "index", "pushed", "registry", "refusal", "released", "unreleased")
        variables = {name.upper(): str(self.root / name) for name in files}
        path = f"{self.tools}:{os.environ['PATH']}"
        return self.run_script("publish-release", "--image", "registry.test/ecm", self.folder, PATH=path, **variables)

    def test_the_image_is_pushed_and_then_the_files(self):
        self.assert_done(self.publish())
        archive = self.folder / names.image(tests.VERSION)
        files = " ".join(str(path) for path in sorted(self.folder.iterdir()))
        self.assertEqual(self.calls.read_text().splitlines(), [
            f"gh release view v{tests.VERSION}",
            f"skopeo inspect --raw oci-archive:{archive}",
            f"skopeo inspect --raw docker://registry.test/ecm:{tests.VERSION}",
            f"skopeo copy --all --preserve-digests oci-archive:{archive} docker://registry.test/ecm:{tests.VERSION}",
            f"skopeo inspect --raw docker://registry.test/ecm:{tests.VERSION}",
            f"gh release create v{tests.VERSION} --verify-tag --notes-file {self.notes()} {files}",
            "", "What is new.", ""])

    def notes(self):
        created = next(line for line in self.calls.read_text().splitlines() if line.startswith("gh release create "))
        return created.split("--notes-file ")[1].split(" ")[0]

    def test_a_release_that_the_key_has_not_signed_is_not_published(self):
        (self.folder / names.SIGNATURE).write_text("MEUC")
        self.assert_fails("is not a signature", self.publish())
        self.assertEqual(self.calls.read_text(), "")

    def test_a_registry_with_another_image_ends_it_before_the_files(self):
        (self.root / "pushed").write_text("another index")
        self.assert_fails("another image", self.publish())
        self.assertNotIn("gh release create", self.calls.read_text())

    def test_a_registry_that_has_no_image_afterwards_ends_it_before_the_files(self):
        (self.root / "pushed").unlink()
        self.assert_fails("manifest unknown", self.publish())
        self.assertIn("skopeo copy", self.calls.read_text())
        self.assertNotIn("gh release create", self.calls.read_text())

    def assert_nothing_published(self, because):
        self.assert_fails(because, self.publish())
        self.assertNotIn("skopeo copy", self.calls.read_text())
        self.assertNotIn("gh release create", self.calls.read_text())

    def test_an_archive_without_an_image_is_not_published(self):
        # Nor is it the same as none in the registry.
        (self.root / "index").unlink()
        self.assert_nothing_published("index")

    def test_another_checkout_publishes_nothing(self):
        self.check_out("f" * 40)
        self.assert_nothing_published(f"is of the commit {tests.COMMIT}, and {'f' * 40} is checked out")

    def test_a_released_version_stays_as_it_is(self):
        (self.root / "released").write_text(f"v{tests.VERSION}")
        self.assert_nothing_published("already released")

    def test_a_forge_that_does_not_answer_is_not_one_without_the_release(self):
        (self.root / "unreleased").write_text("HTTP 502")
        self.assert_nothing_published("does not say whether v1.2.3 is already released: HTTP 502")

    def test_an_image_of_the_version_stays_as_it_is(self):
        (self.root / "registry").write_text("another index")
        self.assert_nothing_published("already has another image")

    def test_a_registry_that_does_not_answer_is_not_one_without_the_image(self):
        (self.root / "refusal").write_text("connection refused")
        self.assert_nothing_published("registry.test/ecm:1.2.3: connection refused")

    def test_a_run_after_one_that_has_only_pushed_publishes_the_files(self):
        (self.root / "registry").write_text("the index of the image")
        self.assert_done(self.publish())
        self.assertIn("gh release create", self.calls.read_text())

    def test_a_version_with_a_suffix_is_no_latest_release(self):
        # Only the names are of that version, which verification would refuse.
        (self.root / "hack/releasing/verify-release").write_text("#!/bin/sh\n")
        for path in self.folder.iterdir():
            path.rename(path.with_name(path.name.replace(tests.VERSION, "1.2.3-rc.1")))
        (self.root / "CHANGELOG.md").write_text(CHANGELOG.replace(tests.VERSION, "1.2.3-rc.1"))
        self.assert_done(self.publish())
        self.assertIn("gh release create v1.2.3-rc.1 --verify-tag --prerelease --notes-file ", self.calls.read_text())

    def test_without_notes_nothing_is_published(self):
        (self.root / "CHANGELOG.md").write_text(CHANGELOG.replace(" - 2026-12-01", " - unreleased"))
        self.assert_fails("CHANGELOG.md has no section", self.publish())
        self.assertEqual(self.calls.read_text(), "")


class Manifests(unittest.TestCase):
    def test_the_image_exposes_the_port_of_the_deployment(self):
        layers = {architecture: tests.layer(architecture) for architecture in names.TARGETS}
        built = image.build(tests.VERSION, tests.COMMIT, tests.EPOCH, layers)
        manifest = (ROOT / "deploy/base/deployment.yaml").read_text()
        port = manifest.split("containerPort: ")[1].split()[0]
        configs = [data for data in built.files.values() if b'"ExposedPorts"' in data]
        self.assertEqual(len(configs), len(names.TARGETS))
        for config in configs:
            self.assertIn(f'"ExposedPorts":{{"{port}/tcp":{{}}}}'.encode(), config)

    def test_an_archive_has_the_name_of_the_manifests(self):
        manifest = (ROOT / "deploy/base/deployment.yaml").read_text()
        self.assertIn(f"image: {names.IMAGE}\n", manifest)
        layers = {architecture: tests.layer(architecture) for architecture in names.TARGETS}
        built = image.build(tests.VERSION, tests.COMMIT, tests.EPOCH, layers)
        (descriptor,) = json.loads(built.files["index.json"])["manifests"]
        named = descriptor["annotations"]["io.containerd.image.name"]
        self.assertEqual(named, f"{names.IMAGE}:{tests.VERSION}")

    def test_docker_reads_the_image_of_one_architecture(self):
        built = image.build(tests.VERSION, tests.COMMIT, tests.EPOCH, {"arm64": tests.layer("arm64")}, "example.test/ecm")
        image.for_docker(built, "example.test/ecm:1")
        (found,) = json.loads(built.files["manifest.json"])
        self.assertEqual(found["RepoTags"], ["example.test/ecm:1"])
        self.assertEqual(json.loads(built.files[found["Config"]])["architecture"], "arm64")
        self.assertTrue(all(layer in built.files for layer in found["Layers"]))

    def test_the_label_of_the_image_is_the_repository_of_the_crates(self):
        self.assertIn(f'\nrepository = "{names.REPOSITORY}"\n', (ROOT / "Cargo.toml").read_text())


if __name__ == "__main__":
    unittest.main()
