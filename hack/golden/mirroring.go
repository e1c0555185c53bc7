package main

import discoveryv1 "k8s.io/api/discovery/v1"

// mirrorCase is one sync as it is written. README.md explains each field.
type mirrorCase struct {
	Number    int      `json:"number"`
	Kind      string   `json:"kind"`
	Max       int32    `json:"max"`
	Endpoints any      `json:"endpoints,omitempty"`
	Service   any      `json:"service,omitempty"`
	Existing  []any    `json:"existing,omitempty"`
	Create    []any    `json:"create,omitempty"`
	Update    []any    `json:"update,omitempty"`
	Delete    []string `json:"delete,omitempty"`
	Events    []string `json:"events,omitempty"`
	Figures   [4]int   `json:"figures"`
	Gauges    [3]int   `json:"gauges"`

	create, update []*discoveryv1.EndpointSlice
	tries          int
}

// playMirroring goes through a few syncs of one Endpoints object: each finds what the one before left behind, after
// something has changed or another client has changed the slices.
func playMirroring(dice dice) []line {
	world := newMirrorWorld(dice)
	cases := []line{}
	kind := "no slices"
	for range dice.between(2, 6) {
		done := world.sync()
		if done == nil {
			break
		}
		done.Kind = kind
		cases = append(cases, done)
		world.apply(done)
		kind = world.change()
	}
	return cases
}

// sync runs upstream on the world as it is and records what goes in and what comes out.
func (w *mirrorWorld) sync() *mirrorCase {
	done, tries := w.reconcile()
	if done == nil {
		return nil
	}
	record := &mirrorCase{
		Max: w.max, Existing: plainAll(w.slices), Create: plainAll(done.create), Update: plainAll(done.update),
		Delete: done.delete, Events: done.events, Figures: done.figures, Gauges: done.gauges,
		create: done.create, update: done.update, tries: tries,
	}
	if w.endpoints != nil {
		record.Endpoints = plain(w.endpoints)
	}
	if w.service != nil {
		record.Service = plain(w.service)
	}
	return record
}

func (c *mirrorCase) setNumber(number int) {
	c.Number = number
}

// count adds a case to the summary.
func (c *mirrorCase) count(tally map[string]int) {
	tally["kind: "+c.Kind]++
	tally["writes: creates"] += len(c.create)
	tally["writes: updates"] += len(c.update)
	tally["writes: deletes"] += len(c.Delete)
	tally["events"] += len(c.Events)
	if len(c.create)+len(c.update)+len(c.Delete) == 0 {
		tally["cases without writes"]++
	}
	if c.tries > 0 {
		tally["cases in which upstream posted a name that exists, at first"]++
	}
}
