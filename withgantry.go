package gantry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/space"
)

// The names of the program and its checksum beside the volumes of an archive. They are plain files, for a
// machine that has no Gantry yet.
const (
	programName = "gantry"
	sumSuffix   = ".sha256"
	maxSum      = 4 << 10
)

// programNames are the names that the program may have.
var programNames = []string{programName, programName + ".exe"}

// An AddedProgram is a program beside an archive.
type AddedProgram struct {
	// File is its name in the folder. The file with its checksum, as sha256sum prints it, has the suffix
	// ".sha256".
	File string `json:"file"`
	// Platform is where it runs, "linux/amd64"; "" if it was only verified.
	Platform string        `json:"platform,omitempty"`
	Size     int64         `json:"size"`
	SHA256   digest.Digest `json:"sha256"`
}

// addProgram copies the program at path into a folder, with its checksum. Both are written completely, the
// checksum last. A program that the folder has already is not written again.
func addProgram(ctx context.Context, path, dir string) (added *AddedProgram, err error) {
	sum, size, _, err := downloads{}.LocalFile(ctx, path)
	if err != nil {
		return nil, inputf("Options.WithGantry %s: %w", path, err)
	}
	p := &AddedProgram{File: programName, Platform: runtime.GOOS + "/" + runtime.GOARCH, Size: size, SHA256: sum}
	if strings.EqualFold(filepath.Ext(path), ".exe") {
		p.File += ".exe"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, inputf("Options.Destination: %w", err)
	}
	if have, err := readProgram(ctx, dir, p.File); err == nil && have != nil && have.SHA256 == sum {
		return p, nil
	}
	if err := space.Check(dir, size); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	folder := durable.Folder{Root: root}
	// Without the old checksum, a run that ends in between leaves no wrong one.
	if err := root.Remove(p.File + sumSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d, err := folder.DraftProgram(".")
	if err != nil {
		return nil, err
	}
	if err := copyProgram(ctx, path, p, d); err != nil {
		return nil, errors.Join(err, d.Discard())
	}
	if err := d.Commit(p.File); err != nil {
		return nil, err
	}
	return p, folder.WriteFile(p.File+sumSuffix, p.sumLine())
}

// sumLine returns what sha256sum prints for the program.
func (p *AddedProgram) sumLine() []byte {
	return fmt.Appendf(nil, "%s  %s\n", p.SHA256.Encoded(), p.File)
}

// copyProgram copies the program, and checks that it did not change since it was hashed.
func copyProgram(ctx context.Context, path string, p *AddedProgram, w io.Writer) (err error) {
	f, _, err := regular.OpenPath(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := digest.SHA256.Digester()
	if _, err := io.Copy(io.MultiWriter(w, hash.Hash()), cancelable{ctx, f}); err != nil {
		return err
	}
	if hash.Digest() != p.SHA256 {
		return fmt.Errorf("%s changed while it was copied", path)
	}
	return nil
}

// readProgram reads a program beside an archive, and returns it, or nil if the folder has none with a
// checksum. If it has another checksum, the error is of kind advice.Mismatch.
func readProgram(ctx context.Context, dir, name string) (p *AddedProgram, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	want, err := regular.Read(root, name+sumSuffix, maxSum)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	damaged := func(format string, args ...any) error {
		return advice.New(advice.Mismatch, "copy it again from the place where the archive was written", "the program "+filepath.Join(dir, name)+" "+format, args...)
	}
	f, info, err := regular.Open(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged("is missing, and its checksum is there")
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info.Size() > fileartifact.MaxSize {
		return nil, damaged("is too large")
	}
	hash := digest.SHA256.Digester()
	if _, err := io.Copy(hash.Hash(), cancelable{ctx, f}); err != nil {
		return nil, err
	}
	p = &AddedProgram{File: name, Size: info.Size(), SHA256: hash.Digest()}
	if !bytes.Equal(want, p.sumLine()) {
		return nil, damaged("has the SHA-256 %s, and %s does not", p.SHA256.Encoded(), name+sumSuffix)
	}
	return p, nil
}

// verifyPrograms reads the programs beside an archive.
func verifyPrograms(ctx context.Context, dirs []string) (all []AddedProgram, err error) {
	for _, dir := range dirs {
		for _, name := range programNames {
			p, wrong := readProgram(ctx, dir, name)
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case wrong != nil:
				err = errors.Join(err, wrong)
			case p != nil:
				all = append(all, *p)
			}
		}
	}
	return all, err
}
