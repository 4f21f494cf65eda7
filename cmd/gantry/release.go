package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/release"
)

const releaseHelp = `RELEASE is one of:
  quay.io/openshift-release-dev/ocp-release:4.20.5-x86_64   an image, of a mirror, too
  oci://DIR[:NAME|@DIGEST]                                  an image in an OCI layout
  4.20.5 or 4.20.5-x86_64                                   a version of the update service
  file://DIR#4.20.5                                         a release in an archive; file://DIR1,file://DIR2#4.20.5 also names earlier ones
`

func (a *app) releaseCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "release",
		Long: `Read what a platform release contains from its release image: at its source, in a
mirror, or in an archive. gantry release graph draws update paths. Signatures are not verified; gantry plan and gantry mirror do
that.

` + releaseHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive}),
		Example: `  gantry release info 4.20.5
  gantry release images mirror.example.com:5000/openshift/release-images:4.20.5-x86_64 etcd
  gantry release manifests file:///media/disk#4.20.5 --included --to manifests
  gantry release credentials 4.20.5 --cloud aws --included --to credentials
  gantry release tools file:///media/disk#4.20.5 --to bin`,
	}, a.releaseInfoCommand(), a.releaseImagesCommand(), a.releaseManifestsCommand(), a.releaseCredentialsCommand(),
		a.releaseToolsCommand(), a.releaseBootImagesCommand(), a.graphReleaseCommand())
}

// payloadFlags select a release image.
type payloadFlags struct {
	readFlags
	archive archiveFlags
	release releases.ReleaseOptions
}

func (f *payloadFlags) addFlags(c *cobra.Command) {
	fs := c.Flags()
	f.readFlags.addFlags(fs)
	f.archive.addFlags(fs)
	fs.StringVar(&f.release.Arch, "arch", "", "architecture of a version: amd64, arm64, ppc64le, s390x, multi (default: amd64, in an archive any)")
	archFlag(c, "arch")
	fs.StringVarP(&f.release.Config, "config", "c", "", "ImageSetConfiguration whose update service is used for a version")
	fs.StringVar((*string)(&f.release.Product), "product", string(release.OCP), "product of a version: ocp or okd")
	offer(fs, "product", texts(releases.Products()))
}

// releaseVerb adds the flags that select a release to a command, and what it does with the release and its other arguments.
func (a *app) releaseVerb(c *cobra.Command, run func(ctx context.Context, o releases.ReleaseOptions, args []string) error) *cobra.Command {
	var f payloadFlags
	f.addFlags(c)
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		o := f.release
		o.Env, o.Workspace, o.Release, o.Sequence = a.environment(&f.registryFlags), f.workspace, args[0], f.archive.sequence
		if o.Read, err = a.reading(&f.archive.trust); err != nil {
			return err
		}
		return run(cmd.Context(), o, args[1:])
	}
	return c
}

// inclusionFlags select the manifests of a cluster.
type inclusionFlags struct {
	options releases.ManifestOptions
	to      string
}

func (f *inclusionFlags) addFlags(fs *pflag.FlagSet) {
	o := &f.options
	fs.BoolVar(&o.Included, "included", false, "only manifests that a cluster has, with the default profile, feature set and all capabilities unless set below")
	fs.StringVar(&o.Profile, "profile", "", "only manifests for clusters with this profile, such as self-managed-high-availability")
	fs.StringVar(&o.FeatureSet, "feature-set", "", "only manifests for clusters with this feature set, such as Default or TechPreviewNoUpgrade")
	fs.StringVar(&o.CapabilitySet, "capability-set", "", "only manifests for clusters with this set of capabilities: None, v4.11 to v4.18, vCurrent")
	repeatable(fs, &o.Capabilities, "capability", "also manifests that need this capability (may be repeated; without --capability-set, all others are left out)")
	fs.StringVar(&f.to, "to", "", "write files to this folder, as oc adm release extract does")
}
