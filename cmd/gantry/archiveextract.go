package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/space"
	"github.com/gantry-mirror/gantry/pkg/suggest"
	"github.com/gantry-mirror/gantry/plan"
)

// archiveExtractFlags are those of gantry archive extract.
type archiveExtractFlags struct {
	archiveFlags
	to     string
	images []string
	digest string
}

// toStdout is the --to that is no file.
const toStdout = "-"

func (a *app) archiveExtractCommand() *cobra.Command {
	var f archiveExtractFlags
	c := &cobra.Command{
		Use:   "extract file://DIR... {--to DIR [--image NAME]... | --digest DIGEST [--to FILE]}",
		Short: "Take images or single blobs out of an archive",
		Long: `Extract writes images of an archive into an OCI image layout that any OCI tool
reads, under the names that gantry archive list prints: all of them, or those that
--image names. What a layout in that folder lists under other names stays; a folder
that holds anything else is refused. With --digest it writes one manifest, one blob
or the plan (the digest that the set manifest gives it) to a file, or to stdout.

Everything is compared with its digest while it passes. An image or a file that
cannot be read whole is not there afterwards, under no name; stdout and pipes have
had what came before.

` + archiveHelp + `
` + exitStatusHelp,
		Example: `  gantry archive extract file:///media/disk --to layout
  gantry archive extract file:///media/disk --to layout --image 'lantern/*' --image acme/operator-index:v4.20
  gantry archive extract file:///media/disk --digest sha256:9f2c... --to layer.tar.gz
  gantry archive extract file:///media/disk --digest sha256:4c8d... | jq .layers`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.archiveExtract(cmd.Context(), &f, args)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().StringVarP(&f.to, "to", "o", "", "folder of the layout; with --digest, the file (default: stdout)")
	c.Flags().StringArrayVar(&f.images, "image", nil, "only the image of this name (repository, repository:tag), digest or source, where * is any text and ? a letter (may be repeated)")
	c.Flags().StringVar(&f.digest, "digest", "", "write only the manifest or blob of this digest")
	return c
}

// check refuses flags that contradict each other.
func (f *archiveExtractFlags) check() error {
	switch {
	case f.digest != "" && len(f.images) > 0:
		return usageHint("give one of the two", "--digest and --image both say what is taken out")
	case f.digest == "" && (f.to == "" || f.to == toStdout):
		return usageHint("name a folder with --to DIR", "where should the images be written?")
	case f.digest == "":
		return nil
	}
	if err := layout.CheckDigest(digest.Digest(f.digest)); err != nil {
		return usageHint("give it whole, as gantry archive list --blobs prints it", "--digest %q: %w", f.digest, err)
	}
	return nil
}

func (a *app) archiveExtract(ctx context.Context, f *archiveExtractFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	have, err := a.lookInto(&f.archiveFlags, args)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	a.saySigned(have)
	if f.digest != "" {
		return a.extractContent(ctx, have, digest.Digest(f.digest), f.to)
	}
	p, err := a.planIn(ctx, have)
	if err != nil {
		return err
	}
	if p, err = pickImages(p, f.images); err != nil {
		return err
	}
	return a.extractImages(ctx, have, p, f.to)
}

// pickImages is the plan of the images that patterns name; a pattern that names
// none is an error. A name with a tag brings the image under that tag alone.
func pickImages(p *plan.Plan, patterns []string) (*plan.Plan, error) {
	if len(patterns) == 0 {
		return p.Pick(p.Images)
	}
	for _, pattern := range patterns {
		one := newGlob(pattern)
		if slices.ContainsFunc(p.Images, func(img plan.Image) bool { return one.match(imageNames(&img)...) }) {
			continue
		}
		var names []string
		for i := range p.Images {
			for _, tag := range p.Images[i].Tags {
				names = append(names, p.Images[i].Repository+":"+tag)
			}
		}
		hint := suggest.Phrase(pattern, names)
		if hint == "" {
			hint = "gantry archive list shows its images"
		}
		return nil, usageHint(hint, "the archive has no image %q", pattern)
	}
	all := newGlob(patterns...)
	var picked []plan.Image
	for _, img := range p.Images {
		var tags []string
		for _, tag := range img.Tags {
			if all.match(img.Repository + ":" + tag) {
				tags = append(tags, tag)
			}
		}
		whole := img
		whole.Tags = nil
		switch {
		case all.match(imageNames(&whole)...):
			picked = append(picked, img)
		case len(tags) > 0:
			img.Tags = tags
			picked = append(picked, img)
		}
	}
	return p.Pick(picked)
}

// extracted is what gantry archive extract --output json prints.
type extracted struct {
	Version int            `json:"version"`
	To      string         `json:"to"`
	Images  []string       `json:"images"` // by name, those that are there now
	Report  *mirror.Report `json:"report"`
}

// extractImages writes the images of a plan into the layout in a folder, which lists
// those that could be read.
func (a *app) extractImages(ctx context.Context, have *archive.Archive, p *plan.Plan, dir string) (err error) {
	if err := layoutRoom(have, p, dir); err != nil {
		return err
	}
	l, err := layout.Create(dir, layout.Options{})
	if err != nil {
		return usagef("--to: %w", err)
	}
	lock, err := l.Lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	sink, to := mirror.ToLayout(l), &layoutTarget{dir: dir, add: true}
	meter := &mirror.Meter{}
	end := a.showCopy(p, to, meter)
	report, err := mirror.Run(ctx, p, have, sink, mirror.Options{Fatal: fatal, Meter: meter, Log: a.log})
	took := end()
	if err != nil {
		return fmt.Errorf("writing to %s: %w", dir, err)
	}
	whole := slices.DeleteFunc(slices.Clone(p.Images), func(img plan.Image) bool {
		return slices.ContainsFunc(report.Failed, func(f mirror.Failure) bool { return f.Source == img.Source && f.Repository == img.Repository })
	})
	result := extracted{Version: 1, To: dir, Images: []string{}, Report: report}
	if len(whole) > 0 {
		came, err := p.Pick(whole)
		if err == nil {
			err = sink.Add(ctx, came)
		}
		if err != nil {
			return fmt.Errorf("writing to %s: %w", dir, err)
		}
	}
	for _, img := range whole {
		for _, tag := range img.Tags {
			result.Images = append(result.Images, img.Repository+":"+tag)
		}
	}
	if a.output == outputJSON {
		err = a.encode(result)
	} else {
		for _, alike := range mirror.Alike(report.Failed) {
			a.warn("not extracted, since %s", alike[0].Reason)
			for _, x := range alike {
				a.warn("    %s", printable(x.Source))
			}
		}
		text := fmt.Sprintf("Extracted %s to %s%s: %s written.\n", number(len(whole), "image", "images"), ociScheme, dir, progress.Bytes(report.BytesCopied))
		if report.Copied == 0 && len(report.Failed) == 0 {
			text = fmt.Sprintf("Nothing to extract: %s at %s%s.\n", everything(len(whole)), ociScheme, dir)
		}
		err = a.text(text)
		a.say("%s", took)
	}
	if err == nil && len(report.Failed) > 0 {
		err = &extractError{newPartialError(report)}
	}
	return err
}

// An extractError says that images could not be read out of an archive; they have
// been listed.
type extractError struct{ *partialError }

func (e *extractError) Error() string {
	return number(e.failed, "image is", "images are") + " not extracted: " + e.Hint()
}

// Hint says what to do.
func (e *extractError) Hint() string {
	return "name all folders that the archive lies in; what is damaged or lost, gantry archive repair-request asks for"
}

func (e *extractError) Unwrap() []error { return []error{e.partialError} }

// extractContent writes a manifest, a blob or the plan to a file, or to stdout where
// that is "" or "-".
func (a *app) extractContent(ctx context.Context, have *archive.Archive, d digest.Digest, to string) error {
	body, size, err := openContent(ctx, have, d)
	if err != nil {
		return err
	}
	defer body.Close() // only read from
	if to == "" || to == toStdout {
		_, err := io.Copy(a.stdout, body)
		return err
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		return usageHint("name a file", "--to %s is a folder", to)
	}
	file, regular, err := durable.Resolve(to)
	if err != nil {
		return usagef("--to %s: %w", to, err)
	}
	if regular {
		if err := space.Check(filepath.Dir(file), size); err != nil {
			return err
		}
	}
	err = durable.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, body)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return usagef("--to: %w", err)
	}
	return err
}

// openPlan opens the plan. How many bytes it has is known when it was read once, since it
// is compressed.
func openPlan(ctx context.Context, have *archive.Archive) (body io.ReadCloser, size int64, err error) {
	if body, err = have.OpenPlan(ctx); err != nil {
		return nil, 0, err
	}
	size, err = io.Copy(io.Discard, body)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, 0, err
	}
	body, err = have.OpenPlan(ctx)
	return body, size, err
}

// openContent opens what a digest names, and says how many bytes it has. Its reader
// ends in an error where it is damaged.
func openContent(ctx context.Context, have *archive.Archive, d digest.Digest) (body io.ReadCloser, size int64, err error) {
	for e := range have.Entries() {
		switch {
		case e.Digest != d:
		case e.Content:
			body, err = have.Blob(ctx, "", ocispec.Descriptor{Digest: d, Size: e.Whole}, 0)
			return body, e.Whole, err
		}
	}
	if d == have.PlanDigest() {
		if body, size, err = openPlan(ctx, have); !errors.Is(err, fs.ErrNotExist) {
			return body, size, err
		}
	}
	hint := "gantry archive list --blobs shows what it has"
	if carry.EarlierThan(have) != nil {
		hint = "it may be in an earlier archive, whose folder has to be named, too"
	}
	return nil, 0, usageHint(hint, "the archive has no %s", d)
}
