package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/redact"
)

func (a *app) statusCommand() *cobra.Command {
	var workspace, form string
	c := &cobra.Command{
		Use: "status",
		Long: `Show the mirrors, archives and layouts that a workspace was used for, and how the last
run of each configuration ended. Nothing but the workspace is read; gantry verify
compares a mirror or an archive with what it should contain.

` + exitCodes(nil),
		Example: `  gantry status
  gantry status --workspace gantry-workspace -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(form, outputText, outputJSON); err != nil {
				return err
			}
			status, err := gantry.Status(workspace)
			if err != nil {
				return err
			}
			for i := range status.Runs {
				status.Runs[i].Message = redact.Text(flagNames(status.Runs[i].Message)) // earlier versions recorded it as it was
			}
			if a.output == outputJSON {
				return a.encode(status)
			}
			return a.text(view.Status(status, a.columns()))
		},
	}
	c.Flags().StringVar(&workspace, "workspace", gantry.DefaultWorkspace, "folder of the workspace")
	formFlag(c.Flags(), &form, "format of the result: text or json", outputText, outputJSON)
	return c
}

// stateDir returns the folder for what is kept beside workspaces, or "" if there is no home folder.
func (a *app) stateDir() string {
	for _, variable := range []string{"XDG_STATE_HOME", "LOCALAPPDATA"} {
		if dir := a.getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "gantry")
		}
	}
	if home := a.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "gantry")
	}
	return ""
}
