package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	"golang.org/x/time/rate"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// A fileMeter counts the bytes of files that are written.
type fileMeter struct {
	total       int64
	done, moved atomic.Int64 // moved is without what earlier runs wrote
}

// ShowFiles begins to show how far the files are, until stop is called.
func ShowFiles(e *env.Env, s *FileSource, files ...site.MirroredFile) (stop func()) {
	m := &fileMeter{}
	for _, f := range files {
		m.total += f.Size
	}
	s.meter = m
	return env.Show(e.Observer, "writing files", func() progress.Reading {
		return progress.Reading{Total: m.total, Done: m.done.Load(), Moved: m.moved.Load()}
	})
}

// found counts bytes that are already present.
func (m *fileMeter) found(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// again sets back what was done to the value of a file that is read from its beginning.
func (m *fileMeter) again(done int64) {
	if m != nil {
		m.done.Store(done)
	}
}

// read returns how many bytes are written or present.
func (m *fileMeter) read() int64 {
	if m == nil {
		return 0
	}
	return m.done.Load()
}

// Write implements io.Writer.
func (m *fileMeter) Write(p []byte) (int, error) {
	if m != nil {
		m.done.Add(int64(len(p)))
		m.moved.Add(int64(len(p)))
	}
	return len(p), nil
}

// A slowReader reads as fast as a limit allows.
type slowReader struct {
	ctx   context.Context //nolint:containedctx // of one call
	body  io.Reader
	limit *rate.Limiter
}

func (r slowReader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p[:min(len(p), r.limit.Burst())])
	if n > 0 {
		if err := r.limit.WaitN(r.ctx, n); err != nil {
			return n, err
		}
	}
	return n, err
}

// minBurst is how many bytes a slow reader reads at least at a time.
const minBurst = 4 << 10

// limitRate limits the bytes per second that are read from a source that is not a registry, whose client does so.
func (s *FileSource) limitRate(bytes limits.Rate) {
	if bytes > 0 {
		s.limit = rate.NewLimiter(rate.Limit(bytes), int(min(max(bytes/20, minBurst), 1<<20)))
	}
}

// slow returns body, limited.
func (s *FileSource) slow(ctx context.Context, body io.Reader) io.Reader {
	if s.limit == nil {
		return body
	}
	return slowReader{ctx, body, s.limit}
}

// copy writes the content of a file.
func (s *FileSource) copy(ctx context.Context, f site.MirroredFile, w io.Writer) error {
	return s.copyRest(ctx, f, w, digest.SHA256.Hash(), 0)
}

// copyRest writes the content of a file from an offset. hashed is the hash of what is before it.
func (s *FileSource) copyRest(ctx context.Context, f site.MirroredFile, w io.Writer, hashed hash.Hash, offset int64) error {
	artifact := fileartifact.File{Name: f.Name, Digest: f.SHA256, Size: f.Size}
	body, err := s.images.Blob(ctx, s.source, artifact.Layer(), offset)
	if err != nil {
		return fmt.Errorf("reading file %s: %w", f.Name, err)
	}
	_, err = io.Copy(io.MultiWriter(w, hashed, s.meter), s.slow(ctx, body))
	if err := errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("reading file %s: %w", f.Name, err)
	}
	if got := digest.NewDigest(digest.SHA256, hashed); got != f.SHA256 {
		return fmt.Errorf("file %s has the digest %s, and %s was expected: %w", f.Name, got, f.SHA256, remote.ErrMismatch)
	}
	return nil
}

// write writes a file to a path that the user named, and reports whether it already had this content. A symbolic link
// to a file is refused: its target has another name than the user sees.
func (s *FileSource) write(ctx context.Context, f site.MirroredFile, to string, force bool) (present bool, err error) {
	file, isRegular, err := durable.Resolve(to)
	switch info, statErr := os.Stat(to); {
	case statErr == nil && info.IsDir():
		return false, env.InputHint("name a file", "Options.To %s is a folder", to)
	case err != nil:
		return false, env.Inputf("Options.To %s: %w", to, err)
	case !isRegular:
		return false, altered(durable.Write(to, func(w io.Writer) error { return s.copy(ctx, f, w) }))
	}
	if err := RefuseLink(to, file); err != nil {
		return false, err
	}
	dir, base := filepath.Split(to)
	dir = cmp.Or(dir, ".")
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, env.Inputf("Options.To: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return s.writeIn(ctx, f, root, base, force)
}

// RefuseLink returns an error if a path that the user named is a symbolic link to a file.
func RefuseLink(path, target string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return env.InputHint("set Options.To to "+target+" if that is the file to write", "%s is a symbolic link", path)
	}
	return nil
}

// writeIn writes a file of a folder, and reports whether it already had this content. The file is not written through a
// symbolic link.
func (s *FileSource) writeIn(ctx context.Context, f site.MirroredFile, root *os.Root, base string, force bool) (present bool, err error) {
	path := filepath.Join(root.Name(), base)
	switch info, err := root.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, env.Inputf("Options.To: %w", err)
	case !info.Mode().IsRegular():
		return false, env.InputHint("remove it, or name another folder", "%s exists and is not a regular file, but %s", path, kindOfFile(info))
	default:
		same, err := HasContent(ctx, root, base, f)
		if err != nil {
			return false, err
		}
		if same {
			s.meter.found(f.Size)
			return true, MakeProgram(root, base, f)
		}
		if !force {
			return false, Exists(path)
		}
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	p, err := durable.Folder{Root: root}.Partial(base, f.SHA256.Encoded()[:partialKey], mode)
	if errors.Is(err, durable.ErrInUse) {
		return false, advice.Wrap(advice.Locked, err, "wait until it ends")
	}
	if err != nil {
		return false, err
	}
	if err := s.fill(ctx, f, p, root.Name()); err != nil {
		return false, altered(err)
	}
	if err := p.Commit(base); err != nil {
		return false, err
	}
	return false, MakeProgram(root, base, f) // the part of an earlier run may have been no program
}

// kindOfFile says what a file is that is not regular.
func kindOfFile(info fs.FileInfo) string {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case info.IsDir():
		return "a folder"
	}
	return "a device or a pipe"
}

// altered returns an error about content that was altered as one of verification.
func altered(err error) error {
	if !isMismatch(err) || advice.KindOf(err) == advice.Mismatch {
		return err
	}
	return advice.Wrap(advice.Mismatch, err, "mirror it again, or write the archive or layout again")
}

// partialKey is how many digits of its digest identify a file that an earlier run wrote in part.
const partialKey = 12

// fill writes the content of a file after what earlier runs wrote. After an error, what arrived is kept, unless it
// is not a part of the file.
func (s *FileSource) fill(ctx context.Context, f site.MirroredFile, p *durable.Partial, dir string) error {
	before := s.meter.read()
	err := space.Check(dir, f.Size-min(p.Size(), f.Size))
	if err == nil {
		err = s.fillFrom(ctx, f, p, p.Size())
	}
	if isMismatch(err) && p.Size() > 0 { // perhaps only what the earlier run left is wrong
		s.meter.again(before)
		err = s.fillFrom(ctx, f, p, 0)
	}
	switch {
	case err == nil:
		return nil
	case isMismatch(err):
		return errors.Join(err, p.Discard())
	}
	return errors.Join(err, p.Keep())
}

// fillFrom is fill from a part of n bytes.
func (s *FileSource) fillFrom(ctx context.Context, f site.MirroredFile, p *durable.Partial, n int64) error {
	if n > f.Size {
		n = 0
	}
	hashed := digest.SHA256.Hash()
	if _, err := io.Copy(hashed, env.Cancelable{Ctx: ctx, Reader: io.NewSectionReader(p, 0, n)}); err != nil {
		return err
	}
	if err := p.Resume(n); err != nil {
		return err
	}
	s.meter.found(n)
	return s.copyRest(ctx, f, p, hashed, n)
}

// isMismatch reports whether content is not what its digest says.
func isMismatch(err error) bool {
	return errors.Is(err, remote.ErrMismatch) || errors.As(err, new(*layout.CorruptError)) || err != nil && advice.KindOf(err) == advice.Mismatch
}

// Exists returns the error for a file that would be replaced.
func Exists(path string) error {
	return env.InputHint("set Options.Force to replace it, or name another file", "%s exists and has other content", path)
}

// HasContent reports whether a regular file has the content of f.
func HasContent(ctx context.Context, root *os.Root, name string, f site.MirroredFile) (same bool, err error) {
	have, info, err := regular.Open(root, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, have.Close()) }()
	if info.Size() != f.Size {
		return false, nil
	}
	hash := digest.SHA256.Digester()
	_, err = io.Copy(hash.Hash(), env.Cancelable{Ctx: ctx, Reader: have})
	return hash.Digest() == f.SHA256, err
}

// MakeProgram lets a program be executed by those who can read it.
func MakeProgram(root *os.Root, name string, f site.MirroredFile) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); f.Executable && info.Mode().IsRegular() && mode&0o100 == 0 {
		return root.Chmod(name, mode|mode>>2&0o111)
	}
	return nil
}
