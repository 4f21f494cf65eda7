package gantry

import (
	"context"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// PlanOptions says what Plan plans.
type PlanOptions struct {
	Env *Env
	Content
	// Workspace is the folder for plans and the cache. The default is gantry-workspace.
	Workspace string
	// Compare is what the plan is compared with; the zero value is nothing.
	Compare Place
	// MaxNestedPaths is how many path components the registry to compare with allows; 0 is no limit.
	MaxNestedPaths int
}

// A PlanResult is a plan, and what a copy of it would transfer and replace.
type PlanResult = planning.Result

// Plan resolves a configuration to a plan, and saves it in the workspace. It copies nothing.
func Plan(ctx context.Context, o PlanOptions) (*PlanResult, error) {
	if err := o.check("PlanOptions"); err != nil {
		return nil, err
	}
	result, err := planning.Make(ctx, planning.Options{
		Env: o.Env, Selection: o.selection(), ReleaseTrust: o.releases(), ImageTrust: o.images(), Name: o.Name,
		Workspace: o.Workspace, Destination: o.Compare.String(), MaxNestedPaths: o.MaxNestedPaths,
	})
	return result, wordsOf[PlanOptions, planning.Options](map[string]string{"Policy": "ImagePolicy", "Destination": "Compare"}).of(err)
}

// Unavailable is what a run does if images are unavailable at their sources.
type Unavailable string

const (
	// ContinueWithout copies everything else, and does not publish what names such an image. It is the default.
	ContinueWithout Unavailable = selection.OnErrorContinue
	// WithoutPackages also builds catalogs without the packages that name such an image.
	WithoutPackages Unavailable = selection.OnErrorPackage
	// StopAtOnce ends the run.
	StopAtOnce Unavailable = selection.OnErrorStop
)

// MirrorOptions says what Mirror copies, and where to.
type MirrorOptions struct {
	Env *Env
	Content
	// Workspace is the folder for plans, the cache and cluster resources. The default is gantry-workspace.
	Workspace string
	// To is a registry or a layout.
	To Place
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
	// Clusters are those that apply the manifests: "openshift-4.20" or "kubernetes", and further components.
	// The default is the oldest OpenShift that the mirror has content for.
	Clusters []string
	// Windows are the times of the day at which content is copied. The default is always.
	Windows []Window
	// Blobs are those of the destination that are asked for.
	Blobs Blobs
	// Unavailable is what happens if images are unavailable.
	Unavailable Unavailable
	// RemoveSignatures leaves out the signatures and other referrers of images.
	RemoveSignatures bool
}

// A MirrorResult is what was copied and published.
type MirrorResult = mirroring.Result

// Mirror copies what a configuration selects to a registry or a layout. Its error is nil only if everything
// that was planned is there.
func Mirror(ctx context.Context, o MirrorOptions) (*MirrorResult, error) {
	if err := o.check("MirrorOptions"); err != nil {
		return nil, err
	}
	if err := o.To.check("MirrorOptions.To", "a registry or a layout; Export writes a disk", env.RegistryScheme, env.LayoutScheme); err != nil {
		return nil, err
	}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, Selection: o.selection(), TrustOptions: o.trust(o.RemoveSignatures), Name: o.Name, Workspace: o.Workspace, Destination: o.To.String(),
		RegistryOptions: mirroring.RegistryOptions{MaxNestedPaths: o.MaxNestedPaths}, Rules: rules(o.Windows, o.Blobs, o.Unavailable),
		Format: cluster.Format{For: strings.Join(o.Clusters, ",")},
	})
	return result, mirrorWords[MirrorOptions]().of(err)
}

// trust returns which content is accepted.
func (c *Content) trust(removeSignatures bool) mirroring.TrustOptions {
	return mirroring.TrustOptions{ReleaseTrust: c.releases(), ImageTrust: c.images(), RemoveSignatures: removeSignatures}
}

func rules(windows []Window, blobs Blobs, unavailable Unavailable) copying.Rules {
	return copying.Rules{Window: windows, CheckBlobs: blobs == EveryBlob, ReadBlobs: blobs == ReadBlobs, OnError: string(unavailable)}
}

// mirrorWords are the words for errors of a run.
func mirrorWords[T any]() words {
	return wordsOf[T, mirroring.Options](map[string]string{
		"Policy": "ImagePolicy", "Destination": "To", "For": "Clusters", "Window": "Windows", "CheckBlobs": "Blobs", "ReadBlobs": "Blobs",
		"OnError": "Unavailable", "WriteReceipt": "Receipt", "Since": "Omit", "Full": "Omit", "Receipts": "Omit", "Repair": "Request",
	})
}

// CopyPlanOptions says which plan CopyPlan copies, and where to.
type CopyPlanOptions struct {
	Env *Env
	// Plan is the file of a plan, as Plan saves it. A plan that must be signed has its signature beside it.
	Plan string
	// Workspace is the folder for plans, the cache and cluster resources. The default is gantry-workspace.
	Workspace string
	// To is a registry, a disk or a layout.
	To Place
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
	Windows        []Window
	Blobs          Blobs
	Keys           Keys
}

// CopyPlan copies exactly a plan.
func CopyPlan(ctx context.Context, o CopyPlanOptions) (*MirrorResult, error) {
	if err := o.To.check("CopyPlanOptions.To", "a registry, a disk or a layout", env.RegistryScheme, env.ArchiveScheme, env.LayoutScheme); err != nil {
		return nil, err
	}
	if o.Plan == "" {
		return nil, advice.New(advice.Input, "set it to a file", "CopyPlanOptions.Plan is not set")
	}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, PlanOptions: mirroring.PlanOptions{Plan: o.Plan}, KeyOptions: o.Keys.options(), Workspace: o.Workspace, Destination: o.To.String(),
		RegistryOptions: mirroring.RegistryOptions{MaxNestedPaths: o.MaxNestedPaths}, Rules: rules(o.Windows, o.Blobs, ""),
	})
	return result, mirrorWords[CopyPlanOptions]().of(err)
}

func (k *Keys) options() mirroring.KeyOptions {
	o := mirroring.KeyOptions{SigningKey: k.Sign}
	if p := k.policy(); p != nil {
		o.Trust = func() (*sshsig.Policy, error) { return p, nil }
	}
	return o
}

// An Omission is what a site has already, so that a disk omits it. The zero value omits the content of earlier
// disks of the workspace.
type Omission struct {
	since    mirroring.Since
	nothing  bool
	receipts []string
}

// OmitNothing is for a site that has nothing.
func OmitNothing() Omission { return Omission{nothing: true} }

// OmitUntil is for a site that imported the disks of the workspace up to a sequence.
func OmitUntil(sequence int) Omission {
	return Omission{since: mirroring.Since{Sequence: sequence}, nothing: sequence == 0}
}

// OmitBefore is for a site that imported the last disk that was written before a time.
func OmitBefore(t time.Time) Omission { return Omission{since: mirroring.Since{Date: t}} }

// OmitReceipts is for sites that wrote these files when they imported. What all of them have is omitted.
func OmitReceipts(files ...string) Omission { return Omission{receipts: files} }

// ExportOptions says what Export writes to a disk.
type ExportOptions struct {
	Env *Env
	Content
	// Workspace is the folder for plans, the cache and what is known of earlier disks. The default is
	// gantry-workspace.
	Workspace string
	// Disk is the folder of the archive.
	Disk string
	// Omit is what the site has already.
	Omit Omission
	// VolumeSize is the maximum size of a volume in bytes. The default is the one of the configuration.
	VolumeSize int64
	// Redundancy is the percentage of volumes for which parity files are added, from which lost volumes are
	// rebuilt.
	Redundancy int
	// Encrypt has the recipients. Nil does not encrypt.
	Encrypt     *archive.Encryption
	Keys        Keys
	Windows     []Window
	Unavailable Unavailable
}

// Export writes what a configuration selects to a disk, without what the site has already. Its error is nil only
// if everything that was planned is there.
func Export(ctx context.Context, o ExportOptions) (*MirrorResult, error) {
	if err := o.check("ExportOptions"); err != nil {
		return nil, err
	}
	to := Disk(o.Disk)
	if err := to.check("ExportOptions.Disk", "a folder", env.ArchiveScheme); err != nil {
		return nil, err
	}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, Selection: o.selection(), TrustOptions: o.trust(false), KeyOptions: o.Keys.options(), Name: o.Name, Workspace: o.Workspace, Destination: to.String(),
		ArchiveOptions: mirroring.ArchiveOptions{
			Volumes: site.Volumes{VolumeSize: o.VolumeSize, Redundancy: o.Redundancy, EncryptTo: o.Encrypt},
			Since:   o.Omit.since, Full: o.Omit.nothing, Receipts: o.Omit.receipts,
		},
		Rules: rules(o.Windows, SomeBlobs, o.Unavailable),
	})
	return result, diskWords[ExportOptions]().of(err)
}

func diskWords[T any]() words {
	w := mirrorWords[T]()
	w.renamed["Destination"], w.renamed["EncryptTo"] = "Disk", "Encrypt"
	return w
}

// ImportOptions says from which disk Import copies, and where to.
type ImportOptions struct {
	Env *Env
	// From is a disk, with the disks that it builds on if the mirror does not have their content.
	From Place
	// To is a registry or a layout.
	To Place
	// Workspace is the folder for plans and cluster resources. The default is gantry-workspace.
	Workspace string
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
	// Clusters are those of MirrorOptions.
	Clusters []string
	// AllowOlder permits a disk that is older than the last one.
	AllowOlder bool
	// Receipt is the file for the receipt of what the registry has: OmitReceipts reads it. The default is in
	// the workspace.
	Receipt string
	// ImagePolicy is the one of Content.
	ImagePolicy string
	Keys        Keys
	Windows     []Window
	Blobs       Blobs
}

// Import copies a disk to a registry or a layout, at the disconnected site. Its error is nil only if everything
// that was planned is there.
func Import(ctx context.Context, o ImportOptions) (*MirrorResult, error) {
	if err := o.From.check("ImportOptions.From", "a disk", env.ArchiveScheme); err != nil {
		return nil, err
	}
	if err := o.To.check("ImportOptions.To", "a registry or a layout", env.RegistryScheme, env.LayoutScheme); err != nil {
		return nil, err
	}
	accepted := Content{ImagePolicy: o.ImagePolicy}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, ImportOptions: mirroring.ImportOptions{From: o.From.locations(), Read: o.Keys.reading(), WriteReceipt: o.Receipt},
		TrustOptions: accepted.trust(false), KeyOptions: o.Keys.options(), Workspace: o.Workspace, Destination: o.To.String(),
		RegistryOptions: mirroring.RegistryOptions{MaxNestedPaths: o.MaxNestedPaths}, Rules: rules(o.Windows, o.Blobs, ""), Replacing: admission.Replacing{AllowOlder: o.AllowOlder},
		Format: cluster.Format{For: strings.Join(o.Clusters, ",")},
	})
	return result, mirrorWords[ImportOptions]().of(err)
}

// RepairOptions says what Repair writes.
type RepairOptions struct {
	Env *Env
	// Request is the file of a request, which a site writes when content of a disk is damaged.
	Request string
	// Workspace is the one from which the disk was written. The default is gantry-workspace.
	Workspace string
	// Disk is the folder of the archive that is written.
	Disk string
	// VolumeSize is the maximum size of a volume in bytes.
	VolumeSize int64
	// Encrypt has the recipients. Nil does not encrypt.
	Encrypt *archive.Encryption
	Keys    Keys
}

// Repair writes the content that a request lists to a disk.
func Repair(ctx context.Context, o RepairOptions) (*MirrorResult, error) {
	to := Disk(o.Disk)
	if err := to.check("RepairOptions.Disk", "a folder", env.ArchiveScheme); err != nil {
		return nil, err
	}
	if o.Request == "" {
		return nil, advice.New(advice.Input, "set it to a file", "RepairOptions.Request is not set")
	}
	result, err := mirroring.Run(ctx, mirroring.Options{
		Env: o.Env, Repair: o.Request, KeyOptions: o.Keys.options(), Workspace: o.Workspace, Destination: to.String(),
		ArchiveOptions: mirroring.ArchiveOptions{Volumes: site.Volumes{VolumeSize: o.VolumeSize, EncryptTo: o.Encrypt}},
	})
	return result, diskWords[RepairOptions]().of(err)
}
