package gantry

import (
	"errors"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// Check returns an error if options contradict each other. Mirror calls it first.
func (o *MirrorOptions) Check() error {
	if err := o.checkDelta(); err != nil {
		return err
	}
	toArchive, reads := o.toArchive(), len(o.From) > 0
	if o.Layout != "" && !slices.Contains(Layouts(), o.Layout) {
		return inputHint("give "+strings.Join(Layouts(), " or "), "Options.Layout %q", o.Layout)
	}
	switch {
	case o.TagUntagged && (!o.toRegistry() || o.Repair != "" || o.Shard != (plan.Shard{})):
		return inputf("Options.TagUntagged is for docker:// destinations, and not for Options.Shard")
	case o.CreateRepositories && (!o.toRegistry() || o.Repair != ""):
		return inputf("Options.CreateRepositories is for docker:// destinations")
	case o.CreateRepositories && o.ResourcesOnly:
		return inputHint("leave it out", "Options.CreateRepositories has no effect with Options.ResourcesOnly, which pushes nothing")
	case !o.CreateRepositories && (o.RegistryKind != "" || o.RegistryTokenFile != ""):
		return inputf("Options.RegistryKind and Options.RegistryTokenFile are for Options.CreateRepositories")
	}
	if o.Repair != "" {
		if o.Layout != "" {
			return inputf("Options.Layout cannot be combined with Options.Repair")
		}
		return o.checkRepair()
	}
	switch {
	case !reads && o.Config == "" && o.Plan == "":
		return inputHint("set Options.Config, Options.Plan or Options.From", "nothing to mirror")
	case o.Plan != "" && (o.Config != "" || reads):
		return inputHint("set Options.Plan alone", "Options.Plan cannot be combined with Options.Config and Options.From")
	case o.RequireSignedPlan && o.Plan == "":
		return inputHint("run gantry plan, and set Options.Plan", "Options.RequireSignedPlan is for Options.Plan")
	case reads && toArchive:
		return inputHint("copy the folder instead", "Options.From reads an archive and %s would write one", o.Destination)
	case o.WriteReceipt != "" && (!reads || !o.toRegistry()):
		return inputf("Options.WriteReceipt is for Options.From and docker:// destinations")
	case o.WriteReceipt != "" && o.SigningKey != nil && !IsFile(o.WriteReceipt):
		return inputHint("name a file", "the signature of the receipt is written beside it, and Options.WriteReceipt %s is not a regular file", o.WriteReceipt)
	case o.MirrorSourcePolicy != "" && !o.toRegistry():
		return inputf("Options.MirrorSourcePolicy is for docker:// destinations")
	case o.MirrorSourcePolicy != "" && !slices.Contains(resources.SourcePolicies(), o.MirrorSourcePolicy):
		return inputHint("give "+strings.Join(resources.SourcePolicies(), " or "), "Options.MirrorSourcePolicy %q", o.MirrorSourcePolicy)
	case (o.ResourceName != "" || o.RenameCatalogs) && !o.toRegistry():
		return inputf("Options.ResourceName and Options.RenameCatalogs are for docker:// destinations")
	case (o.For != "" || o.ICSP) && !o.toRegistry():
		return inputf("Options.For and Options.ICSP are for docker:// destinations")
	case o.OnError != "" && !slices.Contains(OnErrors(), o.OnError):
		return inputHint("give "+strings.Join(OnErrors(), " or "), "Options.OnError %q", o.OnError)
	case o.ResourcesOnly && (o.OnStrand == OnStrandRefuse || o.AllowOlder):
		return inputf("Options.OnStrand and Options.AllowOlder have no effect with Options.ResourcesOnly, which publishes nothing")
	case strings.HasPrefix(o.Destination, LayoutScheme) && (o.OnStrand == OnStrandRefuse || o.AllowOlder):
		return errLayoutCompared()
	case o.Prune && !o.toRegistry():
		return inputHint("an archive has the whole plan: set Options.Prune where it is mirrored to a registry", "Options.Prune is for docker:// destinations")
	case o.Prune && o.writesNothing():
		return inputHint("gantry prune prints what would be deleted", "Options.Prune deletes, and Options.DryRun and Options.ResourcesOnly change nothing")
	case o.ResourcesOnly && !o.toRegistry():
		return inputf("Options.ResourcesOnly is for docker:// destinations")
	case o.RepairMissing && !o.toRegistry():
		return inputHint("gantry archive repair-request lists what is damaged in an archive", "Options.RepairMissing is for docker:// destinations")
	case o.ResourcesOnly && (o.DryRun || o.CheckBlobs || o.ReadBlobs || o.RepairMissing || o.WriteReceipt != ""):
		return inputHint("leave out Options.DryRun, Options.CheckBlobs, Options.ReadBlobs, Options.RepairMissing and Options.WriteReceipt", "Options.ResourcesOnly copies nothing")
	case o.CheckBlobs && toArchive:
		return inputf("Options.CheckBlobs is for docker:// and oci:// destinations")
	case o.ReadBlobs && toArchive:
		return inputf("Options.ReadBlobs is for docker:// and oci:// destinations")
	case o.StrictArchive && !toArchive:
		return inputf("Options.StrictArchive is for file:// destinations")
	case o.WithGantry != "" && !toArchive:
		return inputf("Options.WithGantry is for file:// destinations")
	case o.VolumeSize != 0 && !toArchive:
		return inputf("Options.VolumeSize is for file:// destinations")
	case o.Redundancy != 0 && !toArchive:
		return inputf("Options.Redundancy is for file:// destinations")
	case o.Redundancy < 0 || o.Redundancy > 100:
		return inputHint("give a number from 1 to 100", "Options.Redundancy %d", o.Redundancy)
	case o.any() && (o.Config == "" || reads):
		return errNoSelection()
	case o.EncryptTo != nil && !toArchive:
		return inputf("Options.EncryptTo is for file:// destinations")
	}
	if _, err := ArchiveFolders("Options.From ", o.From); err != nil {
		return err
	}
	if o.ResourceName != "" {
		if err := resources.CheckSuffix(o.ResourceName); err != nil {
			return inputf("Options.ResourceName: %w", err)
		}
	}
	if err := checkOnStrand(o.OnStrand); err != nil {
		return err
	}
	if err := checkFor(o.For, o.manifests().Options); err != nil {
		return err
	}
	if err := o.checkFormatOf(o.Destination); err != nil {
		return err
	}
	if err := o.checkSince(); err != nil {
		return err
	}
	if err := errors.Join(o.ReleaseTrust.check(), o.ImageTrust.check(), o.Gates.check()); err != nil {
		return err
	}
	switch {
	case o.Gate != "" && reads:
		return inputHint("set it where the archive is written, or use Options.GatePlan", "Options.Gate asks about images at their sources, and not about those of the archive in Options.From")
	case (o.Gate != "" || o.GatePlan != "") && o.ResourcesOnly:
		return inputHint("leave it out", "Options.Gate and Options.GatePlan are not for Options.ResourcesOnly, which copies nothing")
	case o.Cosign != "" && reads:
		return inputHint("leave it out; the policy's own keys are used", "Options.Cosign reads registries, and not the archive in Options.From")
	case o.ResourcesOnly && reads && o.applies():
		return inputHint("leave it out", "Options.Policy is not applied with Options.From and Options.ResourcesOnly, which copy nothing")
	case o.ImagePolicies != "" && !slices.Contains(resources.ImagePolicyVersions(), o.ImagePolicies):
		return inputHint("give "+strings.Join(resources.ImagePolicyVersions(), " or "), "Options.ImagePolicies %q", o.ImagePolicies)
	case (o.ImagePolicies != "" || o.ImagePolicyNamespace != "") && !o.toRegistry():
		return inputf("Options.ImagePolicies and Options.ImagePolicyNamespace are for docker:// destinations")
	case o.ImagePolicyNamespace != "" && resources.CheckNamespace(o.ImagePolicyNamespace) != nil:
		return inputf("Options.ImagePolicyNamespace: %w", resources.CheckNamespace(o.ImagePolicyNamespace))
	}
	if _, err := parseWindows(o.Window); err != nil {
		return err
	}
	if err := o.checkShards(); err != nil {
		return err
	}
	if err := o.RunReports.check(o.writesNothing()); err != nil {
		return err
	}
	return checkName(o.Name)
}

// errLayoutCompared is the error of options about the catalogs of a destination, which layouts do not compare.
func errLayoutCompared() error {
	return inputHint("leave them out", "Options.OnStrand "+OnStrandRefuse+" and Options.AllowOlder are for docker:// and file:// destinations: catalogs are not compared with those of an oci:// layout")
}

// IsFile reports whether what is written to path becomes a file there.
func IsFile(path string) bool {
	_, regular, err := durable.Resolve(path)
	return regular || err != nil // the error is returned when it is written
}

// writesNothing reports whether the destination does not change.
func (o *MirrorOptions) writesNothing() bool { return o.DryRun || o.ResourcesOnly }

// windows returns when the run copies: always, if it copies nothing.
func (o *MirrorOptions) windows() []string {
	if o.writesNothing() {
		return nil
	}
	return o.Window
}

func (o *MirrorOptions) toArchive() bool  { return strings.HasPrefix(o.Destination, ArchiveScheme) }
func (o *MirrorOptions) toRegistry() bool { return strings.HasPrefix(o.Destination, RegistryScheme) }
