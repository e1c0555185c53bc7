"""What the files of a release are called."""

PROGRAM = "endpoint-controller-manager"
# What an archive and the image have: the daemon, after which they are called, the operator's tool, and the controller of pod networks.
PROGRAMS = [PROGRAM, "kubectl-endpoints", "pod-network-controller"]
# Where the image has them; the first one is its entrypoint.
PROGRAM_PATHS = [f"usr/local/bin/{program}" for program in PROGRAMS]
# Where an archive has the licences of what the programs are built from, and where the image has them.
LICENSES = "licenses"
LICENSES_PATH = f"usr/share/licenses/{PROGRAM}"
REPOSITORY = "https://github.com/endpoint-controller-manager/endpoint-controller-manager"
# The image that the manifests of deploy/ name. An archive has it too, so that one that is loaded into a node is found there.
IMAGE = "set-your-image.invalid/endpoint-controller-manager"
# Architectures as Go and OCI call them, and the target of rustc for each.
TARGETS = {"amd64": "x86_64-unknown-linux-musl", "arm64": "aarch64-unknown-linux-musl"}
SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"


def archive(version, architecture):
    return f"{PROGRAM}-{version}-linux-{architecture}.tar.gz"


def sbom(version, architecture):
    return f"{PROGRAM}-{version}-linux-{architecture}.cdx.json"


def image(version):
    return f"{PROGRAM}-{version}-oci.tar"


def krew(version):
    return f"{PROGRAM}-{version}-krew.yaml"


def source(version):
    return f"{PROGRAM}-{version}-source.tar.gz"


def artefacts(version):
    """The files that SHA256SUMS lists."""
    each = [name(version, architecture) for name in (archive, sbom) for architecture in TARGETS]
    return sorted([*each, image(version), krew(version), source(version)])
