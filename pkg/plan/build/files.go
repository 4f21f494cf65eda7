package build

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

// Downloads finds out about files that are mirrored as they are. None of them is kept: they are read again
// while they are copied.
type Downloads interface {
	// FileSize returns the size of the file at an http or https address in bytes. If the server does not
	// send it, the file is read and compared with its digest.
	FileSize(ctx context.Context, address string, sha256 digest.Digest) (int64, error)
	// LocalFile reads a file of this machine.
	LocalFile(ctx context.Context, path string) (sha256 digest.Digest, size int64, mode fs.FileMode, err error)
}

// plannedFiles are the files of a plan, and requests for their artifacts.
type plannedFiles struct {
	files    []plan.File // sorted by name
	names    fileartifact.Names
	requests []*imageRequest
	missing  []plan.Missing
}

// A fileEntry is a file that the configuration or a release asks for.
type fileEntry struct {
	fileartifact.File
	origin, source string // plan.File.Origin and Source
	reasons        []plan.Reason
	position       imageset.Position // zero if the configuration does not name the file
}

// add stores the artifact of a file, and requests it. A file that was added before is added once; it is an
// error if it had other content.
func (p *plannedFiles) add(ctx context.Context, store Store, e fileEntry) error {
	i, found := slices.BinarySearchFunc(p.files, plan.File{Name: e.Name}, plan.CompareFiles)
	if found {
		have := p.files[i]
		if have.SHA256 != e.Digest || have.Executable != e.Executable {
			return inputErrorf("%s and %s would both become the file %s, with different content; give one of them another target", have.Origin, e.origin, e.Name)
		}
		for _, w := range p.requests {
			if w.source == have.Source && w.digest == have.Digest {
				w.reasons = slices.Concat(w.reasons, e.reasons)
				elements.Sort(w.reasons, plan.CompareReasons)
				w.reasons = slices.Compact(w.reasons)
			}
		}
		return nil
	}
	if wrong := p.names.Add(e.Name); wrong != nil {
		return inputErrorf("%s: %w; give one of them another target", e.origin, wrong)
	}
	root, err := fileartifact.Build(ctx, store, e.File)
	if err != nil {
		return err
	}
	tags := e.Tags()
	f := plan.File{
		Name: e.Name, Origin: e.origin, Source: e.source, SHA256: e.Digest, Size: e.Size, Executable: e.Executable,
		Digest: root.Digest, Repository: fileartifact.Repository, Tag: tags[0],
	}
	p.files = slices.Insert(p.files, i, f)
	p.requests = append(p.requests, &imageRequest{
		source: f.Source, digest: root.Digest, kind: plan.FileImage, all: true, position: e.position,
		repo: f.Repository, tags: slices.Sorted(slices.Values(tags)), reasons: e.reasons,
	})
	return nil
}

// fileJobs is the number of files that are looked up at the same time. Local files are read.
const fileJobs = 4

// readFiles plans the files of the configuration. One that cannot be read at its address is missing in the
// result; a local file is a part of the configuration, and it is an error.
func readFiles(ctx context.Context, files []imageset.File, sources Sources, opts Options) (plannedFiles, error) {
	var p plannedFiles
	entries, failed := make([]fileEntry, len(files)), make([]error, len(files))
	err := eachOf(ctx, len(files), min(opts.Jobs, fileJobs), func(ctx context.Context, i int) (err error) {
		entries[i], failed[i], err = readFile(ctx, &files[i], sources.Downloads)
		return err
	})
	if err != nil {
		return p, err
	}
	for i, e := range entries {
		if failed[i] != nil {
			p.missing = append(p.missing, plan.NewMissing(e.source, plan.FileImage, failed[i], e.reasons))
			continue
		}
		if err := p.add(ctx, sources.Store, e); err != nil {
			return p, fmt.Errorf("%s: %w", e.position, err)
		}
	}
	return p, nil
}

// readFile looks up a file. missing is why its content is unavailable.
func readFile(ctx context.Context, f *imageset.File, from Downloads) (e fileEntry, missing, err error) {
	e = fileEntry{
		File:   fileartifact.File{Name: f.Target, Executable: f.Executable},
		origin: f.URL, source: plan.FileScheme + f.URL, reasons: []plan.Reason{{List: "files"}}, position: f.Pos,
	}
	want := digest.Digest("")
	if f.SHA256 != "" {
		want = digest.NewDigestFromEncoded(digest.SHA256, f.SHA256)
	}
	if f.URL != "" {
		e.Digest = want
		if e.Size, missing = webSize(ctx, from, f.URL, want); missing != nil && ctx.Err() != nil {
			return e, nil, context.Cause(ctx)
		}
		return e, missing, nil
	}
	e.origin, e.source = f.Path, plan.FileScheme+plan.LocalFile+f.Path
	var mode fs.FileMode
	if e.Digest, e.Size, mode, err = from.LocalFile(ctx, f.Path); err != nil {
		if ctx.Err() != nil {
			return e, nil, context.Cause(ctx)
		}
		return e, nil, inputErrorf("%s: file %s: %w", f.Pos, f.Path, err)
	}
	if want != "" && want != e.Digest {
		return e, nil, inputErrorf("%s: file %s has the digest %s, and %s was expected; correct sha256, or get the file again", f.Pos, f.Path, e.Digest, want)
	}
	e.Executable = e.Executable || mode&0o100 != 0
	return e, nil, nil
}

// webSize returns the size of the file at an address. One that no file with this digest has is an error.
func webSize(ctx context.Context, from Downloads, address string, want digest.Digest) (int64, error) {
	n, err := from.FileSize(ctx, address, want)
	switch {
	case err != nil:
		return 0, err
	case n > fileartifact.MaxSize:
		return 0, fmt.Errorf("the server has %d bytes of %s, and the limit is %d", n, address, int64(fileartifact.MaxSize))
	}
	if err := plan.CheckSize(want, n); err != nil {
		return 0, fmt.Errorf("reading %s: %w", address, err)
	}
	return n, nil
}

// RebuildFile makes the artifact of a file of a plan again, without its content.
func RebuildFile(ctx context.Context, f plan.File, store Store) error {
	root, err := fileartifact.Build(ctx, store, f.Artifact())
	if err == nil && root.Digest != f.Digest {
		err = fmt.Errorf("file %s has the manifest %s, and the plan has %s: make the plan again", f.Name, root.Digest, f.Digest)
	}
	return err
}
