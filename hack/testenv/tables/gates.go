package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// emulated is the number of releases that a release can emulate, itself included.
const emulated = 4

func gates(release string) ([]byte, error) {
	newest, err := version.Parse(release)
	if err != nil {
		return nil, err
	}
	var releases []*version.Version
	for back := emulated - 1; back >= 0; back-- {
		releases = append(releases, version.MajorMinor(newest.Major(), newest.Minor()-uint(back)))
	}
	settings, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	gate := settings.ComponentGlobalsRegistry.FeatureGateFor(compatibility.DefaultKubeComponent)
	all, dependencies := gate.DeepCopy().GetAllVersioned(), gate.Dependencies()
	var names []string
	for name := range all {
		if name != "AllAlpha" && name != "AllBeta" {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)

	var out bytes.Buffer
	for _, name := range names {
		specs := make([]string, 0, emulated)
		for _, release := range releases {
			spec, err := at(all[featuregate.Feature(name)], release)
			if err != nil {
				return nil, fmt.Errorf("gate %s at %s: %w", name, release, err)
			}
			specs = append(specs, spec)
		}
		if !slices.ContainsFunc(specs, func(spec string) bool { return spec != "NONE" }) {
			continue
		}
		var needed []string
		for _, dependency := range dependencies[featuregate.Feature(name)] {
			needed = append(needed, string(dependency))
		}
		slices.Sort(needed)
		fmt.Fprintln(&out, strings.Join(slices.Concat([]string{name}, specs, needed), " "))
	}
	return out.Bytes(), nil
}

// at is the word that gates/stage.rs reads for a gate in a control plane whose oldest component is of the release before.
func at(specs featuregate.VersionedSpecs, release *version.Version) (string, error) {
	spec, compatible := latest(specs, release, release.SubtractMinor(1)), latest(specs, release, release)
	if spec == nil {
		return "NONE", nil
	}
	stage, known := map[string]string{
		"ALPHA": "ALPHA", "BETA": "BETA", "": "GA", "DEPRECATED": "DEPRECATED", "PRE-ALPHA": "NONE",
	}[string(spec.PreRelease)]
	if !known {
		return "", fmt.Errorf("unknown stage %q", spec.PreRelease)
	}
	if stage == "NONE" {
		return stage, nil
	}
	words := []string{stage}
	if spec.LockToDefault {
		words = append(words, "LOCKED")
	}
	if spec.Default {
		words = append(words, "ON")
	} else if compatible.Default {
		words = append(words, "ON_IF_COMPATIBLE")
	} else {
		words = append(words, "OFF")
	}
	return strings.Join(words, "_"), nil
}

// latest returns what holds at a release, if all components are of oldest or later.
func latest(specs featuregate.VersionedSpecs, release, oldest *version.Version) *featuregate.FeatureSpec {
	for i := len(specs) - 1; i >= 0; i-- {
		needed := specs[i].MinCompatibilityVersion
		if !specs[i].Version.GreaterThan(release) && (needed == nil || oldest.AtLeast(needed)) {
			return &specs[i]
		}
	}
	return nil
}
