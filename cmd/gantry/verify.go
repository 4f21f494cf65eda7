package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/verify"
)

// verifyFlags are the flags of gantry verify.
type verifyFlags struct {
	registryFlags
	options      verify.Options
	archiveTrust trustFlags
	blobs        verifiedBlobs
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
			f.options.Locations = args
			return a.verify(cmd.Context(), &f)
		},
	}
	o := &f.options
	inputs{&o.Selection, &o.ReleaseTrust, &o.Name, &o.Workspace, new(bool)}.addFlags(c.Flags()) // all referrers that are there are verified
	f.registryFlags.addFlags(c.Flags())
	addImageTrust(c.Flags(), &o.ImageTrust)
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	f.archiveTrust.addFlags(c.Flags())
	c.Flags().StringVar(&o.Plan, "plan", "", "compare with this plan, a file from gantry plan --lock")
	c.Flags().Var((*archives)(&o.From), "from", "compare with the plan of the archive in this folder, file://DIR (may be repeated, or with commas)")
	addNestedPaths(c.Flags(), &o.MaxNestedPaths)
	f.blobs.addFlags(c.Flags(), "blobs of a mirror")
	c.Flags().BoolVar(&f.blobs.read, "deep", false, "the same as --blobs=read")
	hideFlags(c.Flags(), "deep")
	c.Flags().StringVar(&o.Resources, "resources", "", "verify the cluster resources in this folder; the default is the one in the workspace")
	return c
}

func (a *app) verify(ctx context.Context, f *verifyFlags) error {
	o := f.options
	o.Env, o.Blobs, o.ReadBlobs = a.environment(&f.registryFlags), f.blobs.requested(), f.blobs.readAll()
	if err := errors.Join(o.Check(), checkWorkspace(o.Workspace)); err != nil {
		return err
	}
	reads := len(o.From) > 0 || strings.HasPrefix(o.Locations[0], fileScheme)
	if err := f.archiveTrust.check(reads); err != nil {
		return err
	}
	if reads {
		var err error
		if o.Read, err = a.reading(&f.archiveTrust); err != nil {
			return err
		}
	}
	result, err := verify.Run(ctx, o)
	if result == nil {
		return err
	}
	return cmp.Or(a.showVerified(result), err)
}

// showVerified prints the result as text or JSON.
func (a *app) showVerified(r *verify.Result) error {
	switch {
	case r.Registry != nil:
		return a.result(r.Registry, func() string { return view.VerifiedRegistry(r.Registry) })
	case r.Archive != nil:
		return a.result(r.Archive, func() string { return view.VerifiedArchive(r.Archive) })
	}
	return a.result(r.Layout, func() string { return view.VerifiedLayout(r.Layout) })
}
