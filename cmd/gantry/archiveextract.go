package main

import (
	"cmp"
	"context"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/pkg/mirror"
)

// archiveExtractFlags are the flags of gantry archive extract.
type archiveExtractFlags struct {
	archiveFlags
	registry registryFlags
	images   extract.Options
	files    extract.FilesOptions
	digest   string
}

// toStdout is the value of --to for stdout.
const toStdout = "-"

func (a *app) archiveExtractCommand() *cobra.Command {
	var f archiveExtractFlags
	c := &cobra.Command{
		Use:   "extract file://DIR... {--to DIR [--image NAME]... | --files DIR [--file NAME]... | --digest DIGEST [--to FILE]}",
		Short: "Extract images, files or single blobs from an archive",
		Long: `Write images of an archive to an OCI image layout, under the names that gantry archive
list prints: all images, or those that --image selects. If the folder already has a
layout, its other images stay. A folder with anything else in it is refused.

With --files, write the files of mirror.files to a folder, under their names, and the tools
and boot images of mirror.platform.tools.

With --digest, write one manifest, one blob or the plan to a file or to stdout. The
digest of the plan is in the output of gantry archive inspect.

An archive that builds on earlier ones omits what they have, and may carry blobs as deltas
of that. --base says where it is: a mirror (docker://HOST[:PORT][/PREFIX]), a layout
(oci://DIR), or an earlier archive (file://DIR).

All content is compared with its digest. An image or a file that cannot be read
completely is not written. Only stdout and pipes may receive a part of it.

` + archiveHelp + `
` + exitCodes(map[int]string{
			exitPartial:  "some images could not be extracted; the list is on stderr",
			exitMismatch: "the content is damaged, or " + helpArchive,
			exitLocked:   "the layout is in use by another run",
			exitNoSpace:  helpNoSpace,
		}),
		Example: `  gantry archive extract file:///media/disk --to layout
  gantry archive extract file:///media/disk --to layout --image 'lantern/*' --image acme/operator-index:v4.20
  gantry archive extract file:///media/disk --to layout --base docker://mirror.example.com:5000/ocp
  gantry archive extract file:///media/disk --files bin --file openshift-install-4.20.5-linux-amd64
  gantry archive extract file:///media/disk --digest sha256:9f2c... --to layer.tar.gz
  gantry archive extract file:///media/disk --digest sha256:4c8d... | jq .layers`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.archiveExtract(cmd.Context(), &f, args)
		},
	}
	f.addFlags(c.Flags())
	a.addFile(c.Flags(), &f.images.To, "to", "folder of the layout; with --digest, the file (default: stdout)")
	repeatable(c.Flags(), &f.images.Images, "image", "extract only images with this name (repository or repository:tag), digest or source; * matches any text, ? one character (may be repeated)")
	f.registry.addFlags(c.Flags())
	repeatable(c.Flags(), &f.images.Bases, "base", "the mirror, layout or earlier archive that has what this one omits, or has as a delta of it (may be repeated)")
	c.Flags().IntVar(&f.images.MaxNestedPaths, "max-nested-paths", 0, "with --base docker://: maximum number of path components at the mirror; 0 is no limit")
	c.Flags().StringVar(&f.files.To, "files", "", "write files to this folder instead of images")
	repeatable(c.Flags(), &f.files.Names, "file", "write only the file with this name (may be repeated)")
	c.Flags().BoolVar(&f.files.Force, "force", false, "with --files: replace files with other content")
	c.Flags().StringVar(&f.digest, "digest", "", "write only the manifest or blob with this digest")
	return c
}

func (a *app) archiveExtract(ctx context.Context, f *archiveExtractFlags, args []string) error {
	if f.digest != "" && len(f.images.Images) > 0 {
		return usageHint("give one of the two", "--digest and --image exclude each other")
	}
	if f.files.To != "" {
		return a.extractFiles(ctx, f, args)
	}
	if len(f.files.Names) > 0 || f.files.Force {
		return usageHint("add --files DIR", "--file and --force are for --files")
	}
	images := f.images
	if images.To == toStdout {
		images.To = ""
	}
	content := extract.ContentOptions{Digest: digest.Digest(f.digest), To: images.To, Output: a.stdout}
	check := images.Check
	if f.digest != "" {
		check = content.Check
	}
	if err := check(); err != nil { // before a passphrase is requested
		return err
	}
	archive, err := f.options(a, args)
	if err != nil {
		return err
	}
	if f.digest != "" {
		content.Options = archive
		return extract.Content(ctx, content)
	}
	images.Options = archive
	images.Env = a.environment(&f.registry)
	result, err := extract.Images(ctx, images)
	if result == nil {
		return err
	}
	return cmp.Or(a.showExtracted(result), err)
}

func (a *app) extractFiles(ctx context.Context, f *archiveExtractFlags, args []string) error {
	if f.digest != "" || len(f.images.Images) > 0 || f.images.To != "" {
		return usageHint("run the command once for files and once for images", "--files excludes --to, --image and --digest")
	}
	var err error
	if f.files.Options, err = f.options(a, args); err != nil {
		return err
	}
	result, err := extract.Files(ctx, f.files)
	if result == nil || err != nil && len(result.Files)+len(result.Tools) == 0 {
		return err
	}
	return cmp.Or(a.result(result, func() string { return view.ExtractedFiles(result) }), err)
}

// showExtracted prints what was extracted on stdout, and what was not on stderr.
func (a *app) showExtracted(r *extract.Extracted) error {
	if a.output == outputJSON {
		return a.encode(r)
	}
	for _, alike := range mirror.GroupFailures(r.Report.Failed) {
		a.warn("not extracted: %s", flagNames(alike[0].Reason))
		for _, x := range alike {
			a.warn("    %s", view.Printable(x.Source))
		}
	}
	err := a.text(view.Extracted(r))
	a.say("%s", view.Transfer(r.Transfer))
	return err
}
