package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// apply brings the slices to where upstream's writes lead.
func (w *mirrorWorld) apply(done *mirrorCase) {
	for i, present := range w.slices {
		for _, slice := range done.update {
			if present.Name == slice.Name {
				stored := slice.DeepCopy()
				stored.UID = present.UID
				w.slices[i] = stored
			}
		}
	}
	w.slices = slices.DeleteFunc(w.slices, func(slice *discoveryv1.EndpointSlice) bool { return slices.Contains(done.Delete, slice.Name) })
	for _, slice := range done.create {
		w.adopt(slice.DeepCopy())
	}
}

// adopt gives a slice what the API server gives it.
func (w *mirrorWorld) adopt(slice *discoveryv1.EndpointSlice) {
	w.made++
	slice.Name = fmt.Sprintf("%s-%03d", mirroredName, (w.made*7919)%1000)
	slice.UID = types.UID(w.uid())
	w.slices = append(w.slices, slice)
}

// change does what happens in a cluster between two syncs, and names the last of it.
func (w *mirrorWorld) change() string {
	kind := "nothing changed"
	for range oneOf(w.dice, 0, 1, 1, 1, 2) {
		kind = w.changeOnce()
	}
	return kind
}

func (w *mirrorWorld) changeOnce() string {
	if w.endpoints == nil {
		w.newEndpoints()
		return "Endpoints came back"
	}
	switch w.between(0, 16) {
	case 0:
		w.setSubsets()
		return "other subsets"
	case 1, 2:
		w.endpoints.Subsets = append(w.endpoints.Subsets, w.newSubset())
		return "one more subset"
	case 3, 4:
		w.editSubset()
		return "a subset changed"
	case 5:
		for i := range w.endpoints.Subsets {
			subset := &w.endpoints.Subsets[i]
			subset.Addresses, subset.NotReadyAddresses = subset.NotReadyAddresses, subset.Addresses
		}
		return "readiness changed"
	case 6:
		w.setMetadata()
		return "labels and annotations changed"
	case 7:
		w.endpoints.UID = types.UID(w.uid())
		return "Endpoints were created again"
	case 8:
		w.setService()
		return "the Service changed"
	case 9:
		if w.chance(0.5) {
			w.endpoints = nil
		}
		return "Endpoints went"
	case 10:
		if len(w.slices) > 0 {
			gone := w.IntN(len(w.slices))
			w.slices = slices.Delete(w.slices, gone, gone+1)
		}
		return "a slice was deleted"
	case 11, 12:
		if len(w.slices) > 0 {
			w.adopt(oneOf(w.dice, w.slices...).DeepCopy())
			w.tamper(w.slices[len(w.slices)-1])
		}
		return "a slice was doubled"
	default:
		for _, slice := range w.slices {
			if w.chance(0.5) {
				w.tamper(slice)
			}
		}
		return "slices were edited"
	}
}

func (w *mirrorWorld) editSubset() {
	if len(w.endpoints.Subsets) == 0 {
		return
	}
	subset := &w.endpoints.Subsets[w.IntN(len(w.endpoints.Subsets))]
	if len(subset.Addresses) > 0 && w.chance(0.5) {
		gone := w.IntN(len(subset.Addresses))
		subset.Addresses = slices.Delete(subset.Addresses, gone, gone+1)
	}
	for range w.between(0, 2) {
		subset.Addresses = append(subset.Addresses, w.newAddress())
	}
	if w.chance(0.3) {
		subset.Ports = w.newSubset().Ports
	}
}

func (w *mirrorWorld) setService() {
	w.service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mirroredName}}
	w.service.Spec.Type = oneOf(w.dice, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName)
	switch w.between(0, 4) {
	case 0:
		w.service = nil
	case 1:
		w.service.Spec.Selector = map[string]string{"app": "db"}
	}
}

// tamper is the change of a slice by another client.
func (w *mirrorWorld) tamper(slice *discoveryv1.EndpointSlice) {
	yes := true
	node := "node-7"
	switch w.between(0, 15) {
	case 0, 1:
		shuffle(w.dice, slice.Endpoints)
	case 2:
		if len(slice.Endpoints) > 0 {
			slice.Endpoints = slice.Endpoints[1:]
		}
	case 3:
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{oneOf(w.dice, "10.0.0.1", "10.9.9.9")}})
	case 4, 5:
		for i := range slice.Endpoints {
			endpoint := &slice.Endpoints[i]
			switch w.between(0, 6) {
			case 0:
				endpoint.Conditions.Serving = &yes
			case 1:
				endpoint.Conditions.Ready = nil
			case 2:
				endpoint.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "zone-a"}}}
			case 3:
				endpoint.Zone = &node
			case 4:
				endpoint.NodeName = &node
			case 5:
				endpoint.Hostname = &node
			case 6:
				endpoint.TargetRef = nil
			}
		}
	case 6:
		slice.Labels[oneOf(w.dice, "app", "more")] = oneOf(w.dice, "a", "c", "")
	case 7:
		delete(slice.Labels, oneOf(w.dice, "app", "tier"))
	case 8:
		slice.Annotations = map[string]string{oneOf(w.dice, "note", "more", corev1.LastAppliedConfigAnnotation): "x"}
	case 9:
		slice.Annotations = nil
	case 10:
		slice.OwnerReferences = nil
	case 11:
		if len(slice.OwnerReferences) > 0 {
			owner := &slice.OwnerReferences[0]
			switch w.between(0, 3) {
			case 0:
				owner.UID = "older"
			case 1:
				owner.Name, owner.UID = "other", "older"
			case 2:
				owner.Kind, owner.UID = "Service", "older"
			case 3:
				owner.APIVersion = "example.com/v1"
			}
		}
	case 12:
		slice.Finalizers = []string{"example.com/hold"}
	case 13:
		slice.AddressType = oneOf(w.dice, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv6)
	case 14:
		slices.Reverse(slice.Ports)
		for i := range slice.Endpoints {
			slices.Reverse(slice.Endpoints[i].Addresses)
		}
	case 15:
		slice.Labels[discoveryv1.LabelManagedBy] = oneOf(w.dice, "somebody", "endpointslice-controller.k8s.io")
	}
}
