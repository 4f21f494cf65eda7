package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// A FileSource has files: a mirror, an archive or a layout.
type FileSource struct {
	images image.Reader
	source string // for images
	// List returns all files. named returns the newest file with a name, or an error that matches
	// fs.ErrNotExist; it may be nil.
	List  func(ctx context.Context) ([]StoredFile, error)
	named func(ctx context.Context, name string) (StoredFile, error)
	Close func()
	meter *fileMeter    // nil if nothing is counted
	limit *rate.Limiter // nil if nothing is limited here
}

// A StoredFile is a file in a mirror, an archive or a layout.
type StoredFile struct {
	site.MirroredFile
	// Older reports whether another file of this name was mirrored later.
	Older bool `json:"older,omitempty"`
}

// ref returns the name by which File finds the file.
func (f StoredFile) ref() string {
	if f.Older {
		return f.Name + "@" + f.SHA256.String()
	}
	return f.Name
}

// openFiles opens what Options.From names. The caller closes it.
func openFiles(ctx context.Context, e *env.Env, o *Options) (*FileSource, error) {
	if strings.HasPrefix(o.From, env.RegistryScheme) {
		at, err := mirror.ParseRegistryPath(o.From, o.MaxNestedPaths)
		if err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
		client, err := e.Client(remote.Source)
		if err != nil {
			return nil, err
		}
		return mirroredFileSource(client, at.Repository(fileartifact.Repository)), nil
	}
	if e.Rate < 0 {
		return nil, env.InputHint("give a number of bytes per second, or 0 for no limit", "Options.Rate %d", e.Rate)
	}
	var s *FileSource
	var err error
	switch {
	case strings.HasPrefix(o.From, env.LayoutScheme):
		s, err = layoutFileSource(strings.TrimPrefix(o.From, env.LayoutScheme))
	case strings.HasPrefix(o.From, env.ArchiveScheme):
		var have *archive.Archive
		if have, err = open.Archive(open.Options{Env: e, Folders: []string{o.From}, Sequence: o.Sequence, Read: o.Read}); err == nil {
			open.Observe(e.Observer, have)
			s, err = ArchivedFileSource(ctx, have)
		}
	default:
		err = env.InputHint("write docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR", "%q is neither a mirror, an archive nor a layout", o.From)
	}
	if err != nil {
		return nil, err
	}
	s.limitRate(e.Rate)
	return s, nil
}

// ArchivedFileSource has the files of the plan of an archive.
func ArchivedFileSource(ctx context.Context, have *archive.Archive) (*FileSource, error) {
	s := &FileSource{images: have, Close: func() { _ = have.Close() }} // only read from
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		s.Close()
		return nil, err
	}
	s.List = func(context.Context) (all []StoredFile, err error) {
		for _, f := range p.Files {
			all = append(all, StoredFile{MirroredFile: site.NewMirroredFile(f)})
		}
		return all, nil
	}
	return s, nil
}

// layoutFileSource has the files that the index of a layout names.
func layoutFileSource(dir string) (*FileSource, error) {
	l, err := layout.Open(dir)
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	s := &FileSource{images: site.LayoutReader{Layout: l}, Close: func() {}}
	s.List = func(ctx context.Context) ([]StoredFile, error) {
		index, err := l.Index()
		if err != nil {
			return nil, err
		}
		var all []taggedFile
		for _, desc := range index.Manifests {
			tag, ok := strings.CutPrefix(desc.Annotations[ocispec.AnnotationRefName], fileartifact.Repository+":")
			if !ok {
				continue
			}
			raw, err := l.Read(ctx, desc, manifest.MaxSize)
			if err != nil {
				return nil, fmt.Errorf("reading the file %s in %s: %w", tag, dir, err)
			}
			if f, err := fileartifact.FromManifest(raw); err == nil {
				all = append(all, taggedFile{tag, f})
			}
		}
		return newestFirst(all), nil
	}
	return s, nil
}

// A noFilesError is the error of a mirror that does not have the repository of files.
type noFilesError struct{ repository string }

// Error names the repository.
func (e *noFilesError) Error() string {
	return "there are no files: the registry has no repository " + e.repository
}

// mirroredFileSource has the files of a mirror: the tags of a repository.
func mirroredFileSource(client *remote.Client, repository reference.Reference) *FileSource {
	images := site.NewMirrorImages(client)
	read := func(ctx context.Context, tag string) (fileartifact.File, error) {
		_, raw, err := images.Manifest(ctx, repository.WithTag(tag).String(), "")
		if err != nil {
			return fileartifact.File{}, err
		}
		return fileartifact.FromManifest(raw)
	}
	s := &FileSource{images: images, source: repository.String(), Close: func() {}}
	s.named = func(ctx context.Context, name string) (StoredFile, error) {
		f, err := read(ctx, fileartifact.Tag(name))
		if err == nil && f.Name != name {
			err = fs.ErrNotExist
		}
		return StoredFile{MirroredFile: storedFile(f)}, err
	}
	s.List = func(ctx context.Context) ([]StoredFile, error) {
		tags, err := client.Tags(ctx, repository, site.MaxFileTags)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, advice.Wrap(advice.Input, &noFilesError{repository.Name()},
				"check the prefix of the mirror; if it was filled with Options.MaxNestedPaths, give the same value; files are mirrored with mirror.files of the configuration")
		}
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex
		var all []taggedFile
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(site.FileReads)
		for _, tag := range tags {
			group.Go(func() error {
				f, err := read(ctx, tag)
				if err != nil {
					if re := (*remote.Error)(nil); ctx.Err() != nil || errors.As(err, &re) && !errors.Is(err, fs.ErrNotExist) {
						return err
					}
					return nil // deleted meanwhile, or the tag of another artifact
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, taggedFile{tag, f})
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		return newestFirst(all), nil
	}
	return s
}

func storedFile(f fileartifact.File) site.MirroredFile {
	return site.MirroredFile{Name: f.Name, Size: f.Size, SHA256: f.Digest, Executable: f.Executable}
}

// A taggedFile is a file under one of its tags.
type taggedFile struct {
	tag string
	fileartifact.File
}

// newestFirst returns the files by name, each once. The file that has the tag of its name is the newest.
func newestFirst(tagged []taggedFile) []StoredFile {
	found := map[fileartifact.File]bool{} // whether it is the newest
	for _, t := range tagged {
		found[t.File] = found[t.File] || t.tag == fileartifact.Tag(t.Name)
	}
	var all []StoredFile
	for f, newest := range found {
		all = append(all, StoredFile{MirroredFile: storedFile(f), Older: !newest})
	}
	elements.Sort(all, func(a, b StoredFile) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(order(a.Older), order(b.Older)), strings.Compare(string(a.SHA256), string(b.SHA256)))
	})
	return all
}

func order(older bool) int {
	if older {
		return 1
	}
	return 0
}
