package main

import (
	"fmt"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
)

const controllerName = "endpointslice-controller.k8s.io"

func init() {
	metrics.RegisterMetrics()
}

// outcome is what one call of the reconciler did.
type outcome struct {
	create, update []*discoveryv1.EndpointSlice
	delete         []string
	err            error
	events         []string
	// sums over address types
	added, removed, changed int
	// gauges, which tell of one address type only: desired endpoints, slices, fewest slices possible
	gauges [3]int
}

// reconcile runs upstream's reconciler on copies: it sorts ports and addresses in its input.
func (w *world) reconcile(service *corev1.Service, existing []*discoveryv1.EndpointSlice, max int32, triggerTime time.Time) *outcome {
	done := &outcome{}
	before := [3]int{histogram(metrics.EndpointsAddedPerSync), histogram(metrics.EndpointsRemovedPerSync), changedPerSync(service)}

	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	topology := topologycache.NewTopologyCache()
	copies := []*corev1.Node{}
	for _, node := range w.nodes {
		check(nodes.Add(node))
		copies = append(copies, node.DeepCopy())
	}
	topology.SetNodes(klog.Logger{}, copies)
	events := record.NewFakeRecorder(100)

	reconciler := endpointslice.NewReconciler(done.client(), corelisters.NewNodeLister(nodes), max,
		util.NewEndpointSliceTracker(), topology, events, controllerName,
		endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	done.err = reconciler.Reconcile(klog.Logger{}, service.DeepCopy(), deepCopies(w.pods), deepCopies(existing), triggerTime)

	close(events.Events)
	for event := range events.Events {
		done.events = append(done.events, event)
	}
	done.added = histogram(metrics.EndpointsAddedPerSync) - before[0]
	done.removed = histogram(metrics.EndpointsRemovedPerSync) - before[1]
	done.changed = changedPerSync(service) - before[2]
	done.gauges = [3]int{
		gauge(metrics.EndpointsDesired.WithLabelValues()),
		gauge(metrics.NumEndpointSlices.WithLabelValues()),
		gauge(metrics.DesiredEndpointSlices.WithLabelValues()),
	}
	return done
}

// client notes writes, and answers as an API server that accepts them would.
func (o *outcome) client() *fake.Clientset {
	client := fake.NewSimpleClientset()
	created := 0
	client.PrependReactor("*", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		switch action := action.(type) {
		case clienttesting.UpdateActionImpl:
			slice := action.GetObject().(*discoveryv1.EndpointSlice).DeepCopy()
			o.update = append(o.update, slice)
			stored := slice.DeepCopy()
			stored.Generation++
			return true, stored, nil
		case clienttesting.CreateActionImpl:
			slice := action.GetObject().(*discoveryv1.EndpointSlice).DeepCopy()
			o.create = append(o.create, slice)
			stored := slice.DeepCopy()
			created++
			stored.Name = fmt.Sprintf("%s%d", stored.GenerateName, created)
			stored.UID = "uid-" + stored.UID
			stored.Generation = 1
			return true, stored, nil
		case clienttesting.DeleteActionImpl:
			o.delete = append(o.delete, action.GetName())
			return true, nil, nil
		}
		return true, nil, fmt.Errorf("unexpected %s", action.GetVerb())
	})
	return client
}

func deepCopies[T interface{ DeepCopy() T }](items []T) []T {
	copies := make([]T, 0, len(items))
	for _, item := range items {
		copies = append(copies, item.DeepCopy())
	}
	return copies
}

func histogram[V interface{ WithLabelValues(...string) O }, O any](vector V, labels ...string) int {
	return int(written(vector.WithLabelValues(labels...)).GetHistogram().GetSampleSum())
}

// changedPerSync is the sum over all label values that this Service could be counted under.
func changedPerSync(service *corev1.Service) int {
	sum := histogram(metrics.EndpointSlicesChangedPerSync, "Auto", "") + histogram(metrics.EndpointSlicesChangedPerSync, "Disabled", "")
	if value := service.Spec.TrafficDistribution; value != nil && *value != "" {
		sum += histogram(metrics.EndpointSlicesChangedPerSync, "Disabled", *value)
	}
	return sum
}

func gauge(metric any) int {
	return int(written(metric).GetGauge().GetValue())
}

func written(metric any) *dto.Metric {
	value := &dto.Metric{}
	check(metric.(interface{ Write(*dto.Metric) error }).Write(value))
	return value
}
