package main

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// roots are the kinds that embedded-apiserver serves, and the types of requests and answers. All other types follow from
// these.
var roots = []reflect.Type{
	of[corev1.Namespace](), of[corev1.Node](), of[corev1.Pod](), of[corev1.Service](), of[corev1.Endpoints](),
	of[corev1.Event](), of[corev1.ServiceAccount](), of[corev1.Binding](),
	of[discoveryv1.EndpointSlice](),
	of[coordinationv1.Lease](),
	of[appsv1.ReplicaSet](), of[appsv1.Deployment](),
	of[authenticationv1.TokenReview](), of[authenticationv1.TokenRequest](),
	of[authorizationv1.SubjectAccessReview](), of[authorizationv1.SelfSubjectAccessReview](),
	of[autoscalingv1.Scale](),
	of[metav1.Status](), of[metav1.DeleteOptions](), of[metav1.PartialObjectMetadata](),
}

func of[T any]() reflect.Type { return reflect.TypeFor[T]() }
