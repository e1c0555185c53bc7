#!/usr/bin/env python3
"""picture: draws the page of `explain --serve` for the documentation. hack/picture runs it.

Usage: picture.py PROGRAM CHROMIUM FILE
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from checks import ROW
from devtools import Browser
from objects import items, later, node, pod, service
from servers import Page


def cluster():
    """Services of a shop, several of them with a mistake that users make."""
    nodes = ["node-1", "node-2", "node-3"]
    found = [node(name, zone) for name, zone in zip(nodes, "abc")] + [later()]

    def add(name, pods, labels=None, namespace="shop", **spec):
        found.append(service(name, namespace=namespace, ipFamilies=["IPv4"], clusterIP="10.96.0.1",
                             clusterIPs=["10.96.0.1"], **spec))
        for index in range(pods):
            address = f"10.244.{index}.{len(found)}"
            found.append(pod(f"{name}-{index}", labels or {"app": name}, address, namespace=namespace, node=nodes[index % 3]))
        return found[-pods:] if pods else []

    gated, probed, *_ = add("checkout", 4)
    gated["spec"]["readinessGates"] = [{"conditionType": "target-health.elbv2.k8s.aws/checkout"}]
    for made in (gated, probed):
        made["status"]["conditions"][0]["status"] = "False"
    probed["status"]["conditions"].append({"type": "ContainersReady", "status": "False"})
    gated["status"]["conditions"].append({"type": "ContainersReady", "status": "True"})
    add("catalog", 6)
    add("cart", 2, {"app": "card"})
    add("images", 3)
    add("login", 2)
    add("mail", 0)
    add("orders", 5)
    leaving = add("payments", 3)[0]
    leaving["metadata"].update(deletionTimestamp="2026-01-01T00:00:30Z", deletionGracePeriodSeconds=30)
    add("search", 2)
    found[-2]["status"].update(phase="Succeeded")
    found.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "partner", "namespace": "shop"},
                  "spec": {"type": "ExternalName", "externalName": "partner.example"}})
    metrics = service("metrics", namespace="monitoring", ipFamilies=["IPv4"], clusterIP="10.96.0.1", clusterIPs=["10.96.0.1"])
    metrics["spec"]["ports"] = [{"name": "metrics", "port": 9090, "targetPort": "metrics"}]
    found += [metrics, pod("metrics-0", {"app": "metrics"}, "10.244.3.1", namespace="monitoring")]
    add("grafana", 1, namespace="monitoring")
    add("alerts", 2, namespace="monitoring")
    return found


def settled(program, objects):
    """The objects with the slices and Endpoints that the controllers make of them; two of these are lost."""
    made = subprocess.run([program, "simulate", "-f", "-", "-o", "json"], input=json.dumps(items(objects)), check=True,
                          capture_output=True, text=True).stdout
    found = json.loads(made)["items"]
    for made in found:
        if made["kind"] == "EndpointSlice" and made["metadata"]["name"].startswith("orders"):
            # As if it was left behind by a controller that has stopped.
            made["endpoints"] = made["endpoints"][:3]
    return items(objects + found)


def main():
    program, chromium, file = (Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        # The page shows the name of the file.
        os.chdir(folder)
        Path("shop.json").write_text(json.dumps(settled(program, cluster())))
        with closing(Page(program, "-f", "shop.json")) as page, closing(Browser(chromium)) as browser:
            browser.size(1320, 540)
            browser.media(prefers_color_scheme="light")
            browser.open(page.link("shop/checkout"))
            browser.wait("the list", f"() => ({ROW})('checkout') !== undefined")
            browser.wait("the report", "() => document.querySelector('#report table') !== null")
            picture = browser.picture()
    file.write_bytes(picture)
    print(f"{file.name}: {len(picture)} bytes")


if __name__ == "__main__":
    main()
