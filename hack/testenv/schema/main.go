// Command schema writes what embedded-apiserver knows about the types of the Kubernetes API: fields, encodings and rules of
// merging, taken from the Go types by reflection and from the OpenAPI definitions of kube-apiserver.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func run() error {
	types := flag.String("types", "", "file to write the types to")
	cases := flag.String("cases", "", "folder to write cases for tests to: objects, wrong bodies, quantities, times")
	number := flag.Int("n", 12, "random objects of each kind")
	wrong := flag.Int("wrong", 60, "wrong bodies of each kind")
	seed := flag.Uint64("seed", 1, "seed of the random objects")
	check := flag.Bool("check", false, "write nothing; fail if the file of types would change")
	flag.Parse()

	text, err := describe(roots)
	if err != nil {
		return err
	}
	if *check {
		return compare(*types, text)
	}
	if *types != "" {
		if err := os.WriteFile(*types, text, 0o644); err != nil {
			return err
		}
	}
	if *cases == "" {
		return nil
	}
	if err := writeObjects(filepath.Join(*cases, "objects.gz"), *number, *seed); err != nil {
		return err
	}
	if err := writeBodies(filepath.Join(*cases, "bodies.gz"), *wrong, *seed); err != nil {
		return err
	}
	return writeTexts(filepath.Join(*cases, "texts.gz"), *seed)
}

func compare(file string, want []byte) error {
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("%s differs from the Go types; run hack/checks/schema", file)
	}
	return nil
}
