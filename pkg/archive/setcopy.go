package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// The set manifest is also in a volume, for those who carry the volumes alone: the file copyPath is a
// tar file with the set manifest, its checksum, its signature and, of an encrypted set, the inner set manifest. It
// is an entry of the set like any other file, so the set manifest has its digest. In the copy, that
// digest is zeroSum: a reader computes the digest and gets the set manifest back, byte for byte. The
// signature in it is over the copy.
const (
	copyPath      = "gantry/set.tar"
	copyManifest  = "set.json"
	copySum       = "set.json.sha256"
	copySignature = "set.json.sig"
	copyInner     = "set.json.age"
)

// zeroSum is the digest of the copy until the copy is written.
const zeroSum = digest.Digest("sha256:0000000000000000000000000000000000000000000000000000000000000000")

const (
	// maxCopySignature is how many bytes the copy has for a signature: enough for RSA keys of 8,192
	// bits.
	maxCopySignature = 4 << 10
	// copyReserve is added to the computed size of the set manifest, for what the copy itself adds to
	// it.
	copyReserve = 2 << 10
)

// addCopy gives the copy of the set manifest its location, after all other entries: in the last volume
// that has room, or in a further one. A set whose volumes are smaller than the copy has none.
func (p *packing) addCopy(o *Options, l *packer, was *encryption) error {
	if o.withoutCopy {
		return nil
	}
	size, err := p.copySize(was)
	if err != nil {
		return err
	}
	e := entry{Path: copyPath, Digest: zeroSum, Size: size}
	if p.encrypter != nil { // what is in it is encrypted already, and the inner set manifest cannot describe it
		e.Digest, e.Size = digest.FromBytes(nil), 0
	}
	header := p.encrypter.headerSize(&e)
	at := len(l.ends) - 1
	for at >= 0 && l.freeSpace(at, header) < size {
		at--
	}
	if at < 0 {
		if labelSize+header+size+trailerSize > o.VolumeSize {
			return nil
		}
		if err := l.addVolume(); err != nil {
			return err
		}
		at = len(l.ends) - 1
	}
	l.appendEntry(at, e, size)
	return nil
}

// copySize returns the size of the copy of the set manifest. Nothing but labels and the copy itself
// is added to the set after that.
func (p *packing) copySize(was *encryption) (int64, error) {
	_, text, err := WriteFunc(p.set.write).measure()
	if err != nil {
		return 0, err
	}
	text += copyReserve
	files := int64(0)
	text += int64(len(p.set.Volumes)) * (int64(len(zeroSum)) + blockSize) // its frame, and the size of its label
	for _, e := range p.set.all() {
		files++
		if e.Digest == "" {
			text += int64(len(zeroSum))
		}
		if e.Part != nil {
			text += int64(len(zeroSum))
		}
	}
	const headers = 5 * blockSize // one of the blocks is the checksum
	size := headers + padded(text) + maxCopySignature + trailerSize
	if p.encrypter == nil {
		return size, nil
	}
	fresh := *was // its digest and tag are counted below, whether they are known or not
	fresh.Manifest, fresh.Tag = "", ""
	raw, err := json.Marshal(fresh)
	if err != nil {
		return 0, err
	}
	const perFile = 256 // what the outer set manifest has of a file, at most
	outer := int64(len(raw)) + files*perFile + int64(len(p.set.Volumes))*perFile + int64(len(zeroSum)) + maxTag + copyReserve
	return size + padded(outer) + padded(p.encrypter.encryptedSize(padme(max(text, minPadded)))), nil
}

// copyEntry returns the entry of the set with the copy of its manifest, as it is in the set manifest,
// and the number of its volume. It is nil if the set has none.
func (p *packing) copyEntry() (e *entry, volume int) {
	for i, e := range p.set.all() {
		if e.Path == copyPath {
			return e.stored(), i
		}
	}
	return nil, 0
}

// writeCopy writes the copy of the set manifest, when all other digests are known, and fills in its
// own.
func (w *Writer) writeCopy(ctx context.Context) error {
	e, volume := w.copyEntry()
	if e == nil {
		return nil
	}
	e.Digest = zeroSum
	files, err := w.copyFiles(ctx)
	if err != nil {
		return err
	}
	var parts []io.Reader
	var pipes []io.Closer
	defer func() {
		for _, p := range pipes {
			_ = p.Close() // a pipe
		}
	}()
	left := e.Size
	for _, f := range files {
		body := pipeOf(f.text)
		pipes = append(pipes, body)
		parts = append(parts, f.reader(body))
		left -= f.length()
	}
	if left < trailerSize {
		return fmt.Errorf("the copy of %s does not fit into the %d bytes for it", w.set.id().manifest(), e.Size)
	}
	sum := digest.SHA256.Digester()
	body := io.TeeReader(io.MultiReader(append(parts, io.LimitReader(zeros{}, left))...), sum.Hash())
	if err := w.writeTarFile(ctx, volume, e, body); err != nil {
		return err
	}
	e.Digest = sum.Digest()
	return w.writeError(w.volumes[volume].Sync(), w.set.Volumes[volume].Name)
}

// A copiedFile is a file in the copy of the set manifest.
type copiedFile struct {
	name string
	size int64
	text WriteFunc
}

// length returns how many bytes the file has in the copy.
func (f *copiedFile) length() int64 { return blockSize + padded(f.size) }

// reader returns the bytes of the file in the copy.
func (f *copiedFile) reader(body io.Reader) io.Reader {
	return io.MultiReader(bytes.NewReader(tarHeader(f.name, f.size)), body, io.LimitReader(zeros{}, padded(f.size)-f.size))
}

// copyFiles returns what is in the copy of the set manifest.
func (w *Writer) copyFiles(ctx context.Context) ([]copiedFile, error) {
	text := WriteFunc(w.outer.write)
	sum, size, err := text.measure()
	if err != nil {
		return nil, err
	}
	line := copySumLine(sum)
	files := []copiedFile{{copyManifest, size, text}, {copySum, int64(len(line)), writeBytes(line)}}
	if w.opts.Sign != nil {
		body := pipeOf(text)
		signature, err := w.opts.Sign(ctx, body)
		if err := errors.Join(err, body.Close()); err != nil {
			return nil, fmt.Errorf("signing %s: %w", w.set.id().manifest(), err)
		}
		if len(signature) <= maxCopySignature {
			files = append(files, copiedFile{copySignature, int64(len(signature)), writeBytes(signature)})
		} else {
			w.opts.Log.Warn("the signature is too long for the copy of the set manifest in the volumes; carry the files beside them", "size", len(signature))
		}
	}
	if w.encrypter != nil {
		raw, err := regular.Read(w.partial, w.set.id().inner(), maxInner)
		if err != nil {
			return nil, err
		}
		files = append(files, copiedFile{copyInner, int64(len(raw)), writeBytes(raw)})
	}
	return files, nil
}

// copySumLine returns the checksum of the copy, as sha256sum writes it.
func copySumLine(sum digest.Digest) []byte {
	return fmt.Appendf(nil, "%s  %s\n", sum.Encoded(), copyManifest)
}

// pipeOf returns what text writes. It must be closed.
func pipeOf(text WriteFunc) io.ReadCloser {
	from, to := io.Pipe()
	go func() { to.CloseWithError(text(to)) }()
	return from
}

// withCopySum replaces the digest of the copy in the text of its set manifest.
func withCopySum(text []byte, sum digest.Digest) ([]byte, error) {
	if bytes.Count(text, []byte(zeroSum)) != 1 {
		return nil, errors.New("it does not name itself once")
	}
	return bytes.Replace(text, []byte(zeroSum), []byte(sum), 1), nil
}
