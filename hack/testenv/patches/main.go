// Command patches writes what upstream's field manager and patches do on random inputs, for tests of embedded-apiserver that
// compare. README.md describes the file.
package main

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
)

// scenario is one line of the file.
type scenario struct {
	Number int    `json:"number"`
	Kind   string `json:"kind"`
	// the Go type, as the schema names it
	Type       string  `json:"type,omitempty"`
	APIVersion string  `json:"apiVersion,omitempty"`
	Steps      []*step `json:"steps,omitempty"`
	Patch      *patch  `json:"patch,omitempty"`
}

func main() {
	cases := flag.Int("n", 1000, "how many cases to write")
	seed := flag.Uint64("seed", 1, "what the cases are made from")
	out := flag.String("out", "../../crates/embedded-apiserver/testdata/patches.jsonl.gz", "the file to write")
	flag.Parse()
	file, err := os.Create(*out)
	check(err)
	packed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	check(err)
	lines := json.NewEncoder(packed)
	lines.SetEscapeHTML(false)
	check(lines.Encode(map[string]any{"seed": *seed, "cases": *cases}))
	tally := map[string]int{}
	for number := range *cases {
		d := newDice(*seed, uint64(number))
		var done *scenario
		switch number % 5 {
		case 0:
			done = d.strategic()
		case 1:
			done = d.mergePatch()
		default:
			done = d.owners()
		}
		done.Number = number
		done.count(tally)
		check(lines.Encode(done))
	}
	check(packed.Close())
	check(file.Close())
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		fmt.Printf("%6d %s\n", tally[what], what)
	}
}

func (s *scenario) count(tally map[string]int) {
	if s.Patch != nil {
		verdict := "applied"
		if s.Patch.Code != 0 {
			verdict = fmt.Sprint("error ", s.Patch.Code)
		}
		tally[s.Kind+": "+verdict]++
	}
	for _, step := range s.Steps {
		verdict := "recorded"
		if step.Code != 0 {
			verdict = fmt.Sprint("error ", step.Code)
		}
		tally["owners, "+step.Verb+": "+verdict]++
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
