package mirroring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/pkg/state/shard"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// Several hosts may copy the shards of one plan at the same time. Each leaves its result in the mirror, in the
// repository shard.Repository, and publishes no catalogs, releases, graph data, records and cluster resources.
// A last run with Options.Finish does that, after it found all results and all images in the mirror. It
// is a run of the whole plan that has nothing else left to copy. Hosts coordinate through the registry alone.

// Sharding divides the copy of a plan between hosts.
type Sharding struct {
	// Shard copies one of several parts of Options.Plan to a registry, and publishes no catalogs and
	// releases. The zero value copies everything. Runs of several shards of one plan may use the registry at
	// the same time, each with a workspace of its own.
	Shard plan.Shard
	// Finish is the number of shards that Options.Plan was copied in. The run publishes what shards do
	// not. If shards are not complete, it changes nothing and returns a *ShardsError.
	Finish int
}

// mirrorShard copies Options.Shard of a plan.
func mirrorShard(ctx context.Context, e *env.Env, o Options, in inputs) (done *Result, failure error) {
	t, err := site.OpenDestination(e, o.Destination, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths, CheckBlobs: o.CheckBlobs || o.RepairMissing, ReadBlobs: o.ReadBlobs})
	if err != nil {
		return nil, err
	}
	r := t.Registry()
	o.Workspace = o.workspace()
	s, err := workspace.OpenSession(e, o.Workspace)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	run, caller := beginRun(s, &o, t, nil), ctx
	run.gates = in.gates
	defer func() { failure = run.end(caller, &o, done, failure) }()
	if err := run.begin(&o); err != nil {
		return nil, err
	}
	approved := in.approved
	name := selection.Rename(approved.Plan, o.Name).Name
	run.planned(shardName(name, o.Shard), approved.Digest, o.writesNothing())
	part, err := site.Planned(ctx, t, !o.DryRun, func(ctx context.Context) (*plan.Plan, error) {
		if err := gates.PassPlanGate(ctx, s, in.gates, approved.Plan, approved.Digest); err != nil {
			return nil, err
		}
		return shardFor(ctx, s, &o, in)
	})
	if err != nil {
		return nil, err
	}
	part.Name = shardName(name, o.Shard)
	if _, err := r.Push(part); err != nil {
		return nil, err
	}
	j, err := copying.NewJob(ctx, o.OnError, part, s, nil, t)
	if err != nil {
		return nil, err
	}
	result := &Result{Version: 1, Destination: o.Destination, PlanDigest: approved.Digest, PlanSignature: approved.Signer(), Plan: part, Verified: in.accepting.Accepted().Summary(), Gate: in.gates.Answers()}
	result.UnsignedImages, _ = result.Plan.Unsigned()
	if o.DryRun {
		if result.ToCopy, err = t.Compare(ctx, part); err == nil && len(part.Missing) > 0 {
			err = admission.NewPlannedError(part, o.OnError)
		}
		return result, err
	}
	leased, release, err := site.LeaseFor(ctx, s, r, o.Shard, approved.Digest)
	if err != nil {
		return nil, err
	}
	defer release()
	defer func() { failure = site.Lost(leased, r, failure) }()
	j.Announce = func(ctx context.Context) { site.AnnounceShard(ctx, s, r, selection.Rename(approved.Plan, o.Name)) }
	if result.Report, result.Transfer, err = copying.Run(leased, s, j, copying.Options{Rules: o.Rules, Found: result.foundMissing}); err != nil {
		return result, err
	}
	result.SmallerIndexes, result.Converted = planning.SmallerIndexes(part), planning.ConvertedImages(part)
	result.Shard = &shard.Result{
		Name: name, Plan: approved.Digest, Shard: o.Shard.String(), Images: len(part.Images), Failed: notCopied(result.Report),
		Host: setrecord.Visible(lockfile.Host()), User: setrecord.Visible(env.UserName(e.Variable)), Ended: time.Now().UTC().Truncate(time.Second),
	}
	if err := saveShard(leased, r, result.Shard, o.Shard); err != nil {
		return result, err
	}
	if !result.Report.Complete() {
		return result, admission.NewPartialError(result.Report, o.OnError)
	}
	return result, nil
}

// shardName is the name of a shard of an image set in the history of a workspace.
func shardName(name string, s plan.Shard) string { return name + " shard " + s.String() }

// notCopied counts the images that could not be copied, without those that are missing in the plan.
func notCopied(r *mirror.Report) (n int) {
	for _, f := range r.Failed {
		if f.Repository != "" {
			n++
		}
	}
	return n
}

// shardFor returns the shard of the approved plan, after signature policy and gate.
func shardFor(ctx context.Context, s *workspace.Session, o *Options, in inputs) (*plan.Plan, error) {
	part, err := in.approved.Plan.Shard(o.Shard)
	if err == nil {
		part, err = planning.LoadPlan(ctx, s, part, o.ReleaseTrust)
	}
	if err == nil {
		part, err = trust.AcceptSources(ctx, s, in.accepting, part)
	}
	if err == nil {
		part, err = gates.PassGate(ctx, s, in.gates, part)
	}
	if err == nil && o.RemoveSignatures {
		part, err = part.WithoutSignatures()
	}
	if err != nil {
		return nil, err
	}
	own := *part.WithDigestTags()
	return &own, nil
}

// shardStore returns the repository with the results of shards.
func shardStore(t *site.RegistryDestination) *site.LeaseStore {
	return &site.LeaseStore{Client: t.Client, Repository: t.OwnRepository(shard.Repository)}
}

// saveShard writes the result of a shard to the mirror.
func saveShard(ctx context.Context, t *site.RegistryDestination, r *shard.Result, s plan.Shard) error {
	raw, err := r.Manifest()
	if err != nil {
		return err
	}
	store := shardStore(t)
	if err := store.Write(ctx, shard.Tag(r.Name, s.Index, s.Count), raw); err != nil {
		return advice.Wrap(advice.Failure, fmt.Errorf("writing the result of shard %s: %w", s, err), "permit pushes to "+store.Repository.Name()+" and run again; the images are not copied again")
	}
	return nil
}

// A ShardsError means that shards of a plan are not complete, so that the rest cannot be published.
type ShardsError struct {
	// Shards are the incomplete shards, and Reasons why each of them is.
	Shards  []plan.Shard
	Reasons []string
}

func (e *ShardsError) Error() string {
	return fmt.Sprintf("%s not complete, and nothing was published: %s", env.Number(len(e.Shards), "shard of the plan is", "shards of the plan are"), strings.Join(e.Reasons, "; "))
}

// Advice implements advice.Adviser.
func (e *ShardsError) Advice() (advice.Kind, string) {
	names := elements.Map(e.Shards, func(s plan.Shard) string { return s.String() })
	return advice.Mismatch, "run again with Options.Shard " + strings.Join(names, ", ") + ", then finish; if images are no longer at their sources, make the plan again and run all shards, which copy only what is new"
}

// checkFinish returns a *ShardsError unless all shards of a plan are complete at the mirror: each left its
// result there, and the mirror has the images. p is what this run mirrors of the approved plan.
func checkFinish(ctx context.Context, t *site.RegistryDestination, shards int, approved *signing.ApprovedPlan, p *plan.Plan) error {
	incomplete, store := &ShardsError{}, shardStore(t)
	for i := 1; i <= shards; i++ {
		of := plan.Shard{Index: i, Count: shards}
		raw, err := store.Read(ctx, shard.Tag(p.Name, i, shards))
		if err != nil {
			return fmt.Errorf("reading the result of shard %s: %w", of, err)
		}
		if reason := whyIncomplete(raw, approved.Digest); reason != "" {
			incomplete.Shards, incomplete.Reasons = append(incomplete.Shards, of), append(incomplete.Reasons, "shard "+of.String()+" "+reason)
		}
	}
	if len(incomplete.Shards) > 0 {
		return incomplete
	}
	return findShardImages(ctx, t, shards, approved.Plan, p)
}

// whyIncomplete returns why the result of a shard does not prove that the mirror has it, or "".
func whyIncomplete(raw []byte, sum digest.Digest) string {
	if raw == nil {
		return "was not run, or has not ended"
	}
	r, err := shard.Parse(raw)
	switch {
	case err != nil:
		return "has a result that cannot be read"
	case r.Plan != sum:
		return "was run with another plan, by " + cmp.Or(strings.Trim(r.User+"@"+r.Host, "@"), "another host")
	case !r.Complete():
		return "could not copy " + env.Number(r.Failed, "image", "images")
	}
	return ""
}

// findShardImages returns a *ShardsError if the mirror does not have all images of n shards.
func findShardImages(ctx context.Context, t *site.RegistryDestination, n int, whole, p *plan.Plan) error {
	images, err := p.BeforeLast()
	if err != nil {
		return err
	}
	missing, err := t.Compare(ctx, images)
	if err != nil || missing.Images == 0 {
		return err
	}
	type name struct{ source, repository string }
	of, err := whole.Shards(n)
	if err != nil {
		return err
	}
	shardOf, absent := map[name]int{}, map[int]int{}
	for i := range whole.Images {
		shardOf[name{whole.Images[i].Source, whole.Images[i].Repository}] = of[i]
	}
	for i := range images.Images {
		if img := &images.Images[i]; missing.Absent == nil || missing.Absent(img) {
			absent[shardOf[name{img.Source, img.Repository}]]++
		}
	}
	incomplete := &ShardsError{}
	for i := 1; i <= n; i++ {
		if absent[i] > 0 {
			s := plan.Shard{Index: i, Count: n}
			incomplete.Shards = append(incomplete.Shards, s)
			incomplete.Reasons = append(incomplete.Reasons, fmt.Sprintf("the mirror does not have %s of shard %s", env.Number(absent[i], "image", "images"), s))
		}
	}
	if len(incomplete.Shards) == 0 {
		return errors.New("comparing shards: images are missing that are in no shard")
	}
	return incomplete
}

// sharded reports whether a run copies a shard, or publishes what shards copied: hosts and shards have workspaces of their own.
func (o *Options) sharded() bool { return o.Shard != (plan.Shard{}) || o.Finish != 0 }
