// Runs the tests of k8s.io/kubernetes/test/e2e/network, with the flags of upstream's e2e.test: --kubeconfig, --ginkgo.focus, ….
package main

import (
	"flag"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/network"
)

// suite is what Ginkgo reports a failure to; it returns it as well.
type suite struct{}

func (suite) Fail() {}

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)
	options, reports := framework.CreateGinkgoConfig()
	if !ginkgo.RunSpecs(suite{}, "Kubernetes e2e suite", options, reports) {
		os.Exit(1)
	}
}
