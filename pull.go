package gantry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/space"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// PullOptions says which file is fetched, from where and where to.
type PullOptions struct {
	Env *Env
	// From is a mirror (docker://HOST[:PORT][/PREFIX]), an archive (file://DIR) or a layout (oci://DIR).
	From string
	// Name is the name of the file, or NAME@sha256:DIGITS for one of several of a name; the beginning of
	// the digits is enough.
	Name string
	// To is the file to write. It appears only when it is complete. The default is the last part of the
	// name, in the working directory.
	To string
	// Output, if it is not nil, receives the content instead. It may have received a part of it when an
	// error is returned.
	Output io.Writer
	// Force replaces a file that exists with other content.
	Force bool
	// MaxNestedPaths is the one that the mirror was filled with.
	MaxNestedPaths int
	// Sequence and Read are those of ArchiveOptions, for an archive.
	Sequence int
	Read     archive.OpenOptions
}

// A FileList is the result of ListFiles. Its JSON is what gantry pull --output json prints.
type FileList struct {
	Version int          `json:"version"`
	From    string       `json:"from"`
	Files   []StoredFile `json:"files"`
}

// A PulledFile is the result of PullFile.
type PulledFile struct {
	Version int `json:"version"`
	MirroredFile
	// To is the file that was written, "" for a stream. Present reports whether it had the content before.
	To      string `json:"to,omitempty"`
	Present bool   `json:"present,omitempty"`
}

// ListFiles lists the files of a mirror, an archive or a layout. Options.Name is ignored.
func ListFiles(ctx context.Context, o PullOptions) (*FileList, error) {
	e, done := o.Env.orDefault()
	defer done()
	s, err := e.openFiles(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all, err := s.list(ctx)
	if all == nil {
		all = []StoredFile{}
	}
	return &FileList{Version: 1, From: o.From, Files: all}, err
}

// PullFile writes a file of a mirror, an archive or a layout. Its content is compared with its SHA-256
// while it is written. A file that has this content already is left as it is.
func PullFile(ctx context.Context, o PullOptions) (*PulledFile, error) {
	e, done := o.Env.orDefault()
	defer done()
	if o.Name == "" {
		return nil, inputHint("ListFiles lists the names", "Options.Name is missing")
	}
	s, err := e.openFiles(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f, err := s.find(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	out := &PulledFile{Version: 1, MirroredFile: f}
	if o.Output == nil {
		if out.To = o.To; out.To == "" {
			out.To = path.Base(f.Name)
		}
		out.Present, err = s.write(ctx, f, out.To, o.Force)
		return out, err
	}
	return out, s.copy(ctx, f, o.Output)
}

// find returns the file with a name, or with NAME@sha256:DIGITS.
func (s *fileSource) find(ctx context.Context, ref string) (MirroredFile, error) {
	name, digits, pinned := strings.Cut(ref, "@")
	if pinned {
		var ok bool
		if digits, ok = strings.CutPrefix(strings.ToLower(digits), "sha256:"); !ok || digits == "" || strings.Trim(digits, "0123456789abcdef") != "" {
			return MirroredFile{}, inputHint("write NAME@sha256:DIGITS", "%q has no SHA-256 after the @", ref)
		}
	}
	if err := fileartifact.CheckName(name); err != nil {
		return MirroredFile{}, advice.Wrap(advice.Input, err, "")
	}
	if s.named != nil && !pinned {
		f, err := s.named(ctx, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f.MirroredFile, err
		}
	}
	all, err := s.list(ctx)
	if err != nil {
		return MirroredFile{}, err
	}
	var found []StoredFile
	var names, refs []string
	for _, f := range all {
		names = append(names, f.Name)
		if f.Name == name && strings.HasPrefix(f.SHA256.Encoded(), digits) {
			found, refs = append(found, f), append(refs, f.ref())
		}
	}
	switch {
	case len(found) == 0 && isTool(name):
		return MirroredFile{}, inputHint("it is in the images of its release: run gantry release tools", "there is no file %s", ref)
	case len(found) == 1, len(found) > 1 && !pinned && !found[0].Older:
		return found[0].MirroredFile, nil
	case len(found) > 1:
		return MirroredFile{}, inputHint("give one of "+strings.Join(refs, ", "), "there are several files %s", ref)
	case len(names) == 0:
		return MirroredFile{}, inputHint("check the prefix of the mirror, and whether mirror.files of the configuration has it", "there is no file %s: there are no files at all", ref)
	}
	hint := suggest.Phrase(name, names)
	if hint == "" {
		hint = "it has " + suggestNames(names)
	}
	return MirroredFile{}, inputHint(hint, "there is no file %s", ref)
}

// maxNames is how many names suggestNames lists.
const maxNames = 10

// suggestNames lists names, each once.
func suggestNames(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// copy writes the content of a file.
func (s *fileSource) copy(ctx context.Context, f MirroredFile, w io.Writer) error {
	artifact := fileartifact.File{Name: f.Name, Digest: f.SHA256, Size: f.Size}
	body, err := s.images.Blob(ctx, s.source, artifact.Layer(), 0)
	if err != nil {
		return fmt.Errorf("reading file %s: %w", f.Name, err)
	}
	hash := digest.SHA256.Digester()
	_, err = io.Copy(io.MultiWriter(w, hash.Hash()), body)
	if err := errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("reading file %s: %w", f.Name, err)
	}
	if got := hash.Digest(); got != f.SHA256 {
		return fmt.Errorf("file %s has the digest %s, and %s was expected", f.Name, got, f.SHA256)
	}
	return nil
}

// write writes a file to a path, and reports whether it already had this content.
func (s *fileSource) write(ctx context.Context, f MirroredFile, to string, force bool) (present bool, err error) {
	file, isRegular, err := durable.Resolve(to)
	switch info, statErr := os.Stat(to); {
	case statErr == nil && info.IsDir():
		return false, inputHint("name a file", "Options.To %s is a folder", to)
	case err != nil:
		return false, inputf("Options.To %s: %w", to, err)
	case !isRegular:
		return false, durable.Write(to, func(w io.Writer) error { return s.copy(ctx, f, w) })
	case statErr == nil:
		same, err := hasContent(ctx, file, f)
		if err != nil {
			return false, err
		}
		if same {
			return true, makeProgram(file, info, f)
		}
		if !force {
			return false, exists(to)
		}
	}
	dir, base := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, inputf("Options.To: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := space.Check(dir, f.Size); err != nil {
		return false, err
	}
	folder := durable.Folder{Root: root}
	draft := folder.Draft
	if f.Executable {
		draft = folder.DraftProgram
	}
	d, err := draft(".")
	if err != nil {
		return false, err
	}
	if err := s.copy(ctx, f, d); err != nil {
		return false, errors.Join(err, d.Discard())
	}
	return false, d.Commit(base)
}

// exists returns the error for a file that would be replaced.
func exists(path string) error {
	return inputHint("set Options.Force to replace it, or name another file", "%s exists and has other content", path)
}

// hasContent reports whether a regular file has the content of f.
func hasContent(ctx context.Context, path string, f MirroredFile) (same bool, err error) {
	have, info, err := regular.OpenPath(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, have.Close()) }()
	if info.Size() != f.Size {
		return false, nil
	}
	hash := digest.SHA256.Digester()
	_, err = io.Copy(hash.Hash(), cancelable{ctx, have})
	return hash.Digest() == f.SHA256, err
}

// makeProgram lets a program be executed by those who can read it.
func makeProgram(path string, info fs.FileInfo, f MirroredFile) error {
	if mode := info.Mode().Perm(); f.Executable && mode&0o100 == 0 {
		return os.Chmod(path, mode|mode>>2&0o111)
	}
	return nil
}
