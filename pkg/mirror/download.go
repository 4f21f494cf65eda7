package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

const (
	// minDownload is the size of files that are kept while they are copied. Smaller ones are read again.
	minDownload = 16 << 20
	// downloadStep is how many bytes may be read again after a run that was killed.
	downloadStep = 32 << 20
	// downloadReserve is how many bytes stay free on the disk of the downloads, beside twice what is still to come:
	// the destination may be on the same disk.
	downloadReserve = 1 << 30
	// maxDownloadState limits the size of a file with a downloadState.
	maxDownloadState = 16 << 10
	downloadKey      = "download" // in the names of partial files
)

// Downloads keeps large files of web servers in a folder while they are copied, so that a run continues where an
// interrupted one ended. What is complete at the destination is removed.
type Downloads struct {
	// Dir is created when it is needed. "" keeps nothing.
	Dir string
	// minSize, step and reserve are the constants above; tests set others.
	minSize, step, reserve int64
}

// KeepDownloads keeps the downloads of an Origin in a folder.
func (o *Origin) KeepDownloads(dir string) {
	o.downloads = Downloads{Dir: dir, minSize: minDownload, step: downloadStep, reserve: downloadReserve}
}

// Expire removes what was not continued since a time.
func (d Downloads) Expire(before time.Time) error {
	all, err := os.ReadDir(d.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		if info, infoErr := e.Info(); infoErr == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(filepath.Join(d.Dir, e.Name())))
		}
	}
	return err
}

// A downloadState says what of a partial file can be used. It is trusted only with the bytes that have the digest.
type downloadState struct {
	Size      int64         `json:"size"`
	Digest    digest.Digest `json:"digest"`              // of the first Size bytes
	Validator string        `json:"validator,omitempty"` // of the version that the server had
}

// A download is a file of a web server that is read, and kept meanwhile.
type download struct {
	ctx     context.Context //nolint:containedctx // of one reading
	o       *Origin
	address string
	desc    ocispec.Descriptor
	root    *os.Root
	kept    *durable.Partial // nil once nothing is kept

	body   io.ReadCloser // what is not kept yet; nil at the end
	hash   hash.Hash     // of the first n bytes
	n      int64         // how many bytes are known
	at     int64         // the offset of the next Read
	from   int64         // the first one
	before int64         // n at the beginning
	state  downloadState // as it was written last
	err    error
}

// webFile opens the file at an address. A large one is continued where an earlier run ended.
func (o *Origin) webFile(ctx context.Context, address string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if o.downloads.Dir == "" || desc.Size < o.downloads.minSize || desc.Digest.Algorithm() != digest.SHA256 {
		return o.client.WebFile(ctx, address, desc, offset)
	}
	d := &download{ctx: ctx, o: o, address: address, desc: desc, at: offset, from: offset, hash: digest.SHA256.Hash()}
	if !d.open() || d.n < offset {
		d.end(false)
		return o.client.WebFile(ctx, address, desc, offset)
	}
	d.before = d.n
	var err error
	switch {
	case d.n == 0:
		d.body, err = o.client.WebFile(ctx, address, desc, 0)
	case d.n < desc.Size:
		d.body, err = o.client.ContinueWebFile(ctx, address, desc, d.n, d.state.Validator)
	}
	if errors.Is(err, remote.ErrChanged) {
		d.end(true)
		return o.webFile(ctx, address, desc, offset)
	}
	if err != nil {
		d.end(false)
		return nil, err
	}
	if v, ok := d.body.(interface{ Validator() string }); ok && d.before == 0 {
		d.state.Validator = v.Validator()
	}
	return d, nil
}

// open opens the partial file with what an earlier run wrote. It reports false if nothing can be kept: that only
// means that another run begins again.
func (d *download) open() bool {
	dir := d.o.downloads.Dir
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return false
	}
	var err error
	if d.root, err = os.OpenRoot(dir); err != nil {
		return false
	}
	if d.kept, err = (durable.Folder{Root: d.root}).Partial(d.desc.Digest.Encoded(), downloadKey, 0o644); err != nil {
		d.kept = nil
		return false
	}
	d.readState()
	if _, err := io.Copy(d.hash, io.NewSectionReader(d.kept, 0, d.state.Size)); err != nil || digest.NewDigest(digest.SHA256, d.hash) != d.state.Digest {
		d.hash.Reset()
		d.state = downloadState{}
	}
	d.n = d.state.Size
	return d.kept.Resume(d.n) == nil && d.ctx.Err() == nil && d.hasRoom()
}

// readState reads the state of an earlier run.
func (d *download) readState() {
	text, err := regular.Read(d.root, d.stateName(), maxDownloadState)
	if err != nil || json.Unmarshal(text, &d.state) != nil || d.state.Size < 0 || d.state.Size > min(d.kept.Size(), d.desc.Size) {
		d.state = downloadState{}
	}
}

func (d *download) stateName() string { return d.desc.Digest.Encoded() + ".json" }

// hasRoom reports whether the disk has room for what is still to come, and for the destination on the same disk.
func (d *download) hasRoom() bool {
	free, err := space.Free(d.o.downloads.Dir)
	return errors.Is(err, errors.ErrUnsupported) || err == nil && free >= 2*(d.desc.Size-d.n)+d.o.downloads.reserve
}

// save writes the state.
func (d *download) save() error {
	d.state.Size, d.state.Digest = d.n, digest.NewDigest(digest.SHA256, d.hash)
	text, err := json.Marshal(d.state)
	if err != nil {
		return err
	}
	return durable.Folder{Root: d.root}.WriteFile(d.stateName(), text)
}

// end closes what is kept, or removes it. Errors only mean that another run begins again.
func (d *download) end(remove bool) {
	if d.kept != nil && remove {
		_ = d.root.Remove(d.stateName())
		_ = d.kept.Discard()
	} else if d.kept != nil {
		_ = d.kept.Keep()
	}
	d.kept = nil
	if d.root != nil {
		_ = d.root.Close()
		d.root = nil
	}
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	if d.err != nil || len(p) == 0 {
		return 0, d.err
	}
	if d.ctx.Err() != nil {
		return 0, context.Cause(d.ctx)
	}
	if d.at < d.n {
		n, err := d.kept.ReadAt(p[:min(int64(len(p)), d.n-d.at)], d.at)
		d.at += int64(n)
		if err != nil && n == 0 {
			d.err = fmt.Errorf("reading what is kept of %s: %w", d.address, err)
		}
		return n, d.err
	}
	n := 0
	if d.n < d.desc.Size {
		var err error
		n, err = d.body.Read(p)
		if d.add(p[:n]); err != nil && err != io.EOF || err == io.EOF && d.n < d.desc.Size {
			d.err = err
			if errors.Is(err, remote.ErrMismatch) {
				d.end(true)
			}
			return n, d.err
		}
	}
	if d.n == d.desc.Size {
		if d.err = d.compare(); d.err != io.EOF {
			return 0, d.err
		}
	}
	return n, nil
}

// compare compares the whole content with its digest. It returns io.EOF if it is correct.
func (d *download) compare() error {
	got := digest.NewDigest(digest.SHA256, d.hash)
	if got == d.desc.Digest {
		return io.EOF
	}
	d.end(true)
	err := fmt.Errorf("reading %s: its content has the digest %s, and %s was expected: %w", d.address, got, d.desc.Digest, remote.ErrMismatch)
	if d.before > 0 {
		err = fmt.Errorf("%w; %d bytes of it were from an earlier run and were removed: run again", err, d.before)
	}
	return err
}

// add adds bytes to what is kept.
func (d *download) add(p []byte) {
	d.hash.Write(p)
	d.n += int64(len(p))
	d.at = d.n
	if d.kept == nil {
		return
	}
	_, err := d.kept.Write(p)
	if err == nil && d.n-d.state.Size >= d.o.downloads.step {
		if err = d.save(); err == nil && !d.hasRoom() {
			err = errors.ErrUnsupported
		}
	}
	if err != nil {
		d.end(true)
	}
}

// Verifies reports whether the bytes are compared with desc.
func (d *download) Verifies(desc ocispec.Descriptor) bool {
	return d.from == 0 && desc.Digest == d.desc.Digest && desc.Size == d.desc.Size
}

// Close implements io.Closer. What was read is kept until it is stored.
func (d *download) Close() error {
	if d.kept != nil && d.n != d.state.Size {
		_ = d.save()
	}
	d.end(false)
	if d.err == nil {
		d.err = os.ErrClosed
	}
	if d.body == nil {
		return nil
	}
	return d.body.Close()
}

// Stored removes what is kept of a file after the destination has it.
func (o *Origin) Stored(d digest.Digest) {
	if o.downloads.Dir == "" {
		return
	}
	x := &download{o: o, desc: ocispec.Descriptor{Digest: d}}
	var err error
	if x.root, err = os.OpenRoot(o.downloads.Dir); err != nil {
		return
	}
	if x.kept, err = (durable.Folder{Root: x.root}).Partial(d.Encoded(), downloadKey, 0o644); err != nil {
		x.kept = nil
	}
	x.end(true)
}
