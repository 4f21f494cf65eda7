package gantry

import (
	"context"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
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

// Blobs says which blobs of a destination a run asks for, or reads.
type Blobs int

const (
	// SomeBlobs asks a registry for some blobs, different ones in each run.
	SomeBlobs Blobs = iota
	// EveryBlob asks a registry for every blob, and copies what is missing.
	EveryBlob
	// ReadBlobs reads every manifest and blob, and compares it with its digest.
	ReadBlobs
)

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
