package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) catalogBuildCommand() *cobra.Command {
	var f registryFlags
	var o authoring.BuildOptions
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
			o.Env, o.Catalog, o.Destination = a.environment(&f), args[0], args[1]
			built, err := authoring.BuildCatalog(cmd.Context(), o)
			if err != nil {
				return err
			}
			if a.output != outputJSON {
				for _, note := range built.Notes {
					a.say("note: %s", note)
				}
			}
			return a.result(built, func() string { return fmt.Sprintf("%s\n%s\n", built.Image, built.Digest) })
		},
	}
	f.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	c.Flags().StringVar(&o.Workspace, "workspace", env.DefaultWorkspace, "folder whose cache is used, if it exists")
	c.Flags().StringVar(&o.Base, "base", "", "base image, such as one with opm (default: none)")
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}
