package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	mirroringmetrics "k8s.io/kubernetes/pkg/controller/endpointslicemirroring/metrics"
)

// syncEndpoints is what a worker of the controller calls for each key.
//
//go:linkname syncEndpoints k8s.io/kubernetes/pkg/controller/endpointslicemirroring.(*Controller).syncEndpoints
func syncEndpoints(controller *endpointslicemirroring.Controller, ctx context.Context, key string) error

// mirrored is what one sync did.
type mirrored struct {
	create, update []*discoveryv1.EndpointSlice
	delete         []string
	events         []string
	// sums of the histograms: endpoints added, updated, removed; addresses skipped
	figures [4]int
	// endpoints desired, slices, slices desired
	gauges [3]int
}

var errExists = errors.New("a slice of that name exists already")

// reconcile runs upstream's controller on what the caches would hold. Upstream may post a name that exists, by chance; it
// would be tried again then, and so it is here. Nil if it never passes.
func (w *mirrorWorld) reconcile() (*mirrored, int) {
	for tries := range 200 {
		done, err := w.tryReconcile()
		if !errors.Is(err, errExists) && (err == nil || !strings.Contains(err.Error(), errExists.Error())) {
			check(err)
			return done, tries
		}
	}
	return nil, 0
}

func (w *mirrorWorld) tryReconcile() (*mirrored, error) {
	done := &mirrored{}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	client := done.client()
	factory := informers.NewSharedInformerFactory(client, 0)
	controller := endpointslicemirroring.NewController(ctx, factory.Core().V1().Endpoints(),
		factory.Discovery().V1().EndpointSlices(), factory.Core().V1().Services(), w.max, client, 0)
	if w.service != nil {
		check(factory.Core().V1().Services().Informer().GetIndexer().Add(w.service.DeepCopy()))
	}
	if w.endpoints != nil {
		check(factory.Core().V1().Endpoints().Informer().GetIndexer().Add(w.endpoints.DeepCopy()))
	}
	events := record.NewFakeRecorder(100)
	fields := reflect.ValueOf(controller).Elem()
	replace(fields.FieldByName("endpointSliceLister"), sliceLister{w.slices})
	replace(fields.FieldByName("reconciler").Elem().FieldByName("eventRecorder"), events)
	before := mirroringFigures()
	if err := syncEndpoints(controller, ctx, namespace+"/"+mirroredName); err != nil {
		return nil, err
	}
	close(events.Events)
	for event := range events.Events {
		done.events = append(done.events, event)
	}
	for i, after := range mirroringFigures() {
		done.figures[i] = after - before[i]
	}
	done.gauges = [3]int{
		gauge(mirroringmetrics.EndpointsDesired.WithLabelValues()),
		gauge(mirroringmetrics.NumEndpointSlices.WithLabelValues()),
		gauge(mirroringmetrics.DesiredEndpointSlices.WithLabelValues()),
	}
	return done, nil
}

// replace sets a field that isn't exported.
func replace(field reflect.Value, value any) {
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// sliceLister gives slices in the order of their names, where upstream's gives them in that of a map: of several slices for one
// set of ports the first stays.
type sliceLister struct{ slices []*discoveryv1.EndpointSlice }

func (l sliceLister) EndpointSlices(string) discoverylisters.EndpointSliceNamespaceLister { return l }

func (l sliceLister) Get(name string) (*discoveryv1.EndpointSlice, error) {
	return nil, apierrors.NewNotFound(discoveryv1.Resource("endpointslices"), name)
}

func (l sliceLister) List(selector labels.Selector) ([]*discoveryv1.EndpointSlice, error) {
	found := []*discoveryv1.EndpointSlice{}
	for _, slice := range l.slices {
		if selector.Matches(labels.Set(slice.Labels)) {
			found = append(found, slice.DeepCopy())
		}
	}
	slices.SortFunc(found, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// client notes writes, and answers as an API server that accepts them would.
func (o *mirrored) client() *fake.Clientset {
	client := fake.NewSimpleClientset()
	client.PrependReactor("*", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		switch action := action.(type) {
		case clienttesting.UpdateActionImpl:
			slice := action.GetObject().(*discoveryv1.EndpointSlice).DeepCopy()
			o.update = append(o.update, slice)
			return true, slice.DeepCopy(), nil
		case clienttesting.CreateActionImpl:
			slice := action.GetObject().(*discoveryv1.EndpointSlice).DeepCopy()
			if slice.Name != "" {
				return true, nil, errExists
			}
			o.create = append(o.create, slice)
			return true, slice.DeepCopy(), nil
		case clienttesting.DeleteActionImpl:
			o.delete = append(o.delete, action.GetName())
			return true, nil, nil
		}
		return true, nil, fmt.Errorf("unexpected %s", action.GetVerb())
	})
	return client
}

func mirroringFigures() [4]int {
	return [4]int{
		histogram(mirroringmetrics.EndpointsAddedPerSync),
		histogram(mirroringmetrics.EndpointsUpdatedPerSync),
		histogram(mirroringmetrics.EndpointsRemovedPerSync),
		histogram(mirroringmetrics.AddressesSkippedPerSync),
	}
}
