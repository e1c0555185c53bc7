package main

import (
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
)

// Where the addresses come from. Services stay inside 10.0.0.0/12 and leave its first part to
// what the API server itself allocates.
var (
	firstServiceIP = netip.MustParseAddr("10.1.0.0")
	firstPodIP     = netip.MustParseAddr("10.64.0.1")
	firstNodeIP    = netip.MustParseAddr("172.16.0.1")
)

const (
	maxServices = 15 << 16
	maxPods     = 1<<22 - 2
	maxNodes    = 1<<20 - 2
)

// cluster describes what is to be written. Everything but the times follows from the numbers, so
// that a second run over the same etcd changes no name, uid or address.
type cluster struct {
	services, podsPerService, nodes, namespaces, zones int
	// Further Pods, which are not endpoints.
	bystanders int
	now        time.Time
}

func (c *cluster) validate() error {
	switch {
	case c.services < 0 || c.services > maxServices:
		return fmt.Errorf("--services must be from 0 to %d", maxServices)
	case c.podsPerService < 0 || c.podsPerService > maxPods || c.services*c.podsPerService > maxPods:
		return fmt.Errorf("--services times --pods-per-service must be from 0 to %d", maxPods)
	case c.bystanders < 0 || c.bystanders > maxPods-c.services*c.podsPerService:
		return fmt.Errorf("--bystanders and the Pods of Services must be from 0 to %d", maxPods)
	case c.bystanders > 0 && (c.services == 0 || c.nodes == 0):
		return errors.New("--bystanders needs --services and --nodes")
	case c.nodes < 0 || c.nodes > maxNodes:
		return fmt.Errorf("--nodes must be from 0 to %d", maxNodes)
	case c.nodes == 0 && c.services*c.podsPerService > 0:
		return errors.New("--nodes must be at least 1 where there are Pods")
	case c.namespaces < 0 || (c.namespaces == 0 && c.services > 0):
		return errors.New("--namespaces must be at least 1 where there are Services")
	case c.zones < 1:
		return errors.New("--zones must be at least 1")
	}
	return nil
}

func (c *cluster) namespaceAt(i int) object {
	name := fmt.Sprintf("ns-%d", i)
	if i >= c.namespaces {
		name = batchNamespace(i)
	}
	ns := &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: c.meta("Namespace", "", name),
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
	ns.Labels = map[string]string{"kubernetes.io/metadata.name": name}
	ns.ManagedFields = c.managed("kubectl-create", "",
		`{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`)
	return object{"/namespaces/" + name, ns}
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func (c *cluster) nodeAt(i int) object {
	name := nodeName(i)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("16"),
		corev1.ResourceMemory:           resource.MustParse("65536Mi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("200Gi"),
		corev1.ResourcePods:             resource.MustParse("250"),
	}
	allocatable := resources.DeepCopy()
	allocatable[corev1.ResourceCPU] = resource.MustParse("15800m")
	node := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: c.meta("Node", "", name),
		Spec:       corev1.NodeSpec{ProviderID: "seed:///" + name},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: allocatable,
			Conditions: []corev1.NodeCondition{
				c.nodeCondition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
				c.nodeCondition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
				c.nodeCondition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
				c.nodeCondition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
			},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: nodeIP(i)},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID:               uid("machine", "", name),
				SystemUUID:              uid("system", "", name),
				BootID:                  uid("boot", "", name),
				KernelVersion:           "6.12.0",
				OSImage:                 "Linux",
				ContainerRuntimeVersion: "containerd://2.1.0",
				KubeletVersion:          "v1.37.2",
				OperatingSystem:         "linux",
				Architecture:            "amd64",
			},
		},
	}
	node.Labels = map[string]string{
		corev1.LabelArchStable:         "amd64",
		corev1.LabelOSStable:           "linux",
		corev1.LabelHostname:           name,
		corev1.LabelInstanceTypeStable: "large",
		corev1.LabelTopologyRegion:     "region-0",
		corev1.LabelTopologyZone:       fmt.Sprintf("zone-%d", i%c.zones),
	}
	defaults.SetObjectDefaults_Node(node)
	return object{"/minions/" + name, node}
}

func (c *cluster) nodeCondition(t corev1.NodeConditionType, s corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
	now := metav1.NewTime(c.now)
	return corev1.NodeCondition{
		Type: t, Status: s, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
	}
}

// addressOf is the record of the i-th Service's address, without which the API server's repair loop
// would report every Service.
func (c *cluster) addressOf(i int) object {
	name, namespace := c.serviceName(i)
	ip := addressAt(firstServiceIP, i)
	address := &networkingv1.IPAddress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "IPAddress"},
		ObjectMeta: c.meta("IPAddress", "", ip),
		Spec: networkingv1.IPAddressSpec{
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: name},
		},
	}
	address.Labels = map[string]string{
		networkingv1.LabelIPAddressFamily: string(corev1.IPv4Protocol),
		networkingv1.LabelManagedBy:       "ipallocator.k8s.io",
	}
	return object{"/ipaddresses/" + ip, address}
}

func (c *cluster) serviceAt(i int) object {
	name, namespace := c.serviceName(i)
	ip := addressAt(firstServiceIP, i)
	internal, single := corev1.ServiceInternalTrafficPolicyCluster, corev1.IPFamilyPolicySingleStack
	svc := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: c.meta("Service", namespace, name),
		Spec: corev1.ServiceSpec{
			Type:       corev1.ServiceTypeClusterIP,
			ClusterIP:  ip,
			ClusterIPs: []string{ip},
			Selector:   map[string]string{"app": name},
			Ports: []corev1.ServicePort{{
				Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("http"),
			}},
			IPFamilies:            []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy:        &single,
			InternalTrafficPolicy: &internal,
			SessionAffinity:       corev1.ServiceAffinityNone,
		},
	}
	svc.Labels = map[string]string{"app": name, "app.kubernetes.io/managed-by": "seed"}
	svc.ManagedFields = c.managed("kubectl-client-side-apply", "", serviceFields)
	defaults.SetObjectDefaults_Service(svc)
	return object{"/services/specs/" + namespace + "/" + name, svc}
}

func (c *cluster) serviceName(i int) (name, namespace string) {
	return fmt.Sprintf("svc-%d", i), fmt.Sprintf("ns-%d", i%c.namespaces)
}

func (c *cluster) podAt(p int) object {
	app, namespace := c.serviceName(p / c.podsPerService)
	pod := c.pod(p, app, namespace, p%c.podsPerService)
	return object{"/pods/" + namespace + "/" + pod.Name, pod}
}

// Namespaces without Services.
const batchNamespaces = 10

func batchNamespace(i int) string { return fmt.Sprintf("batch-%d", i%batchNamespaces) }

// bystanderAt is a Pod that no Service has as an endpoint: in turn one that waits for a node, one that has finished,
// both with the labels of a Service, and one that runs in a namespace without Services.
func (c *cluster) bystanderAt(i int) object {
	p := c.services*c.podsPerService + i
	app, namespace := c.serviceName(i % c.services)
	number := c.podsPerService + i/c.services
	if i%3 == 2 {
		app, namespace, number = fmt.Sprintf("job-%d", i%100), batchNamespace(i), i
	}
	pod := c.pod(p, app, namespace, number)
	switch i % 3 {
	case 0:
		pod.Spec.NodeName = ""
		pod.Status = corev1.PodStatus{
			Phase:    corev1.PodPending,
			QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message:            "0/100 nodes are available: 100 Insufficient cpu.",
				LastTransitionTime: metav1.NewTime(c.now),
			}},
		}
	case 1:
		pod.Status.Phase = corev1.PodSucceeded
		for i := range pod.Status.Conditions {
			condition := &pod.Status.Conditions[i]
			if condition.Type == corev1.PodReady || condition.Type == corev1.ContainersReady {
				condition.Status, condition.Reason = corev1.ConditionFalse, "PodCompleted"
			}
		}
		container := &pod.Status.ContainerStatuses[0]
		container.Ready = false
		container.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: metav1.NewTime(c.now), FinishedAt: metav1.NewTime(c.now),
			ContainerID: container.ContainerID,
		}}
	}
	return object{"/pods/" + namespace + "/" + pod.Name, pod}
}

// pod is a running and ready Pod: the p-th of all, and the one with this number of its ReplicaSet.
func (c *cluster) pod(p int, app, namespace string, number int) *corev1.Pod {
	replicaSetUID := uid("ReplicaSet", namespace, app)
	hash := templateHash(replicaSetUID)
	replicaSet := app + "-" + hash
	name := replicaSet + "-" + podSuffix(number)
	ip, node := addressAt(firstPodIP, p), p%c.nodes
	now := metav1.NewTime(c.now)
	yes := true
	grace, mode, expiry, tolerate := int64(30), int32(0o644), int64(3607), int64(300)
	no, priority, preemption := false, int32(0), corev1.PreemptLowerPriority
	image := "registry.example.com/team/" + app + ":1.14.2"

	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: c.meta("Pod", namespace, name),
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"},
				}}},
				{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "kube-api-access-" + hash[:5], VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					DefaultMode: &mode,
					Sources: []corev1.VolumeProjection{
						{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expiry, Path: "token"}},
						{ConfigMap: &corev1.ConfigMapProjection{
							LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
							Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
						}},
						{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
							Path:     "namespace",
							FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
						}}}},
					},
				}}},
			},
			Containers: []corev1.Container{{
				Name:  "main",
				Image: image,
				Args:  []string{"--listen=:8080", "--metrics=:9090", "--log-format=json"},
				Ports: []corev1.ContainerPort{
					{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
					{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
				},
				Env: []corev1.EnvVar{
					{Name: "APP_NAME", Value: app},
					{Name: "APP_ENVIRONMENT", Value: "production"},
					{Name: "LOG_LEVEL", Value: "info"},
					{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
					{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
				},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "config", MountPath: "/etc/app", ReadOnly: true},
					{Name: "cache", MountPath: "/var/cache/app"},
					{Name: "kube-api-access-" + hash[:5], MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
				},
				LivenessProbe:   httpProbe("/healthz"),
				ReadinessProbe:  httpProbe("/readyz"),
				ImagePullPolicy: corev1.PullIfNotPresent,
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no},
			}},
			TerminationGracePeriodSeconds: &grace,
			ServiceAccountName:            "default",
			DeprecatedServiceAccount:      "default",
			NodeName:                      nodeName(node),
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &tolerate},
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &tolerate},
			},
			Priority:         &priority,
			PreemptionPolicy: &preemption,
		},
		Status: corev1.PodStatus{
			ObservedGeneration: 1,
			Phase:              corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				c.podCondition(corev1.PodReadyToStartContainers),
				c.podCondition(corev1.PodInitialized),
				c.podCondition(corev1.PodReady),
				c.podCondition(corev1.ContainersReady),
				c.podCondition(corev1.PodScheduled),
			},
			HostIP:    nodeIP(node),
			HostIPs:   []corev1.HostIP{{IP: nodeIP(node)}},
			PodIP:     ip,
			PodIPs:    []corev1.PodIP{{IP: ip}},
			StartTime: &now,
			QOSClass:  corev1.PodQOSBurstable,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name:        "main",
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
				Ready:       true,
				Started:     &yes,
				Image:       image,
				ImageID:     "registry.example.com/team/" + app + "@sha256:" + digest("image", app),
				ContainerID: "containerd://" + digest("container", namespace+"/"+name),
			}},
		},
	}
	pod.GenerateName = replicaSet + "-"
	pod.Generation = 1
	pod.Labels = map[string]string{
		"app":                          app,
		"app.kubernetes.io/managed-by": "seed",
		"pod-template-hash":            hash,
		"tier":                         "backend",
	}
	pod.Annotations = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090"}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, UID: types.UID(replicaSetUID),
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	pod.ManagedFields = append(
		c.managed("kube-controller-manager", "", fmt.Sprintf(podSpecFields, replicaSetUID)),
		c.managed("kubelet", "status", fmt.Sprintf(podStatusFields, ip))...)
	defaults.SetObjectDefaults_Pod(pod)
	return pod
}

func (c *cluster) podCondition(t corev1.PodConditionType) corev1.PodCondition {
	return corev1.PodCondition{
		Type: t, Status: corev1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(c.now),
	}
}

func httpProbe(path string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http")},
	}}
}

func (c *cluster) meta(kind, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(uid(kind, namespace, name)),
		CreationTimestamp: metav1.NewTime(c.now),
	}
}

func (c *cluster) managed(manager, subresource, fields string) []metav1.ManagedFieldsEntry {
	now := metav1.NewTime(c.now)
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}, Subresource: subresource,
	}}
}

// uid is a name-based UUID (version 5).
func uid(kind, namespace, name string) string {
	h := sha1.Sum([]byte(kind + "/" + namespace + "/" + name))
	h[6] = h[6]&0x0f | 0x50
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

func digest(kind, name string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(kind+"/"+name)))
}

// The characters of names that the API server and the controllers make up.
const nameChars = "bcdfghjklmnpqrstvwxz2456789"

// templateHash returns ten characters, as long as upstream's pod-template-hash.
func templateHash(seed string) string {
	h := sha256.Sum256([]byte(seed))
	for i := range h {
		h[i] = nameChars[int(h[i])%len(nameChars)]
	}
	return string(h[:10])
}

// podSuffix returns the five characters that tell the i-th Pod of a Service from the others. They
// look random: the factor has no divisor in common with the number of possible suffixes.
func podSuffix(i int) string {
	const all = 27 * 27 * 27 * 27 * 27
	n := (i*8675309 + 1234567) % all
	var s [5]byte
	for j := range s {
		s[j] = nameChars[n%len(nameChars)]
		n /= len(nameChars)
	}
	return string(s[:])
}

func addressAt(first netip.Addr, i int) string {
	b := first.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	n += uint32(i)
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

func nodeIP(i int) string { return addressAt(firstNodeIP, i) }
