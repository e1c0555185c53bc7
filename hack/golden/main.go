// Command golden writes what upstream's EndpointSlice reconciler does on random inputs, for a test of crates/endpointslice.
package main

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"runtime/debug"
	"slices"
)

func main() {
	cases := flag.Int("n", 5500, "how many cases to write")
	seed := flag.Uint64("seed", 1, "what the cases are made from")
	out := flag.String("out", "../../crates/endpointslice/testdata/golden.jsonl.gz", "the file to write")
	flag.Parse()

	file, err := os.Create(*out)
	check(err)
	packed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	check(err)
	lines := json.NewEncoder(packed)
	lines.SetEscapeHTML(false)
	check(lines.Encode(map[string]any{"seed": *seed, "cases": *cases, "upstream": upstreamVersion()}))

	tally := map[string]int{}
	number := 0
	for scenario := uint64(0); number < *cases; scenario++ {
		for _, done := range play(newDice(*seed, scenario)) {
			if number == *cases {
				break
			}
			done.Number = number
			check(lines.Encode(done))
			done.count(tally)
			number++
		}
	}
	check(packed.Close())
	check(file.Close())
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		fmt.Printf("%6d %s\n", tally[what], what)
	}
}

// play goes through a few syncs of one Service: the first on slices that are made up or none at all, the others on what
// the sync before left behind, after something has changed.
func play(dice dice) []*golden {
	world := newWorld(dice)
	kind := "no slices"
	if dice.chance(0.7) {
		world.makeUpSlices()
		kind = "made-up slices"
	}
	cases := []*golden{}
	for range dice.between(1, 4) {
		done := world.sync()
		done.Kind = kind
		cases = append(cases, done)
		world.apply(done)
		kind = world.change()
	}
	return cases
}

// upstreamVersion is the release of k8s.io/endpointslice that this program was built with.
func upstreamVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/endpointslice" {
			return module.Version
		}
	}
	return ""
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
