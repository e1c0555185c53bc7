package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register" // flags of its own, as in the program
	"k8s.io/component-base/version/verflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// ours are the controllers that the program has itself.
var ours = []string{"endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller"}

func controllers() []byte {
	aliases := map[string][]string{}
	for alias, name := range app.ControllerAliases() {
		aliases[name] = append(aliases[name], alias)
	}
	names := app.KnownControllers()
	slices.Sort(names)
	var out bytes.Buffer
	for _, name := range names {
		if slices.Contains(ours, name) {
			continue
		}
		slices.Sort(aliases[name])
		for _, word := range append([]string{name}, aliases[name]...) {
			fmt.Fprintln(&out, word)
		}
	}
	return out.Bytes()
}

func flags(release string) []byte {
	settings, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		panic(err)
	}
	sections := settings.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	verflag.AddFlags(sections.FlagSet("global"))
	globalflag.AddGlobalFlags(sections.FlagSet("global"), "kube-controller-manager", logs.SkipLoggingConfigurationFlags())

	var out, hidden bytes.Buffer
	count := 0
	for _, section := range sections.Order {
		sections.FlagSet(section).VisitAll(func(flag *pflag.Flag) {
			file := &out
			if flag.Hidden || flag.Deprecated != "" {
				file = &hidden
				count++
			}
			kind, _ := pflag.UnquoteUsage(flag)
			if kind == "" {
				kind = "bool"
			} else if flag.NoOptDefVal != "" && flag.Value.Type() != "bool" {
				kind += "[=" + flag.NoOptDefVal + "]"
			}
			fmt.Fprintf(file, "%s %s\n", strings.ReplaceAll(flag.Name, "_", "-"), kind)
		})
	}
	header := fmt.Sprintf("# The flags of kube-controller-manager v%s and their types, as its --help shows them; the last %d it hides.\n", release, count)
	return append(append([]byte(header), out.Bytes()...), hidden.Bytes()...)
}
