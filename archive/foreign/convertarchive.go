package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/convert"
	"github.com/gantry-mirror/gantry/archive/ocarchive"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

// ConvertArchiveOptions says which archives of oc mirror ConvertArchive reads, and what it writes.
type ConvertArchiveOptions struct {
	Env *env.Env
	// Folders have archives of oc mirror, version 2, or its cache, each as file://DIR, oldest first. An
	// archive omits the blobs that earlier ones have: name these too, or the cache of the site.
	Folders []string
	// To is the folder that the archive is written to, as a path or file://DIR.
	To string
	// Name is the name of the series. The default is ConvertedName.
	Name string
	// VolumeSize is the maximum size of volumes in bytes. 0 is archive.DefaultVolumeSize.
	VolumeSize int64
	// SigningKey signs the archive. Nil does not.
	SigningKey *sshsig.Key
	// EncryptTo has the recipients that the archive is encrypted to. Nil does not encrypt it.
	EncryptTo *archive.Encryption
}

// ConvertedName is the default name of archives that were converted.
const ConvertedName = "oc-mirror"

// A ConvertedArchive is the result of ConvertArchive. Its JSON is what gantry archive convert --output
// json prints.
type ConvertedArchive struct {
	Version  int                `json:"version"`
	Folders  []string           `json:"folders"` // as the user named them
	Archive  string             `json:"archive"`
	Sequence int                `json:"sequence"`
	Set      digest.Digest      `json:"set"`
	Totals   plan.Totals        `json:"totals"`
	Files    []archive.FileInfo `json:"files"`
	// Earlier is how many names of images are in the archive of which earlier archives have everything.
	Earlier int `json:"earlier"`
	// Incomplete are images of which some content is in no folder, by name. They are not in the archive.
	Incomplete []convert.Incomplete `json:"incomplete"`
	// Notes are what is not known, for people.
	Notes []string `json:"notes"`
}

// ConvertArchive writes an archive with the images of archives that oc mirror wrote, under the names that
// oc mirror gives them in a mirror. Images that are incomplete are left out; the error is then of kind
// advice.Partial.
func ConvertArchive(ctx context.Context, o ConvertArchiveOptions) (*ConvertedArchive, error) {
	e, done := o.Env.OrDefault()
	defer done()
	dirs, err := open.Folders("", o.Folders)
	if err != nil {
		return nil, err
	}
	to := strings.TrimPrefix(o.To, env.ArchiveScheme)
	if to == "" {
		return nil, env.InputHint("name a folder", "Options.To: no folder for the archive")
	}
	if o.Name == "" {
		o.Name = ConvertedName
	}
	from, err := ocarchive.Open(dirs...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, env.InputHint("name the folder with mirror_000001.tar, or with the cache of oc mirror (--cache-dir)", "%w", err)
	}
	if err != nil {
		return nil, advice.New(advice.Mismatch, copyHint, "%w", err)
	}
	defer func() { _ = from.Close() }() // only read from
	c, err := convert.New(from, o.Name)
	if err != nil {
		return nil, err
	}
	result := &ConvertedArchive{
		Version: 1, Folders: o.Folders, Archive: to, Totals: c.Plan.Totals,
		Earlier: c.Earlier, Incomplete: append([]convert.Incomplete{}, c.Incomplete...), Notes: append([]string{}, c.Plan.Notes...),
	}
	if len(c.Plan.Images) == 0 {
		return nil, advice.New(advice.Mismatch, earlierHint, "%s has no image that is complete", strings.Join(o.Folders, ", "))
	}
	if err := writeConverted(ctx, e, c, from, to, &o, result); err != nil {
		return nil, err
	}
	if len(c.Incomplete) > 0 {
		first := c.Incomplete[0]
		return result, advice.New(advice.Partial, earlierHint, "%d of %d images are incomplete and left out, such as %s: no folder has %s",
			len(c.Incomplete), len(c.Incomplete)+len(c.Plan.Images), first.Name, first.Missing)
	}
	return result, nil
}

const (
	earlierHint = "name the folders of earlier archives before it, or the cache of oc mirror at this site"
	copyHint    = "copy the files again from where oc mirror wrote them"
)

// writeConverted writes the archive.
func writeConverted(ctx context.Context, e *env.Env, c *convert.Conversion, from *ocarchive.Archive, to string, o *ConvertArchiveOptions, result *ConvertedArchive) (err error) {
	index, err := mirror.IndexManifests(c.Plan)
	if err != nil {
		return err
	}
	w, err := archive.Create(ctx, to, archive.Content{Name: c.Plan.Name, Plan: c.Plan.Write, Index: index, Entries: mirror.Content(c.Plan)},
		archive.Options{VolumeSize: o.VolumeSize, Sign: keys.SignWith(o.SigningKey), Encrypt: o.EncryptTo, Log: e.Logger()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var moved atomic.Int64
	stop := env.Show(e.Observer, "converting", func() progress.Reading {
		return progress.Reading{Total: c.Plan.Totals.Bytes, Done: moved.Load(), Moved: moved.Load()}
	})
	for desc := range mirror.Content(c.Plan) {
		if err = w.PutBlob(ctx, "", desc, func(context.Context, int64) (io.ReadCloser, error) { return from.Blob(desc.Digest) }); err != nil {
			break
		}
		moved.Add(desc.Size)
	}
	stop()
	var corrupt *layout.CorruptError
	if errors.As(err, &corrupt) {
		return advice.New(advice.Mismatch, copyHint, "the archive of oc mirror is damaged: %w", err)
	}
	if err != nil {
		return fmt.Errorf("copying content of the archive of oc mirror: %w", err)
	}
	if err := w.Finish(ctx); err != nil {
		return err
	}
	set, err := w.Ref()
	if err != nil {
		return err
	}
	result.Sequence, result.Set = set.Sequence, set.Set
	result.Files, err = archive.Files(to, set.Sequence)
	return err
}
