package mirroring

import (
	"errors"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/admission"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/cluster"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// Check returns an error if options contradict each other. Mirror calls it first.
func (o *Options) Check() error {
	if err := o.checkDelta(); err != nil {
		return err
	}
	toArchive, reads := o.toArchive(), len(o.From) > 0
	if o.Layout != "" && !slices.Contains(workspace.Layouts(), o.Layout) {
		return env.InputHint("give "+strings.Join(workspace.Layouts(), " or "), "Options.Layout %q", o.Layout)
	}
	switch {
	case o.TagUntagged && (!o.toRegistry() || o.Repair != "" || o.Shard != (plan.Shard{})):
		return env.Inputf("Options.TagUntagged is for docker:// destinations, and not for Options.Shard")
	case o.CreateRepositories && (!o.toRegistry() || o.Repair != ""):
		return env.Inputf("Options.CreateRepositories is for docker:// destinations")
	case o.CreateRepositories && o.ResourcesOnly:
		return env.InputHint("leave it out", "Options.CreateRepositories has no effect with Options.ResourcesOnly, which pushes nothing")
	case !o.CreateRepositories && (o.RegistryKind != "" || o.RegistryTokenFile != ""):
		return env.Inputf("Options.RegistryKind and Options.RegistryTokenFile are for Options.CreateRepositories")
	}
	if o.Repair != "" {
		if o.Layout != "" {
			return env.Inputf("Options.Layout cannot be combined with Options.Repair")
		}
		return o.checkRepair()
	}
	switch {
	case !reads && o.Config == "" && o.Plan == "":
		return env.InputHint("set Options.Config, Options.Plan or Options.From", "nothing to mirror")
	case o.Plan != "" && (o.Config != "" || reads):
		return env.InputHint("set Options.Plan alone", "Options.Plan cannot be combined with Options.Config and Options.From")
	case o.RequireSignedPlan && o.Plan == "":
		return env.InputHint("run gantry plan, and set Options.Plan", "Options.RequireSignedPlan is for Options.Plan")
	case reads && toArchive:
		return env.InputHint("copy the folder instead", "Options.From reads an archive and %s would write one", o.Destination)
	case o.WriteReceipt != "" && (!reads || !o.toRegistry()):
		return env.Inputf("Options.WriteReceipt is for Options.From and docker:// destinations")
	case o.WriteReceipt != "" && o.SigningKey != nil && !env.IsFile(o.WriteReceipt):
		return env.InputHint("name a file", "the signature of the receipt is written beside it, and Options.WriteReceipt %s is not a regular file", o.WriteReceipt)
	case o.MirrorSourcePolicy != "" && !o.toRegistry():
		return env.Inputf("Options.MirrorSourcePolicy is for docker:// destinations")
	case o.MirrorSourcePolicy != "" && !slices.Contains(resources.SourcePolicies(), o.MirrorSourcePolicy):
		return env.InputHint("give "+strings.Join(resources.SourcePolicies(), " or "), "Options.MirrorSourcePolicy %q", o.MirrorSourcePolicy)
	case (o.ResourceName != "" || o.RenameCatalogs) && !o.toRegistry():
		return env.Inputf("Options.ResourceName and Options.RenameCatalogs are for docker:// destinations")
	case (o.For != "" || o.ICSP) && !o.toRegistry():
		return env.Inputf("Options.For and Options.ICSP are for docker:// destinations")
	case o.OnError != "" && !slices.Contains(copying.OnErrors(), o.OnError):
		return env.InputHint("give "+strings.Join(copying.OnErrors(), " or "), "Options.OnError %q", o.OnError)
	case o.ResourcesOnly && (o.OnStrand == admission.OnStrandRefuse || o.AllowOlder):
		return env.Inputf("Options.OnStrand and Options.AllowOlder have no effect with Options.ResourcesOnly, which publishes nothing")
	case strings.HasPrefix(o.Destination, env.LayoutScheme) && (o.OnStrand == admission.OnStrandRefuse || o.AllowOlder):
		return admission.ErrLayoutCompared()
	case o.Prune && !o.toRegistry():
		return env.InputHint("an archive has the whole plan: set Options.Prune where it is mirrored to a registry", "Options.Prune is for docker:// destinations")
	case o.Prune && o.writesNothing():
		return env.InputHint("gantry prune prints what would be deleted", "Options.Prune deletes, and Options.DryRun and Options.ResourcesOnly change nothing")
	case o.ResourcesOnly && !o.toRegistry():
		return env.Inputf("Options.ResourcesOnly is for docker:// destinations")
	case o.RepairMissing && !o.toRegistry():
		return env.InputHint("gantry archive repair-request lists what is damaged in an archive", "Options.RepairMissing is for docker:// destinations")
	case o.ResourcesOnly && (o.DryRun || o.CheckBlobs || o.ReadBlobs || o.RepairMissing || o.WriteReceipt != ""):
		return env.InputHint("leave out Options.DryRun, Options.CheckBlobs, Options.ReadBlobs, Options.RepairMissing and Options.WriteReceipt", "Options.ResourcesOnly copies nothing")
	case o.CheckBlobs && toArchive:
		return env.Inputf("Options.CheckBlobs is for docker:// and oci:// destinations")
	case o.ReadBlobs && toArchive:
		return env.Inputf("Options.ReadBlobs is for docker:// and oci:// destinations")
	case o.StrictArchive && !toArchive:
		return env.Inputf("Options.StrictArchive is for file:// destinations")
	case o.WithGantry != "" && !toArchive:
		return env.Inputf("Options.WithGantry is for file:// destinations")
	case o.VolumeSize != 0 && !toArchive:
		return env.Inputf("Options.VolumeSize is for file:// destinations")
	case o.Redundancy != 0 && !toArchive:
		return env.Inputf("Options.Redundancy is for file:// destinations")
	case o.Redundancy < 0 || o.Redundancy > 100:
		return env.InputHint("give a number from 1 to 100", "Options.Redundancy %d", o.Redundancy)
	case o.Any() && (o.Config == "" || reads):
		return selection.ErrNoSelection()
	case o.EncryptTo != nil && !toArchive:
		return env.Inputf("Options.EncryptTo is for file:// destinations")
	}
	if _, err := open.Folders("Options.From ", o.From); err != nil {
		return err
	}
	if o.ResourceName != "" {
		if err := resources.CheckSuffix(o.ResourceName); err != nil {
			return env.Inputf("Options.ResourceName: %w", err)
		}
	}
	if err := admission.CheckOnStrand(o.OnStrand); err != nil {
		return err
	}
	if err := cluster.CheckFor(o.For, o.manifests().Options); err != nil {
		return err
	}
	if err := o.CheckFormatOf(o.Destination); err != nil {
		return err
	}
	if err := o.checkSince(); err != nil {
		return err
	}
	if err := errors.Join(o.ReleaseTrust.Check(), o.ImageTrust.Check(), o.Gates.Check()); err != nil {
		return err
	}
	switch {
	case o.Gate != "" && reads:
		return env.InputHint("set it where the archive is written, or use Options.GatePlan", "Options.Gate asks about images at their sources, and not about those of the archive in Options.From")
	case (o.Gate != "" || o.GatePlan != "") && o.ResourcesOnly:
		return env.InputHint("leave it out", "Options.Gate and Options.GatePlan are not for Options.ResourcesOnly, which copies nothing")
	case o.Cosign != "" && reads:
		return env.InputHint("leave it out; the policy's own keys are used", "Options.Cosign reads registries, and not the archive in Options.From")
	case o.ResourcesOnly && reads && o.Applies():
		return env.InputHint("leave it out", "Options.Policy is not applied with Options.From and Options.ResourcesOnly, which copy nothing")
	case o.ImagePolicies != "" && !slices.Contains(resources.ImagePolicyVersions(), o.ImagePolicies):
		return env.InputHint("give "+strings.Join(resources.ImagePolicyVersions(), " or "), "Options.ImagePolicies %q", o.ImagePolicies)
	case (o.ImagePolicies != "" || o.ImagePolicyNamespace != "") && !o.toRegistry():
		return env.Inputf("Options.ImagePolicies and Options.ImagePolicyNamespace are for docker:// destinations")
	case o.ImagePolicyNamespace != "" && resources.CheckNamespace(o.ImagePolicyNamespace) != nil:
		return env.Inputf("Options.ImagePolicyNamespace: %w", resources.CheckNamespace(o.ImagePolicyNamespace))
	}
	if _, err := copying.ParseWindows(o.Window); err != nil {
		return err
	}
	if err := o.checkShards(); err != nil {
		return err
	}
	if err := o.RunReports.check(o.writesNothing()); err != nil {
		return err
	}
	return selection.CheckName(o.Name)
}

// writesNothing reports whether the destination does not change.
func (o *Options) writesNothing() bool { return o.DryRun || o.ResourcesOnly }

// windows returns when the run copies: always, if it copies nothing.
func (o *Options) windows() []string {
	if o.writesNothing() {
		return nil
	}
	return o.Window
}

func (o *Options) toArchive() bool  { return strings.HasPrefix(o.Destination, env.ArchiveScheme) }
func (o *Options) toRegistry() bool { return strings.HasPrefix(o.Destination, env.RegistryScheme) }
