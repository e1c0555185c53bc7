package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// patch is an object, a patch of it, and what comes of it.
type patch struct {
	Object  json.RawMessage `json:"object"`
	Patch   json.RawMessage `json:"patch"`
	Result  any             `json:"result,omitempty"`
	Code    int             `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
}

// strategic patches as clients compute them, most with a few mistakes.
func (d dice) strategic() *scenario {
	for {
		k := oneOf(d, kinds...)
		object := k.random(d)
		text, err := strategicpatch.CreateTwoWayMergePatch(encode(object), encode(k.changed(d, object)), k.zero)
		if err != nil {
			continue
		}
		changes := tree(text)
		if d.chance(0.7) {
			for range 1 + d.IntN(3) {
				d.spoil(changes)
			}
		}
		p := &patch{Object: encode(object), Patch: encode(changes)}
		if p.strategic(k) {
			return &scenario{Kind: "strategic", Type: k.path(), Patch: p}
		}
	}
}

// strategic applies the patch several times. It returns false if the results differ, which depends on the order of maps.
func (p *patch) strategic(k kind) bool {
	seen := map[string]bool{}
	for range 6 {
		p.Result, p.Code, p.Message = p.strategicOnce(k)
		seen[fmt.Sprint(p.Code, p.Message, string(encode(p.Result)))] = true
	}
	return len(seen) == 1 && p.Message != "panic"
}

func (p *patch) strategicOnce(k kind) (result any, code int, message string) {
	defer func() {
		if recover() != nil {
			result, code, message = nil, 500, "panic"
		}
	}()
	object, changes := map[string]any{}, map[string]any{}
	check(kjson.UnmarshalCaseSensitivePreserveInts(p.Object, &object))
	check(kjson.UnmarshalCaseSensitivePreserveInts(p.Patch, &changes))
	merged, err := strategicpatch.StrategicMergeMapPatch(object, changes, k.zero)
	switch err {
	case nil:
		return merged, 0, ""
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat:
		return nil, http.StatusBadRequest, err.Error()
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return nil, http.StatusUnprocessableEntity, ""
	}
	return nil, http.StatusInternalServerError, err.Error()
}

// spoil puts a directive or a wrong value somewhere.
func (d dice) spoil(fields map[string]any) {
	names := slices.Sorted(maps.Keys(fields))
	if len(names) > 0 && d.chance(0.8) {
		name := oneOf(d, names...)
		switch v := fields[name].(type) {
		case map[string]any:
			d.spoil(v)
			return
		case []any:
			if len(v) > 0 && d.chance(0.8) {
				if item, ok := v[d.IntN(len(v))].(map[string]any); ok {
					d.spoil(item)
					return
				}
				v[d.IntN(len(v))] = oneOf[any](d, 1, "a", nil, true)
				return
			}
		}
		switch d.IntN(6) {
		case 0:
			delete(fields, name)
		case 1:
			fields[name] = nil
		case 2:
			fields["$retainKeys"] = oneOf[any](d, []any{name}, []any{}, "a")
		case 3:
			fields[name] = oneOf[any](d, 1, "a", []any{}, map[string]any{}, []any{"a", 1}, []any{[]any{}}, map[string]any{"a": nil, "b": []any{map[string]any{"$patch": "delete"}}})
		case 4:
			fields["$setElementOrder/"+name] = oneOf[any](d, []any{}, "a", []any{"a", "b"}, []any{map[string]any{"name": "a"}})
		case 5:
			fields["$deleteFromPrimitiveList/"+name] = oneOf[any](d, []any{}, "a", []any{"a", "b"})
		}
		return
	}
	switch d.IntN(3) {
	case 0:
		fields["$patch"] = oneOf[any](d, "delete", "replace", "merge", "other", 1)
	case 1:
		fields[d.word()] = oneOf[any](d, nil, "a", map[string]any{"a": map[string]any{"b": 1}})
	case 2:
		fields["$deleteFromPrimitiveList"] = []any{}
	}
}

func (p *patch) apply(do func() ([]byte, error)) {
	defer func() {
		if recover() != nil {
			p.Result, p.Code = nil, http.StatusUnprocessableEntity
		}
	}()
	text, err := do()
	switch {
	case errors.Is(err, jsonpatch.ErrBadJSONPatch):
		p.Code, p.Message = http.StatusBadRequest, err.Error()
	case err != nil:
		p.Code = http.StatusUnprocessableEntity
	default:
		p.Result = json.RawMessage(text)
	}
}

// mergePatch is a part of another version of the object with some nulls.
func (d dice) mergePatch() *scenario {
	k := oneOf(d, kinds...)
	object := k.random(d)
	changes := tree(encode(k.changed(d, object)))
	d.thin(changes)
	for range d.IntN(4) {
		d.spoil(changes)
	}
	p := &patch{Object: encode(object), Patch: encode(changes)}
	if d.chance(0.05) {
		p.Patch = encode(oneOf[any](d, []any{1, nil, map[string]any{"a": nil}}, "a", nil, 1, map[string]any{}))
	}
	p.apply(func() ([]byte, error) { return jsonpatch.MergePatch(p.Object, p.Patch) })
	return &scenario{Kind: "merge", Patch: p}
}
