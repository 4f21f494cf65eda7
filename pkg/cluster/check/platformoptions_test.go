package check_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/plan/selection"
)

func TestPlatformOptions(t *testing.T) {
	t.Parallel()
	s := mirrortest.Empty(t)
	config := s.Config("no.yaml", "  additionalImages: [{name: example.com/a:1}]\n")
	versions := func(change func(*check.Options)) check.Options {
		o := check.Options{From: []string{"4.18.1"}, To: "4.20.2"}
		change(&o)
		return o
	}
	for words, o := range map[string]check.Options{
		"checked with one mirror":                  {Mirror: "example.com/catalog:v1"},
		"the updates to check are unknown":         {},
		"are given twice":                          versions(func(o *check.Options) { o.Plan = "p" }),
		"set both":                                 {From: []string{"4.18.1"}},
		"check a plan":                             versions(func(o *check.Options) { o.ReleaseKeys = []string{"key.asc"} }),
		"Options.Channel and Options.Arch are for": {Plan: "p", Channel: "c"},
		"check operators in another run":           {ClusterVersion: "4.20.1"},
		"has no mirror.platform":                   {Selection: selection.Selection{Config: config}},
		"is not a version":                         versions(func(o *check.Options) { o.From = []string{"4.18"} }),
		"Options.Arch":                             versions(func(o *check.Options) { o.Arch = "vax" }),
	} {
		o.Env, o.Workspace = s.Env, s.Workspace()
		if o.Mirror == "" {
			o.Mirror = s.Docker("ocp")
		}
		_, err := check.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}
