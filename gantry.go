// Package gantry mirrors Kubernetes operators and platform releases across an air gap. It is the front
// door of the library: what most programs need. Each verb has a package of its own below plan, mirror,
// archive and pkg, with further functions and options.
//
// A configuration becomes a plan, and a plan is copied from a source to a destination:
//
//   - Plan reads an ImageSetConfiguration and resolves everything that it asks for: tags to digests, packages to bundles to images, images to manifests and blobs with their sizes.
//   - Mirror makes or reads a plan, and copies what the destination does not have yet.
//   - Verify compares a registry, an archive or a layout with what it should contain.
//   - Serve is a read-only registry over the volumes of an archive.
//   - Check reports whether operators and clusters can be updated with the content of a mirror.
//   - Prune deletes from a mirror what no image set needs.
//
// The configuration is a file (Selection.Config), or a value (Selection.Text).
//
// A destination is written as on the command line:
//
//	docker://HOST[:PORT][/PREFIX]  a registry that clusters pull from
//	file://DIR                     an archive, on a disk that is carried to a disconnected site
//	oci://DIR                      an OCI image layout
//
// At the site, Mirror reads the archive (MirrorOptions.From) and writes to the registry there. A
// catalog or release is published only if every image that it names is in the mirror.
//
// State between runs is in a workspace, a folder: plans, journals, receipts, and the manifests that
// clusters apply. Only one run uses it at a time.
//
// The functions print nothing. Logs, notices and progress go to the Env. Errors that a user can act
// on have a kind and a hint: see package advice. Hints name options by their fields, such as
// Options.CheckBlobs.
package gantry

import (
	"context"

	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

type (
	// An Env says how registries are reached, and where logs, notices and progress go. Its zero value reads
	// credentials where podman and docker keep them, and logs and prints nothing.
	Env = env.Env
	// A Selection is a configuration, and files about what clusters run.
	Selection = selection.Selection

	// PlanOptions says what Plan plans. Config is required.
	PlanOptions = planning.Options
	// A PlanResult is a plan, and what it is compared with a destination.
	PlanResult = planning.Result
	// MirrorOptions says what Mirror copies, and where to. Destination is required, and one of Config,
	// Plan, From and Repair.
	MirrorOptions = mirroring.Options
	// A MirrorResult is what was copied and published.
	MirrorResult = mirroring.Result
	// VerifyOptions says what Verify reads.
	VerifyOptions = verify.Options
	// A VerifyResult lists what is missing or differs.
	VerifyResult = verify.Result
	// ServeOptions says what Serve serves. Archive is required.
	ServeOptions = serve.Options
	// Serving describes a registry that serves an archive.
	Serving = serve.Serving
	// CheckOptions says what Check checks.
	CheckOptions = check.Options
	// A CheckResult has the verdicts.
	CheckResult = check.Result
	// PruneOptions says what Prune removes from a mirror. Mirror is required.
	PruneOptions = removal.PruneOptions
	// A PruneResult is what would be deleted, or what was.
	PruneResult = removal.PruneResult
)

// Plan resolves a configuration to a plan. With a destination, it also says what a run would copy and
// replace there. It copies nothing.
func Plan(ctx context.Context, o PlanOptions) (*PlanResult, error) { return planning.Make(ctx, o) }

// Mirror copies content to a registry, an archive or a layout. Its error is nil only if everything that
// was planned is there.
func Mirror(ctx context.Context, o MirrorOptions) (*MirrorResult, error) {
	return mirroring.Run(ctx, o)
}

// Verify compares a registry, an archive or a layout with what it should contain. Anything that is
// missing or differs is an error of kind advice.Mismatch.
func Verify(ctx context.Context, o VerifyOptions) (*VerifyResult, error) { return verify.Run(ctx, o) }

// Serve serves an archive as a registry to pull from, until ctx ends.
func Serve(ctx context.Context, o ServeOptions) error { return serve.Run(ctx, o) }

// Check reports whether operators and clusters can be updated with the content of a mirror, an archive or
// a configuration.
func Check(ctx context.Context, o CheckOptions) (*CheckResult, error) { return check.Run(ctx, o) }

// Prune deletes from a mirror what no image set needs, or lists it, unless PruneOptions.Yes is set.
func Prune(ctx context.Context, o PruneOptions) (*PruneResult, error) { return removal.Prune(ctx, o) }
