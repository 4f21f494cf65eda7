package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/verify"
)

// verifyFlags are the flags of gantry verify.
type verifyFlags struct {
	inputs
	registryFlags
	policyFlags
	archiveTrust   trustFlags
	from           archives
	maxNestedPaths int
	blobs          verifiedBlobs
	resources      string
}

func (a *app) verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use: "verify {file://DIR... | oci://DIR | [-c FILE | --plan FILE | --from file://DIR] docker://HOST[:PORT][/PREFIX]}",
		Long: `Check content without changing it:

  file://DIR    read every byte of an archive, in all its folders, and list damaged
                volumes and entries with the images that they affect
  oci://DIR     read every blob of a layout, and list damaged and missing ones
  docker://...  request every image of a plan from a mirror, with its tags,
                platforms, signatures and referrers, and what its cluster resources
                name; with --blobs, also every blob and its length; with
                --blobs=read, read every manifest and blob.

The plan is made from a configuration (-c), or read from a file (--plan) or from
an archive (--from). Otherwise, the records in the mirror have the plans of all
its image sets; --name selects one.

` + exitCodes(map[int]string{
			exitMismatch: "content is damaged or missing, or the archive is not signed as required",
			exitLocked:   helpLocked, exitUnauthorized: helpUnauthorized,
		}),
		Example: `  gantry verify file:///media/disk
  gantry verify file:///media/disk1 file:///media/disk2
  gantry verify --verify-key ops.pub file:///media/disk
  gantry verify docker://mirror.example.com:5000/ocp
  gantry verify -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry verify -c imageset.yaml --blobs=read docker://mirror.example.com:5000/ocp
  gantry verify --plan plan.json docker://mirror.example.com:5000
  gantry verify --from file:///media/disk docker://mirror.example.com:5000`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.blobs.checkArgs(args); err != nil {
				return err
			}
			return a.verify(cmd.Context(), f, args)
		},
	}
	f.inputs.addFlags(c.Flags())
	f.registryFlags.addFlags(c.Flags())
	f.policyFlags.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	f.archiveTrust.addFlags(c.Flags())
	c.Flags().StringVar(&f.plan, "plan", "", "compare with this plan, a file from gantry plan --lock")
	c.Flags().Var(&f.from, "from", "compare with the plan of the archive in this folder, file://DIR (may be repeated, or with commas)")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "maximum number of path components at the mirror, as in gantry mirror; 0 is no limit")
	f.blobs.addFlags(c.Flags(), "blobs of a mirror")
	c.Flags().BoolVar(&f.blobs.read, "deep", false, "the same as --blobs=read")
	hideFlags(c.Flags(), "deep")
	c.Flags().StringVar(&f.resources, "resources", "", "verify the cluster resources in this folder; the default is the one in the workspace")
	return c
}

func (a *app) verify(ctx context.Context, f verifyFlags, locations []string) error {
	images, err := f.policyFlags.trust()
	if err != nil {
		return err
	}
	o := verify.Options{
		Env: a.environment(&f.registryFlags), Selection: f.selection(), ReleaseTrust: f.inputs.trust(), ImageTrust: images, Locations: locations, Plan: f.plan, From: f.from,
		Name: f.name, Workspace: f.workspace, MaxNestedPaths: f.maxNestedPaths, Blobs: f.blobs.requested(), ReadBlobs: f.blobs.readAll(),
		Resources: f.resources,
	}
	if err := errors.Join(o.Check(), f.checkWorkspace()); err != nil {
		return err
	}
	reads := len(f.from) > 0 || strings.HasPrefix(locations[0], fileScheme)
	if err := f.archiveTrust.check(reads); err != nil {
		return err
	}
	if reads {
		if o.Read, err = a.reading(&f.archiveTrust); err != nil {
			return err
		}
	}
	result, err := verify.Run(ctx, o)
	if result == nil {
		return err
	}
	if shown := a.showVerified(result); shown != nil {
		return shown
	}
	return err
}

// showVerified prints the result as text or JSON.
func (a *app) showVerified(r *verify.Result) error {
	var document any
	var text string
	switch {
	case r.Registry != nil:
		document, text = r.Registry, view.VerifiedRegistry(r.Registry)
	case r.Archive != nil:
		document, text = r.Archive, view.VerifiedArchive(r.Archive)
	default:
		document, text = r.Layout, view.VerifiedLayout(r.Layout)
	}
	if a.output == outputJSON {
		return a.encode(document)
	}
	return a.text(text)
}
