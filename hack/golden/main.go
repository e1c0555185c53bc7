// Command golden writes what upstream's controllers do on random inputs, for tests that compare.
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

// kind is one file of cases.
type kind struct {
	cases int
	out   string
	// the Go module that decides
	module string
	// the next few cases
	play func(dice) []line
}

// line is one case in a file.
type line interface {
	setNumber(int)
	count(tally map[string]int)
}

var kinds = map[string]kind{
	"slices":    {5500, "../../crates/endpointslice/testdata/golden.jsonl.gz", "k8s.io/endpointslice", playSlices},
	"endpoints": {2600, "../../crates/endpoints-controller/testdata/golden.jsonl.gz", "k8s.io/kubernetes", playEndpoints},
	"addresses": {3000, "../../crates/endpointslice/testdata/addresses.jsonl.gz", "k8s.io/utils", playAddresses()},
	"mirroring": {3000, "../../crates/endpointslice-mirroring-controller/testdata/golden.jsonl.gz", "k8s.io/kubernetes", playMirroring},
}

func main() {
	of := flag.String("of", "slices", "which file: slices, endpoints, mirroring or addresses")
	cases := flag.Int("n", 0, "how many cases to write, if not the usual number")
	seed := flag.Uint64("seed", 1, "what the cases are made from")
	out := flag.String("out", "", "the file to write, if not the usual one")
	flag.Parse()
	kind, known := kinds[*of]
	if !known {
		log.Fatalf("-of %s: unknown", *of)
	}
	if *cases > 0 {
		kind.cases = *cases
	}
	if *out != "" {
		kind.out = *out
	}
	kind.write(*seed)
}

func (k kind) write(seed uint64) {
	file, err := os.Create(k.out)
	check(err)
	packed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	check(err)
	lines := json.NewEncoder(packed)
	lines.SetEscapeHTML(false)
	check(lines.Encode(map[string]any{"seed": seed, "cases": k.cases, "upstream": upstreamVersion(k.module)}))

	tally := map[string]int{}
	number := 0
	for scenario := uint64(0); number < k.cases; scenario++ {
		for _, done := range k.play(newDice(seed, scenario)) {
			if number == k.cases {
				break
			}
			done.setNumber(number)
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

// playSlices goes through a few syncs of one Service: the first on slices that are made up or none at all, the others on what
// the sync before left behind, after something has changed.
func playSlices(dice dice) []line {
	world := newWorld(dice)
	kind := "no slices"
	if dice.chance(0.7) {
		world.makeUpSlices()
		kind = "made-up slices"
	}
	cases := []line{}
	for range dice.between(1, 4) {
		done := world.sync()
		done.Kind = kind
		cases = append(cases, done)
		world.apply(done)
		kind = world.change()
	}
	return cases
}

func (g *golden) setNumber(number int) {
	g.Number = number
}

// upstreamVersion is the release of a module that this program was built with.
func upstreamVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
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
