package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Store takes in the blobs and manifests of an image that is built. Write calls
// write with the place where the content goes, hashes what is written and
// returns its digest and size under the given media type.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
}

// gzipLevel is klauspost's own default. 50 MB of catalog JSON take 0.4 s of one
// core, too little to share among several, and come out 5 % larger than at the
// best level, which takes eight times as long.
const gzipLevel = 5

// A content is a file of a catalog whose length is known before it is written.
type content interface {
	Size() int64
	WriteTo(w io.Writer) (int64, error)
}

// A newLayer is the layer that is put on top: directories, whiteouts and files
// by their paths below the root.
type newLayer struct {
	directories map[string]attributes
	opaque      map[string]bool // directories whose older content is hidden
	files       map[string]content
}

// ordinary are the attributes of a directory that is new; sticky those of /tmp,
// in which opm, under whatever user, makes its cache.
var (
	ordinary = attributes{mode: 0o755}
	sticky   = attributes{mode: 0o1777}
)

func newNewLayer() *newLayer {
	return &newLayer{directories: map[string]attributes{}, opaque: map[string]bool{}, files: map[string]content{}}
}

// addDirectory adds a directory and those above it; above says what the image
// has of them. They must stand in the layer themselves: runtimes make up the
// attributes of directories that do not, over those of the layers below.
func (l *newLayer) addDirectory(name string, above func(string) attributes) {
	for up := parent(name); up != ""; up = parent(up) {
		if _, ok := l.directories[up]; !ok {
			l.directories[up] = above(up)
		}
	}
	l.directories[name] = ordinary
	if name == "tmp" {
		l.directories[name] = sticky
	}
}

// addFile adds a file of the catalog, whose directory is there already.
func (l *newLayer) addFile(dir, name string, c content) error {
	clean, err := cleanName(name)
	if err != nil {
		return err
	}
	if clean == "" || clean != name {
		return fmt.Errorf("the name %.200q is no path below the catalog's directory", name)
	}
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, whiteoutPrefix) {
			return fmt.Errorf("the name %.200q would remove files instead of adding one", name)
		}
	}
	full := path.Join(dir, name)
	if _, ok := l.files[full]; ok {
		return fmt.Errorf("the catalog has the file %.200q twice", name)
	}
	l.files[full] = c
	for up := parent(full); up != dir; up = parent(up) {
		l.directories[up] = ordinary
	}
	return nil
}

// write writes the layer to the store, as gzip. It returns the descriptor and
// the digest of what it unpacks to.
func (l *newLayer) write(ctx context.Context, store Store, mediaType string) (ocispec.Descriptor, digest.Digest, error) {
	sum := sha256.New()
	desc, err := store.Write(ctx, mediaType, func(w io.Writer) error {
		sum.Reset()
		z, err := gzip.NewWriterLevel(w, gzipLevel)
		if err != nil {
			return err
		}
		z.ModTime = time.Unix(0, 0) // the zero time would be written as one
		if err := l.writeTar(ctx, io.MultiWriter(z, sum)); err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		return ocispec.Descriptor{}, "", fmt.Errorf("writing the new layer: %w", err)
	}
	desc.MediaType = mediaType
	return desc, digest.NewDigest(digest.SHA256, sum), nil
}

// writeTar writes the layer as a tar archive: sorted, without times, owned by
// root.
func (l *newLayer) writeTar(ctx context.Context, w io.Writer) error {
	t := tar.NewWriter(w)
	for _, name := range l.names() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.writeEntry(t, name); err != nil {
			return fmt.Errorf("writing %.200q: %w", name, err)
		}
	}
	return t.Close()
}

// names are the paths of all headers, each directory before what is in it. A
// whiteout, which has a slash at its end here, comes right after its directory.
func (l *newLayer) names() []string {
	var names []string
	for name := range l.directories {
		names = append(names, name)
	}
	for name := range l.opaque {
		names = append(names, name+"/")
	}
	for name := range l.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (l *newLayer) writeEntry(t *tar.Writer, name string) error {
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		return writeHeader(t, &tar.Header{Typeflag: tar.TypeReg, Name: dir + "/" + opaqueMark, Mode: 0o644})
	}
	if a, ok := l.directories[name]; ok {
		return writeHeader(t, &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: a.mode, Uid: a.uid, Gid: a.gid})
	}
	c := l.files[name]
	if err := writeHeader(t, &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: c.Size()}); err != nil {
		return err
	}
	_, err := c.WriteTo(t)
	return err
}

// writeHeader writes a header as USTAR, which every reader knows, and as GNU
// where a name is too long for that; never with PAX records.
func writeHeader(t *tar.Writer, h *tar.Header) error {
	h.ModTime = time.Unix(0, 0)
	h.Format = tar.FormatUSTAR
	if err := t.WriteHeader(h); err == nil {
		return nil
	}
	h.Format = tar.FormatGNU
	return t.WriteHeader(h)
}
