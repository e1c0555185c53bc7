package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// makeUpSlices puts the endpoints that upstream would publish into slices as it never would, and changes some of them.
func (w *world) makeUpSlices() {
	service := w.service.DeepCopy()
	service.DeletionTimestamp = nil
	wanted := w.reconcile(service, nil, 1000, time.Time{}).create
	tampering := oneOf(w.dice, 0, 0, 0.03, 0.3)
	unpublished := oneOf(w.dice, 0, 0, 0.2, 0.6)
	for _, whole := range wanted {
		for _, slice := range w.spread(whole, unpublished) {
			w.adopt(slice)
			w.tamper(slice, tampering)
		}
	}
	for w.chance(0.3) && len(wanted) > 0 {
		slice := oneOf(w.dice, wanted...).DeepCopy()
		w.adopt(slice)
		w.displace(slice)
	}
	w.sortSlices()
}

// spread distributes the endpoints of one slice over several, some of which may exceed the maximum or stay empty.
func (w *world) spread(whole *discoveryv1.EndpointSlice, unpublished float64) []*discoveryv1.EndpointSlice {
	endpoints := whole.Endpoints
	if w.chance(0.5) {
		shuffle(w.dice, endpoints)
	}
	whole.Endpoints = nil
	full := int(w.max)
	if w.chance(0.1) {
		full = w.between(full, full+3)
	}
	parts := []*discoveryv1.EndpointSlice{}
	for range w.between(0, 1+len(endpoints)/full) + w.IntN(2) {
		parts = append(parts, whole.DeepCopy())
	}
	inOrder := w.chance(0.5)
	for _, endpoint := range endpoints {
		if len(parts) == 0 || w.chance(unpublished) {
			continue
		}
		part := oneOf(w.dice, parts...)
		if inOrder {
			part = parts[0]
		}
		if len(part.Endpoints) < full {
			part.Endpoints = append(part.Endpoints, endpoint)
		} else if inOrder {
			parts = parts[1:]
		}
	}
	return slices.DeleteFunc(parts, func(part *discoveryv1.EndpointSlice) bool {
		return len(part.Endpoints) == 0 && len(endpoints) > 0 && w.chance(0.8)
	})
}

// adopt gives a slice what the API server gives it.
func (w *world) adopt(slice *discoveryv1.EndpointSlice) {
	w.revision++
	slice.Name = slice.GenerateName + w.suffix()
	slice.UID = types.UID(w.uid())
	slice.ResourceVersion = fmt.Sprint(w.revision)
	slice.Generation = int64(w.between(1, 9))
	slice.CreationTimestamp = *w.moment()
	w.slices = append(w.slices, slice)
	w.absentIfEmpty(slice)
}

// absentIfEmpty drops empty lists now and then, as a round trip through protobuf does.
func (w *world) absentIfEmpty(slice *discoveryv1.EndpointSlice) {
	if w.chance(0.5) {
		return
	}
	if len(slice.Ports) == 0 {
		slice.Ports = nil
	}
	if len(slice.Endpoints) == 0 {
		slice.Endpoints = nil
	}
}

func (w *world) sortSlices() {
	slices.SortFunc(w.slices, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
}

// tamper changes what some other version, controller or user might have changed.
func (w *world) tamper(slice *discoveryv1.EndpointSlice, probability float64) {
	for i := range slice.Endpoints {
		if w.chance(probability) {
			w.tamperEndpoint(&slice.Endpoints[i])
		}
	}
	for w.chance(probability/2) && len(slice.Endpoints) > 0 {
		chosen := oneOf(w.dice, slice.Endpoints...)
		twice := *chosen.DeepCopy()
		other := oneOf(w.dice, w.slices...)
		other.Endpoints = append(other.Endpoints, twice)
	}
	for w.chance(probability) {
		slice.Endpoints = append(slice.Endpoints, w.staleEndpoint(slice.AddressType))
	}
	if w.chance(0.05 + probability/2) {
		w.tamperMetadata(slice)
	}
	if w.chance(probability) {
		shuffle(w.dice, slice.Ports)
	}
	if w.chance(0.3) {
		slice.Annotations = map[string]string{corev1.EndpointsLastChangeTriggerTime: "2025-01-01T00:00:00Z"}
		if w.chance(0.2) {
			slice.Annotations["note"] = "keep"
		}
	}
}

func (w *world) tamperEndpoint(endpoint *discoveryv1.Endpoint) {
	yes, no := true, false
	condition := oneOf(w.dice, nil, &yes, &no)
	zone := oneOf(w.dice, "zone-a", "zone-b", "zone-x", "")
	node := oneOf(w.dice, "node-0", "gone")
	switch w.between(0, 13) {
	case 0:
		endpoint.Conditions.Ready = condition
	case 1:
		endpoint.Conditions.Serving = condition
	case 2:
		endpoint.Conditions.Terminating = condition
	case 3:
		endpoint.Zone = oneOf(w.dice, nil, &zone)
	case 4:
		endpoint.NodeName = oneOf(w.dice, nil, &node)
	case 5:
		endpoint.TargetRef.UID = types.UID(w.uid())
	case 6:
		endpoint.TargetRef.ResourceVersion = "7"
	case 7:
		endpoint.TargetRef.APIVersion = "v1"
	case 8:
		endpoint.TargetRef = nil
	case 9:
		endpoint.Hostname = &node
	case 10:
		endpoint.DeprecatedTopology = map[string]string{"rack": "7"}
	case 11:
		shuffle(w.dice, endpoint.Addresses)
	case 12, 13:
		endpoint.Hints = oneOf(w.dice, nil, &discoveryv1.EndpointHints{},
			&discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}},
			&discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "zone-a"}, {Name: "zone-b"}}},
			&discoveryv1.EndpointHints{ForNodes: []discoveryv1.ForNode{{Name: node}}})
	}
}

func (w *world) staleEndpoint(addressType discoveryv1.AddressType) discoveryv1.Endpoint {
	ready := w.chance(0.5)
	endpoint := discoveryv1.Endpoint{
		Addresses:  []string{fmt.Sprintf("10.99.0.%d", w.between(1, 9))},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "pod-0"},
	}
	if addressType == discoveryv1.AddressTypeIPv6 {
		endpoint.Addresses[0] = fmt.Sprintf("fd00:99::%d", w.between(1, 9))
	}
	return endpoint
}

func (w *world) tamperMetadata(slice *discoveryv1.EndpointSlice) {
	if slice.Labels == nil {
		slice.Labels = map[string]string{}
	}
	switch w.between(0, 6) {
	case 0:
		slice.Labels[oneOf(w.dice, "app", "stale")] = oneOf(w.dice, "old", "")
	case 1:
		delete(slice.Labels, "app")
	case 2:
		if _, present := slice.Labels[corev1.IsHeadlessService]; present {
			delete(slice.Labels, corev1.IsHeadlessService)
		} else {
			slice.Labels[corev1.IsHeadlessService] = ""
		}
	case 3:
		slice.Finalizers = []string{"example.com/hold"}
	case 4:
		slice.OwnerReferences = append(slice.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c"})
	case 5:
		owner := slices.Clone(slice.OwnerReferences)
		switch w.between(0, 3) {
		case 0:
			owner[0].APIVersion = "example.com/v1"
		case 1:
			owner = nil
		default:
			owner[0].UID = types.UID(w.uid())
		}
		slice.OwnerReferences = owner
	case 6:
		slice.GenerateName = ""
	}
}

// displace makes a slice one that is no longer wanted as it is: of other ports or of another address type.
func (w *world) displace(slice *discoveryv1.EndpointSlice) {
	if len(slice.Endpoints) > int(w.max) {
		slice.Endpoints = slice.Endpoints[:w.max]
	}
	switch w.between(0, 4) {
	case 0:
		slice.AddressType = oneOf(w.dice, discoveryv1.AddressTypeFQDN, "IP")
	case 1:
		slice.AddressType = oneOf(w.dice, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
	case 2:
		slice.Ports, slice.Endpoints = nil, nil
	default:
		name, number, protocol := oneOf(w.dice, portNames...), int32(w.between(1, 3)*1000), w.protocol()
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: &protocol})
	}
	w.tamper(slice, 0.1)
}
