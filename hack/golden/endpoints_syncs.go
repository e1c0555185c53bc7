package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const managedBy = "endpoints.kubernetes.io/managed-by"

// step is one sync: what upstream's controller saw, and what it wrote, if anything.
type step struct {
	Service any   `json:"service"`
	Pods    []any `json:"pods"`
	Stored  any   `json:"stored,omitempty"`
	Create  any   `json:"create,omitempty"`
	Update  any   `json:"update,omitempty"`
}

// playSyncs makes the scenarios of one batch, side by side.
func playSyncs(d dice) []line {
	worlds := []*world{}
	for range scenariosPerBatch {
		worlds = append(worlds, endpointsWorld(newDice(d.Uint64(), d.Uint64())))
	}
	lines := make([]line, len(worlds))
	var running sync.WaitGroup
	for i, w := range worlds {
		running.Go(func() { lines[i] = w.syncs() })
	}
	running.Wait()
	return lines
}

func endpointsWorld(d dice) *world {
	w := newWorld(d)
	w.service.Spec.Selector = map[string]string{"app": "web"}
	w.service.CreationTimestamp = *w.moment()
	w.service.DeletionTimestamp = nil
	if w.chance(0.05) {
		if w.service.Labels == nil {
			w.service.Labels = map[string]string{}
		}
		w.service.Labels[managedBy] = oneOf(d, "", "endpoint-controller", "me")
	}
	if w.chance(0.04) {
		w.crowd()
	}
	for _, pod := range w.pods {
		w.select_(pod)
	}
	return w
}

// crowd adds more pods than one object may hold, with as little chance as possible in each.
func (w *world) crowd() {
	w.habits.named, w.habits.noAddress, w.habits.sharedAddress, w.habits.severalAddresses = 0, 0, 0, 0
	w.habits.ready = oneOf(w.dice, 1, 0.95, 0.9, 0.5)
	for i := range w.between(1001, 1150) {
		pod := w.newPod()
		pod.Name, pod.UID = fmt.Sprintf("crowd-%d", i), types.UID(fmt.Sprintf("uid-%d", i))
		pod.Status.PodIP = fmt.Sprintf("10.9.%d.%d", i/250, i%250)
		pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}, {IP: fmt.Sprintf("fd09::%x", i+1)}}
		w.pods = append(w.pods, pod)
	}
}

func (w *world) select_(pod *corev1.Pod) {
	pod.Labels = map[string]string{"app": "web"}
}

// syncs runs one scenario: a first sync, with or without an object that exists, and what follows from single changes.
func (w *world) syncs() *endpointsCase {
	var stored *corev1.Endpoints
	record := &endpointsCase{Kind: "no object"}
	if w.chance(0.7) {
		record.Kind = "an object made up"
		first := w.startCluster(nil)
		stored = first.next().write
		first.stop()
		stored.Namespace = w.service.Namespace
		stored.UID, stored.ResourceVersion = types.UID(w.uid()), "900"
		stored.CreationTimestamp = *w.moment()
		w.tamperEndpoints(stored)
	}
	cluster := w.startCluster(stored)
	defer cluster.stop()
	record.Steps = append(record.Steps, w.recorded(stored, cluster.next()))
	if w.neverRests() {
		return record
	}
	for range w.between(0, 3) {
		stored = cluster.stored()
		record.Steps = append(record.Steps, w.recorded(stored, w.endpointsChange(cluster)))
	}
	return record
}

// neverRests is true where upstream writes in every sync, so that its number of writes is arbitrary.
func (w *world) neverRests() bool {
	_, headless := w.service.Labels[corev1.IsHeadlessService]
	_, managed := w.service.Labels[managedBy]
	return headless || managed || len(w.pods) > 1000
}

func (w *world) recorded(stored *corev1.Endpoints, done synced) step {
	record := step{Service: plain(w.service), Pods: plainAll(w.pods)}
	if stored != nil {
		record.Stored = plain(stored)
	}
	switch {
	case done.write == nil:
	case done.created:
		record.Create = plain(done.write)
	default:
		record.Update = plain(done.write)
	}
	return record
}

// endpointsChange does one thing that upstream notices, and waits for the sync.
func (w *world) endpointsChange(c *cluster) synced {
	if w.chance(0.35) || len(w.pods) == 0 {
		w.changeEndpointsService()
		c.updateService(w.service)
		return c.nextAfterService()
	}
	i := w.IntN(len(w.pods))
	switch w.between(0, 4) {
	case 0:
		pod := w.newPod()
		w.select_(pod)
		w.pods = append(w.pods, pod)
		c.createPod(pod)
	case 1:
		c.deletePod(w.pods[i])
		w.pods = slices.Delete(w.pods, i, i+1)
	default:
		ready := slices.ContainsFunc(w.pods[i].Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		})
		w.setReady(w.pods[i], !ready)
		c.updatePod(w.pods[i])
	}
	return c.nextAfterPod()
}

func (w *world) changeEndpointsService() {
	switch w.between(0, 3) {
	case 0:
		labels := maps.Clone(w.service.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels["app"] = w.suffix()
		w.service.Labels = labels
	case 1:
		w.service.Spec.Ports = w.servicePorts(w.service)
	case 2:
		w.service.Spec.PublishNotReadyAddresses = !w.service.Spec.PublishNotReadyAddresses
	default:
		w.service.Spec.IPFamilies = w.families()
	}
}
