package main

import (
	"fmt"
	"math/rand/v2"
)

// dice make all choices. Every scenario has its own, so that chance inside upstream (the order of Go's maps) changes the
// rest of that scenario only.
type dice struct{ *rand.Rand }

func newDice(seed, scenario uint64) dice {
	return dice{rand.New(rand.NewPCG(seed, scenario))}
}

func (d dice) chance(probability float64) bool {
	return d.Float64() < probability
}

// between is a number from low to high, both included.
func (d dice) between(low, high int) int {
	return low + d.IntN(high-low+1)
}

func (d dice) uid() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", d.Uint32(), d.Uint64()&0xffff_ffff_ffff)
}

func (d dice) suffix() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	name := make([]byte, 5)
	for i := range name {
		name[i] = letters[d.IntN(len(letters))]
	}
	return string(name)
}

func oneOf[T any](d dice, choices ...T) T {
	return choices[d.IntN(len(choices))]
}

func shuffle[T any](d dice, items []T) {
	d.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
}
