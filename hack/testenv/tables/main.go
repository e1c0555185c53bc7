// Prints, as JSON, what kube-controller-manager of this release accepts: feature gates at each version that it can emulate,
// controllers, flags, and the fields of /configz. For `cargo xtask bump`.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/component-base/logs/json/register" // as the program itself, for its flags
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	kubecontrollerconfig "k8s.io/kubernetes/pkg/controller/apis/config"
)

// releases is the number of releases that can be emulated: its own, and the three before.
const releases = 4

type gate struct {
	Name string `json:"name"`
	// Stages has one entry for each release, the oldest first, such as NONE, BETA_ON or GA_LOCKED_ON.
	Stages    []string `json:"stages"`
	DependsOn []string `json:"dependsOn"`
}

type flag struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Hidden  bool   `json:"hidden"`
}

type controller struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases"`
}

type tables struct {
	Minor       uint         `json:"minor"`
	Gates       []gate       `json:"gates"`
	Controllers []controller `json:"controllers"`
	// Flags are in the order of --help; those that it hides come last.
	Flags []flag `json:"flags"`
	// Configz are the fields of /configz, as paths: sections, and what is in those that controllers share.
	Configz []string `json:"configz"`
}

func main() {
	known, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		log.Fatal(err)
	}
	registry := known.ComponentGlobalsRegistry
	binary := registry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent).BinaryVersion()
	result := tables{Minor: binary.Minor(), Controllers: controllers(), Flags: flags(known)}
	features := registry.FeatureGateFor(basecompatibility.DefaultKubeComponent).(featuregate.MutableVersionedFeatureGate)
	result.Gates = gates(features, binary)
	result.Configz = configz("", reflect.TypeFor[kubecontrollerconfig.KubeControllerManagerConfiguration]())
	output := json.NewEncoder(os.Stdout)
	output.SetIndent("", " ")
	if err := output.Encode(result); err != nil {
		log.Fatal(err)
	}
}

func gates(features featuregate.MutableVersionedFeatureGate, binary *version.Version) []gate {
	dependencies := features.Dependencies()
	var all []gate
	for name, specs := range features.GetAllVersioned() {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		found := gate{Name: string(name), DependsOn: []string{}}
		for minor := binary.Minor() - releases + 1; minor <= binary.Minor(); minor++ {
			found.Stages = append(found.Stages, stage(specs, minor))
		}
		for _, dependency := range dependencies[name] {
			found.DependsOn = append(found.DependsOn, string(dependency))
		}
		sort.Strings(found.DependsOn)
		all = append(all, found)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// stage is that of a gate in a release, with the minimum compatibility version that is the default there.
func stage(specs featuregate.VersionedSpecs, minor uint) string {
	emulated, least := version.MajorMinor(1, minor), version.MajorMinor(1, minor-1)
	sort.Slice(specs, func(i, j int) bool { return specs[i].Version.LessThan(specs[j].Version) })
	for i := len(specs) - 1; i >= 0; i-- {
		spec := specs[i]
		if spec.Version.GreaterThan(emulated) ||
			spec.MinCompatibilityVersion != nil && spec.MinCompatibilityVersion.GreaterThan(least) {
			continue
		}
		name := map[string]string{"": "GA", "ALPHA": "ALPHA", "BETA": "BETA", "DEPRECATED": "DEPRECATED"}[string(spec.PreRelease)]
		if name == "" {
			return "NONE"
		}
		if spec.LockToDefault {
			name += "_LOCKED"
		}
		if spec.Default {
			return name + "_ON"
		}
		return name + "_OFF"
	}
	return "NONE"
}

func controllers() []controller {
	aliases := map[string][]string{}
	for alias, name := range app.ControllerAliases() {
		aliases[name] = append(aliases[name], alias)
	}
	var all []controller
	for _, name := range app.KnownControllers() {
		sort.Strings(aliases[name])
		all = append(all, controller{name, append([]string{}, aliases[name]...)})
	}
	return all
}

func flags(known *options.KubeControllerManagerOptions) []flag {
	var shown, hidden []flag
	seen := map[string]bool{}
	add := func(one *pflag.Flag) {
		name := strings.ReplaceAll(one.Name, "_", "-")
		if seen[name] {
			return
		}
		seen[name] = true
		found := flag{name, one.Value.Type(), one.DefValue, one.Hidden || one.Deprecated != ""}
		if found.Hidden {
			hidden = append(hidden, found)
		} else {
			shown = append(shown, found)
		}
	}
	sections := known.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	for _, name := range sections.Order {
		sections.FlagSets[name].VisitAll(add)
	}
	app.NewControllerManagerCommand().Flags().VisitAll(add)
	return append(shown, hidden...)
}

// configz is the fields of a section and of what it embeds. The sections of one controller are not taken apart.
func configz(prefix string, of reflect.Type) []string {
	var paths []string
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Type == reflect.TypeFor[kubecontrollerconfig.KubeControllerManagerConfiguration]() || field.Name == "TypeMeta" {
			continue
		}
		path := prefix + field.Name
		shared := prefix == "" && (field.Name == "Generic" || field.Name == "KubeCloudShared") ||
			prefix == "KubeCloudShared." && field.Name == "CloudProvider"
		if shared && field.Type.Kind() == reflect.Struct {
			paths = append(paths, configz(path+".", field.Type)...)
		} else {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		log.Fatal(fmt.Errorf("%s has no fields", of))
	}
	return paths
}
