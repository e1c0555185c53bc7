// Command tables writes what endpoint-controller-manager knows of the command line of kube-controller-manager: its feature
// gates at each release that it can emulate, the names of its controllers, and its flags. It links kube-controller-manager of the
// release in go.mod and asks it.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run() error {
	crate := flag.String("crate", "", "folder of the crate endpoint-controller-manager")
	check := flag.Bool("check", false, "write nothing; fail if a file would change")
	flag.Parse()
	if *crate == "" {
		return errors.New("-crate is missing")
	}
	release, err := kubernetes()
	if err != nil {
		return err
	}
	gates, err := gates(release)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		text []byte
	}{
		{"src/gates/upstream.txt", gates},
		{"src/controllers/upstream.txt", controllers()},
		{"testdata/kube-controller-manager-flags.txt", flags(release)},
	} {
		name := filepath.Join(*crate, file.name)
		if !*check {
			if err := os.WriteFile(name, file.text, 0o644); err != nil {
				return err
			}
			continue
		}
		present, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(present, file.text) {
			return fmt.Errorf("%s is not that of Kubernetes %s: run hack/testenv/compile run ./tables -crate %s", name, release, *crate)
		}
	}
	return nil
}

// kubernetes returns the release that this program is linked with, such as 1.37.2.
func kubernetes() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("this program has no build information")
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return module.Version[1:], nil
		}
	}
	return "", errors.New("this program is not linked with k8s.io/kubernetes")
}
