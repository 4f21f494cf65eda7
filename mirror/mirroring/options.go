package mirroring

import (
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/cluster"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/release/updates"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// Options says what Mirror copies, and where to. Destination is required, and one of Config,
// Plan, From and Repair.
type Options struct {
	Env *env.Env
	RunReports
	// Window are the times of the day at which content is copied, in the local time zone: "22:00-05:00".
	// Outside of them, a run waits, and resumes. The default is always.
	Window []string
	selection.Selection
	updates.ReleaseTrust
	trust.ImageTrust
	gates.Gates
	Sharding
	// ImagePolicies is the version of the ClusterImagePolicies that are written for images that
	// trust.ImageTrust verified: ImagePolicyV1, which is the default, ImagePolicyV1alpha1 or NoImagePolicies.
	ImagePolicies string
	// ImagePolicyNamespace writes ImagePolicies for this namespace in place of ClusterImagePolicies.
	ImagePolicyNamespace string
	// Plan is the file of a plan, which is copied exactly. A signature beside it, with signing.PlanSignatureSuffix
	// added to the name, is verified with the keys of Trust. If plan_signers exists in
	// ~/.config/gantry or Env.MachineConfig, the plan must be signed by one of its keys, and Config is
	// refused except with DryRun.
	Plan string
	// RequireSignedPlan refuses a plan that is not signed by a key of Trust, too, if plan_signers exists.
	RequireSignedPlan bool
	// From are the folders of an archive, each as file://DIR: content is copied from there.
	From []string
	// Repair is the file of a repair request. The content that it lists is written to an archive.
	Repair string
	// Destination is docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR.
	Destination string
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
	// WithGantry is the path of a program, usually this one, that is written beside an archive with its
	// checksum, for sites that have no Gantry yet.
	WithGantry string
	// DryRun copies nothing: MirrorResult.ToCopy is what would be copied. With Plan, Installed or
	// Dependencies, the plan is not saved in the workspace either.
	DryRun bool
	// ResourcesOnly writes the cluster resources for what would be in the registry after the copy, and
	// copies nothing. The registry is not asked for anything.
	ResourcesOnly bool
	// CheckBlobs asks a registry for every blob, and reads every blob of a layout, and copies those
	// that are missing or damaged. The default requests some of them, different ones in each run. It also
	// requests all tags of signatures at the sources, and not one for each image.
	CheckBlobs bool
	// ReadBlobs is CheckBlobs that reads every manifest and blob of a registry, too, and compares it
	// with its digest.
	ReadBlobs bool
	// RepairMissing asks a registry for every manifest and blob, and copies nothing but what is missing.
	// MirrorResult.MissingBefore lists it. With ReadBlobs, damaged content is replaced, too.
	RepairMissing bool
	// Prune deletes from a registry what none of its image sets needs, as the function Prune does,
	// after a run that is complete.
	Prune bool
	// TagUntagged gives tags to the manifests of the plan that have none, for garbage collection that deletes those.
	TagUntagged bool
	// RemoveSignatures leaves out the signatures and other referrers of images, as mirror.signatures:
	// remove does in Config.
	RemoveSignatures bool
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	// CreateRepositories creates the repositories or projects that the plan needs in a registry that does not
	// create them on push, as registry.Prepare does, unless DryRun is set.
	CreateRepositories bool
	registry.API
	// OnError is what to do when images are unavailable. The default is selection.OnErrorContinue.
	OnError string
	// OnStrand is what to do when clusters may have installed operators that have no upgrade path in a catalog
	// that replaces another one: admission.OnStrandKnown, which is the default, admission.OnStrandWarn or admission.OnStrandRefuse. What is known is
	// Installed, or else what an earlier run recorded of it.
	OnStrand string
	// AllowOlder replaces a catalog by an older one, and newer archives by an older one. The default refuses that.
	AllowOlder bool
	// MirrorSourcePolicy is the mirrorSourcePolicy of the cluster resources.
	MirrorSourcePolicy string
	// For are the clusters that apply the cluster resources: "openshift-4.20" or "kubernetes", and further
	// components, separated by commas: "openshift-4.20,update-service". The default is the one of the run
	// before, or the oldest OpenShift that the mirror has releases or catalogs for.
	For string
	// ICSP writes ImageContentSourcePolicies for clusters before OpenShift 4.13, in place of mirror sets.
	ICSP bool
	// again are the options of Resources, which changes those of the last run; nil in a run of Mirror.
	again *cluster.ResourcesOptions
	// ResourceName becomes part of the names of mirror sets and of the UpdateService, so that those of
	// several mirrors exist beside each other in a cluster. The default is no name for the first mirror
	// of a workspace, and the name of the image set for others. The workspace keeps it.
	ResourceName string
	// RenameCatalogs forgets the names that CatalogSources and ClusterCatalogs have, and names them as
	// oc mirror does.
	RenameCatalogs bool
	// configuration is the digest of Config.
	configuration digest.Digest
	// WriteReceipt is the file for the receipt of what the registry has of an archive. The default
	// is in the workspace.
	WriteReceipt string

	// StrictArchive refuses a blob larger than a volume instead of splitting it.
	StrictArchive bool
	// VolumeSize is the maximum size of an archive's volumes in bytes. The default is the one of
	// the configuration.
	VolumeSize int64
	// Redundancy is the percentage of an archive's volumes for which parity files are added, 1 to 100. Lost or
	// damaged volumes can be rebuilt from them, see rebuild.Archive. 0 adds none.
	Redundancy int
	// Since, Full and Receipts say what an archive omits; only one may be set. Since is a sequence
	// ("2") or a date ("2026-10-01") that the site has, Full omits nothing, and Receipts are files
	// that Mirror wrote, one at each site that the archive is for: it omits what all of them have. The
	// default omits what earlier archives of the workspace have.
	Since    string
	Full     bool
	Receipts []string
	// Delta is how an archive carries changed blobs: DeltaAuto, which is the default, DeltaOff or DeltaMax.
	Delta string
	// DeltaTime is how much processor time DeltaAuto may spend for each MB that a delta saves. The default is
	// DefaultDeltaTime.
	DeltaTime time.Duration
	// SigningKey signs an archive or a receipt that is written. Nil signs nothing.
	SigningKey *sshsig.Key
	// EncryptTo has the recipients that an archive is encrypted to. Nil does not encrypt it.
	EncryptTo *archive.Encryption

	// Read has the signing policy and the identities that archives are read with.
	Read archive.OpenOptions
	// Trust returns the policy for signatures of earlier archives and receipts. It is called when a
	// signature has to be checked. Nil trusts no signature.
	Trust func() (*sshsig.Policy, error)
	// AskFolder asks for the folder of volumes or archives that are missing, and returns "" if the
	// user has none. Nil asks nothing.
	AskFolder func(missing string) (dir string, err error)
}
