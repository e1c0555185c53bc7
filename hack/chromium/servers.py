"""The programs that checks need: API servers, the controllers, and the page."""

import base64
import functools
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

# Seconds in which a server must do what is asked.
LIMIT = 30


class Failure(Exception):
    """What is not as it should be."""


@functools.cache
def dying_with_us():
    """What a command begins with so that the kernel ends it with the thread that starts it, where util-linux is installed."""
    words = ["setpriv", "--pdeathsig", "KILL", "--"]
    try:
        probe = subprocess.run([*words, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return []
    return words if probe.returncode == 0 else []


class Program:
    """A process, which is ended with the checks, also if these are killed."""

    def __init__(self, command, **options):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*dying_with_us(), *(str(word) for word in command)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, **options)
        self.command = command

    def line(self):
        """The first line of stdout; the others are dropped."""
        line = self.process.stdout.readline().decode().strip()
        if not line:
            raise Failure(f"{self.command}: {self.last_words()}")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return line

    def last_words(self):
        self.log.seek(0)
        return self.log.read()[-2000:].decode(errors="replace")

    def interrupt(self):
        """Sends SIGINT, and returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LIMIT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Cluster:
    """Requests to an API server."""

    def __init__(self, url, token):
        self.url, self.token = url, token
        # Servers of a minute, on loopback.
        self.context = ssl.create_default_context()
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE

    def request(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Content-Type", kind)
        request.add_header("Authorization", f"Bearer {self.token}")
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(request, data, LIMIT, context=self.context) as answer:
            return json.load(answer)

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path):
        return self.request("DELETE", path)

    def terminate(self, pod):
        """Deletes a pod of the namespace default, which its kubelet has not ended yet."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 30}
        self.request("DELETE", f"/api/v1/namespaces/default/pods/{pod}", options)

    def end(self, pod):
        """Removes a pod of the namespace default that has ended."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        self.request("DELETE", f"/api/v1/namespaces/default/pods/{pod}", options)

    def set_ready(self, pod, is_ready):
        """Sets the Ready condition of a pod of the namespace default."""
        status = "True" if is_ready else "False"
        condition = {"type": "Ready", "status": status, "lastTransitionTime": now()}
        self.patch(f"/api/v1/namespaces/default/pods/{pod}/status", {"status": {"conditions": [condition]}})


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Simulation(Cluster):
    """`simulate --serve`, which has the controllers in it."""

    def __init__(self, program, *words):
        self.folder = tempfile.TemporaryDirectory()
        self.kubeconfig = Path(self.folder.name) / "kubeconfig"
        self.server = Program([program, "simulate", "--serve", f"--write-kubeconfig={self.kubeconfig}", *words])
        try:
            self.server.line()
            config = json.loads(self.kubeconfig.read_text())
            super().__init__(config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"])
        except BaseException:
            self.close()
            raise

    def close(self):
        self.server.close()
        self.folder.cleanup()


class RealCluster(Cluster):
    """etcd, kube-apiserver, and the controllers: `endpoint-controller-manager` alongside the program."""

    TOKEN = "administrator"

    def __init__(self, program, assets):
        self.folder = tempfile.TemporaryDirectory()
        self.programs = []
        try:
            self._start(Path(self.folder.name), program, assets)
        except BaseException:
            self.close()
            raise

    def _start(self, folder, program, assets):
        etcd, peer, api = free_ports(3)
        (folder / "tokens.csv").write_text(f'{self.TOKEN},admin,admin,"system:masters"\n')
        (folder / "key").write_text(signing_key())
        client, peer = f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{peer}"
        self.programs.append(Program([
            Path(assets) / "etcd", f"--data-dir={folder}/etcd", "--unsafe-no-fsync", f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        ], cwd=folder))
        self.programs.append(Program([
            Path(assets) / "kube-apiserver", f"--etcd-servers={client}", f"--secure-port={api}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", f"--cert-dir={folder}/certificates",
            f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-signing-key-file={folder}/key",
            f"--service-account-key-file={folder}/key", "--disable-admission-plugins=ServiceAccount",
        ], cwd=folder))
        super().__init__(f"https://127.0.0.1:{api}", self.TOKEN)
        self._wait()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": self.url, "certificate-authority": f"{folder}/certificates/apiserver.crt"}}],
            "users": [{"name": "admin", "user": {"token": self.TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        }))
        self.programs.append(Program(
            [Path(program).with_name("endpoint-controller-manager"), f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"], cwd=folder))

    def _wait(self):
        deadline = time.monotonic() + 4 * LIMIT
        while True:
            try:
                return self.request("GET", "/api/v1/namespaces/default")
            except (OSError, ValueError) as error:
                # setpriv says there what it could not start.
                for program in self.programs:
                    if program.process.poll() is not None:
                        raise Failure(f"{program.command[0]} has ended: {program.last_words()}") from error
                if time.monotonic() > deadline:
                    raise Failure(f"the API server is not ready: {error}; {self.programs[1].last_words()}") from error
            time.sleep(0.1)

    def restart_controllers(self):
        """Ends the controllers, and starts them again."""
        old = self.programs.pop()
        old.close()
        self.programs.append(Program(old.command, cwd=self.folder.name))

    def close(self):
        for program in reversed(self.programs):
            program.close()
        self.folder.cleanup()


class Page(Program):
    """`explain --serve` of a cluster or of files."""

    def __init__(self, program, *words):
        super().__init__([program, "explain", "--serve", *words])
        try:
            self.url, self.token = self.line().split("#token=")
        except BaseException:
            self.close()
            raise

    def link(self, key=""):
        """The address of the list, or of the report on a Service, with the token."""
        return f"{self.url}#{key}&token={self.token}" if key else f"{self.url}#token={self.token}"


def signing_key():
    """A key of P-256 in PEM, which the API server requires to sign tokens that no check uses."""
    # RFC 5915: SEQUENCE { version 1, OCTET STRING (32 bytes), [0] { OID prime256v1 } }; any number is a key, with the
    # top bit clear and not zero.
    der = bytes.fromhex("303102010104200f") + os.urandom(31) + bytes.fromhex("a00a06082a8648ce3d030107")
    label = "EC PRIVATE KEY"
    return f"-----BEGIN {label}-----\n{base64.b64encode(der).decode()}\n-----END {label}-----\n"


def free_ports(number):
    """Ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [it.getsockname()[1] for it in sockets]
    for it in sockets:
        it.close()
    return ports


def assets():
    """The folder with the real servers, if there is one."""
    return os.environ.get("KUBEBUILDER_ASSETS")
