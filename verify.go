package gantry

import (
	"context"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/trust"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// VerifyOptions says what Verify reads.
type VerifyOptions struct {
	Env *Env
	// At is what is verified: a registry, a disk or a layout.
	At Place
	// Config says what should be there. The default are the records in the registry, or the index of a disk
	// or layout.
	Config Configuration
	// Workspace is the folder with plans and cluster resources. The default is gantry-workspace.
	Workspace string
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
	// Blobs are those of a registry that are asked for, or read. Disks and layouts are read.
	Blobs Blobs
	// ImagePolicy is a policy.json that must accept the images.
	ImagePolicy string
	Keys        Keys
}

// A VerifyResult lists what is missing or differs.
type VerifyResult = verify.Result

// Verify compares a registry, a disk or a layout with what it should contain. Anything that is missing or
// differs is an error of kind advice.Mismatch.
func Verify(ctx context.Context, o VerifyOptions) (*VerifyResult, error) {
	if err := o.At.check("VerifyOptions.At", "a registry, a disk or a layout", env.RegistryScheme, env.ArchiveScheme, env.LayoutScheme); err != nil {
		return nil, err
	}
	result, err := verify.Run(ctx, verify.Options{
		Env: o.Env, Selection: o.Config.selection(), ImageTrust: trust.ImageTrust{Policy: o.ImagePolicy}, Locations: o.At.locations(),
		Workspace: o.Workspace, MaxNestedPaths: o.MaxNestedPaths, Blobs: o.Blobs == EveryBlob, ReadBlobs: o.Blobs == ReadBlobs, Read: o.Keys.reading(),
	})
	return result, wordsOf[VerifyOptions, verify.Options](map[string]string{"Policy": "ImagePolicy", "ReadBlobs": "Blobs"}).of(err)
}

// CheckOptions says for which operators Check looks for updates, and in what.
type CheckOptions struct {
	Env *Env
	// Installed are files with what clusters run, as oc get -o json writes them.
	Installed []string
	// In is a registry or a disk whose catalogs are checked.
	In Place
	// Config is what a run would mirror: its catalogs are checked in place of In, or beside a registry.
	Config Configuration
	// Workspace is the folder whose cache is used, if it exists. The default is gantry-workspace.
	Workspace string
	// ClusterVersion is the version of OpenShift that clusters run or will be updated to. The default is the
	// one in Installed.
	ClusterVersion string
	// CRDSafety also compares the CustomResourceDefinitions of neighboring bundles by the rules of OLM v1.
	CRDSafety bool
	Keys      Keys
}

// A CheckResult has the verdicts.
type CheckResult = check.Result

// Check reports how operators that clusters run would be updated with the catalogs of a mirror, a disk or a
// configuration. An operator without an upgrade path is an error of kind advice.Mismatch.
func Check(ctx context.Context, o CheckOptions) (*CheckResult, error) {
	s := o.Config.selection()
	s.Installed = o.Installed
	result, err := check.Run(ctx, check.Options{
		Env: o.Env, Selection: s, Catalogs: o.In.locations(), Read: o.Keys.reading(), Workspace: o.Workspace, ClusterVersion: o.ClusterVersion, CRDSafety: o.CRDSafety,
	})
	return result, wordsOf[CheckOptions, check.Options](map[string]string{"Catalogs": "In"}).of(err)
}

// CheckPlatformOptions says which updates of the platform CheckPlatform looks for.
type CheckPlatformOptions struct {
	Env *Env
	// Mirror is the registry.
	Mirror Place
	// Workspace is the one that the mirror was filled from. The default is gantry-workspace.
	Workspace string
	// From and To are versions. The default are those of the plan.
	From []string
	To   string
	// Channel is the channel that clusters follow. The default is one that has To.
	Channel string
	// ReleaseKeys are those of Content.
	ReleaseKeys []string
	// MaxNestedPaths is the one that the mirror was filled with.
	MaxNestedPaths int
	// Blobs are those of the releases that are asked for, or read.
	Blobs Blobs
}

// CheckPlatform reports whether a mirror has everything for updates of the platform. What is missing is an error
// of kind advice.Mismatch.
func CheckPlatform(ctx context.Context, o CheckPlatformOptions) (*CheckResult, error) {
	if err := o.Mirror.check("CheckPlatformOptions.Mirror", "a registry", env.RegistryScheme); err != nil {
		return nil, err
	}
	result, err := check.Run(ctx, check.Options{
		Env: o.Env, Mirror: o.Mirror.String(), Workspace: o.Workspace, ReleaseTrust: updates.ReleaseTrust{ReleaseKeys: o.ReleaseKeys}, From: o.From, To: o.To, Channel: o.Channel,
		MaxNestedPaths: o.MaxNestedPaths, Blobs: o.Blobs == EveryBlob, ReadBlobs: o.Blobs == ReadBlobs,
	})
	return result, wordsOf[CheckPlatformOptions, check.Options](map[string]string{"ReadBlobs": "Blobs"}).of(err)
}
