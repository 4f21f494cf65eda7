package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// releaseQuery are the flags of verbs that ask update services.
type releaseQuery struct {
	registryFlags
	*releases.ReleaseQuery
}

const updateServiceHelp = `The default is the update service of the product. Another one is set by
$UPDATE_URL_OVERRIDE, or by mirror.platform.updateService in the configuration of -c.
`

func (q *releaseQuery) addFlags(f *pflag.FlagSet) {
	q.addSourceFlags(f)
	f.StringVarP(&q.Config, "config", "c", "", "ImageSetConfiguration whose update service and architectures are used")
	f.StringVar((*string)(&q.Product), "product", string(release.OCP), "product of the releases: ocp or okd")
	f.StringSliceVar(&q.From, "from", nil, "version that clusters run (may be repeated, or with commas)")
	f.StringVar(&q.To, "to", "", "version to update the clusters to")
	repeatable(f, &q.AcceptRisk, "accept-risk", "ignore the risk with this name (may be repeated)")
	repeatable(f, &q.ForbidRisk, "forbid-risk", "exclude updates with the risk of this name (may be repeated)")
	f.BoolVar(&q.IgnoreRisks, "ignore-risks", false, "ignore all risks except forbidden ones")
	offer(f, "product", texts(releases.Products()))
}

// texts returns names as texts.
func texts[T ~string](names []T) (all []string) {
	return elements.Map(names, func(name T) string { return string(name) })
}

// archFlag adds shell completion to a flag for architectures of releases.
func archFlag(c *cobra.Command, flag string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(texts(release.Arches()), cobra.ShellCompDirectiveNoFileComp)) // the flag exists and has no completion yet
}
