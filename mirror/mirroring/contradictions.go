package mirroring

import (
	"errors"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A contradiction is a row of the table: an option that is given, and what is against it, such as another option, the
// absence of one that it needs, another kind of destination, or its own value.
type contradiction struct {
	given, against bool
	err            error // nil ends the table
}

// anyOf reports whether one of several conditions holds.
func anyOf(conditions ...bool) bool { return slices.Contains(conditions, true) }

// unknown reports whether a value is not one of those that an option has.
func unknown(value string, known []string) bool { return !slices.Contains(known, value) }

// contradictions is the table of options that contradict each other. The first row that holds is the error.
func (o *Options) contradictions() []contradiction {
	registry, archive, layout, reads := o.toRegistry(), o.toArchive(), o.toLayout(), o.reads()
	repair, shard, shards := o.Repair != "", o.Shard != plan.Shard{}, o.sharded()
	refuses := anyOf(o.OnStrand == admission.OnStrandRefuse, o.AllowOlder)
	return []contradiction{
		// How an archive carries blobs that changed.
		{o.Delta != "", unknown(o.Delta, Deltas()), env.InputHint("use auto, off or max", "Options.Delta %q", o.Delta)},
		{true, o.DeltaTime < 0, env.InputHint("use a duration such as 1s or 500ms", "Options.DeltaTime %s", o.DeltaTime)},
		{o.Delta != "", anyOf(!archive, repair), env.Inputf("Options.Delta is for file:// destinations")},
		{o.DeltaTime != 0, anyOf(!archive, o.Delta == DeltaOff, o.Delta == DeltaMax), env.Inputf("Options.DeltaTime is for file:// destinations with Options.Delta auto")},
		{o.Delta == DeltaMax, o.Full, env.InputHint("leave out one of them", "Options.Full has no deltas, and Options.Delta max needs them")},

		{o.Compact != "", unknown(o.Compact, Deltas()), env.InputHint("use auto, off or max", "Options.Compact %q", o.Compact)},
		{o.Compact != "", anyOf(!archive, repair), env.Inputf("Options.Compact is for file:// destinations")},
		{o.compacts(), anyOf(o.Delta == DeltaMax && o.Compact == DeltaAuto, o.Delta == DeltaAuto && o.Compact == DeltaMax), env.InputHint("leave out Options.Delta", "Options.Delta %s contradicts Options.Compact %s, which says how much is done for all deltas", o.Delta, o.Compact)},
		{o.DeltaTime != 0, o.compacts(), env.InputHint("leave it out", "Options.DeltaTime has no effect with Options.Compact, which limits the time of all")},
		{o.DiskSpeed != 0, anyOf(o.DiskSpeed < 0, !o.compacts()), env.Inputf("Options.DiskSpeed is a rate, for Options.Compact auto")},
		{o.CompactDependents != 0, anyOf(o.CompactDependents < 0, !o.compacts()), env.Inputf("Options.CompactDependents is a number of blobs, for Options.Compact")},

		// What is created in a registry.
		{o.Layout != "", unknown(o.Layout, workspace.Layouts()), env.InputHint("give "+strings.Join(workspace.Layouts(), " or "), "Options.Layout %q", o.Layout)},
		{o.TagUntagged, anyOf(!registry, repair, shard), env.Inputf("Options.TagUntagged is for docker:// destinations, and not for Options.Shard")},
		{o.CreateRepositories, anyOf(!registry, repair), env.Inputf("Options.CreateRepositories is for docker:// destinations")},
		{o.CreateRepositories, o.ResourcesOnly, env.InputHint("leave it out", "Options.CreateRepositories has no effect with Options.ResourcesOnly, which pushes nothing")},
		{anyOf(o.RegistryKind != "", o.RegistryTokenFile != ""), !o.CreateRepositories, env.Inputf("Options.RegistryKind and Options.RegistryTokenFile are for Options.CreateRepositories")},

		// Repairs. The request lists what is written.
		{repair, o.Layout != "", env.Inputf("Options.Layout cannot be combined with Options.Repair")},
		{repair, anyOf(!archive, o.Destination == env.ArchiveScheme), env.InputHint("write file://DIR", "Options.Repair writes an archive, and the destination is %q", redact.Address(o.Destination))},
		{repair, anyOf(o.Config != "", o.Plan != "", reads, o.Any()), env.InputHint("set Options.Repair without them", "Options.Repair cannot be combined with Options.Config, Options.Plan, Options.From, Options.Installed, Options.Dependencies, Options.CompleteRelatedImages, Options.PlatformsMode, Options.DestFormat and Options.MinAge")},
		{repair, anyOf(o.Since != Since{}, o.Full, len(o.Receipts) > 0), env.InputHint("set Options.Repair without them", "Options.Repair cannot be combined with Options.Since, Options.Full and Options.Receipts")},
		{repair, o.RepairMissing, env.InputHint("set one of them", "Options.RepairMissing repairs a mirror, and Options.Repair writes an archive")},
		{repair, o.Name != "", env.InputHint("leave it out", "Options.Name is for a configuration; the request has a name")},
		{repair, o.RemoveSignatures, env.InputHint("leave it out: the request lists everything that is written", "Options.RemoveSignatures cannot be combined with Options.Repair")},
		{repair, o.WithGantry != "", env.InputHint("leave it out", "Options.WithGantry cannot be combined with Options.Repair")},
		{repair, o.Redundancy != 0, env.InputHint("leave it out: a repair has no parity files", "Options.Redundancy cannot be combined with Options.Repair")},
		{repair, anyOf(o.Gate != "", o.GatePlan != ""), env.InputHint("leave them out: the content of the request was in an archive before", "Options.Gate and Options.GatePlan cannot be combined with Options.Repair")},
		{repair, o.DryRun, env.InputHint("leave it out: the request lists everything that is written", "Options.DryRun cannot be combined with Options.Repair")},
		{repair, true, nil},

		// What is mirrored.
		{!reads, o.Config == "" && o.Plan == "", env.InputHint("set Options.Config, Options.Plan or Options.From", "nothing to mirror")},
		{o.Plan != "", anyOf(o.Config != "", reads), env.InputHint("set Options.Plan alone", "Options.Plan cannot be combined with Options.Config and Options.From")},
		{o.RequireSignedPlan, o.Plan == "", env.InputHint("run gantry plan, and set Options.Plan", "Options.RequireSignedPlan is for Options.Plan")},
		{reads, archive, env.InputHint("copy the folder instead", "Options.From reads an archive and %s would write one", o.Destination)},
		{o.WriteReceipt != "", anyOf(!reads, !registry), env.Inputf("Options.WriteReceipt is for Options.From and docker:// destinations")},
		{o.WriteReceipt != "", o.SigningKey != nil && !env.IsFile(o.WriteReceipt), env.InputHint("name a file", "the signature of the receipt is written beside it, and Options.WriteReceipt %s is not a regular file", o.WriteReceipt)},

		// Cluster resources, and what the destination loses.
		{o.MirrorSourcePolicy != "", !registry, env.Inputf("Options.MirrorSourcePolicy is for docker:// destinations")},
		{o.MirrorSourcePolicy != "", unknown(o.MirrorSourcePolicy, resources.SourcePolicies()), env.InputHint("give "+strings.Join(resources.SourcePolicies(), " or "), "Options.MirrorSourcePolicy %q", o.MirrorSourcePolicy)},
		{anyOf(o.ResourceName != "", o.RenameCatalogs), !registry, env.Inputf("Options.ResourceName and Options.RenameCatalogs are for docker:// destinations")},
		{anyOf(o.For != "", o.ICSP), !registry, env.Inputf("Options.For and Options.ICSP are for docker:// destinations")},
		{o.OnError != "", unknown(o.OnError, copying.OnErrors()), env.InputHint("give "+strings.Join(copying.OnErrors(), " or "), "Options.OnError %q", o.OnError)},
		{o.ResourcesOnly, refuses, env.Inputf("Options.OnStrand and Options.AllowOlder have no effect with Options.ResourcesOnly, which publishes nothing")},
		{layout, refuses, admission.ErrLayoutCompared()},
		{o.Prune, !registry, env.InputHint("an archive has the whole plan: set Options.Prune where it is mirrored to a registry", "Options.Prune is for docker:// destinations")},
		{o.Prune, o.writesNothing(), env.InputHint("gantry prune prints what would be deleted", "Options.Prune deletes, and Options.DryRun and Options.ResourcesOnly change nothing")},
		{o.ResourcesOnly, !registry, env.Inputf("Options.ResourcesOnly is for docker:// destinations")},
		{o.RepairMissing, !registry, env.InputHint("gantry archive repair-request lists what is damaged in an archive", "Options.RepairMissing is for docker:// destinations")},
		{o.ResourcesOnly, anyOf(o.DryRun, o.ChecksBlobs(), o.WriteReceipt != ""), env.InputHint("leave out Options.DryRun, Options.CheckBlobs, Options.ReadBlobs, Options.RepairMissing and Options.WriteReceipt", "Options.ResourcesOnly copies nothing")},

		// Kinds of destinations.
		{o.CheckBlobs, archive, env.Inputf("Options.CheckBlobs is for docker:// and oci:// destinations")},
		{o.ReadBlobs, archive, env.Inputf("Options.ReadBlobs is for docker:// and oci:// destinations")},
		{o.StrictArchive, !archive, env.Inputf("Options.StrictArchive is for file:// destinations")},
		{o.WithGantry != "", !archive, env.Inputf("Options.WithGantry is for file:// destinations")},
		{o.VolumeSize != 0, !archive, env.Inputf("Options.VolumeSize is for file:// destinations")},
		{o.Redundancy != 0, !archive, env.Inputf("Options.Redundancy is for file:// destinations")},
		{o.Redundancy != 0, anyOf(o.Redundancy < 0, o.Redundancy > 100), env.InputHint("give a number from 1 to 100", "Options.Redundancy %d", o.Redundancy)},
		{o.Any(), anyOf(o.Config == "", reads), selection.ErrNoSelection()},
		{o.EncryptTo != nil, !archive, env.Inputf("Options.EncryptTo is for file:// destinations")},

		// What an archive omits.
		{o.Since != Since{}, !archive, env.Inputf("Options.Since is for file:// destinations")},
		{o.Full, !archive, env.Inputf("Options.Full is for file:// destinations")},
		{len(o.Receipts) > 0, !archive, env.Inputf("Options.Receipts is for file:// destinations")},
		{o.Since != Since{}, o.Full, env.InputHint("set one of the two", "Options.Since and Options.Full both set what the archive omits")},
		{o.Since != Since{}, len(o.Receipts) > 0, env.InputHint("set one of the two", "Options.Since and Options.Receipts both set what the archive omits")},
		{o.Full, len(o.Receipts) > 0, env.InputHint("set one of the two", "Options.Full and Options.Receipts both set what the archive omits")},

		// Gates and signatures of images.
		{o.Gate != "", reads, env.InputHint("set it where the archive is written, or use Options.GatePlan", "Options.Gate asks about images at their sources, and not about those of the archive in Options.From")},
		{anyOf(o.Gate != "", o.GatePlan != ""), o.ResourcesOnly, env.InputHint("leave it out", "Options.Gate and Options.GatePlan are not for Options.ResourcesOnly, which copies nothing")},
		{o.Cosign != "", reads, env.InputHint("leave it out; the policy's own keys are used", "Options.Cosign reads registries, and not the archive in Options.From")},
		{o.ResourcesOnly && reads, o.Applies(), env.InputHint("leave it out", "Options.Policy is not applied with Options.From and Options.ResourcesOnly, which copy nothing")},
		{o.ImagePolicies != "", unknown(o.ImagePolicies, resources.ImagePolicyVersions()), env.InputHint("give "+strings.Join(resources.ImagePolicyVersions(), " or "), "Options.ImagePolicies %q", o.ImagePolicies)},
		{anyOf(o.ImagePolicies != "", o.ImagePolicyNamespace != ""), !registry, env.Inputf("Options.ImagePolicies and Options.ImagePolicyNamespace are for docker:// destinations")},

		// Shards.
		{shard, o.Finish != 0, env.InputHint("finish when all shards are complete", "Options.Shard cannot be combined with Options.Finish")},
		{shards, anyOf(o.Finish < 0, o.Finish > plan.MaxShards), env.InputHint("give the number of shards", "Options.Finish is %d, and a plan has 1 to %d shards", o.Finish, plan.MaxShards)},
		{shards, o.Plan == "", env.InputHint("run gantry plan, and give all hosts its file", "Options.Shard and Options.Finish require Options.Plan")},
		{shards, !registry, env.Inputf("Options.Shard and Options.Finish are for docker:// destinations")},
		{shards, o.ResourcesOnly, env.Inputf("Options.ResourcesOnly cannot be combined with Options.Shard and Options.Finish")},
		{shard, o.Prune, env.InputHint("set it with Options.Finish", "Options.Prune cannot be combined with Options.Shard")},
		{shards, o.OnError == selection.OnErrorPackage, env.InputHint("make the plan again if images are missing at their sources", "Options.OnError %s cannot be combined with Options.Shard and Options.Finish", selection.OnErrorPackage)},
	}
}

// Check returns an error if options contradict each other. Run calls it first.
func (o *Options) Check() error {
	for _, c := range o.contradictions() {
		if !c.given || !c.against {
			continue
		}
		if c.err == nil {
			return nil
		}
		return c.err
	}
	for _, check := range []func() error{
		o.checkFrom, o.checkFormat, func() error { return o.CheckFormatOf(o.Destination) }, o.checkSince, o.TrustOptions.check, o.checkWindow, o.checkShard,
		func() error { return o.RunReports.check(o.writesNothing()) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return selection.CheckName(o.Name)
}

func (o *ImportOptions) checkFrom() error {
	_, err := open.Folders("Options.From ", o.From)
	return err
}

// checkFormat checks the values of options about cluster resources.
func (o *Options) checkFormat() error {
	if o.ResourceName != "" {
		if err := resources.CheckSuffix(o.ResourceName); err != nil {
			return env.Inputf("Options.ResourceName: %w", err)
		}
	}
	if err := admission.CheckOnStrand(o.OnStrand); err != nil {
		return err
	}
	if o.ImagePolicyNamespace != "" {
		if err := resources.CheckNamespace(o.ImagePolicyNamespace); err != nil {
			return env.Inputf("Options.ImagePolicyNamespace: %w", err)
		}
	}
	return cluster.CheckFor(o.For, o.Manifests().Options)
}

func (o *ArchiveOptions) checkSince() error {
	_, err := o.since()
	return err
}

func (t *TrustOptions) check() error {
	return errors.Join(t.ReleaseTrust.Check(), t.ImageTrust.Check(), t.Gates.Check())
}

func (o *Options) checkWindow() error {
	return copying.CheckWindows(o.Window)
}

func (s *Sharding) checkShard() error {
	if (s.Shard == plan.Shard{}) {
		return nil
	}
	_, err := plan.ParseShard(s.Shard.String())
	return err
}
