package main

import (
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// dice make all choices of a case.
type dice struct{ *rand.Rand }

func newDice(seed, number uint64) dice { return dice{rand.New(rand.NewPCG(seed, number))} }

func (d dice) chance(probability float64) bool { return d.Float64() < probability }

func oneOf[T any](d dice, choices ...T) T { return choices[d.IntN(len(choices))] }

// Few words, so that keys meet.
func (d dice) word() string { return oneOf(d, "a", "b", "c", "a", "b", "c", "x/y", `q"<&`, "ü", "") }

// fill sets fields at random, the deeper the fewer.
func (d dice) fill(v reflect.Value, density float64) {
	if d.native(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if skipped(field) {
				continue
			}
			if d.chance(density) {
				d.fill(v.Field(i), density*0.8)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.fill(v.Elem(), density)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(d.word()))
			return
		}
		n := d.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			d.fill(v.Index(i), max(density, 0.4))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range d.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			d.fill(key, density)
			d.fill(value, density)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(d.word())
	case reflect.Bool:
		v.SetBool(d.chance(0.5))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(oneOf(d, 0, 1, 2, 80, 443, 8080)))
	}
}

// skipped are fields that the server sets, and those that this program sets.
func skipped(field reflect.StructField) bool {
	switch field.Name {
	case "TypeMeta", "ManagedFields", "UID", "ResourceVersion", "Name", "Namespace", "GenerateName", "SelfLink":
		return field.Type == reflect.TypeFor[metav1.TypeMeta]() || field.Name == "ManagedFields" || field.Name == "SelfLink" ||
			field.Name == "GenerateName" || field.Name == "ResourceVersion"
	}
	return !field.IsExported()
}

// native fills the types whose fields do not say what they may contain.
func (d dice) native(v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		p.Time = time.Unix(int64(1+d.IntN(3)), 0)
	case *metav1.MicroTime:
		p.Time = time.Unix(int64(1+d.IntN(3)), 0)
	case *resource.Quantity:
		*p = resource.MustParse(oneOf(d, "1", "2", "500m", "1Gi"))
	case *intstr.IntOrString:
		if *p = intstr.FromInt32(int32(1 + d.IntN(3))); d.chance(0.3) {
			*p = intstr.FromString(d.word())
		}
	case *runtime.RawExtension:
	case *metav1.FieldsV1:
	default:
		return false
	}
	return true
}

// change clears or refills some fields, and adds, removes or swaps some items.
func (d dice) change(v reflect.Value, density float64) {
	if _, isTime := v.Addr().Interface().(*metav1.Time); isTime {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if d.native(reflect.New(v.Type()).Elem()) {
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if skipped(field) {
				continue
			}
			switch {
			case d.chance(density * 0.15):
				v.Field(i).SetZero()
			case d.chance(density * 0.15):
				d.fill(v.Field(i), density)
			default:
				d.change(v.Field(i), density)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			d.change(v.Elem(), density)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		d.changeItems(v, density)
	case reflect.Map:
		if d.chance(density * 0.2) {
			d.fill(v, density)
		}
	}
}

func (d dice) changeItems(v reflect.Value, density float64) {
	n := v.Len()
	items := reflect.MakeSlice(v.Type(), 0, n+1)
	for i := range n {
		item := reflect.New(v.Type().Elem()).Elem()
		item.Set(v.Index(i))
		switch {
		case d.chance(density * 0.1):
			continue
		case d.chance(density * 0.1):
			items = reflect.Append(items, item)
		default:
			d.change(item, density)
		}
		items = reflect.Append(items, item)
	}
	if d.chance(density * 0.2) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.fill(item, max(density, 0.4))
		items = reflect.Append(items, item)
	}
	if items.Len() > 1 && d.chance(density*0.2) {
		swap := reflect.Swapper(items.Interface())
		swap(d.IntN(items.Len()), d.IntN(items.Len()))
	}
	if n > 0 || items.Len() > 0 {
		v.Set(items)
	}
}
