package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Upstream is run again where it assigns topology hints, which it does by chance when zones tie.
const runsOfTopology = 20

// golden is one case as it is written: Kubernetes objects in JSON, except that endpoints stand once in a table and slices
// refer to them by position. README.md explains each field.
type golden struct {
	Number    int               `json:"number"`
	Kind      string            `json:"kind"`
	Max       int32             `json:"max"`
	Time      string            `json:"time,omitempty"`
	Service   any               `json:"service"`
	Pods      []any             `json:"pods"`
	Nodes     []any             `json:"nodes"`
	Endpoints []any             `json:"endpoints"`
	Existing  []any             `json:"existing"`
	Create    []any             `json:"create,omitempty"`
	Update    []any             `json:"update,omitempty"`
	Delete    []string          `json:"delete,omitempty"`
	Error     string            `json:"error,omitempty"`
	Events    []string          `json:"events,omitempty"`
	Added     int               `json:"added"`
	Removed   int               `json:"removed"`
	Changed   int               `json:"changed"`
	Gauges    [3]int            `json:"gauges"`
	Zones     []json.RawMessage `json:"zones,omitempty"`

	create, update []*discoveryv1.EndpointSlice
	table          map[string]int
}

// sync runs upstream on the world as it is and records what goes in and what comes out.
func (w *world) sync() *golden {
	triggerTime := time.Time{}
	if w.chance(0.6) {
		triggerTime = w.moment().Time
		if w.chance(0.2) {
			triggerTime = triggerTime.Add(time.Duration(w.between(1, 999)) * time.Millisecond)
		}
	}
	done := w.reconcile(w.service, w.slices, w.max, triggerTime)
	record := &golden{
		Max:     w.max,
		Service: plain(w.service),
		Pods:    plainAll(w.pods),
		Nodes:   plainAll(w.nodes),
		Delete:  done.delete,
		Events:  done.events,
		Added:   done.added,
		Removed: done.removed,
		Changed: done.changed,
		Gauges:  done.gauges,
		create:  done.create,
		update:  done.update,
		table:   map[string]int{},
	}
	if !triggerTime.IsZero() {
		record.Time = triggerTime.UTC().Format(time.RFC3339Nano)
	}
	if done.err != nil {
		record.Error = done.err.Error()
	}
	record.Existing = record.slices(w.slices)
	record.Create = record.slices(done.create)
	record.Update = record.slices(done.update)
	if w.wantsTopology() {
		record.Zones = w.zoneCounts(done, triggerTime)
	}
	return record
}

// zoneCounts lists how many endpoints serve each zone, by address type, in every way that upstream was seen to choose.
func (w *world) zoneCounts(first *outcome, triggerTime time.Time) []json.RawMessage {
	seen := map[string]bool{w.hinted(first): true}
	for range runsOfTopology - 1 {
		seen[w.hinted(w.reconcile(w.service, w.slices, w.max, triggerTime))] = true
	}
	counts := []json.RawMessage{}
	for _, text := range slices.Sorted(maps.Keys(seen)) {
		counts = append(counts, json.RawMessage(text))
	}
	return counts
}

// hinted counts the zone hints of ready endpoints once these writes are made.
func (w *world) hinted(done *outcome) string {
	counts := map[discoveryv1.AddressType]map[string]int{}
	count := func(slice *discoveryv1.EndpointSlice) {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Hints == nil || endpoint.Conditions.Ready == nil || !*endpoint.Conditions.Ready {
				continue
			}
			if counts[slice.AddressType] == nil {
				counts[slice.AddressType] = map[string]int{}
			}
			for _, zone := range endpoint.Hints.ForZones {
				counts[slice.AddressType][zone.Name]++
			}
		}
	}
	touched := slices.Clone(done.delete)
	for _, slice := range done.update {
		touched = append(touched, slice.Name)
	}
	for _, slice := range slices.Concat(done.create, done.update, w.slices) {
		if slice.ResourceVersion == "" || !slices.Contains(touched, slice.Name) || slices.Contains(done.update, slice) {
			count(slice)
		}
	}
	text, err := json.Marshal(counts)
	check(err)
	return string(text)
}

// slices gives slices with their endpoints moved to the table.
func (g *golden) slices(all []*discoveryv1.EndpointSlice) []any {
	converted := []any{}
	for _, slice := range all {
		object := plain(slice).(map[string]any)
		if endpoints, present := object["endpoints"].([]any); present {
			positions := []any{}
			for _, endpoint := range endpoints {
				positions = append(positions, g.position(endpoint))
			}
			object["endpoints"] = positions
		}
		converted = append(converted, object)
	}
	return converted
}

func (g *golden) position(endpoint any) int {
	text, err := json.Marshal(endpoint)
	check(err)
	position, known := g.table[string(text)]
	if !known {
		position = len(g.Endpoints)
		g.table[string(text)] = position
		g.Endpoints = append(g.Endpoints, endpoint)
	}
	return position
}

// unread fields are always there in JSON, and are not compared here.
var unread = []string{"nodeInfo", "daemonEndpoints", "podIP"}

// plain is the JSON form of an object without what says nothing: nulls and empty objects, except empty hints.
func plain(object any) any {
	text, err := json.Marshal(object)
	check(err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	check(decoder.Decode(&value))
	return strip(value)
}

func strip(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			field = strip(field)
			empty, object := field.(map[string]any)
			silent := field == nil || object && len(empty) == 0 && key != "hints"
			if silent || slices.Contains(unread, key) {
				delete(value, key)
			}
		}
	case []any:
		for i, item := range value {
			value[i] = strip(item)
		}
	}
	return value
}

func plainAll[T any](objects []T) []any {
	all := []any{}
	for _, object := range objects {
		all = append(all, plain(object))
	}
	return all
}

// count adds a case to the summary.
func (g *golden) count(tally map[string]int) {
	tally["kind: "+g.Kind]++
	tally["writes: creates"] += len(g.create)
	tally["writes: updates"] += len(g.update)
	tally["writes: deletes"] += len(g.Delete)
	note := func(what string, applies bool) {
		if applies {
			tally[what]++
		}
	}
	writes := len(g.create) + len(g.update) + len(g.Delete)
	note("cases without writes", writes == 0)
	note("cases with skipped pods", g.Error != "")
	note("cases of topology mode", g.Zones != nil)
	note("cases of topology mode with several outcomes", len(g.Zones) > 1)
	note("cases of topology mode with hints", strings.Contains(fmt.Sprint(g.Events), "Enabled"))
	recycled := slices.ContainsFunc(g.update, func(slice *discoveryv1.EndpointSlice) bool { return slice.ResourceVersion == "" })
	note("cases with recycled slices", recycled)
}
