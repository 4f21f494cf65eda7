package mirroring

import (
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/archive/deltamaker"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/window"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// Options says what Run copies, and where to. Destination is required, and one of Config,
// Plan, From and Repair. What concerns one phase of a run is an embedded struct.
type Options struct {
	Env *env.Env
	RunReports
	// What is mirrored, in place of Config: a plan, an archive or the content of a repair request.
	selection.Selection
	PlanOptions
	ImportOptions
	// Repair is the file of a repair request. The content that it lists is written to an archive.
	Repair string
	TrustOptions
	KeyOptions

	// Destination is docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR.
	Destination string
	RegistryOptions
	ArchiveOptions

	// Name is the name of the configuration in the workspace, and of its plan. The default is the
	// name of its file.
	Name string
	// Workspace is the folder for plans, the cache and cluster resources. The default is
	// env.DefaultWorkspace.
	Workspace string
	// Layout is how files for users are called: workspace.GantryLayout or workspace.OCMirrorLayout. With the latter, the
	// folder working-dir in the workspace has cluster-resources/, logs/ and dry-run/ with the names of
	// oc mirror, and volumes of archives are called mirror_000001.tar. The workspace keeps the layout;
	// the default is that one, or workspace.GantryLayout. With workspace.OCMirrorLayout, the default of Workspace is
	// working-dir in the folder of From or of an archive that is written.
	Layout string

	// DryRun copies nothing: Result.ToCopy is what would be copied. With Plan, Installed or
	// Dependencies, the plan is not saved in the workspace either.
	DryRun bool
	// ResourcesOnly writes the cluster resources for what would be in the registry after the copy, and
	// copies nothing. The registry is not asked for anything.
	ResourcesOnly bool

	copying.Rules
	admission.Replacing
	cluster.Format
}

// PlanOptions say which plan is copied.
type PlanOptions struct {
	// Plan is the file of a plan, which is copied exactly. A signature beside it, with signing.PlanSignatureSuffix
	// added to the name, is verified with the keys of Trust. If plan_signers exists in
	// ~/.config/gantry or Env.MachineConfig, the plan must be signed by one of its keys, and Config is
	// refused except with DryRun.
	Plan string
	// RequireSignedPlan refuses a plan that is not signed by a key of Trust, too, if plan_signers exists.
	RequireSignedPlan bool
	Sharding
}

// ImportOptions say which archive is read.
type ImportOptions struct {
	// From are the folders of an archive, each as file://DIR: content is copied from there.
	From []string
	// Read has the signing policy and the identities that archives are read with.
	Read archive.OpenOptions
	// AskFolder asks for the folder of volumes or archives that are missing, and returns "" if the
	// user has none. Nil asks nothing.
	AskFolder func(missing string) (dir string, err error)
	// WriteReceipt is the file for the receipt of what the registry has of an archive. The default
	// is in the workspace.
	WriteReceipt string
}

// TrustOptions say which content is accepted, and whether its signatures are copied.
type TrustOptions struct {
	updates.ReleaseTrust
	trust.ImageTrust
	gates.Gates
	// RemoveSignatures leaves out the signatures and other referrers of images, as mirror.signatures:
	// remove does in Config.
	RemoveSignatures bool
}

// KeyOptions are the keys for plans, archives and receipts.
type KeyOptions struct {
	// SigningKey signs an archive or a receipt that is written. Nil signs nothing.
	SigningKey *sshsig.Key
	// Trust returns the policy for signatures of earlier archives and receipts. It is called when a
	// signature has to be checked. Nil trusts no signature.
	Trust func() (*sshsig.Policy, error)
}

// policy returns the policy for signatures of earlier archives and receipts.
func (k *KeyOptions) policy() (*sshsig.Policy, error) {
	if k.Trust == nil {
		return &sshsig.Policy{Now: time.Now()}, nil
	}
	return k.Trust()
}

// RegistryOptions are for destinations that are registries.
type RegistryOptions struct {
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	// CreateRepositories creates the repositories or projects that the plan needs in a registry that does not
	// create them on push, as package registry does, unless DryRun is set.
	CreateRepositories bool
	repositories.API
	// Prune deletes from a registry what none of its image sets needs, as removal.Prune does,
	// after a run that is complete.
	Prune bool
}

// ArchiveOptions are for destinations that are archives.
type ArchiveOptions struct {
	site.Volumes
	// Since, Full and Receipts say what an archive omits; only one may be set. Since is an archive or a
	// date whose content the site has, Full omits nothing, and Receipts are files that Run wrote, one at
	// each site that the archive is for: it omits what all of them have. The default omits what earlier
	// archives of the workspace have.
	Since    Since
	Full     bool
	Receipts []string
	// Delta is how an archive carries changed blobs: DeltaAuto, which is the default, DeltaOff or DeltaMax.
	Delta string
	// DeltaTime is how much processor time DeltaAuto may spend for each MB that a delta saves. The default is
	// DefaultDeltaTime.
	DeltaTime time.Duration
	CompactOptions
	// WithGantry is the path of a program, usually this one, that is written beside an archive with its
	// checksum, for sites that have no Gantry yet.
	WithGantry string
}

// CompactOptions say how an archive carries blobs that resemble others of the same archive.
type CompactOptions struct {
	// Compact is DeltaOff, which is the default: blobs are carried whole, or as Delta says. With DeltaAuto, they are based on each other
	// as far as that takes less time than writing what it saves, and with DeltaMax as far as possible. Blobs that resemble
	// none are compressed better.
	Compact string
	// DiskSpeed is how fast the archive can be written, 0 is 30 MB/s. It does not limit DeltaMax.
	DiskSpeed limits.Rate
	// CompactDependents is how many blobs may need the same one, and are lost with it; 0 is 64.
	CompactDependents int
}

// Planned returns the options for a plan that is compared with an archive, nil if it would not be compact.
func (o *CompactOptions) Planned() *airgap.DeltaOptions {
	if !o.compacts() {
		return nil
	}
	opts := &airgap.DeltaOptions{Compact: &deltamaker.Compact{DiskSpeed: int64(o.DiskSpeed), Dependents: o.CompactDependents}}
	if o.Compact == DeltaMax {
		opts.Effort = delta.Max
	}
	return opts
}

func (o *CompactOptions) compacts() bool { return o.Compact == DeltaAuto || o.Compact == DeltaMax }

// writesNothing reports whether the destination does not change.
func (o *Options) writesNothing() bool { return o.DryRun || o.ResourcesOnly }

// windows returns when the run copies: always, if it copies nothing.
func (o *Options) windows() []window.Window {
	if o.writesNothing() {
		return nil
	}
	return o.Window
}

func (o *Options) toArchive() bool  { return strings.HasPrefix(o.Destination, env.ArchiveScheme) }
func (o *Options) toRegistry() bool { return strings.HasPrefix(o.Destination, env.RegistryScheme) }
func (o *Options) toLayout() bool   { return strings.HasPrefix(o.Destination, env.LayoutScheme) }
func (o *Options) reads() bool      { return len(o.From) > 0 }
