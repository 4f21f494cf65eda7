package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// statusFlags are the flags of gantry status.
type statusFlags struct {
	registryFlags
	options   report.StatusOptions
	workspace string
	audit     bool
	last      int
	report    reportFlag
}

func (a *app) statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use: "status [docker://HOST[:PORT][/PREFIX]]",
		Long: `Show the mirrors, archives and layouts that a workspace was used for, and how the last
run of each configuration ended. Nothing but the workspace is read; gantry verify
compares a mirror or an archive with what it should contain.

With a mirror, list the image sets that it has records of: who mirrored them and when,
from which configuration, and what they contain. No workspace is needed. --revisions also
lists what they contained before.

--report writes the image sets of a mirror, with their ages and what a prune would
delete, as a page for people.

--audit shows the last entries of the audit log of the workspace and verifies that no
entry was changed or removed.

` + exitCodes(map[int]string{exitMismatch: "with --audit, the audit log was changed outside of Gantry", exitUnauthorized: helpUnauthorized}),
		Example: `  gantry status
  gantry status --workspace gantry-workspace -o json
  gantry status docker://mirror.example.com:5000/ocp
  gantry status docker://mirror.example.com:5000/ocp --name edge --revisions
  gantry status docker://mirror.example.com:5000/ocp --report mirror.html
  gantry status --audit --last -1 -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.status(cmd, &f, args) },
	}
	o := &f.options
	c.Flags().StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "folder of the workspace")
	c.Flags().BoolVar(&f.audit, "audit", false, "show the last entries of the audit log, and verify it")
	c.Flags().IntVar(&f.last, "last", 20, "with --audit, number of entries; -1 is all")
	c.Flags().StringVar(&o.Name, "name", "", "list only this image set of the mirror")
	c.Flags().BoolVar(&o.Revisions, "revisions", false, "also list the earlier revisions of each image set of the mirror")
	c.Flags().BoolVar(&o.Revisions, "turns", false, "also list the earlier revisions of each image set of the mirror")
	c.Flags().Lookup("turns").Hidden = true // its name before --revisions
	addNestedPaths(c.Flags(), &o.MaxNestedPaths)
	f.report.addFlag(c.Flags(), "the mirror")
	f.registryFlags.addFlags(c.Flags())
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}

func (a *app) status(cmd *cobra.Command, f *statusFlags, args []string) error {
	if len(args) > 0 {
		return a.mirrorStatus(cmd, f, args[0])
	}
	for _, name := range []string{"name", "revisions", "turns", "max-nested-paths", "report"} {
		if cmd.Flags().Changed(name) {
			return usageHint("name the mirror, docker://HOST[:PORT][/PREFIX]", "--%s is for the image sets of a mirror", name)
		}
	}
	if f.audit {
		return a.showAudit(f.workspace, f.last)
	}
	status, err := workspace.Status(f.workspace)
	if err != nil {
		return err
	}
	for i := range status.Runs {
		status.Runs[i].Message = redact.Text(flagNames(status.Runs[i].Message)) // earlier versions recorded it as it was
	}
	return a.result(status, func() string { return view.Status(status, a.columns()) })
}

// statusRetries is how often a request for records is repeated by default: a user waits for the answer.
const statusRetries = 3

// mirrorStatus prints the image sets of a mirror.
func (a *app) mirrorStatus(cmd *cobra.Command, f *statusFlags, mirror string) error {
	if f.audit {
		return usageHint("leave out the mirror or the flag", "--audit is for a workspace, and %s is a mirror", redact.Address(mirror))
	}
	o := f.options
	o.Env, o.Mirror = a.environment(&f.registryFlags), mirror
	if !cmd.Flags().Changed("retry-times") {
		o.Env.RetryTimes = statusRetries
	}
	if err := f.report.check(); err != nil {
		return err
	}
	state, err := report.Status(cmd.Context(), o)
	if state != nil && f.report != "" {
		o.Workspace = f.workspace
		page, pageErr := report.Page(cmd.Context(), o, state, time.Now())
		if pageErr == nil {
			pageErr = f.report.write(a, page)
		}
		if pageErr != nil {
			return errors.Join(err, pageErr)
		}
	}
	return show(a, state, err, func(s *report.MirrorState) string { return view.MirrorState(s, a.columns()) })
}

// showAudit prints the audit log of a workspace, also if it was changed.
func (a *app) showAudit(folder string, last int) error {
	result, err := workspace.Audit(folder, last)
	if result == nil {
		return err
	}
	if a.output == outputJSON {
		return errors.Join(a.encode(result), err)
	}
	for i := range result.Last {
		result.Last[i].Message = flagNames(result.Last[i].Message)
	}
	return errors.Join(a.text(view.Audit(result, a.columns())), err)
}
