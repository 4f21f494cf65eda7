package mirroring

import (
	"testing"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestContradictions checks the error for options of each embedded struct, which of several errors is the first, and that
// options that agree are accepted.
func TestContradictions(t *testing.T) {
	t.Parallel()
	config := selection.Selection{Config: "imageset.yaml"}
	planned := PlanOptions{Plan: "plan.json"}
	const registry, disk = "docker://mirror.example.com/ocp", "file:///disk"
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"a registry":          {Options{Selection: config, Destination: registry, RegistryOptions: RegistryOptions{Prune: true}, Rules: copying.Rules{CheckBlobs: true}}, ""},
		"a disk":              {Options{Selection: config, Destination: disk, ArchiveOptions: ArchiveOptions{Delta: DeltaMax, Volumes: site.Volumes{Redundancy: 10}}}, ""},
		"a repair":            {Options{Repair: "request.json", Destination: disk, RegistryOptions: RegistryOptions{Prune: true}}, ""},
		"nothing":             {Options{Destination: registry}, "nothing to mirror"},
		"two deltas":          {Options{Destination: disk, ArchiveOptions: ArchiveOptions{Delta: DeltaMax, Full: true}}, "Options.Full has no deltas, and Options.Delta max needs them"},
		"a repair elsewhere":  {Options{Repair: "request.json", Destination: registry}, `Options.Repair writes an archive, and the destination is "docker://mirror.example.com/ocp"`},
		"a repair with parts": {Options{Repair: "request.json", Destination: disk, Selection: config, DryRun: true}, "Options.Repair cannot be combined with Options.Config, Options.Plan, Options.From, Options.Installed, Options.Dependencies, Options.CompleteRelatedImages, Options.PlatformsMode, Options.DestFormat and Options.MinAge"},
		"two sources":         {Options{Selection: config, PlanOptions: planned, Destination: registry}, "Options.Plan cannot be combined with Options.Config and Options.From"},
		"a disk to a disk":    {Options{ImportOptions: ImportOptions{From: []string{disk}}, Destination: disk}, "Options.From reads an archive and file:///disk would write one"},
		"resources of a disk": {Options{Selection: config, Destination: disk, Format: cluster.Format{ICSP: true}}, "Options.For and Options.ICSP are for docker:// destinations"},
		"a disk with tags":    {Options{Selection: config, Destination: disk, Rules: copying.Rules{TagUntagged: true}}, "Options.TagUntagged is for docker:// destinations, and not for Options.Shard"},
		"a pruned disk":       {Options{Selection: config, Destination: disk, RegistryOptions: RegistryOptions{Prune: true}}, "Options.Prune is for docker:// destinations"},
		"a dry prune":         {Options{Selection: config, Destination: registry, DryRun: true, RegistryOptions: RegistryOptions{Prune: true}}, "Options.Prune deletes, and Options.DryRun and Options.ResourcesOnly change nothing"},
		"too much parity":     {Options{Selection: config, Destination: disk, ArchiveOptions: ArchiveOptions{Volumes: site.Volumes{Redundancy: 101}}}, "Options.Redundancy 101"},
		"two bases":           {Options{Selection: config, Destination: disk, ArchiveOptions: ArchiveOptions{Since: Since{Sequence: 2}, Receipts: []string{"r.json"}}}, "Options.Since and Options.Receipts both set what the archive omits"},
		"two policies":        {Options{Selection: config, Destination: registry, Format: cluster.Format{ICSP: true, MirrorSourcePolicy: "NeverContactSource"}}, "Options.ICSP cannot be combined with Options.MirrorSourcePolicy, which ImageContentSourcePolicies do not have"},
		"a shard with prune":  {Options{PlanOptions: PlanOptions{Plan: "plan.json", Sharding: Sharding{Shard: plan.Shard{Index: 1, Count: 2}}}, Destination: registry, RegistryOptions: RegistryOptions{Prune: true}}, "Options.Prune cannot be combined with Options.Shard"},
	} {
		err := tc.o.Check()
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || err.Error() != tc.want || advice.KindOf(err) != advice.Input):
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}
