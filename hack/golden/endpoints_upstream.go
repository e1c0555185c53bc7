package main

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/endpoint"
)

func init() {
	klog.SetLogger(klog.Logger{})
}

// sentinel is a Service, and its pod, that change after everything else. The controller has one worker for each of its
// queues, so once it has written the sentinel's Endpoints it is done with what came before.
const sentinel = "zz-sentinel"

// cluster is upstream's controller on client-go's fake API server.
type cluster struct {
	service string
	client  *fake.Clientset
	lister  corelisters.EndpointsLister
	end     func()
	// one value for each write of the sentinel
	passed chan struct{}

	revision       atomic.Int64
	turns          int
	hasSentinelPod bool
	lock           sync.Mutex
	first          synced
}

// synced is the first write of the Service's Endpoints since it was last asked for.
type synced struct {
	write   *corev1.Endpoints
	created bool
}

// startCluster fills the API server and runs the controller.
func (w *world) startCluster(stored *corev1.Endpoints) *cluster {
	objects := []runtime.Object{w.service.DeepCopy()}
	for _, pod := range w.pods {
		objects = append(objects, pod.DeepCopy())
	}
	if stored != nil {
		objects = append(objects, stored.DeepCopy())
	}
	c := &cluster{service: w.service.Name, client: fake.NewSimpleClientset(objects...), passed: make(chan struct{}, 100)}
	c.revision.Store(1000)
	c.client.PrependReactor("create", "*", c.react)
	c.client.PrependReactor("update", "*", c.react)

	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(c.client, 0)
	core := factory.Core().V1()
	controller := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), c.client, 0)
	c.lister = core.Endpoints().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	done := make(chan struct{})
	go func() {
		controller.Run(ctx, 1)
		close(done)
	}()
	c.end = func() {
		cancel()
		<-done
		factory.Shutdown()
	}
	return c
}

func (c *cluster) stop() {
	c.end()
}

// react gives each object a resourceVersion, as an API server does, refuses what it would refuse, and notes the rest.
func (c *cluster) react(action clienttesting.Action) (bool, runtime.Object, error) {
	object := action.(interface{ GetObject() runtime.Object }).GetObject()
	accessor, err := meta.Accessor(object)
	check(err)
	if endpoints, is := object.(*corev1.Endpoints); is {
		if err := c.refusal(action, endpoints); err != nil {
			return true, nil, err
		}
		c.note(endpoints.DeepCopy(), action.GetVerb() == "create")
	}
	accessor.SetResourceVersion(strconv.FormatInt(c.revision.Add(1), 10))
	if _, is := object.(*corev1.Endpoints); is && accessor.GetName() == sentinel {
		defer func() { c.passed <- struct{}{} }()
	}
	return false, nil, nil
}

func (c *cluster) refusal(action clienttesting.Action, endpoints *corev1.Endpoints) error {
	resource := action.GetResource()
	present, err := c.client.Tracker().Get(resource, action.GetNamespace(), endpoints.Name)
	if action.GetVerb() == "create" {
		if err == nil {
			return errors.NewAlreadyExists(resource.GroupResource(), endpoints.Name)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if present.(*corev1.Endpoints).ResourceVersion != endpoints.ResourceVersion {
		return errors.NewConflict(resource.GroupResource(), endpoints.Name, nil)
	}
	return nil
}

func (c *cluster) note(endpoints *corev1.Endpoints, created bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if endpoints.Name == c.service && c.first.write == nil {
		c.first = synced{endpoints, created}
	}
}

// next waits for the first sync.
func (c *cluster) next() synced {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sentinel}}
	service.Spec.Selector = map[string]string{"sentinel": "yes"}
	service.Spec.ClusterIP = corev1.ClusterIPNone
	_, err := c.client.CoreV1().Services(namespace).Create(context.Background(), service, metav1.CreateOptions{})
	check(err)
	return c.wait()
}

// nextAfterService waits for the sync that a change of the Service caused.
func (c *cluster) nextAfterService() synced {
	services := c.client.CoreV1().Services(namespace)
	service, err := services.Get(context.Background(), sentinel, metav1.GetOptions{})
	check(err)
	c.turns++
	service.Labels = map[string]string{"turn": strconv.Itoa(c.turns)}
	_, err = services.Update(context.Background(), service, metav1.UpdateOptions{})
	check(err)
	return c.wait()
}

// nextAfterPod waits for the sync that a change of a pod caused. Only now the sentinel gets a pod: two events of it in one
// turn could overtake those of others.
func (c *cluster) nextAfterPod() synced {
	c.turns++
	pod := sentinelPod(c.turns)
	if c.hasSentinelPod {
		c.updatePod(pod)
	} else {
		c.createPod(pod)
	}
	c.hasSentinelPod = true
	return c.wait()
}

// wait returns once the sentinel's Endpoints are written and the controller's cache shows all writes.
func (c *cluster) wait() synced {
	<-c.passed
	for _, name := range []string{sentinel, c.service} {
		for !c.isShown(name) {
			time.Sleep(time.Millisecond)
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	done := c.first
	c.first = synced{}
	return done
}

func (c *cluster) isShown(name string) bool {
	resource := corev1.SchemeGroupVersion.WithResource("endpoints")
	present, err := c.client.Tracker().Get(resource, namespace, name)
	shown, listerErr := c.lister.Endpoints(namespace).Get(name)
	if err != nil || listerErr != nil {
		return err != nil && listerErr != nil && name != sentinel
	}
	return present.(*corev1.Endpoints).ResourceVersion == shown.ResourceVersion
}

// stored is the Service's Endpoints as the controller sees them.
func (c *cluster) stored() *corev1.Endpoints {
	stored, err := c.lister.Endpoints(namespace).Get(c.service)
	if errors.IsNotFound(err) {
		return nil
	}
	check(err)
	return stored.DeepCopy()
}

func (c *cluster) updateService(service *corev1.Service) {
	_, err := c.client.CoreV1().Services(namespace).Update(context.Background(), service.DeepCopy(), metav1.UpdateOptions{})
	check(err)
}

func (c *cluster) createPod(pod *corev1.Pod) {
	_, err := c.client.CoreV1().Pods(namespace).Create(context.Background(), pod.DeepCopy(), metav1.CreateOptions{})
	check(err)
}

func (c *cluster) updatePod(pod *corev1.Pod) {
	_, err := c.client.CoreV1().Pods(namespace).Update(context.Background(), pod.DeepCopy(), metav1.UpdateOptions{})
	check(err)
}

func (c *cluster) deletePod(pod *corev1.Pod) {
	check(c.client.CoreV1().Pods(namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{}))
}

func sentinelPod(turn int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sentinel}}
	pod.Labels = map[string]string{"sentinel": "yes"}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP = "10.255.0." + strconv.Itoa(turn)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	return pod
}
