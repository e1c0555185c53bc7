//! Paths of the programs that the tests start.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The servers of the test environment. `hack/testenv/build` builds them from source on first use; it is quick if they
/// are up to date and reports on stderr if not. A folder in `KUBEBUILDER_ASSETS` that has all three is used as it is.
pub fn servers() -> &'static Servers {
    static SERVERS: OnceLock<Servers> = OnceLock::new();
    SERVERS.get_or_init(|| {
        if let Some(given) = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from)
            && ["kube-apiserver", "kube-controller-manager", "etcd"]
                .iter()
                .all(|name| given.join(name).is_file())
        {
            return Servers { folder: given, minor: OnceLock::new() };
        }
        Servers { folder: printed_by("hack/testenv/build", &[]), minor: OnceLock::new() }
    })
}

/// The path that `hack/lib/tool` prints for this name: a tool or files for the tests of `deploy/`, built or fetched on first
/// use.
pub fn tool(name: &str) -> PathBuf {
    printed_by("hack/lib/tool", &[name])
}

/// The path that a script prints.
fn printed_by(script: &str, args: &[&str]) -> PathBuf {
    let output = Command::new(workspace().join(script)).args(args).stderr(Stdio::inherit()).output();
    let output = output.unwrap_or_else(|error| panic!("running {script}: {error}"));
    assert!(output.status.success(), "{script} {} failed ({})", args.join(" "), output.status);
    PathBuf::from(String::from_utf8(output.stdout).expect("a path in UTF-8").trim_end())
}

/// The folder with the servers.
#[derive(Debug)]
pub struct Servers {
    folder: PathBuf,
    minor: OnceLock<u16>,
}

impl Servers {
    /// The number after `1.` of their Kubernetes release.
    pub fn minor(&self) -> u16 {
        *self.minor.get_or_init(|| {
            let release = self.release();
            let minor = release.split('.').nth(1).and_then(|minor| minor.parse().ok());
            minor.unwrap_or_else(|| panic!("kube-apiserver --version: {release}"))
        })
    }

    /// Their Kubernetes release, such as `1.37.2`.
    pub fn release(&self) -> String {
        let output = Command::new(self.kube_apiserver()).arg("--version").output();
        let text = String::from_utf8(output.expect("running kube-apiserver").stdout).expect("a version");
        text.trim().trim_start_matches("Kubernetes v").to_owned()
    }

    /// The API server.
    pub fn kube_apiserver(&self) -> PathBuf {
        self.folder.join("kube-apiserver")
    }

    /// Upstream's controllers.
    pub fn kube_controller_manager(&self) -> PathBuf {
        self.folder.join("kube-controller-manager")
    }

    /// The command line client, if it was built or given.
    pub fn kubectl(&self) -> Option<PathBuf> {
        let path = self.folder.join("kubectl");
        path.is_file().then_some(path)
    }

    /// The store of the API server.
    pub fn etcd(&self) -> PathBuf {
        self.folder.join("etcd")
    }
}

/// Our program: `ECM_BIN`, or the build of cargo in the profile of this test.
pub fn endpoint_controller_manager() -> PathBuf {
    const NAME: &str = "endpoint-controller-manager";
    if let Some(path) = std::env::var_os("ECM_BIN") {
        let path = workspace().join(path);
        assert!(path.is_file(), "ECM_BIN names {}, which is not a file", path.display());
        return path;
    }
    built(NAME)
}

/// The operator's tool: next to the program that `ECM_BIN` names, or the build of cargo in the profile of this test.
pub fn kubectl_endpoints() -> PathBuf {
    next_to_program("kubectl-endpoints")
}

/// The controller of pod networks, in the same place.
pub fn pod_network_controller() -> PathBuf {
    next_to_program("pod-network-controller")
}

fn next_to_program(name: &str) -> PathBuf {
    if std::env::var_os("ECM_BIN").is_some() {
        let path = endpoint_controller_manager().with_file_name(name);
        assert!(path.is_file(), "{} is not there: build it next to ECM_BIN", path.display());
        return path;
    }
    built(name)
}

/// The controller of the tutorial: `OWN_SLICES_BIN`, or the example of this package, as cargo built it in the profile of
/// this test.
pub fn own_slices() -> PathBuf {
    if let Some(path) = std::env::var_os("OWN_SLICES_BIN") {
        return path.into();
    }
    let path = profile().join("examples/own_slices");
    assert!(path.is_file(), "{} is not there: run `cargo build -p tests --examples` first", path.display());
    path
}

/// The program of a package of the same name.
fn built(name: &str) -> PathBuf {
    let path = profile().join(name);
    assert!(path.is_file(), "{} is not there: run `cargo build -p {name}` first", path.display());
    path
}

/// The folder of the profile of this test.
pub(crate) fn profile() -> PathBuf {
    // target/<profile>/deps/<this test>
    let test = std::env::current_exe().expect("the path of this test");
    test.parent().and_then(Path::parent).expect("a target folder").to_owned()
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace")
}
