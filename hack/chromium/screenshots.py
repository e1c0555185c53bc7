#!/usr/bin/env python3
"""screenshots: draws the page of `explain --serve` for the documentation, light and dark. hack/chromium/picture runs it.

Usage: screenshots.py PROGRAM CHROMIUM FOLDER

The cluster is `simulate --serve` with a shop, in which several things go wrong while the page watches.
"""

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from playwright.sync_api import expect as see

from objects import items, later, node, pod, service
from servers import LIMIT, Page, Simulation
from support import browser, go, opened, row

ZONES = "abc"
# Services with their pods, by namespace.
SHOP = {
    "shop": {"cart": 2, "catalog": 6, "checkout": 9, "images": 3, "login": 2, "mail": 0, "orders": 5, "payments": 3, "search": 4,
             "frontend": 240},
    "monitoring": {"alerts": 2, "grafana": 1, "metrics": 4},
}
GATE = "target-health.elbv2.k8s.aws/checkout"


def shop(with_frontend=False):
    """Objects of a shop, several of them with a mistake that users make."""
    found = [node(f"node-{zone}{index}", zone) for zone in ZONES for index in range(1, 5)] + [later()]
    for namespace, services in SHOP.items():
        for number, (name, pods) in enumerate(services.items()):
            if name == "frontend" and not with_frontend:
                continue
            address = f"10.96.{len(found) >> 8}.{len(found) & 255}"
            made = service(name, namespace=namespace, ipFamilies=["IPv4"], clusterIP=address, clusterIPs=[address])
            if name in ("frontend", "catalog"):
                made["spec"]["trafficDistribution"] = "PreferSameZone"
            found.append(made)
            # A label that is written in another way than in the selector.
            label = "card" if name == "cart" else name
            for index in range(pods):
                on = f"node-{ZONES[index % 3]}{index // 3 % 4 + 1}"
                it = pod(f"{name}-{index}", {"app": label}, f"10.244.{number + 16 * (namespace != 'shop')}.{index + 2}", namespace=namespace, node=on)
                if name == "checkout" and index in (0, 4):
                    not_ready(it)
                found.append(it)
    found.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "partner", "namespace": "shop"},
                  "spec": {"type": "ExternalName", "externalName": "partner.example"}})
    return found


def not_ready(made):
    made["spec"]["readinessGates"] = [{"conditionType": GATE}]
    made["status"]["conditions"][0]["status"] = "False"
    made["status"]["conditions"].append({"type": "ContainersReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"})


def settled(program, objects, lost=None):
    """A dump with the slices and Endpoints that the controllers make of objects; a Service may have lost some endpoints."""
    made = subprocess.run([program, "simulate", "-f", "-", "-o", "json"], input=json.dumps(items(objects)), check=True,
                          capture_output=True, text=True).stdout
    found = json.loads(made)["items"]
    for it in found:
        if lost and it["kind"] == "EndpointSlice" and it["metadata"]["name"].startswith(lost):
            # As if it was left behind by a controller that has stopped.
            it["endpoints"] = it["endpoints"][:3]
    return items(objects + found)


def create(cluster, objects):
    for made in objects:
        kind, metadata = made["kind"], made["metadata"]
        plural = {"Node": "nodes", "Namespace": "namespaces"}.get(kind)
        path = f"/api/v1/{plural}" if plural else f"/api/v1/namespaces/{metadata['namespace']}/{kind.lower()}s"
        if kind == "Service":
            made["spec"].pop("clusterIP", None)
            made["spec"].pop("clusterIPs", None)
        status = made.pop("status", None)
        cluster.create(path, made)
        if status:
            cluster.patch(f"{path}/{metadata['name']}/status", {"status": status})


def ready(cluster, namespace, name, is_ready, waiting=None):
    condition = {"type": "Ready", "status": "True" if is_ready else "False", "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    container = {"name": "main", "image": "app", "imageID": "", "ready": is_ready, "restartCount": 3 if waiting else 0,
                 "state": {"waiting": {"reason": waiting}} if waiting else {"running": {}}}
    cluster.patch(f"/api/v1/namespaces/{namespace}/pods/{name}/status", {"status": {"conditions": [condition], "containerStatuses": [container]}})


# Seconds between two changes: the lines of a quarter of an hour show them then.
PACE = 12


def trouble(cluster, tab):
    """What goes wrong while the page watches."""
    for name in ("catalog-1", "catalog-2", "search-0"):
        ready(cluster, "shop", name, False)
        time.sleep(PACE)
    for name in ("catalog-1", "search-0"):
        ready(cluster, "shop", name, True)
        time.sleep(PACE)
    for index in range(3):
        ready(cluster, "shop", f"payments-{index}", False, "CrashLoopBackOff")
        time.sleep(PACE)
    for index in range(7, 240, 23):
        ready(cluster, "shop", f"frontend-{index}", False, "ImagePullBackOff")
    cluster.patch("/api/v1/nodes/node-b2/status", {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
    see(row(tab, "payments")).to_contain_text("0 of 3")
    see(row(tab, "frontend")).to_contain_text("229 of 240")


# The fragment of each view, and its height.
VIEWS = {"list": ("", 760), "service": ("shop/catalog", 980), "changes": ("/changes?from=-300", 760)}


def main():
    program, chromium, folder = (Path(word).absolute() for word in sys.argv[1:])
    folder.mkdir(exist_ok=True)
    see.set_options(timeout=LIMIT * 1000)
    with closing(Simulation(program)) as cluster:
        namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in SHOP]
        create(cluster, namespaces + [made for made in shop(with_frontend=True) if made["kind"] != "Namespace"])
        with closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page, browser(chromium) as started:
            context = started.new_context(viewport={"width": 1280, "height": 760})
            tab = opened(context, page.link())
            see(row(tab, "frontend")).to_contain_text("240 of 240")
            trouble(cluster, tab)
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                for name, (address, height) in VIEWS.items():
                    tab.set_viewport_size({"width": 1280, "height": height})
                    go(tab, page.link(address))
                    tab.wait_for_timeout(700)
                    file = folder / f"{name}-{scheme}.png"
                    tab.screenshot(path=file)
                    print(f"{file.name}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
