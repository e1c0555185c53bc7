package main

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// writeObjects writes random objects of all roots, one a line: type, JSON as Go's encoder writes it, protobuf in
// base64.
func writeObjects(file string, number int, seed uint64) error {
	return writePacked(file, func(lines *bufio.Writer) error {
		for _, root := range roots {
			if _, ok := reflect.New(root).Interface().(marshaler); !ok {
				continue
			}
			for i := range number {
				f := filler{rand.New(rand.NewPCG(seed, uint64(i)))}
				object := reflect.New(root)
				f.fill(object.Elem(), 0, float64(i)/float64(number))
				if err := writeObject(lines, object.Interface().(marshaler), root); err != nil {
					return fmt.Errorf("%v: %w", root, err)
				}
			}
		}
		return nil
	})
}

// writePacked writes a file of lines, packed with gzip.
func writePacked(file string, write func(*bufio.Writer) error) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	lines := bufio.NewWriter(packed)
	if err := write(lines); err != nil {
		return err
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return out.Close()
}

type marshaler interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// writeObject decodes the protobuf again before it writes the JSON, which is what an object from etcd looks like.
func writeObject(lines *bufio.Writer, object marshaler, t reflect.Type) error {
	encoded, err := object.Marshal()
	if err != nil {
		return err
	}
	stored := reflect.New(t).Interface().(marshaler)
	if err := stored.Unmarshal(encoded); err != nil {
		return err
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(lines, "%s\t%s\t%s\n", path(t), text, base64.StdEncoding.EncodeToString(encoded))
	return err
}

type filler struct{ *rand.Rand }

var words = []string{"", "a", "web-0", "kubernetes.io/hostname", "<b>&\"quote\"\\", "über \u2028 \U0001f600", "tab\tline\nbell\a", "default",
	"several words that go on and on, so that a line of YAML has to be folded somewhere: here, or even there if it is very long",
	"two\nlines", "- x", "yes", "1e3", " spaces ", "it's: quoted", "#no comment"}

var quantities = []string{"0", "1", "500m", "1Gi", "100Mi", "1500m", "2e3", "1.5Gi", "12E", "-1", "3n", "1Ki", "1023", "0.1Mi"}

// fill sets fields at random; the deeper and the smaller density, the fewer.
func (f filler) fill(v reflect.Value, depth int, density float64) {
	if f.native(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Type == reflect.TypeFor[metav1.TypeMeta]() || !field.IsExported() {
				continue
			}
			if f.Float64() < density || depth == 0 {
				f.fill(v.Field(i), depth+1, density*0.9)
			}
		}
	case reflect.Pointer:
		if depth < 9 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1, density)
			// a pointer to the zero time is null in JSON, and absent in a tree
			if zero, ok := v.Interface().(interface{ IsZero() bool }); ok && zero.IsZero() {
				v.SetZero()
			}
		}
	case reflect.Slice:
		n := f.IntN(3)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(f.word()))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth+1, density*0.8)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1, density)
			f.fill(value, depth+1, density)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 80, 65535, 1 << 30, -1 << 31}[f.IntN(7)])
		if v.Kind() == reflect.Int64 && f.IntN(3) == 0 {
			v.SetInt([]int64{1<<63 - 1, -1 << 63, 1 << 53}[f.IntN(3)])
		}
	case reflect.Interface:
	default:
		panic(fmt.Sprintf("cannot fill %v", v.Type()))
	}
}

func (f filler) word() string { return words[f.IntN(len(words))] }

// native fills the types whose fields do not say what they may contain.
func (f filler) native(v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		if f.IntN(4) > 0 {
			p.Time = time.Unix(f.Int64N(4e9)-1e9, 0)
		}
	case *metav1.MicroTime:
		if f.IntN(4) > 0 {
			p.Time = time.Unix(f.Int64N(4e9)-1e9, f.Int64N(1e6)*1000)
		}
	case *metav1.Duration:
		p.Duration = time.Duration(f.Int64N(1e15))
	case *metav1.FieldsV1:
		p.SetRawString(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{}}}}`)
	case *resource.Quantity:
		*p = resource.MustParse(quantities[f.IntN(len(quantities))])
	case *intstr.IntOrString:
		if *p = intstr.FromInt32(int32(f.Uint32())); f.IntN(2) == 0 {
			*p = intstr.FromString(f.word())
		}
	default:
		return false
	}
	return true
}
