package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/explain"
)

func (a *app) planSBOMCommand() *cobra.Command {
	var workspace string
	c := &cobra.Command{
		Use:   "sbom [PLAN]",
		Short: "Print what a plan mirrors as a bill of materials",
		Long: `Print what a plan mirrors as a bill of materials: catalogs, packages, bundles, releases,
charts, files and images with their digests and package URLs, and which of them contain
or need each other. Bills of materials, attestations and signatures that are mirrored
are referenced by the images that they belong to. PLAN is a file from gantry plan --lock;
the default is the only plan of the workspace.

The same plan gives the same bytes. The time of the document is $SOURCE_DATE_EPOCH.

` + exitCodes(nil),
		Example: `  gantry plan sbom plan.json > plan.cdx.json
  gantry plan sbom plan.json -o spdx-json > plan.spdx.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := explain.BillOfMaterials(explain.BillOfMaterialsOptions{
				Env: a.environment(&a.offline), Plan: strings.Join(args, ""), Workspace: workspace, Format: a.format, Version: buildVersion(),
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s", escape.JSON(text))
			return err
		},
	}
	c.Flags().StringVar(&workspace, "workspace", env.DefaultWorkspace, "folder of the workspace")
	formFlag(c.Flags(), "format: cyclonedx-json (1.6) or spdx-json (2.3)", explain.BillsOfMaterials()...)
	return c
}
