package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// step is one write.
type step struct {
	Verb        string `json:"verb"`
	Manager     string `json:"manager"`
	Subresource string `json:"subresource,omitempty"`
	Force       bool   `json:"force,omitempty"`
	Time        string `json:"time"`
	// the object before, if it is not what the last step left
	Live json.RawMessage `json:"live,omitempty"`
	// the new object, or the configuration
	Object json.RawMessage `json:"object"`
	// metadata.managedFields after an update, the object after an apply
	Result json.RawMessage `json:"result,omitempty"`
	// the answer if there is an error
	Code    int32                `json:"code,omitempty"`
	Message string               `json:"message,omitempty"`
	Causes  []metav1.StatusCause `json:"causes,omitempty"`
}

// scheme stands for runtime.Scheme, with one version of each kind and no defaults.
type scheme struct{ kind }

func (s scheme) Convert(_, _, _ any) error { return errors.New("not used") }

func (s scheme) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gvk, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{s.gvk()})
	if !ok || gvk != s.gvk() {
		return nil, runtime.NewNotRegisteredErrForTarget("test", s.of(), to)
	}
	if u, ok := in.(*unstructured.Unstructured); ok {
		out := s.empty()
		return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
	}
	out := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}

func (s scheme) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.New("not used")
}

func (s scheme) Default(runtime.Object) {}

func (s scheme) New(schema.GroupVersionKind) (runtime.Object, error) { return s.empty(), nil }

var converter = newConverter()

func newConverter() managedfields.TypeConverter {
	gvks := map[string]schema.GroupVersionKind{}
	names := []string{}
	for _, k := range kinds {
		name := modelName(k.path())
		gvks[name] = k.gvk()
		names = append(names, name)
	}
	config := &common.OpenAPIV3Config{
		GetDefinitions: openapi.GetOpenAPIDefinitions,
		GetDefinitionName: func(name string) (string, spec.Extensions) {
			name = modelName(name)
			if gvk, ok := gvks[name]; ok {
				entry := map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
				return name, spec.Extensions{"x-kubernetes-group-version-kind": []any{entry}}
			}
			return name, nil
		},
	}
	definitions, err := builder3.BuildOpenAPIDefinitionsForResources(config, names...)
	check(err)
	result, err := managedfields.NewTypeConverter(definitions, false)
	check(err)
	return result
}

// modelName is the name of a Go type in OpenAPI.
func modelName(path string) string {
	if host, rest, ok := strings.Cut(path, "/"); ok && host == "k8s.io" {
		return "io.k8s." + strings.ReplaceAll(rest, "/", ".")
	}
	return path
}

// resetFields are those of the strategies.
func (k kind) resetFields(subresource string) map[fieldpath.APIVersion]fieldpath.Filter {
	status := fieldpath.MakePathOrDie("status")
	spec := fieldpath.MakePathOrDie("spec")
	var paths []fieldpath.Path
	switch k.of().Name() + "/" + subresource {
	case "Pod/", "Service/", "Node/", "Namespace/", "Deployment/", "ReplicaSet/":
		paths = []fieldpath.Path{status}
	case "Pod/status":
		paths = []fieldpath.Path{spec, fieldpath.MakePathOrDie("metadata", "deletionTimestamp"), fieldpath.MakePathOrDie("metadata", "ownerReferences")}
	case "Deployment/status":
		paths = []fieldpath.Path{spec, fieldpath.MakePathOrDie("metadata", "labels")}
	case "Service/status", "Node/status", "Namespace/status", "ReplicaSet/status":
		paths = []fieldpath.Path{spec}
	default:
		return nil
	}
	return fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(k.version.String()): fieldpath.NewSet(paths...),
	})
}

func (k kind) manager(subresource string) *managedfields.FieldManager {
	s := scheme{k}
	m, err := managedfields.NewDefaultFieldManager(converter, s, s, s, k.gvk(), k.version, subresource, k.resetFields(subresource))
	check(err)
	return m
}

// owners plays a few writes of one object.
func (d dice) owners() *scenario {
	k := oneOf(d, kinds...)
	s := &scenario{Kind: "owners of " + k.of().Name(), Type: k.path(), APIVersion: k.version.String()}
	var live object
	configs := map[string]object{}
	clock := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 2 + d.IntN(5) {
		if d.chance(0.7) {
			clock = clock.Add(time.Second)
		}
		st := &step{Time: clock.Format(time.RFC3339), Manager: oneOf(d, "kubectl", "ann", "bob", "zoe")}
		if live != nil && d.chance(0.25) {
			st.Subresource = "status"
		}
		var after object
		if d.chance(0.5) {
			after = d.update(k, st, live)
		} else {
			after = d.apply(k, st, live, configs, clock)
		}
		s.Steps = append(s.Steps, st)
		if after != nil {
			restamp(after, clock)
			st.finish(after)
			after.SetUID("uid")
			live = k.decode(encode(after))
		}
	}
	return s
}

// update is a create, an update or a patch.
func (d dice) update(k kind, st *step, live object) object {
	st.Verb = "update"
	before, after := k.empty(), k.random(d)
	if live != nil {
		before = live
		if after = k.changed(d, live); d.chance(0.1) {
			after = live.DeepCopyObject().(object)
		}
		d.spoilEntries(after)
	}
	after = k.decode(encode(after))
	st.Object = encode(after)
	return k.manager(st.Subresource).UpdateNoErrors(before.DeepCopyObject(), after, st.Manager).(object)
}

// spoilEntries changes what a client sends back as managed fields.
func (d dice) spoilEntries(o object) {
	entries := slices.Clone(o.GetManagedFields())
	switch d.IntN(12) {
	case 0:
		entries = nil
	case 1:
		entries = []metav1.ManagedFieldsEntry{{}}
	case 2:
		if len(entries) > 0 {
			entries[d.IntN(len(entries))].APIVersion = oneOf(d, "v9", "", "other/v1")
		}
	case 3:
		if len(entries) > 0 {
			entries[d.IntN(len(entries))].Operation = oneOf(d, metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate, "Other")
		}
	case 4:
		if len(entries) > 0 {
			at := d.IntN(len(entries))
			entries = slices.Delete(entries, at, at+1)
		}
	case 5:
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: "made-up", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: o.GetObjectKind().GroupVersionKind().GroupVersion().String(),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(oneOf(d,
				`{"f:metadata":{"f:labels":{"f:a":{},"f:b":{}},"f:finalizers":{".":{},"v:\"b\"":{},"v:\"a\"":{}}}}`,
				`{"nonsense":{}}`, `{}`)),
		})
	}
	o.SetManagedFields(entries)
}

func (d dice) apply(k kind, st *step, live object, configs map[string]object, now time.Time) object {
	st.Verb, st.Force = "apply", d.chance(0.3)
	key := st.Manager + "/" + st.Subresource
	config := configs[key]
	switch {
	case config != nil && d.chance(0.8):
		config = k.changed(d, config)
	case live != nil && d.chance(0.5):
		config = k.changed(d, live)
	default:
		config = k.random(d)
	}
	config.SetManagedFields(nil)
	config.SetUID("")
	configs[key] = config
	before := live
	if before == nil {
		before = k.empty()
	}
	sparse := tree(encode(config))
	d.thin(sparse)
	sparse["kind"], sparse["apiVersion"] = k.gvk().Kind, k.version.String()
	if metadata, ok := sparse["metadata"].(map[string]any); !ok {
		sparse["metadata"] = map[string]any{"name": "name"}
	} else {
		metadata["name"] = "name"
	}
	d.annotate(k, st, sparse, before)
	d.spoilConfig(sparse)
	st.Object = encode(sparse)
	patch := &unstructured.Unstructured{Object: map[string]any{}}
	check(kjson.UnmarshalCaseSensitivePreserveInts(st.Object, &patch.Object))
	after, err := k.manager(st.Subresource).Apply(before.DeepCopyObject(), patch, st.Manager, st.Force)
	if err != nil {
		st.fail(err)
		return nil
	}
	return after.(object)
}

// annotate simulates an object that kubectl manages with its annotation.
func (d dice) annotate(k kind, st *step, sparse map[string]any, before object) {
	const annotation = "kubectl.kubernetes.io/last-applied-configuration"
	if st.Manager != "kubectl" || d.chance(0.5) || before.GetUID() == "" {
		return
	}
	applied := tree(encode(before))
	delete(applied["metadata"].(map[string]any), "managedFields")
	d.thin(applied)
	annotations := map[string]string{annotation: string(encode(applied))}
	if d.chance(0.1) {
		annotations[annotation] = "{"
	}
	for key, value := range before.GetAnnotations() {
		annotations[key] = value
	}
	before.SetAnnotations(annotations)
	st.Live = encode(before)
}

// spoilConfig makes mistakes.
func (d dice) spoilConfig(sparse map[string]any) {
	switch d.IntN(40) {
	case 0:
		sparse["unknown"] = 1
	case 1:
		sparse["kind"] = oneOf(d, "Other", "")
	case 2:
		sparse["metadata"].(map[string]any)["managedFields"] = []any{}
	case 3:
		sparse["metadata"].(map[string]any)["labels"] = oneOf[any](d, "text", []any{"x", 1.5}, nil, 1, map[string]any{"a": 1})
	case 4:
		sparse["spec"] = oneOf[any](d, nil, map[string]any{}, []any{}, map[string]any{"ports": []any{map[string]any{"name": "a"}, nil}})
	case 5:
		sparse["metadata"].(map[string]any)["finalizers"] = oneOf[any](d, []any{"a", "a"}, []any{nil}, []any{map[string]any{}}, []any{})
	case 6:
		sparse["metadata"].(map[string]any)["creationTimestamp"] = nil
	}
}

// thin removes what Go's encoder prints although it is empty, and some of the rest.
func (d dice) thin(fields map[string]any) {
	for name, value := range fields {
		switch v := value.(type) {
		case nil:
			delete(fields, name)
		case string:
			if v == "" && d.chance(0.7) {
				delete(fields, name)
			}
		case float64:
			if v == 0 && d.chance(0.7) {
				delete(fields, name)
			}
		case map[string]any:
			d.thin(v)
			if len(v) == 0 && d.chance(0.9) {
				delete(fields, name)
			}
		case []any:
			for _, item := range v {
				if m, ok := item.(map[string]any); ok {
					d.thin(m)
				}
			}
		}
		if d.chance(0.03) {
			delete(fields, name)
		}
	}
}

// restamp writes the case's time in place of the real one, and sorts again as upstream does.
func restamp(after object, now time.Time) {
	entries := after.GetManagedFields()
	for i := range entries {
		if t := entries[i].Time; t != nil && t.Year() > 2020 {
			entries[i].Time = &metav1.Time{Time: now}
		}
	}
	seconds := func(e metav1.ManagedFieldsEntry) int64 {
		if e.Time == nil {
			return 0
		}
		return e.Time.Unix()
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(seconds(a), seconds(b)),
			cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource))
	})
	after.SetManagedFields(entries)
}

func (st *step) finish(after object) {
	if st.Verb == "apply" {
		st.Result = encode(after)
		return
	}
	if entries := after.GetManagedFields(); entries != nil {
		st.Result = encode(entries)
	}
}

func (st *step) fail(err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		st.Code, st.Message = status.Status().Code, status.Status().Message
		if details := status.Status().Details; details != nil {
			st.Causes = details.Causes
		}
		slices.SortStableFunc(st.Causes, func(a, b metav1.StatusCause) int {
			return cmp.Or(cmp.Compare(a.Message, b.Message))
		})
		return
	}
	st.Code, st.Message = http.StatusInternalServerError, err.Error()
}
