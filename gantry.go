// Package gantry mirrors Kubernetes operators and platform releases across an air gap. It is the front
// door of the library: what most programs need. Each verb has a package of its own below plan, mirror,
// archive and pkg, with further options.
//
// A configuration becomes a plan, and a plan is copied from a source to a destination:
//
//   - Plan resolves everything that a configuration asks for: tags to digests, packages to bundles to images, images to manifests and blobs with their sizes.
//   - Mirror copies that to a registry or a layout; CopyPlan copies exactly a plan that was made before.
//   - Export writes it to a disk that is carried to a disconnected site. There, Import copies it from the disk to a registry. Repair writes what a site asks for again.
//   - Verify compares a registry, a disk or a layout with what it should contain.
//   - Serve is a read-only registry over a disk.
//   - Check reports whether operators can be updated with the content of a mirror; CheckPlatform reports it for the platform.
//   - Prune deletes from a mirror what no image set needs; Unneeded lists that.
//
// A Configuration is a file, a text or a value. A Place is a registry, a disk or a layout. Mirror and Import
// publish a catalog or release only if every image that it names is in the mirror.
//
// State between runs is in a workspace, a folder: plans, journals, receipts, and the manifests that
// clusters apply. Only one run uses it at a time.
//
// The functions print nothing. Logs, notices and progress go to the Env, which also has credentials and the
// transport. Errors that a user can act on have a kind and a hint: see package advice. They name options by
// their fields: MirrorOptions.To, Env.Rate, or mirroring.Options.Shard for an option of a verb's own package.
package gantry

import (
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
	"github.com/gantry-mirror/gantry/pkg/window"
)

type (
	// An Env says how registries are reached, and where logs, notices and progress go. Its zero value reads
	// credentials where podman and docker keep them, and logs and prints nothing. All options have one; nil
	// is the zero value.
	Env = env.Env
	// Registries are the part of an Env that says how registries are reached.
	Registries = env.Registries
	// A Keychain finds credentials for registries (Registries.Credentials).
	Keychain = remote.Keychain
	// A Credential authenticates to a registry.
	Credential = keychain.Credential
	// A Window is a part of each day.
	Window = window.Window
)
