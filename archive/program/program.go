package program

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
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// The names of the program and its checksum beside the volumes of an archive. They are plain files, for a
// machine that has no Gantry yet.
const (
	programName     = "gantry"
	sumSuffix       = ".sha256"
	signatureSuffix = sumSuffix + ".sig"
	maxSum          = 4 << 10
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
	// NoChecksum reports that the program has no file with its checksum, so nothing shows that it is complete.
	NoChecksum bool `json:"noChecksum,omitempty"`
	// Signature says who signed the checksum; nil if it is not signed. The file with the signature has the suffix
	// ".sha256.sig".
	Signature *sshsig.Verdict `json:"signature,omitempty"`
}

// Add copies the program at path into a folder, with its checksum, which is signed if there is a key. All
// are written completely, the checksum after the program, then the signature. A program that the folder has
// already is not written again.
func Add(ctx context.Context, path, dir string, key *sshsig.Key) (added *AddedProgram, err error) {
	sum, size, _, err := env.LocalFiles{}.LocalFile(ctx, path)
	if err != nil {
		return nil, env.Inputf("Options.WithGantry %s: %w", path, err)
	}
	p := &AddedProgram{File: programName, Platform: runtime.GOOS + "/" + runtime.GOARCH, Size: size, SHA256: sum}
	if strings.EqualFold(filepath.Ext(path), ".exe") {
		p.File += ".exe"
	}
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return nil, env.Inputf("Options.Destination: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	folder := durable.Folder{Root: root}
	have, err := readProgram(ctx, dir, p.File, nil)
	if err == nil && have != nil && have.SHA256 == sum && !have.NoChecksum {
		return p, p.sign(ctx, folder, key)
	}
	if err := space.Check(dir, size); err != nil {
		return nil, err
	}
	// Without the old checksum, a run that ends in between leaves no wrong one.
	for _, suffix := range []string{signatureSuffix, sumSuffix} {
		if err := root.Remove(p.File + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
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
	if err := folder.WriteFile(p.File+sumSuffix, p.sumLine()); err != nil {
		return nil, err
	}
	return p, p.sign(ctx, folder, key)
}

// sign signs the checksum of the program, unless it is already signed with this key.
func (p *AddedProgram) sign(ctx context.Context, folder durable.Folder, key *sshsig.Key) error {
	if key == nil {
		return nil
	}
	who := key.Signer()
	p.Signature = &sshsig.Verdict{Signed: true, Signer: &who}
	armored, err := regular.Read(folder.Root, p.File+signatureSuffix, sshsig.MaxSize)
	if err == nil {
		have, err := sshsig.Policy{}.Check(archive.SignatureNamespace, bytes.NewReader(p.sumLine()), armored)
		if err == nil && have.Key == who.Key {
			return nil
		}
	}
	if armored, err = key.Sign(ctx, archive.SignatureNamespace, bytes.NewReader(p.sumLine())); err != nil {
		return err
	}
	return folder.WriteFile(p.File+signatureSuffix, armored)
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
	if _, err := io.Copy(io.MultiWriter(w, hash.Hash()), env.Cancelable{Ctx: ctx, Reader: f}); err != nil {
		return err
	}
	if hash.Digest() != p.SHA256 {
		return fmt.Errorf("%s changed while it was copied", path)
	}
	return nil
}

// readProgram reads a program beside an archive, and returns it, or nil if the folder has none. If it has another
// checksum, or its signature is not one that the policy accepts, the error is of kind advice.Mismatch. A program
// without a signature is accepted; without a policy, signatures are not read.
func readProgram(ctx context.Context, dir, name string, policy *sshsig.Policy) (p *AddedProgram, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	want, err := regular.Read(root, name+sumSuffix, maxSum)
	noChecksum := errors.Is(err, fs.ErrNotExist)
	if err != nil && !noChecksum {
		return nil, err
	}
	damaged := func(format string, args ...any) error {
		return advice.New(advice.Mismatch, "copy it again from the place where the archive was written", "the program "+filepath.Join(dir, name)+" "+format, args...)
	}
	f, info, err := regular.Open(root, name)
	switch {
	case noChecksum && err != nil:
		return nil, nil // a folder of this name, for example
	case errors.Is(err, fs.ErrNotExist):
		return nil, damaged("is missing, and its checksum is there")
	case err != nil:
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info.Size() > fileartifact.MaxSize {
		return nil, damaged("is too large")
	}
	hash := digest.SHA256.Digester()
	if _, err := io.Copy(hash.Hash(), env.Cancelable{Ctx: ctx, Reader: f}); err != nil {
		return nil, err
	}
	p = &AddedProgram{File: name, Size: info.Size(), SHA256: hash.Digest(), NoChecksum: noChecksum}
	if noChecksum {
		return p, nil
	}
	if !bytes.Equal(want, p.sumLine()) {
		return nil, damaged("has the SHA-256 %s, and %s does not", p.SHA256.Encoded(), name+sumSuffix)
	}
	if policy == nil {
		return p, nil
	}
	armored, err := regular.Read(root, name+signatureSuffix, sshsig.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	verdict, err := policy.Check(archive.SignatureNamespace, bytes.NewReader(want), armored)
	if err != nil {
		return nil, damaged("is refused: %s: %w", name+signatureSuffix, err)
	}
	p.Signature = &verdict
	return p, nil
}

// Verify reads the programs beside an archive, and compares them with their checksums and signatures.
func Verify(ctx context.Context, dirs []string, policy *sshsig.Policy) (all []AddedProgram, err error) {
	for _, dir := range dirs {
		for _, name := range programNames {
			p, wrong := readProgram(ctx, dir, name, policy)
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
