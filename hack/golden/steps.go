package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// apply brings the slices to where upstream's writes lead.
func (w *world) apply(done *golden) {
	for _, slice := range done.update {
		for i, present := range w.slices {
			if present.Name == slice.Name {
				stored := slice.DeepCopy()
				stored.UID, stored.CreationTimestamp = present.UID, present.CreationTimestamp
				stored.Generation = present.Generation + 1
				w.revision++
				stored.ResourceVersion = fmt.Sprint(w.revision)
				w.slices[i] = stored
				w.absentIfEmpty(stored)
			}
		}
	}
	w.slices = slices.DeleteFunc(w.slices, func(slice *discoveryv1.EndpointSlice) bool {
		return slices.Contains(done.Delete, slice.Name)
	})
	for _, slice := range done.create {
		w.adopt(slice.DeepCopy())
	}
	w.sortSlices()
}

// change does what happens in a cluster between two syncs, once or a few times, and names the last of it.
func (w *world) change() string {
	kind := "nothing changed"
	for range oneOf(w.dice, 0, 1, 1, 1, 1, 2, 2, 3) {
		kind = w.changeOnce()
	}
	return kind
}

func (w *world) changeOnce() string {
	switch w.between(0, 17) {
	case 0, 1, 2:
		w.addPods(w.between(1, 2*int(min(w.max, 6))))
		return "pods came"
	case 3, 4, 5:
		gone := w.between(0, len(w.pods))
		shuffle(w.dice, w.pods)
		if w.chance(0.7) {
			gone = min(gone, 3)
		}
		w.pods = w.pods[gone:]
		return "pods went"
	case 6, 7:
		w.eachPod(0.2, func(pod *corev1.Pod) { w.setReady(pod, w.chance(0.5)) })
		return "readiness changed"
	case 8:
		w.eachPod(0.2, func(pod *corev1.Pod) { pod.DeletionTimestamp = w.moment() })
		return "pods terminating"
	case 9:
		w.eachPod(0.2, func(pod *corev1.Pod) { pod.UID = types.UID(w.uid()) })
		return "pods replaced under their names"
	case 10:
		return w.changeNode()
	case 11:
		w.service.Labels = w.serviceLabels()
		return "labels changed"
	case 12:
		w.service.Spec.Ports = w.servicePorts(w.service)
		return "ports changed"
	case 13:
		w.setDistribution(w.service)
		return "distribution changed"
	case 14:
		return w.changeService()
	case 15:
		if len(w.slices) > 0 {
			gone := w.IntN(len(w.slices))
			w.slices = slices.Delete(w.slices, gone, gone+1)
		}
		return "a slice was deleted"
	default:
		for _, slice := range w.slices {
			if w.chance(0.4) {
				w.tamper(slice, oneOf(w.dice, 0.05, 0.3))
			}
		}
		return "slices were edited"
	}
}

func (w *world) eachPod(probability float64, change func(*corev1.Pod)) {
	for _, pod := range w.pods {
		if w.chance(probability) {
			change(pod)
		}
	}
}

func (w *world) changeNode() string {
	if len(w.nodes) > 1 && w.chance(0.2) {
		gone := w.IntN(len(w.nodes))
		w.nodes = slices.Delete(w.nodes, gone, gone+1)
		return "a node went"
	}
	node := oneOf(w.dice, w.nodes...)
	if w.chance(0.5) {
		node.Labels = map[string]string{corev1.LabelTopologyZone: oneOf(w.dice, zones...)}
		return "a node changed its zone"
	}
	cpu := resource.MustParse(oneOf(w.dice, "1", "3", "8", "16"))
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: cpu}
	return "a node changed its CPU"
}

func (w *world) changeService() string {
	switch w.between(0, 3) {
	case 0:
		w.service.Spec.IPFamilies = w.families()
		return "families changed"
	case 1:
		w.service.Spec.PublishNotReadyAddresses = !w.service.Spec.PublishNotReadyAddresses
		return "publishNotReadyAddresses changed"
	case 2:
		w.service.UID = types.UID(w.uid())
		return "the Service was created again"
	default:
		w.service.DeletionTimestamp = w.moment()
		return "the Service is being deleted"
	}
}
