package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// facts are what OpenAPI definitions say beyond the Go types, by model name.
type facts map[string]model

type model struct {
	mapType string
	fields  map[string][]string // flags by JSON name
}

func loadFacts() (facts, error) {
	definitions := openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(path) })
	result := facts{}
	for name, definition := range definitions {
		m := model{fields: map[string][]string{}}
		m.mapType, _ = definition.Schema.Extensions.GetString("x-kubernetes-map-type")
		for field, property := range definition.Schema.Properties {
			flags, err := fieldFlags(property)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", name, field, err)
			}
			m.fields[field] = flags
		}
		result[name] = m
	}
	return result, nil
}

func fieldFlags(property spec.Schema) (flags []string, err error) {
	if property.Default != nil {
		text, err := compact(property.Default)
		if err != nil {
			return nil, err
		}
		flags = append(flags, "default="+text)
	}
	if listType, ok := property.Extensions.GetString("x-kubernetes-list-type"); ok {
		if keys, ok := property.Extensions.GetStringSlice("x-kubernetes-list-map-keys"); ok {
			listType += ":" + strings.Join(keys, ",")
		}
		flags = append(flags, "list="+listType)
	}
	if mapType, ok := property.Extensions.GetString("x-kubernetes-map-type"); ok {
		flags = append(flags, "map="+mapType)
	}
	return flags, nil
}

func kubernetesVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return module.Version
		}
	}
	return "(unknown)"
}
