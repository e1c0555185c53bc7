package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const namespace = "shop"

var (
	zones     = []string{"zone-a", "zone-b", "zone-c"}
	portNames = []string{"http", "https", "dns", "metrics", "admin", "grpc"}
)

// world is everything that a sync of one Service reads.
type world struct {
	dice
	service *corev1.Service
	pods    []*corev1.Pod
	nodes   []*corev1.Node
	// slices that exist, by name
	slices []*discoveryv1.EndpointSlice
	max    int32
	// what the pods are like
	habits   habits
	made     int
	revision int
}

// habits are what the pods of one world have in common, so that most worlds stay interesting in one way at a time.
type habits struct {
	ready, terminating, ended, nodeMissing, noAddress, severalAddresses, sharedAddress, named float64
	families                                                                                  []corev1.IPFamily
	containers                                                                                []corev1.PodSpec
}

func newWorld(dice dice) *world {
	w := &world{dice: dice, max: int32(dice.between(1, 6)), revision: 1000}
	if dice.chance(0.1) {
		w.max = int32(dice.between(7, 20))
	} else if dice.chance(0.1) {
		w.max = 100
	}
	w.service = w.newService()
	w.nodes = w.newNodes()
	w.habits = w.newHabits()
	count := dice.between(0, 12)
	if w.wantsTopology() {
		count = dice.between(3, 24)
	}
	if w.max > 20 {
		count = dice.between(0, 24)
		if dice.chance(0.03) {
			count = dice.between(90, 230)
		}
	}
	w.addPods(count)
	return w
}

func (w *world) wantsTopology() bool {
	for _, value := range w.service.Annotations {
		if strings.EqualFold(value, "auto") {
			return true
		}
	}
	return false
}

func (w *world) newService() *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace,
		Name:      oneOf(w.dice, "web", "web", "db-0", "a"),
		UID:       types.UID(w.uid()),
		Labels:    w.serviceLabels(),
	}}
	service.Spec.Type = oneOf(w.dice, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)
	service.Spec.ClusterIP = oneOf(w.dice, "10.96.0.10", "10.96.0.10", "10.96.0.10", "fd00:1::a")
	if w.chance(0.25) {
		service.Spec.ClusterIP = corev1.ClusterIPNone
	} else if w.chance(0.04) {
		service.Spec.ClusterIP = ""
	}
	if w.chance(0.85) {
		service.Spec.IPFamilies = w.families()
	}
	service.Spec.Ports = w.servicePorts(service)
	service.Spec.PublishNotReadyAddresses = w.chance(0.15)
	w.setDistribution(service)
	if w.chance(0.04) {
		service.DeletionTimestamp = w.moment()
	}
	return service
}

// setDistribution chooses the two ways to ask for hints.
func (w *world) setDistribution(service *corev1.Service) {
	service.Spec.TrafficDistribution, service.Annotations = nil, nil
	if w.chance(0.4) {
		value := oneOf(w.dice, "PreferClose", "PreferSameZone", "PreferSameNode", "PreferSameNode", "Elsewhere")
		service.Spec.TrafficDistribution = &value
	}
	if w.chance(0.25) {
		key := oneOf(w.dice, corev1.AnnotationTopologyMode, corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints)
		service.Annotations = map[string]string{key: oneOf(w.dice, "Auto", "Auto", "Auto", "auto", "Disabled", "AUTO")}
		if w.chance(0.1) {
			service.Annotations[corev1.AnnotationTopologyMode] = oneOf(w.dice, "Auto", "Disabled")
		}
	}
}

func (w *world) families() []corev1.IPFamily {
	return oneOf(w.dice,
		[]corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv6Protocol},
		[]corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol})
}

func (w *world) serviceLabels() map[string]string {
	if w.chance(0.4) {
		return nil
	}
	labels := map[string]string{}
	for range w.between(0, 2) {
		labels[oneOf(w.dice, "app", "tier", "team")] = oneOf(w.dice, "web", "front", "")
	}
	if w.chance(0.2) {
		key := oneOf(w.dice, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, corev1.IsHeadlessService)
		labels[key] = oneOf(w.dice, "", "mine")
	}
	return labels
}

func (w *world) servicePorts(service *corev1.Service) []corev1.ServicePort {
	if w.chance(0.02) || service.Spec.ClusterIP == corev1.ClusterIPNone && w.chance(0.4) {
		return nil
	}
	names := slices.Clone(portNames)
	shuffle(w.dice, names)
	ports := []corev1.ServicePort{}
	for _, name := range names[:oneOf(w.dice, 1, 1, 1, 2, 2, 3, 4)] {
		ports = append(ports, w.servicePort(name))
	}
	if len(ports) == 1 && w.chance(0.4) {
		ports[0].Name = ""
	}
	return ports
}

func (w *world) servicePort(name string) corev1.ServicePort {
	port := corev1.ServicePort{
		Name:       name,
		Protocol:   w.protocol(),
		Port:       80,
		TargetPort: intstr.FromInt32(int32(w.between(1, 3) * 1000)),
	}
	if w.chance(0.35) {
		port.TargetPort = intstr.FromString(name)
	}
	if w.chance(0.3) {
		protocol := oneOf(w.dice, "http", "kubernetes.io/h2c", "")
		port.AppProtocol = &protocol
	}
	return port
}

func (w *world) protocol() corev1.Protocol {
	return oneOf(w.dice, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
}

func (w *world) newNodes() []*corev1.Node {
	healthy := w.chance(0.7)
	inZones := zones[:oneOf(w.dice, 1, 2, 2, 3, 3)]
	if w.wantsTopology() && w.chance(0.8) {
		healthy, inZones = true, zones[:oneOf(w.dice, 2, 3)]
	}
	nodes := []*corev1.Node{}
	for i := range w.between(len(inZones), len(inZones)+2) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("node-%d", i),
			Labels: map[string]string{corev1.LabelTopologyZone: inZones[i%len(inZones)]},
		}}
		cpu := oneOf(w.dice, "2", "4", "4", "3", "1500m", "700m")
		status := corev1.ConditionTrue
		if !healthy && w.chance(0.4) {
			switch w.between(0, 4) {
			case 0:
				node.Labels = nil
			case 1:
				node.Labels[corev1.LabelTopologyZone] = ""
			case 2:
				cpu = oneOf(w.dice, "0", "")
			case 3:
				node.Labels[oneOf(w.dice, "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")] = ""
			case 4:
				status = oneOf(w.dice, corev1.ConditionFalse, corev1.ConditionUnknown)
			}
		}
		if cpu != "" {
			node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		nodes = append(nodes, node)
	}
	return nodes
}

func (w *world) newHabits() habits {
	few := func(probability float64) float64 {
		if w.chance(0.5) {
			return 0
		}
		return probability
	}
	h := habits{
		ready:            oneOf(w.dice, 1, 0.9, 0.9, 0.5, 0),
		terminating:      few(0.15),
		ended:            few(0.1),
		noAddress:        few(0.1),
		severalAddresses: few(0.1),
		sharedAddress:    few(0.15),
		named:            few(0.4),
		families:         w.families(),
	}
	if w.wantsTopology() && w.chance(0.8) {
		h.ready, h.families = oneOf(w.dice, 1, 0.95, 0.8), w.service.Spec.IPFamilies
	}
	if len(h.families) == 0 {
		h.families = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if w.chance(0.15) {
		h.nodeMissing = oneOf(w.dice, 0.15, 1)
	}
	for range oneOf(w.dice, 1, 1, 2, 3) {
		h.containers = append(h.containers, w.containers())
	}
	return h
}

func (w *world) containers() corev1.PodSpec {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Ports: w.containerPorts()}}}
	if w.chance(0.5) {
		return spec
	}
	if w.chance(0.3) {
		spec.Containers = append(spec.Containers, corev1.Container{Ports: w.containerPorts()})
	}
	if w.chance(0.4) {
		always := corev1.ContainerRestartPolicyAlways
		init := corev1.Container{Ports: w.containerPorts()}
		if w.chance(0.7) {
			init.RestartPolicy = &always
		}
		spec.InitContainers = append(spec.InitContainers, init)
	}
	return spec
}

func (w *world) containerPorts() []corev1.ContainerPort {
	ports := []corev1.ContainerPort{}
	for range oneOf(w.dice, 0, 0, 1, 2, 3) {
		port := corev1.ContainerPort{ContainerPort: int32(w.between(1, 3) * 1000), Protocol: w.protocol()}
		if w.chance(0.8) {
			port.Name = oneOf(w.dice, portNames...)
		}
		if len(w.service.Spec.Ports) > 0 && w.chance(0.4) {
			wanted := oneOf(w.dice, w.service.Spec.Ports...)
			port.Name, port.Protocol = wanted.TargetPort.StrVal, wanted.Protocol
		}
		ports = append(ports, port)
	}
	return ports
}

func (w *world) addPods(count int) {
	for range count {
		w.pods = append(w.pods, w.newPod())
	}
}

func (w *world) newPod() *corev1.Pod {
	w.made++
	h := w.habits
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace,
		Name:      fmt.Sprintf("pod-%d", w.made),
		UID:       types.UID(w.uid()),
	}}
	template := oneOf(w.dice, h.containers...)
	template.DeepCopyInto(&pod.Spec)
	pod.Spec.NodeName = oneOf(w.dice, w.nodes...).Name
	if w.chance(h.nodeMissing) {
		pod.Spec.NodeName = oneOf(w.dice, "gone", "gone", "")
	}
	if w.chance(h.named) {
		pod.Spec.Hostname = oneOf(w.dice, "", "one", pod.Name)
		pod.Spec.Subdomain = oneOf(w.dice, w.service.Name, w.service.Name, "other", "")
	}
	pod.Status.Phase = oneOf(w.dice, corev1.PodRunning, corev1.PodRunning, corev1.PodPending)
	if w.chance(h.ended) {
		pod.Status.Phase = oneOf(w.dice, corev1.PodSucceeded, corev1.PodFailed)
	}
	if w.chance(h.terminating) {
		pod.DeletionTimestamp = w.moment()
	}
	w.setReady(pod, w.chance(h.ready))
	if !w.chance(h.noAddress) {
		pod.Status.PodIPs = w.addresses()
		pod.Status.PodIP = pod.Status.PodIPs[0].IP
	}
	return pod
}

func (w *world) setReady(pod *corev1.Pod, ready bool) {
	status := corev1.ConditionTrue
	if !ready {
		status = oneOf(w.dice, corev1.ConditionFalse, corev1.ConditionFalse, corev1.ConditionUnknown)
		if w.chance(0.2) {
			pod.Status.Conditions = nil
			return
		}
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

func (w *world) addresses() []corev1.PodIP {
	families := slices.Clone(w.habits.families)
	for w.chance(w.habits.severalAddresses) {
		families = append(families, oneOf(w.dice, corev1.IPv4Protocol, corev1.IPv6Protocol))
	}
	addresses := []corev1.PodIP{}
	for _, family := range families {
		high, low := w.between(0, 9), w.between(1, 254)
		if w.chance(w.habits.sharedAddress) {
			high, low = 0, 1
		}
		format := oneOf(w.dice, "10.%d.0.%d", "10.%d.0.%d", "10.%d.0.%d", "10.0%d.00.0%d")
		if family == corev1.IPv6Protocol {
			format = oneOf(w.dice, "fd00:%d::%x", "fd00:%d::%x", "fd00:%d::%x", "FD00:000%d:0::0:0:%x")
		}
		addresses = append(addresses, corev1.PodIP{IP: fmt.Sprintf(format, high, low)})
	}
	return addresses
}

// moment is some time.
func (w *world) moment() *metav1.Time {
	return &metav1.Time{Time: time.Unix(int64(1_760_000_000+w.IntN(1_000_000)), 0).UTC()}
}
