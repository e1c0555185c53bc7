package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	endpointsv1 "k8s.io/kubernetes/pkg/api/v1/endpoints"
)

// endpointsCase is one line of the file for crates/endpoints-controller: subsets and their canonical form, or a few syncs
// of one Service, one after the other.
type endpointsCase struct {
	Number int    `json:"number"`
	Kind   string `json:"kind"`
	Given  []any  `json:"given,omitempty"`
	Packed []any  `json:"packed,omitempty"`
	Steps  []step `json:"steps,omitempty"`
}

func (c *endpointsCase) setNumber(number int) {
	c.Number = number
}

func (c *endpointsCase) count(tally map[string]int) {
	tally["kind: "+c.Kind]++
	if len(c.Packed) > 1 {
		tally["repacked into several subsets"]++
	}
	for _, step := range c.Steps {
		switch {
		case step.Create != nil:
			tally["steps: create"]++
		case step.Update != nil:
			tally["steps: update"]++
		default:
			tally["steps: nothing"]++
		}
	}
}

// scenariosPerBatch run side by side, since each mostly waits.
const scenariosPerBatch = 64

// playEndpoints makes cases of every kind, four of five about the canonical form alone.
func playEndpoints(d dice) []line {
	lines := []line{}
	for range 4 * scenariosPerBatch {
		lines = append(lines, repackCase(d))
	}
	return append(lines, playSyncs(d)...)
}

// repackCase is upstream's RepackSubsets on subsets as a user might have written them.
func repackCase(d dice) *endpointsCase {
	// Decoded once, so that no two ports share the memory of their application protocol, as in any object that was read.
	text, err := json.Marshal(handWritten(d))
	check(err)
	given := []corev1.EndpointSubset{}
	check(json.Unmarshal(text, &given))
	return &endpointsCase{Kind: "repack", Given: plainAll(given), Packed: plainAll(endpointsv1.RepackSubsets(given))}
}

// handWritten makes subsets from few addresses and ports, so that many are mentioned twice.
func handWritten(d dice) []corev1.EndpointSubset {
	addresses := d.between(1, 8)
	subsets := []corev1.EndpointSubset{}
	for range d.between(0, 5) {
		subset := corev1.EndpointSubset{}
		for range d.between(0, 5) {
			subset.Addresses = append(subset.Addresses, handWrittenAddress(d, addresses))
		}
		for range oneOf(d, 0, 0, 1, 3) {
			subset.NotReadyAddresses = append(subset.NotReadyAddresses, handWrittenAddress(d, addresses))
		}
		for range oneOf(d, 0, 1, 1, 2, 3, 4) {
			subset.Ports = append(subset.Ports, handWrittenPort(d))
		}
		subsets = append(subsets, subset)
	}
	if d.chance(0.3) && len(subsets) > 0 {
		twice := oneOf(d, subsets...)
		subsets = append(subsets, *twice.DeepCopy())
	}
	return subsets
}

func handWrittenAddress(d dice, choices int) corev1.EndpointAddress {
	ips := []string{"10.0.0.9", "10.0.0.10", "10.0.0.1", "fd00::1", "fd00::a", "192.0.2.1", "FD00::1", "10.0.0.100"}
	address := corev1.EndpointAddress{IP: oneOf(d, ips[:choices]...), Hostname: oneOf(d, "", "", "a", "b")}
	if d.chance(0.5) {
		node := oneOf(d, "", "node-1", "node-2")
		address.NodeName = &node
	}
	if d.chance(0.7) {
		address.TargetRef = &corev1.ObjectReference{
			Kind:            "Pod",
			Namespace:       "shop",
			Name:            oneOf(d, "web-1", "web-2"),
			UID:             types.UID(oneOf(d, "", "u1", "u2", "u3")),
			ResourceVersion: oneOf(d, "", "", "7"),
			APIVersion:      oneOf(d, "", "", "v1"),
			FieldPath:       oneOf(d, "", "", "spec"),
		}
	}
	return address
}

func handWrittenPort(d dice) corev1.EndpointPort {
	port := corev1.EndpointPort{
		Name:     oneOf(d, "", "http", "https", "grpc"),
		Port:     oneOf[int32](d, 80, 443, 8080, 53, 65535),
		Protocol: oneOf(d, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
	}
	if d.chance(0.02) {
		port.Port = 0
	}
	if d.chance(0.25) {
		protocol := oneOf(d, "", "http", "kubernetes.io/h2c")
		port.AppProtocol = &protocol
	}
	return port
}

// tamperEndpoints changes what some other version or user might have changed.
func (w *world) tamperEndpoints(object *corev1.Endpoints) {
	for range oneOf(w.dice, 0, 0, 1, 1, 2, 4) {
		switch w.between(0, 4) {
		case 0:
			w.tamperLabels(object)
		case 1:
			w.tamperAnnotations(object)
		default:
			w.tamperSubsets(object)
		}
	}
	if w.chance(0.1) {
		object.Finalizers = []string{"example.com/keep"}
		object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"}}
	}
}

func (w *world) tamperLabels(object *corev1.Endpoints) {
	key := oneOf(w.dice, "app", "team", "extra", corev1.IsHeadlessService, managedBy, managedBy)
	if _, present := object.Labels[key]; present && w.chance(0.6) {
		delete(object.Labels, key)
		return
	}
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	object.Labels[key] = oneOf(w.dice, "", "web", "endpoint-controller")
}

func (w *world) tamperAnnotations(object *corev1.Endpoints) {
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	switch w.between(0, 3) {
	case 0:
		object.Annotations[corev1.EndpointsOverCapacity] = oneOf(w.dice, "truncated", "warning", "")
	case 1:
		object.Annotations[corev1.EndpointsLastChangeTriggerTime] = "2025-01-01T00:00:00Z"
	case 2:
		delete(object.Annotations, corev1.EndpointsLastChangeTriggerTime)
	default:
		object.Annotations["note"] = "keep"
	}
}

func (w *world) tamperSubsets(object *corev1.Endpoints) {
	if len(object.Subsets) == 0 || w.chance(0.05) {
		object.Subsets = handWritten(w.dice)
		return
	}
	subset := &object.Subsets[w.IntN(len(object.Subsets))]
	switch w.between(0, 6) {
	case 0:
		shuffle(w.dice, object.Subsets)
	case 1:
		shuffle(w.dice, subset.Addresses)
		shuffle(w.dice, subset.NotReadyAddresses)
	case 2:
		shuffle(w.dice, subset.Ports)
	case 3:
		object.Subsets = append(object.Subsets, *subset.DeepCopy())
	case 4:
		w.splitSubset(object, subset)
	case 5:
		if len(subset.Addresses) > 0 {
			subset.NotReadyAddresses = append(subset.NotReadyAddresses, subset.Addresses[0])
			subset.Addresses = subset.Addresses[1:]
		}
	default:
		for i := range subset.Addresses {
			if w.chance(0.3) {
				w.tamperAddress(&subset.Addresses[i])
			}
		}
	}
}

// splitSubset gives each port a subset of its own: the same content in another form.
func (w *world) splitSubset(object *corev1.Endpoints, subset *corev1.EndpointSubset) {
	if len(subset.Ports) < 2 {
		return
	}
	other := subset.DeepCopy()
	other.Ports, subset.Ports = other.Ports[1:], subset.Ports[:1]
	object.Subsets = append(object.Subsets, *other)
}

func (w *world) tamperAddress(address *corev1.EndpointAddress) {
	if address.TargetRef == nil {
		address.TargetRef = &corev1.ObjectReference{Kind: "Pod"}
	}
	switch w.between(0, 4) {
	case 0:
		address.NodeName = nil
	case 1:
		address.TargetRef.ResourceVersion = "7"
	case 2:
		address.TargetRef.APIVersion = "v1"
	case 3:
		address.Hostname = oneOf(w.dice, "", "other")
	default:
		address.TargetRef.UID = types.UID(w.uid())
	}
}
