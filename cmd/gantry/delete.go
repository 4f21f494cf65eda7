package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/removal"
)

// deleteFlags are the flags of gantry delete.
type deleteFlags struct {
	deletionFlags
	options  removal.DeleteOptions
	config   string
	generate bool
	deleteID string
	layout   string
	// command is what deletes a list, and how says how the deletion of one is completed that was only shown.
	command, how string
}

func (a *app) deleteCommand() *cobra.Command {
	f := deleteFlags{command: "gantry delete --" + deleteYAMLFlag, how: "leave --dry-run out"}
	c := &cobra.Command{
		Use: "delete {--generate -c FILE | --delete-yaml-file FILE} docker://HOST[:PORT][/PREFIX]",
		Long: `Delete content from a mirror, in the two steps of oc mirror.

--generate lists what a DeleteImageSetConfiguration selects, and what stays because anything
else needs it. The list is written to the folder delete in the workspace: delete-images.yaml,
in the format of oc mirror, and a copy of the configuration. Nothing is deleted.

--delete-yaml-file deletes what such a list has, with signatures. Catalogs are built again
without the listed bundles and published before that. What anything else needs stays. The next
gantry mirror brings everything back that its configuration still selects. With --dry-run, it
prints what would be deleted, and nothing changes.

` + deletionExits("; or a listed image stays that nothing else in the list explains"),
		Example: `  gantry delete --generate -c delete.yaml docker://mirror.example.com:5000/ocp
  gantry delete --generate -c delete.yaml --delete-id v4.19 docker://mirror.example.com:5000/ocp
  gantry delete --generate -c delete.yaml --name edge docker://mirror.example.com:5000/ocp
  gantry delete --dry-run --delete-yaml-file gantry-workspace/delete/delete-images.yaml \
    docker://mirror.example.com:5000/ocp
  gantry delete --delete-yaml-file gantry-workspace/delete/delete-images.yaml \
    docker://mirror.example.com:5000/ocp`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "name", "list-mirror"); err != nil {
				return err
			}
			f.options.Mirror = args[0]
			switch o := &f.options; {
			case f.generate && o.DryRun:
				return usageHint("leave it out", "--dry-run is for --delete-yaml-file: --generate deletes nothing")
			case f.generate && (o.DeleteYAMLFile != "" || o.ListMirror != "" || f.onlyMirror):
				return usageHint("leave it out, or run gantry delete again without --generate", "--delete-yaml-file, --list-mirror and --only-mirror are for the second step, which deletes")
			case f.generate:
				return a.listDeletions(cmd.Context(), f)
			case o.DeleteYAMLFile == "":
				return usageHint("set --generate -c FILE to list what a configuration selects, or --delete-yaml-file FILE to delete what a list has", "nothing was deleted: no list of images")
			case f.layout != "":
				return usageHint("leave it out, or set --generate", "--layout is for --generate, which writes files")
			case f.config != "":
				return usageHint("leave it out, or set --generate", "-c is for --generate: only the list is deleted")
			}
			return a.delete(cmd.Context(), f)
		},
	}
	f.deletionFlags.addFlags(c)
	f.addListFlags(c, "--generate", "gantry delete --generate")
	c.Flags().BoolVar(&f.generate, "generate", false, "list what would be deleted")
	c.Flags().BoolVar(&f.options.DryRun, "dry-run", false, "with --delete-yaml-file: show what would be deleted, and delete nothing")
	return c
}

// addListFlags adds the flags of gantry prune and gantry delete for lists of images. lists is the flag
// with which they write one, and made is the whole command.
func (f *deleteFlags) addListFlags(c *cobra.Command, lists, made string) {
	o, fs := &f.options, c.Flags()
	fs.StringVarP(&f.config, "config", "c", "", "the DeleteImageSetConfiguration, with --generate")
	fs.StringVar(&o.Name, "name", "", "only this image set loses content; what others have stays (default: all image sets of the mirror)")
	_ = c.RegisterFlagCompletionFunc("name", completeImageSets) // it is there, and new
	fs.StringVar(&o.DeleteYAMLFile, deleteYAMLFlag, "", "delete what this list has, a file from "+made+" or oc mirror delete --generate")
	fs.StringVar(&o.ListMirror, "list-mirror", "", "the name of the mirror in the list, docker://HOST[:PORT][/PREFIX], if it is another one")
	fs.StringVar(&f.deleteID, "delete-id", "", "with "+lists+": add this to the names of the files")
	fs.StringVar(&f.layout, "layout", "", "with "+lists+", folder of the files in the workspace: gantry for delete, or oc-mirror for working-dir/delete (default: what the workspace uses, or gantry)")
}

// deleteYAMLFlag is the flag of gantry delete for the list.
const deleteYAMLFlag = "delete-yaml-file"

func (a *app) listDeletions(ctx context.Context, f deleteFlags) error {
	o := removal.DeletionListOptions{
		Env: a.environment(&f.registryFlags), Config: f.config, Mirror: f.options.Mirror, Name: f.options.Name,
		Workspace: f.workspace, Layout: f.layout, DeleteID: f.deleteID, MaxNestedPaths: f.nested,
	}
	log := a.newOcMirrorLog()
	list, err := removal.ListDeletions(ctx, o)
	if err != nil {
		return err
	}
	if a.output == outputJSON {
		return a.encode(list)
	}
	if err := log.listedDeletions(list); err != nil {
		return err
	}
	list.File = absolute(list.File)
	if err := a.text(view.DeletionList(list, f.command)); err != nil {
		return err
	}
	return log.endDeletion(nil)
}

func (a *app) delete(ctx context.Context, f deleteFlags) error {
	o := f.options
	o.Env, o.Workspace, o.OnlyMirror, o.MaxNestedPaths = a.environment(&f.registryFlags), f.workspace, f.onlyMirror, f.nested
	log := a.newOcMirrorLog()
	result, err := removal.Delete(ctx, o)
	if result == nil {
		return err
	}
	if err := log.deleted(result, err); err != nil {
		return err
	}
	if err := a.showDeletion(result.Deleted, result, view.DeletedList(result, f.how), err); err != nil {
		return err
	}
	return log.endDeletion(result)
}
