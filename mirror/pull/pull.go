package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// Options says which file is fetched, from where and where to.
type Options struct {
	Env *env.Env
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
	// Sequence and Read are those of open.Options, for an archive.
	Sequence int
	Read     archive.OpenOptions
}

// A FileList is the result of ListFiles. Its JSON is what gantry get --output json prints.
type FileList struct {
	Version int          `json:"version"`
	From    string       `json:"from"`
	Files   []StoredFile `json:"files"`
}

// A PulledFile is the result of File.
type PulledFile struct {
	Version int `json:"version"`
	site.MirroredFile
	// To is the file that was written, "" for a stream. Present reports whether it had the content before.
	To      string `json:"to,omitempty"`
	Present bool   `json:"present,omitempty"`
}

// ListFiles lists the files of a mirror, an archive or a layout. Options.Name is ignored.
func ListFiles(ctx context.Context, o Options) (*FileList, error) {
	e, done := o.Env.OrDefault()
	defer done()
	s, err := openFiles(ctx, e, &o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all, err := s.List(ctx)
	if all == nil {
		all = []StoredFile{}
	}
	return &FileList{Version: 1, From: o.From, Files: all}, err
}

// File writes a file of a mirror, an archive or a layout. Its content is compared with its SHA-256
// while it is written. A file that has this content already is left as it is.
func File(ctx context.Context, o Options) (*PulledFile, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.Name == "" {
		return nil, env.InputHint("leave it out to list the names", "the name of the file is empty")
	}
	s, err := openFiles(ctx, e, &o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f, err := s.Find(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	defer ShowFiles(e, s, f)()
	out := &PulledFile{Version: 1, MirroredFile: f}
	if o.Output == nil {
		if out.To = o.To; out.To == "" {
			out.To = path.Base(f.Name)
		}
		out.Present, err = s.write(ctx, f, out.To, o.Force)
		return out, err
	}
	return out, altered(s.copy(ctx, f, o.Output))
}

// Find returns the file with a name, or with NAME@sha256:DIGITS.
func (s *FileSource) Find(ctx context.Context, ref string) (site.MirroredFile, error) {
	name, digits, pinned := strings.Cut(ref, "@")
	if pinned {
		var ok bool
		if digits, ok = strings.CutPrefix(strings.ToLower(digits), "sha256:"); !ok || digits == "" || strings.Trim(digits, "0123456789abcdef") != "" {
			return site.MirroredFile{}, env.InputHint("write NAME@sha256:DIGITS", "%q has no SHA-256 after the @", ref)
		}
	}
	if err := fileartifact.CheckName(name); err != nil {
		return site.MirroredFile{}, advice.Wrap(advice.Input, err, "")
	}
	if s.named != nil && !pinned {
		f, err := s.named(ctx, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f.MirroredFile, err
		}
	}
	all, err := s.List(ctx)
	none := (*noFilesError)(nil)
	if errors.As(err, &none) && isTool(name) {
		err = nil // its hint is better
	}
	if errors.As(err, &none) {
		return site.MirroredFile{}, fmt.Errorf("there is no file %s: %w", ref, err)
	}
	if err != nil {
		return site.MirroredFile{}, err
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
		return site.MirroredFile{}, env.InputHint("it is in the images of its release: run gantry release tools", "there is no file %s", ref)
	case len(found) == 1, len(found) > 1 && !pinned && !found[0].Older:
		return found[0].MirroredFile, nil
	case len(found) > 1:
		return site.MirroredFile{}, env.InputHint("give one of "+strings.Join(refs, ", "), "there are several files %s", ref)
	case len(names) == 0:
		return site.MirroredFile{}, env.InputHint("files are mirrored with mirror.files of the configuration", "there is no file %s: there are no files at all", ref)
	}
	hint := cmp.Or(suggest.Phrase(name, names), "it has "+suggestNames(names))
	return site.MirroredFile{}, env.InputHint(hint, "there is no file %s", ref)
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
