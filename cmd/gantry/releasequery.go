package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// releaseQuery are the flags of verbs that ask update services.
type releaseQuery struct {
	registryFlags
	config         string
	product        string
	from           []string
	to             string
	accept, forbid []string
	ignore         bool
}

const updateServiceHelp = `The default is the update service of the product. Another one is set by
$UPDATE_URL_OVERRIDE, or by mirror.platform.updateService in the configuration of -c.
`

func (q *releaseQuery) addFlags(f *pflag.FlagSet) {
	q.addSourceFlags(f)
	f.StringVarP(&q.config, "config", "c", "", "ImageSetConfiguration whose update service and architectures are used")
	f.StringVar(&q.product, "product", string(release.OCP), "product of the releases: ocp or okd")
	f.StringSliceVar(&q.from, "from", nil, "version that clusters run (may be repeated, or with commas)")
	f.StringVar(&q.to, "to", "", "version to update the clusters to")
	repeatable(f, &q.accept, "accept-risk", "ignore the risk with this name (may be repeated)")
	repeatable(f, &q.forbid, "forbid-risk", "exclude updates with the risk of this name (may be repeated)")
	f.BoolVar(&q.ignore, "ignore-risks", false, "ignore all risks except forbidden ones")
	var products []string
	for _, p := range releases.Products() {
		products = append(products, string(p))
	}
	offer(f, "product", products)
}

// query returns the query that the flags set.
func (q *releaseQuery) query() releases.ReleaseQuery {
	return releases.ReleaseQuery{
		Config: q.config, Product: release.Product(q.product), From: q.from, To: q.to,
		AcceptRisk: q.accept, ForbidRisk: q.forbid, IgnoreRisks: q.ignore,
	}
}

// archFlag adds shell completion to a flag for architectures of releases.
func archFlag(c *cobra.Command, flag string) {
	var names []string
	for _, a := range release.Arches() {
		names = append(names, string(a))
	}
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // the flag exists and has no completion yet
}
