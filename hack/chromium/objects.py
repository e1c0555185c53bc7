"""Objects of clusters."""

HOSTILE = "<img src=x onerror=alert(1)>"


def service(name, selector=None, namespace="default", **spec):
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"},
        "spec": {"selector": selector or {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}], **spec},
    }


def node(name, zone="a"):
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name, labels, ip, is_ready=True, namespace="default", node="node-1"):
    status = "True" if is_ready else "False"
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels, "uid": f"uid-of-{name}"},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "app"}]},
        "status": {
            "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    }


def later():
    """An object that is newer than all else. A dump is read as of its newest change, and a difference of seconds after a
    change counts as lagging."""
    metadata = {"name": "unused", "creationTimestamp": "2026-01-01T01:00:00Z"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def items(objects):
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def many(number):
    """A dump with so many Services, each with a pod, in ten namespaces. Of every tenth the pod is not ready, and of every
    tenth the slice is that of nothing."""
    found = [node("node-1"), later()]
    for index in range(number):
        namespace, name = f"team-{index % 10}", f"service-{index:05}"
        ip = f"10.{index >> 16}.{index >> 8 & 255}.{index & 255}"
        is_ready = index % 10 != 9
        made = service(name, namespace=namespace, clusterIP="10.96.0.1", clusterIPs=["10.96.0.1"], ipFamilies=["IPv4"])
        found.append(made)
        found.append(pod(f"{name}-0", {"app": name}, ip, is_ready, namespace))
        found.append(slice_of(made, f"{name}-0", ip, is_ready) if index % 10 != 8 else slice_of(made))
        found.append(endpoints_of(made, f"{name}-0", ip, is_ready))
    return items(found)


def ready(number):
    """So many Services with a ready pod each, for which nothing is written yet."""
    found = [node("node-1")]
    for index in range(number):
        name = f"service-{index:05}"
        ip = f"10.{index >> 16}.{index >> 8 & 255}.{index & 255}"
        families = {"clusterIP": "None", "ipFamilies": ["IPv4"]}
        found += [service(name, **families), pod(f"{name}-0", {"app": name}, ip)]
    return items(found)


def slice_of(service_, pod_=None, ip=None, is_ready=True):
    """The slice of a Service as the controller writes it, for one pod, or for none."""
    namespace, name = service_["metadata"]["namespace"], service_["metadata"]["name"]
    target = {"kind": "Pod", "name": pod_, "namespace": namespace, "uid": f"uid-of-{pod_}"}
    conditions = {"ready": is_ready, "serving": is_ready, "terminating": False}
    endpoint = {"addresses": [ip], "conditions": conditions, "nodeName": "node-1", "zone": "a",
                "targetRef": target}
    owner = {
        "apiVersion": "v1", "kind": "Service", "name": name, "uid": service_["metadata"]["uid"], "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": name,
    }
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": f"{name}-abcde", "namespace": namespace, "labels": labels, "ownerReferences": [owner]},
        "endpoints": [endpoint] if pod_ else [], "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}] if pod_ else [],
    }


def endpoints_of(service_, pod_, ip, is_ready=True):
    """The Endpoints of a Service as the controller writes them, for one pod."""
    namespace, name = service_["metadata"]["namespace"], service_["metadata"]["name"]
    target = {"kind": "Pod", "name": pod_, "namespace": namespace, "uid": f"uid-of-{pod_}"}
    address = {"ip": ip, "nodeName": "node-1", "targetRef": target}
    addresses = "addresses" if is_ready else "notReadyAddresses"
    labels = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    return {
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "subsets": [{addresses: [address], "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}],
    }


def hostile():
    """A dump as no API server would have stored it, with markup where names and values are."""
    namespace = "<b>shop</b>"
    made = service(HOSTILE, {"app": HOSTILE}, namespace, ipFamilies=["IPv4"])
    gated = pod(f"{HOSTILE}-0", {"app": HOSTILE}, "10.0.0.1", False, namespace, "<i>node</i>")
    gated["spec"]["readinessGates"] = [{"conditionType": "<script>alert(1)</script>"}]
    endpoint = {"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": f"{HOSTILE}-0", "namespace": namespace}}
    labels = {"kubernetes.io/service-name": HOSTILE, "endpointslice.kubernetes.io/managed-by": "<u>other</u>"}
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [endpoint],
        "metadata": {"name": "<s>slice</s>", "namespace": namespace, "labels": labels},
        "ports": [{"name": "<em>port</em>", "port": 80, "protocol": "TCP"}],
    }
    return items([made, gated, slice_])
