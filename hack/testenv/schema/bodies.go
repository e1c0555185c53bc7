package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// outcome is what Go's decoder makes of a body.
type outcome struct {
	Error  string   `json:"error,omitempty"`
	Strict []string `json:"strict,omitempty"`
	JSON   string   `json:"json,omitempty"`
}

// writeBodies writes bodies that are wrong in random ways, one a line: type, body in base64, outcome.
func writeBodies(file string, number int, seed uint64) error {
	return writePacked(file, func(lines *bufio.Writer) error {
		for _, root := range roots {
			if _, ok := reflect.New(root).Interface().(marshaler); !ok {
				continue
			}
			for i := range number {
				f := filler{rand.New(rand.NewPCG(seed, uint64(i)+1000))}
				object := reflect.New(root)
				f.fill(object.Elem(), 0, 0.2+0.3*f.Float64())
				body, err := json.Marshal(object.Interface())
				if err != nil {
					return err
				}
				for range 1 + f.IntN(3) {
					body = f.spoil(body)
				}
				result, err := json.Marshal(decode(root, body))
				if err != nil {
					return err
				}
				fmt.Fprintf(lines, "%s\t%s\t%s\n", path(root), base64.StdEncoding.EncodeToString(body), result)
			}
		}
		return nil
	})
}

func decode(t reflect.Type, body []byte) outcome {
	object := reflect.New(t)
	strict, err := kjson.UnmarshalStrict(body, object.Interface())
	if err != nil {
		return outcome{Error: err.Error()}
	}
	var result outcome
	for _, problem := range strict {
		result.Strict = append(result.Strict, problem.Error())
	}
	text, err := json.Marshal(object.Interface())
	if err != nil {
		panic(err)
	}
	result.JSON = string(text)
	return result
}

var literals = []string{
	"null", "true", `"text"`, `""`, "1", "-3", "1.5", "1e3", "99999999999", "99999999999999999999", "[]", "{}", "[null]", `["a",2]`,
	`{"a":"b"}`, `{"a":"b","a":"c"}`, `{"unknown":1}`, `"2020-02-30T00:00:00Z"`, `"2024-01-02T03:04:05Z"`, `"100Mi"`, `"\u00e9\ud83d\ude00\ud800"`,
	`"500m"`, `[{"name":"a"},{"name":"b"}]`, "\"\xff\"",
}

const marks = "{}[],:\"\\x01 -+.eEtfn\n'"

// spoil changes one place of a body: a value, a key, or a byte.
func (f filler) spoil(body []byte) []byte {
	text := string(body)
	switch f.IntN(12) {
	case 0:
		return body[:f.IntN(len(body)+1)]
	case 1:
		at := f.IntN(len(body) + 1)
		return []byte(text[:at] + string(marks[f.IntN(len(marks))]) + text[min(at+f.IntN(2), len(text)):])
	case 2: // an unknown or duplicate key at the start of an object
		return f.atObject(text, `"unknown":`+f.literal()+`,`)
	case 3:
		return f.atObject(text, `"name":`+f.literal()+`,"name":"again",`)
	default:
		return f.replaceValue(text)
	}
}

func (f filler) literal() string { return literals[f.IntN(len(literals))] }

func (f filler) atObject(text, members string) []byte {
	var places []int
	for i := range len(text) - 1 {
		if text[i] == '{' && text[i+1] == '"' {
			places = append(places, i+1)
		}
	}
	if len(places) == 0 {
		return []byte(text)
	}
	at := places[f.IntN(len(places))]
	return []byte(text[:at] + members + text[at:])
}

// replaceValue puts a literal in the place of a value, or repeats a member with it.
func (f filler) replaceValue(text string) []byte {
	var places []int
	for i := range len(text) - 1 {
		if text[i] == '"' && text[i+1] == ':' {
			places = append(places, i+2)
		}
	}
	if len(places) == 0 {
		return []byte(text)
	}
	at := places[f.IntN(len(places))]
	decoder := json.NewDecoder(strings.NewReader(text[at:]))
	var old json.RawMessage
	if decoder.Decode(&old) != nil {
		return []byte(text)
	}
	after := text[at+int(decoder.InputOffset()):]
	if f.IntN(4) == 0 {
		key := text[strings.LastIndexByte(text[:at-2], '"'):at]
		return []byte(text[:at] + string(old) + "," + key + f.literal() + after)
	}
	return []byte(text[:at] + f.literal() + after)
}

// writeTexts writes quantities and times with what apimachinery makes of them, one a line: type, text, result.
func writeTexts(file string, seed uint64) error {
	return writePacked(file, func(lines *bufio.Writer) error {
		f := filler{rand.New(rand.NewPCG(seed, 1))}
		for range 4000 {
			text := f.quantity()
			result := ""
			if q, err := resource.ParseQuantity(text); err != nil {
				result = err.Error()
			} else {
				result = q.String()
			}
			fmt.Fprintf(lines, "quantity\t%s\t%s\n", text, result)
		}
		for range 3000 {
			text := f.time()
			fmt.Fprintf(lines, "seconds\t%s\t%s\n", text, parsed(time.RFC3339, text, func(t time.Time) any { return metav1.Time{Time: t} }))
			text = f.time()
			fmt.Fprintf(lines, "micros\t%s\t%s\n", text, parsed(metav1.RFC3339Micro, text, func(t time.Time) any { return metav1.MicroTime{Time: t} }))
		}
		return nil
	})
}

func parsed(layout, text string, wrap func(time.Time) any) string {
	t, err := time.Parse(layout, text)
	if err != nil {
		return err.Error()
	}
	result, err := json.Marshal(wrap(t))
	if err != nil {
		return err.Error()
	}
	return string(bytes.Trim(result, `"`))
}

func (f filler) quantity() string {
	digits := func(most int) string {
		n := f.IntN(most + 1)
		var out strings.Builder
		for range n {
			out.WriteByte("0001234567899"[f.IntN(13)])
		}
		return out.String()
	}
	most := []int{2, 4, 10, 24}[f.IntN(4)]
	text := []string{"", "", "", "", "-", "+"}[f.IntN(6)] + digits(most)
	if f.IntN(3) == 0 {
		text += "." + digits(most)
	}
	text += []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E6", "e-3", "e+2", "e1", "ki", "x", "e", "mm", "i"}[f.IntN(27)]
	if f.IntN(20) == 0 && len(text) > 0 {
		at := f.IntN(len(text))
		text = text[:at] + string(" .-+ei"[f.IntN(6)]) + text[at:]
	}
	return text
}

func (f filler) time() string {
	text := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d", f.IntN(10000), f.IntN(14), f.IntN(33), f.IntN(26), f.IntN(62), f.IntN(62))
	if f.IntN(3) > 0 {
		text = time.Unix(f.Int64N(2e11)-6e10, 0).UTC().Format("2006-01-02T15:04:05")
	}
	if f.IntN(20) == 0 {
		text = "0001-01-01T00:00:00"
	}
	text += []string{"", "", ".5", ".123456", ".123456", ".123456", ".123456789", ",123456", ".1234567890123", ".", ".12345x"}[f.IntN(11)]
	text += []string{"Z", "Z", "Z", "Z", "+01:00", "-23:59", "+24:00", "+25:00", "+00:61", "+0100", "", "z", "*01:00", "+0x:00"}[f.IntN(14)]
	if f.IntN(5) == 0 {
		at := f.IntN(len(text) + 1)
		text = text[:at] + string("0 :-Tx\"é"[f.IntN(8)]) + text[min(len(text), at+f.IntN(2)):]
	}
	return strings.ToValidUTF8(text, "?")
}
