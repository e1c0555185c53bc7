package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const header = `# Written by hack/checks/schema from the Go types of Kubernetes %s. Do not edit.
#
# package ALIAS PATH
# struct ALIAS.NAME [map=atomic]
#  JSON-NAME GO-NAME TYPE PROTOBUF-NUMBER [flags]     a field; JSON-NAME is "-" if its fields are inlined
# named ALIAS.NAME TYPE [message]                     a named type; message: its protobuf is {repeated items = 1}
# native ALIAS.NAME                                   a struct with an encoding of its own
#
# Flags: omitempty, omitzero, default=JSON (OpenAPI), patch=STRATEGIES and key=MERGE-KEY (strategic
# merge), list=atomic|set|map:KEYS and map=atomic|granular (server-side apply).
`

// natives have a JSON or protobuf form that does not follow from their fields.
var natives = map[string]bool{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":       true,
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":  true,
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":   true,
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":   true,
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   true,
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": true,
}

type describer struct {
	seen    map[reflect.Type]bool
	entries []string
	aliases map[string]string // package path to alias
	facts   facts
}

// describe returns the text for the types that the roots reach.
func describe(roots []reflect.Type) ([]byte, error) {
	facts, err := loadFacts()
	if err != nil {
		return nil, err
	}
	d := &describer{seen: map[reflect.Type]bool{}, aliases: map[string]string{}, facts: facts}
	for _, root := range roots {
		if err := d.visit(root); err != nil {
			return nil, err
		}
	}
	slices.Sort(d.entries)
	var out bytes.Buffer
	fmt.Fprintf(&out, header, kubernetesVersion())
	type alias struct{ name, path string }
	var aliases []alias
	for path, name := range d.aliases {
		aliases = append(aliases, alias{name, path})
	}
	slices.SortFunc(aliases, func(a, b alias) int { return cmp.Compare(a.name, b.name) })
	for _, a := range aliases {
		fmt.Fprintf(&out, "package %s %s\n", a.name, a.path)
	}
	for _, entry := range d.entries {
		out.WriteString(entry)
	}
	return out.Bytes(), nil
}

// visit describes a type and all types that it mentions.
func (d *describer) visit(t reflect.Type) error {
	if d.seen[t] {
		return nil
	}
	d.seen[t] = true
	switch {
	case natives[path(t)]:
		d.entries = append(d.entries, fmt.Sprintf("native %s\n", d.expression(t)))
		return nil
	case t.Kind() == reflect.Struct:
		return d.visitStruct(t)
	}
	if t.PkgPath() != "" {
		d.entries = append(d.entries, fmt.Sprintf("named %s %s%s\n", d.expression(t), d.underlying(t), message(t)))
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return d.visit(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("%v: keys are not strings", t)
		}
		if err := d.visit(t.Key()); err != nil {
			return err
		}
		return d.visit(t.Elem())
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint8:
		return nil
	}
	return fmt.Errorf("%v: kinds of this type are not supported", t)
}

func (d *describer) visitStruct(t reflect.Type) error {
	model := d.facts[modelName(t)]
	var out strings.Builder
	fmt.Fprintf(&out, "struct %s", d.expression(t))
	if model.mapType != "" {
		fmt.Fprintf(&out, " map=%s", model.mapType)
	}
	out.WriteString("\n")
	for i := range t.NumField() {
		field := t.Field(i)
		name, inline, flags, skip, err := jsonTag(field)
		if err != nil {
			return fmt.Errorf("%v.%s: %w", t, field.Name, err)
		}
		if skip {
			continue
		}
		number, err := protobufNumber(field)
		if err != nil {
			return fmt.Errorf("%v.%s: %w", t, field.Name, err)
		}
		if inline {
			name = "-"
			if field.Type.Kind() != reflect.Struct {
				return fmt.Errorf("%v.%s: inlined, and no struct", t, field.Name)
			}
		}
		flags = append(flags, d.fieldFacts(field, model, name)...)
		fmt.Fprintf(&out, " %s %s %s %d", name, field.Name, d.expression(field.Type), number)
		for _, flag := range flags {
			fmt.Fprintf(&out, " %s", flag)
		}
		out.WriteString("\n")
		if err := d.visit(field.Type); err != nil {
			return err
		}
	}
	d.entries = append(d.entries, out.String())
	return nil
}

func (d *describer) fieldFacts(field reflect.StructField, model model, name string) (flags []string) {
	if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
		flags = append(flags, "patch="+strategy)
	}
	if key := field.Tag.Get("patchMergeKey"); key != "" {
		flags = append(flags, "key="+key)
	}
	return append(flags, model.fields[name]...)
}

func jsonTag(field reflect.StructField) (name string, inline bool, flags []string, skip bool, err error) {
	tag, tagged := field.Tag.Lookup("json")
	if tag == "-" || !field.IsExported() {
		return "", false, nil, true, nil
	}
	parts := strings.Split(tag, ",")
	name = parts[0]
	for _, option := range parts[1:] {
		switch option {
		case "omitempty", "omitzero":
			flags = append(flags, option)
		case "inline":
		case "":
		default:
			return "", false, nil, false, fmt.Errorf("unknown option %q in the json tag", option)
		}
	}
	inline = name == "" && field.Anonymous
	if name == "" && !inline {
		if tagged && tag != "" {
			return "", false, nil, false, fmt.Errorf("json tag without a name")
		}
		name = field.Name
	}
	return name, inline, flags, false, nil
}

func protobufNumber(field reflect.StructField) (int, error) {
	tag := field.Tag.Get("protobuf")
	if tag == "" || tag == "-" {
		return 0, nil
	}
	return strconv.Atoi(strings.Split(tag, ",")[1])
}

// expression writes a type as Go does, with aliases in place of package names.
func (d *describer) expression(t reflect.Type) string {
	if t.PkgPath() != "" {
		return d.alias(t.PkgPath()) + "." + t.Name()
	}
	return d.underlying(t)
}

func (d *describer) underlying(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + d.expression(t.Elem())
	case reflect.Slice:
		return "[]" + d.expression(t.Elem())
	case reflect.Map:
		return "map[" + d.expression(t.Key()) + "]" + d.expression(t.Elem())
	}
	return t.Kind().String()
}

func (d *describer) alias(path string) string {
	if alias, ok := d.aliases[path]; ok {
		return alias
	}
	parts := strings.Split(path, "/")
	alias := parts[len(parts)-1]
	if alias == "v1" {
		alias = parts[len(parts)-2]
	}
	d.aliases[path] = alias
	return alias
}

// message marks slices that are protobuf messages of their own.
func message(t reflect.Type) string {
	if _, ok := reflect.New(t).Interface().(interface{ Marshal() ([]byte, error) }); ok {
		return " message"
	}
	return ""
}

func path(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

func modelName(t reflect.Type) string {
	if named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return ""
}

func compact(value any) (string, error) {
	text, err := json.Marshal(value)
	if err == nil && bytes.ContainsAny(text, " \n") {
		err = fmt.Errorf("a default with spaces: %s", text)
	}
	return string(text), err
}
