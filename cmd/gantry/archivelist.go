package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
)

// archiveListFlags are those of gantry archive list.
type archiveListFlags struct {
	archiveFlags
	blobs  bool
	filter []string
	form   string
}

func (a *app) archiveListCommand() *cobra.Command {
	var f archiveListFlags
	c := &cobra.Command{
		Use:   "list file://DIR...",
		Short: "List the images of an archive, or where its content lies",
		Long: `List prints a line for each name that an image of the archive's plan has in a
mirror, or, with --blobs, for each manifest and blob in the volumes: which volume
has it, and where. Nothing is read but the set manifest and the plan.

HERE says whether all content of the image can be read from the folders that are
named: yes; no, where volumes are missing; or earlier, where some of it is in an
archive that was carried before and is not among them.

` + archiveHelp + `
` + exitStatusHelp,
		Example: `  gantry archive list file:///media/disk
  gantry archive list file:///media/disk --filter '*/etcd:*' -o json
  gantry archive list file:///media/disk --blobs --filter 'gantry-000001.0002.tar'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.archiveList(cmd.Context(), &f, args)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().BoolVar(&f.blobs, "blobs", false, "list manifests and blobs by volume and offset instead of images")
	c.Flags().StringArrayVar(&f.filter, "filter", nil, "only what has this name, digest or source, or with --blobs this volume, where * is any text and ? a letter (may be repeated)")
	formFlag(c.Flags(), &f.form, "form of the list: text or json", outputText, outputJSON)
	return c
}

// Whether an image can be read from the folders that were named.
const (
	imageHere    = "yes"
	imageEarlier = "earlier"
	imageMissing = "no"
)

// listedImages is what gantry archive list -o json prints, and listedContent what it
// prints with --blobs.
type (
	listedImages struct {
		Version int             `json:"version"`
		Images  []archivedImage `json:"images"`
	}
	listedContent struct {
		Version int               `json:"version"`
		Content []archivedContent `json:"content"`
	}
)

// archivedImage is an image of an archive in a list.
type archivedImage struct {
	Name   string         `json:"name"` // "repository:tag"
	Kind   plan.ImageKind `json:"kind"`
	Digest digest.Digest  `json:"digest"`
	Size   int64          `json:"size"` // in bytes, before sharing
	Source string         `json:"source"`
	Here   string         `json:"here"`
}

// archivedContent is a manifest, a blob or a part of one in a list.
type archivedContent struct {
	Digest    digest.Digest `json:"digest"`
	MediaType string        `json:"mediaType,omitempty"` // of a manifest
	Size      int64         `json:"size"`                // of the bytes at Offset
	Sequence  int           `json:"sequence"`
	Repair    bool          `json:"repair,omitempty"`
	Volume    string        `json:"volume"`
	Offset    int64         `json:"offset"`
	// Part is which of Parts it is, At where it begins in the whole and Whole how
	// long that is; 0 for content that lies in one piece.
	Part  int   `json:"part,omitempty"`
	Parts int   `json:"parts,omitempty"`
	At    int64 `json:"at,omitempty"`
	Whole int64 `json:"whole,omitempty"`
}

func (a *app) archiveList(ctx context.Context, f *archiveListFlags, args []string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	have, err := a.lookInto(&f.archiveFlags, args)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	if f.blobs {
		return a.listContent(have, newGlob(f.filter...))
	}
	p, err := a.planIn(ctx, have)
	if err != nil {
		return err
	}
	return a.listImages(have, p, newGlob(f.filter...))
}

// planIn is the plan of an archive that was opened to be looked into.
func (a *app) planIn(ctx context.Context, have *archive.Archive) (*plan.Plan, error) {
	p, err := carry.ReadPlan(ctx, have)
	if err != nil && errors.Is(err, fs.ErrNotExist) {
		var names []string
		for _, s := range have.Sets() {
			if s.Dir == "" {
				names = append(names, strings.TrimSuffix(s.Manifest, ".json"))
			}
		}
		return nil, usageHint("name the folder of "+strings.Join(names, ", ")+", too", "%w", err)
	}
	return p, err
}

func (a *app) listImages(have *archive.Archive, p *plan.Plan, filter glob) error {
	contents, err := p.Contents()
	if err != nil {
		return err
	}
	partial, images := carry.EarlierThan(have) != nil, []archivedImage{}
	for i := range p.Images {
		img := &p.Images[i]
		here := ""
		for _, tag := range img.Tags {
			name := img.Repository + ":" + tag
			if !filter.match(name, img.Repository, string(img.Digest), img.Source) {
				continue
			}
			if here == "" {
				here = whereIs(have, partial, contents, img)
			}
			images = append(images, archivedImage{name, img.Kind, img.Digest, img.Size, img.Source, here})
		}
	}
	if a.output == outputJSON {
		return a.encode(listedImages{1, images})
	}
	var rows strings.Builder
	t := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tKIND\tSIZE\tHERE\tDIGEST")
	for _, x := range images {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", x.Name, printable(string(x.Kind)), progress.Bytes(x.Size), x.Here, x.Digest)
	}
	_ = t.Flush() // into memory
	return a.text(trimmed(rows.String()))
}

// whereIs reports whether all content of an image can be read; partial says that
// there are earlier archives that are not here.
func whereIs(have *archive.Archive, partial bool, contents *plan.Contents, img *plan.Image) string {
	here := imageHere
	look := func(d digest.Digest, size int64) {
		switch err := have.Lacks(ocispec.Descriptor{Digest: d, Size: size}); {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist) && partial:
			if here == imageHere {
				here = imageEarlier
			}
		default:
			here = imageMissing
		}
	}
	_ = contents.Walk(img.Digest, // the plan has been checked
		func(m *plan.Manifest) error { look(m.Digest, m.Size); return nil },
		func(b plan.Blob) error { look(b.Digest, b.Size); return nil })
	return here
}

func (a *app) listContent(have *archive.Archive, filter glob) error {
	content := []archivedContent{}
	for e := range have.Entries() {
		if !e.Content || !filter.match(string(e.Digest), e.Volume, e.Path, e.MediaType) {
			continue
		}
		x := archivedContent{
			Digest: e.Digest, MediaType: e.MediaType, Size: e.Size, Sequence: e.Set.Sequence, Repair: e.Repair,
			Volume: e.Volume, Offset: e.Offset, Part: e.Part, Parts: e.Parts, At: e.At,
		}
		if e.Parts > 0 {
			x.Whole = e.Whole
		}
		content = append(content, x)
	}
	if a.output == outputJSON {
		return a.encode(listedContent{1, content})
	}
	var rows strings.Builder
	t := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "VOLUME\tOFFSET\tBYTES\tDIGEST\tWHAT")
	for _, x := range content {
		what := "blob"
		if x.MediaType != "" {
			what = printable(x.MediaType)
		}
		if x.Parts > 0 {
			what += fmt.Sprintf(", part %d of %d", x.Part, x.Parts)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", x.Volume, x.Offset, x.Size, x.Digest, what)
	}
	_ = t.Flush() // into memory
	return a.text(trimmed(rows.String()))
}
