"""The manifest of the kubectl plugin for krew, which installs it from the archives of a release.

Made as text, because Python has no writer of YAML; JSON is YAML, and krew reads it. One platform for each archive; krew puts
`kubectl-endpoints` on PATH, and kubectl calls it as `kubectl endpoints`.
"""

import hashlib
import json

import names

# Of the plugin: krew wants one line of at most 50 characters, and a text.
SHORT = "Explain and audit Endpoints and EndpointSlices"
LONG = """Says for each pod of a Service whether it is in the EndpointSlices and Endpoints and gets traffic, and if not, why. Finds
orphans, duplicates and endpoints of pods that are gone, and prints the slices that follow from manifests, without a cluster.
These commands only read, with the permission to list and watch Services, pods, nodes, Endpoints and EndpointSlices, and work
with the controllers of kube-controller-manager and on managed clusters. `preflight`, `handover` and `rollback` migrate the
controllers to endpoint-controller-manager and back.
"""


def build(version, archives):
    """The manifest of a version; `archives` has the content of the archive of each architecture."""
    return (json.dumps({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "endpoints"},
        "spec": {
            "version": f"v{version}",
            "homepage": names.REPOSITORY,
            "shortDescription": SHORT,
            "description": LONG,
            "platforms": [platform(version, *archive) for archive in sorted(archives.items())],
        },
    }, indent=2) + "\n").encode()


def platform(version, architecture, archive):
    name = names.archive(version, architecture)
    folder = name.removesuffix(".tar.gz")
    return {
        "selector": {"matchLabels": {"os": "linux", "arch": architecture}},
        "uri": f"{names.REPOSITORY}/releases/download/v{version}/{name}",
        "sha256": hashlib.sha256(archive).hexdigest(),
        "files": [{"from": f"{folder}/{file}", "to": "."} for file in (names.PROGRAMS[1], "LICENSE")],
        "bin": names.PROGRAMS[1],
    }
