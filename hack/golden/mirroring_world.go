package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The Endpoints and their Service.
const mirroredName = "db"

// mirrorWorld is everything that a sync of one Endpoints object reads.
type mirrorWorld struct {
	dice
	endpoints *corev1.Endpoints
	service   *corev1.Service
	slices    []*discoveryv1.EndpointSlice
	max       int32
	// what the subsets are like
	habits mirrorHabits
	made   int
}

type mirrorHabits struct{ odd, invalid, described, notReady, appProtocol float64 }

func newMirrorWorld(dice dice) *mirrorWorld {
	few := func(probability float64) float64 { return oneOf(dice, 0, 0, probability) }
	w := &mirrorWorld{dice: dice, max: int32(oneOf(dice, 1, 2, 3, 5, 8, 1000, 1000))}
	w.habits = mirrorHabits{odd: few(0.3), invalid: few(0.2), described: few(0.6), notReady: few(0.3), appProtocol: few(0.5)}
	w.service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mirroredName}}
	w.newEndpoints()
	return w
}

func (w *mirrorWorld) newEndpoints() {
	w.endpoints = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mirroredName, UID: types.UID(w.uid())}}
	w.setMetadata()
	w.setSubsets()
}

func (w *mirrorWorld) setMetadata() {
	w.endpoints.Labels, w.endpoints.Annotations = map[string]string{}, map[string]string{}
	for range w.between(0, 2) {
		w.endpoints.Labels[oneOf(w.dice, "app", "tier", corev1.IsHeadlessService, "endpoints.kubernetes.io/managed-by")] = oneOf(w.dice, "a", "b", "")
		w.endpoints.Annotations[oneOf(w.dice, "note", "contact", corev1.EndpointsLastChangeTriggerTime, corev1.LastAppliedConfigAnnotation)] = oneOf(w.dice, "x", "y", "")
	}
	if w.chance(0.08) {
		w.endpoints.Labels[oneOf(w.dice, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy)] = oneOf(w.dice, "mine", "")
	}
	if w.chance(0.08) {
		w.endpoints.Labels[discoveryv1.LabelSkipMirror] = oneOf(w.dice, "true", "false", "TRUE", "")
	}
	if w.chance(0.03) {
		w.endpoints.Annotations["control-plane.alpha.kubernetes.io/leader"] = oneOf(w.dice, "", "{}")
	}
	if w.chance(0.04) {
		w.endpoints.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_760_000_000, 0).UTC()}
	}
}

func (w *mirrorWorld) setSubsets() {
	w.endpoints.Subsets = nil
	for range oneOf(w.dice, 0, 1, 1, 2, 2, 3, 4) {
		w.endpoints.Subsets = append(w.endpoints.Subsets, w.newSubset())
	}
}

// newSubset has addresses and ports that other subsets may have as well.
func (w *mirrorWorld) newSubset() corev1.EndpointSubset {
	subset := corev1.EndpointSubset{}
	for range oneOf(w.dice, 0, 1, 2, 2, 3, 4, 8) {
		address := w.newAddress()
		if w.chance(w.habits.notReady) {
			subset.NotReadyAddresses = append(subset.NotReadyAddresses, address)
		} else {
			subset.Addresses = append(subset.Addresses, address)
		}
	}
	ports := []string{"sql", "http", "metrics", ""}
	shuffle(w.dice, ports)
	for _, name := range ports[:oneOf(w.dice, 0, 1, 1, 1, 2, 3)] {
		port := corev1.EndpointPort{Name: name, Port: int32(oneOf(w.dice, 80, 80, 81)), Protocol: oneOf(w.dice, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)}
		if w.chance(w.habits.appProtocol) {
			protocol := oneOf(w.dice, "http", "kubernetes.io/h2c", "")
			port.AppProtocol = &protocol
		}
		subset.Ports = append(subset.Ports, port)
	}
	return subset
}

func (w *mirrorWorld) newAddress() corev1.EndpointAddress {
	number := w.between(1, 9)
	format := oneOf(w.dice, "10.0.0.%d", "10.0.0.%d", "10.0.0.%d", "fd00::%d")
	if w.chance(w.habits.odd) {
		format = oneOf(w.dice, "10.0.00.0%d", "010.0.0.%d", "::ffff:10.0.0.%d", "FD00:0::%d", "fd00::0:%d")
	} else if w.chance(w.habits.invalid) {
		format = oneOf(w.dice, "host-%d", "10.0.0.%d/32", "10.0.0.30%d", "fd00::%d%%eth0", "10.0.%d")
	}
	address := corev1.EndpointAddress{IP: fmt.Sprintf(format, number)}
	if w.chance(w.habits.described) {
		w.describe(&address)
	}
	return address
}

func (w *mirrorWorld) describe(address *corev1.EndpointAddress) {
	node := oneOf(w.dice, "node-0", "node-1", "")
	address.NodeName = oneOf(w.dice, nil, &node)
	address.Hostname = oneOf(w.dice, "", "", "one", "two")
	if w.chance(0.6) {
		address.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("pod-%d", w.between(1, 4)),
			UID: types.UID(oneOf(w.dice, "", "a", "b")), ResourceVersion: oneOf(w.dice, "", "7"), FieldPath: oneOf(w.dice, "", "spec")}
	}
}
