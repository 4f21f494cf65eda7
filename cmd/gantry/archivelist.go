package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

func (a *app) archiveListCommand() *cobra.Command {
	var blobs bool
	var filter []string
	c := &cobra.Command{
		Use:   "list file://DIR...",
		Short: "List the images of an archive, or where its content is",
		Long: `List the images of an archive under the names that they get in a mirror. With --blobs,
list every manifest and blob with its volume and offset. Only the set manifest and the
plan are read.

The column HERE shows whether the content of an image can be read from the folders:
  yes      all of it is there
  no       volumes are missing
  earlier  some of it is in an earlier archive, whose folder was not named

` + archiveHelp + `
` + exitCodes(map[int]string{exitMismatch: helpArchive}),
		Example: `  gantry archive list file:///media/disk
  gantry archive list file:///media/disk --filter '*/etcd:*' -o json
  gantry archive list file:///media/disk --blobs --filter 'gantry-000001.0002.tar'`,
		Args: cobra.MinimumNArgs(1),
	}
	c.Flags().BoolVar(&blobs, "blobs", false, "list manifests and blobs with their volume and offset")
	repeatable(c.Flags(), &filter, "filter", "list only images with this name, digest or source, or with --blobs content in this volume; * matches any text, ? one character (may be repeated)")
	formFlag(c.Flags(), "format of the list: text or json", outputText, outputJSON)
	return a.archiveVerb(c, func(ctx context.Context, archive open.Options) error {
		o := inspect.ArchiveListOptions{Options: archive, Filter: filter}
		if blobs {
			content, err := inspect.ListArchiveContent(o)
			return show(a, content, err, func(l *inspect.ArchiveContent) string { return view.ArchiveContent(l, a.columns()) })
		}
		images, err := inspect.ListArchiveImages(ctx, o)
		return show(a, images, err, func(l *inspect.ArchiveImages) string { return view.ArchiveImages(l, a.columns()) })
	})
}
