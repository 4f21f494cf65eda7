package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// buildFlags are the flags of gantry catalog build.
type buildFlags struct {
	readFlags
	options authoring.BuildOptions
}

func (a *app) catalogBuildCommand() *cobra.Command {
	var f buildFlags
	c := &cobra.Command{
		Use:   "build CATALOG {docker://HOST[:PORT]/REPOSITORY[:TAG] | oci://DIR}",
		Short: "Build the image of a catalog and push it, without podman",
		Long: `Build the image of a valid catalog and push it to a registry, or write it to an OCI
layout. In a layout, the image is named like the folder; other images stay.

Without --base, the image contains only the catalog, for linux on amd64, arm64, ppc64le
and s390x. A CatalogSource for it needs grpcPodConfig.extractContent. With --base, which
is usually an image with opm, the image serves the catalog itself, on the platforms of
the base. The same catalog and base give the same digest.

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace}),
		Example: `  gantry catalog build ./catalog docker://registry.example.com:5000/org/catalog:v4.20
  gantry catalog build ./catalog docker://registry.example.com/org/catalog:v1 --base quay.io/operator-framework/opm:v1.60.0
  gantry catalog build ./catalog oci://layout`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.options.Catalog, f.options.Destination = args[0], args[1]
			return a.catalogBuild(cmd.Context(), &f)
		},
	}
	f.registryFlags.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	c.Flags().StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "folder whose cache is used, if it exists")
	c.Flags().StringVar(&f.options.Base, "base", "", "base image, such as one with opm (default: none)")
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}

func (a *app) catalogBuild(ctx context.Context, f *buildFlags) error {
	f.options.Env, f.options.Workspace = a.environment(&f.registryFlags), f.workspace
	built, err := authoring.BuildCatalog(ctx, f.options)
	if err != nil {
		return err
	}
	if a.output == outputJSON {
		return a.encode(built)
	}
	for _, note := range built.Notes {
		a.say("note: %s", note)
	}
	return a.text(fmt.Sprintf("%s\n%s\n", built.Image, built.Digest))
}
