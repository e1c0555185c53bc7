package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admission/install"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/imagepolicy/install"
	_ "k8s.io/kubernetes/pkg/apis/lifecycle/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

const kindsHeader = `# Written by hack/checks/schema from the scheme of kube-apiserver %s. Do not edit.
#
# unversioned KIND...         kinds of k8s.io/apimachinery/pkg/apis/meta/v1 that any version has
# everywhere KIND...          kinds of the same package that each version below has
# API-VERSION KIND...         the other kinds of a version; the Go type is VERSION.KIND
`

// describeKinds returns the names of all kinds that kube-apiserver can decode, whether or not they are served.
func describeKinds() ([]byte, error) {
	scheme := legacyscheme.Scheme
	versions := map[string][]string{}
	var everywhere, unversioned []string
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		version := gvk.GroupVersion().String()
		object, err := scheme.New(gvk)
		if err != nil {
			return nil, fmt.Errorf("creating an object of %v: %w", gvk, err)
		}
		switch is, _ := scheme.IsUnversioned(object); {
		case is && gvk.Version == "v1":
			unversioned = append(unversioned, gvk.Kind)
		case t.PkgPath() == metaPackage && gvk.Kind != "List":
			if gvk.Group == "" {
				everywhere = append(everywhere, gvk.Kind)
			}
			if _, ok := versions[version]; !ok {
				versions[version] = nil
			}
		case t.String() != gvk.Version+"."+gvk.Kind:
			return nil, fmt.Errorf("%v has the Go type %v", gvk, t)
		default:
			versions[version] = append(versions[version], gvk.Kind)
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, kindsHeader, kubernetesVersion())
	line := func(name string, kinds []string) {
		slices.Sort(kinds)
		fmt.Fprintln(&out, name, strings.Join(slices.Compact(kinds), " "))
	}
	line("unversioned", unversioned)
	line("everywhere", everywhere)
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		line(version, versions[version])
	}
	return out.Bytes(), nil
}

const metaPackage = "k8s.io/apimachinery/pkg/apis/meta/v1"
