package main

import (
	"encoding/json"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// object is any Kubernetes object.
type object interface {
	runtime.Object
	metav1.Object
}

// kind is one of the types that cases are about.
type kind struct {
	version schema.GroupVersion
	zero    object
}

var kinds = []kind{
	{corev1.SchemeGroupVersion, &corev1.Pod{}},
	{corev1.SchemeGroupVersion, &corev1.Service{}},
	{corev1.SchemeGroupVersion, &corev1.Service{}},
	{corev1.SchemeGroupVersion, &corev1.Endpoints{}},
	{corev1.SchemeGroupVersion, &corev1.ServiceAccount{}},
	{corev1.SchemeGroupVersion, &corev1.Namespace{}},
	{corev1.SchemeGroupVersion, &corev1.Node{}},
	{corev1.SchemeGroupVersion, &corev1.Event{}},
	{discoveryv1.SchemeGroupVersion, &discoveryv1.EndpointSlice{}},
	{appsv1.SchemeGroupVersion, &appsv1.Deployment{}},
	{appsv1.SchemeGroupVersion, &appsv1.ReplicaSet{}},
	{coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{}},
}

func (k kind) of() reflect.Type { return reflect.TypeOf(k.zero).Elem() }

func (k kind) gvk() schema.GroupVersionKind { return k.version.WithKind(k.of().Name()) }

func (k kind) path() string { return k.of().PkgPath() + "." + k.of().Name() }

func (k kind) empty() object {
	o := reflect.New(k.of()).Interface().(object)
	o.GetObjectKind().SetGroupVersionKind(k.gvk())
	return o
}

// decode makes an object of JSON, or ends the program.
func (k kind) decode(text []byte) object {
	o := k.empty()
	check(json.Unmarshal(text, o))
	return o
}

// random is an object as it comes from a client.
func (k kind) random(d dice) object {
	o := k.empty()
	d.fill(reflect.ValueOf(o).Elem(), oneOf(d, 0.15, 0.3, 0.5))
	k.name(o)
	return o
}

// changed is another version of an object.
func (k kind) changed(d dice, o object) object {
	o = o.DeepCopyObject().(object)
	d.change(reflect.ValueOf(o).Elem(), oneOf(d, 0.1, 0.4, 1))
	k.name(o)
	return o
}

func (k kind) name(o object) {
	o.SetName("name")
	o.SetNamespace("space")
	o.SetResourceVersion("")
	o.GetObjectKind().SetGroupVersionKind(k.gvk())
}

func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	check(err)
	return text
}

func tree(text []byte) map[string]any {
	result := map[string]any{}
	check(json.Unmarshal(text, &result))
	return result
}
