"""An OCI image layout with an image for each architecture, as one tar file.

Written here because the writers that were tried name the time of the build (regctl) or need a registry (crane). Readers of
others check the result: hack/releasing/release pushes it to a registry in memory and validates it with crane.
"""

import hashlib
import gzip
import io
import json
import tarfile
import time

from names import IMAGE, PROGRAM, PROGRAM_PATHS, REPOSITORY

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
# `nonroot` of distroless images; the static pod overrides it.
USER = "65532:65532"
# The port of the manifests in deploy/, which set it: without flags the program serves 10257, like kube-controller-manager.
EXPOSED = "10261/tcp"
DESCRIPTION = "The endpoint controllers of kube-controller-manager, in a process of their own"


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Layout:
    """The files of a layout, by path."""

    def __init__(self):
        self.files = {"oci-layout": encode({"imageLayoutVersion": "1.0.0"})}

    def blob(self, media_type, data, **more):
        """Adds a blob, and returns its descriptor."""
        name = digest(data)
        descriptor = {"mediaType": media_type, "digest": name, "size": len(data)} | more
        self.files[path(descriptor)] = data
        return descriptor

    def tar(self, epoch):
        """All of it as a tar file, the same for the same content."""
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for path, data in sorted(self.files.items()):
                entry = tarfile.TarInfo(path)
                entry.size, entry.mtime, entry.mode = len(data), epoch, 0o644
                archive.addfile(entry, io.BytesIO(data))
        return output.getvalue()


def encode(value):
    return json.dumps(value, separators=(",", ":")).encode()


def build(version, commit, epoch, layers, name=IMAGE):
    """The layout of a release: `layers` has the compressed layer of each architecture. Importers of containerd give the image
    this name, with the version as its tag."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    labels = {
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.description": DESCRIPTION,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": commit,
        "org.opencontainers.image.source": REPOSITORY,
        "org.opencontainers.image.title": PROGRAM,
        "org.opencontainers.image.version": version,
    }
    layout = Layout()
    manifests = []
    for architecture, layer in sorted(layers.items()):
        config = layout.blob(CONFIG, encode({
            "created": created,
            "architecture": architecture,
            "os": "linux",
            "config": {
                "User": USER,
                "ExposedPorts": {EXPOSED: {}},
                "Entrypoint": [f"/{PROGRAM_PATHS[0]}"],
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [digest(gzip.decompress(layer))]},
            "history": [{"created": created, "created_by": "hack/releasing/release"}],
        }))
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config,
                    "layers": [layout.blob(LAYER, layer)], "annotations": labels}
        platform = {"architecture": architecture, "os": "linux"}
        manifests.append(layout.blob(MANIFEST, encode(manifest), platform=platform))
    both = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests, "annotations": labels}
    root = {"schemaVersion": 2, "mediaType": INDEX,
            "manifests": [layout.blob(INDEX, encode(both), annotations=named(name, version))]}
    layout.files["index.json"] = encode(root)
    return layout


def named(name, version):
    """The annotations by which importers name an image."""
    return {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"{name}:{version}"}


def for_docker(layout, reference):
    """Adds what `docker load` reads to a layout of one architecture."""
    index = json.loads(layout.files["index.json"])["manifests"][0]
    (descriptor,) = json.loads(layout.files[path(index)])["manifests"]
    manifest = json.loads(layout.files[path(descriptor)])
    layers = [path(layer) for layer in manifest["layers"]]
    layout.files["manifest.json"] = encode([{"Config": path(manifest["config"]), "RepoTags": [reference], "Layers": layers}])


def path(descriptor):
    """The path of a blob in the layout."""
    return f"blobs/{descriptor['digest'].replace(':', '/')}"
