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

// A Store stores the blobs and manifests of an image that is built. Write calls write with a writer
// for the content, hashes what is written, and returns its digest and size with the media type. It
// may call write again.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
}

// gzipLevel is klauspost's default. 50 MB of catalog JSON take 0.4 s of one core, which is too little
// to parallelize, and become 5 % larger than at the best level, which takes eight times as long.
const gzipLevel = 5

// A File is the content of a file, whose length is known before it is written.
type File interface {
	Size() int64
	WriteTo(w io.Writer) (int64, error)
}

// A Layer is a layer that is put on top of an image: directories, whiteouts and files, by their paths
// below the root.
type Layer struct {
	directories map[string]Attributes
	opaque      map[string]bool // directories whose content in lower layers is hidden
	files       map[string]File
}

// ordinary are the attributes of new directories, sticky those of /tmp, which every user can write
// to.
var (
	ordinary = Attributes{Mode: 0o755}
	sticky   = Attributes{Mode: 0o1777}
)

// NewLayer returns an empty layer.
func NewLayer() *Layer {
	return &Layer{directories: map[string]Attributes{}, opaque: map[string]bool{}, files: map[string]File{}}
}

// AddDirectory adds a directory and those above it, which get the attributes that the image has for
// them; attributes may be nil. They must be in the layer itself: runtimes otherwise invent the
// attributes of parent directories and override those of the layers below.
func (l *Layer) AddDirectory(name string, attributes func(dir string) (Attributes, bool)) {
	for up := parent(name); up != ""; up = parent(up) {
		if _, ok := l.directories[up]; ok {
			continue
		}
		l.directories[up] = ordinary
		if up == "tmp" {
			l.directories[up] = sticky
		} else if attributes != nil {
			if a, ok := attributes(up); ok {
				l.directories[up] = a
			}
		}
	}
	l.directories[name] = ordinary
	if name == "tmp" {
		l.directories[name] = sticky
	}
}

// Hide hides what the layers below have in a directory, which must have been added. It uses an
// opaque whiteout within the directory.
func (l *Layer) Hide(dir string) { l.opaque[dir] = true }

// AddFile adds a file below dir, which must have been added.
func (l *Layer) AddFile(dir, name string, f File) error {
	clean, err := CleanPath(name)
	if err != nil {
		return err
	}
	if clean == "" || clean != name {
		return fmt.Errorf("the name %.200q is not a path below /%s", name, dir)
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, whiteoutPrefix) {
			return fmt.Errorf("the name %.200q would remove files instead of adding one", name)
		}
	}
	full := path.Join(dir, name)
	if _, ok := l.files[full]; ok {
		return fmt.Errorf("the file %.200q exists twice", name)
	}
	l.files[full] = f
	for up := parent(full); up != dir; up = parent(up) {
		l.directories[up] = ordinary
	}
	return nil
}

// write writes the layer to the store, compressed with gzip. It returns the descriptor and the digest
// of the tar archive.
func (l *Layer) write(ctx context.Context, store Store, mediaType string) (ocispec.Descriptor, digest.Digest, error) {
	sum := sha256.New()
	desc, err := store.Write(ctx, mediaType, func(w io.Writer) error {
		sum.Reset()
		z, err := gzip.NewWriterLevel(w, gzipLevel)
		if err != nil {
			return err
		}
		z.ModTime = time.Unix(0, 0) // the zero time.Time would be written as a time
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

// writeTar writes the layer as a tar archive: sorted, without times, owned by root.
func (l *Layer) writeTar(ctx context.Context, w io.Writer) error {
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

// names returns the paths of all headers, each directory before its content. A whiteout, which has a
// trailing slash here, comes right after its directory.
func (l *Layer) names() []string {
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

func (l *Layer) writeEntry(t *tar.Writer, name string) error {
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		return writeHeader(t, &tar.Header{Typeflag: tar.TypeReg, Name: dir + "/" + opaqueMark, Mode: 0o644})
	}
	if a, ok := l.directories[name]; ok {
		return writeHeader(t, &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: a.Mode, Uid: a.UID, Gid: a.GID})
	}
	c := l.files[name]
	if err := writeHeader(t, &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: c.Size()}); err != nil {
		return err
	}
	_, err := c.WriteTo(t)
	return err
}

// writeHeader writes a header as USTAR, which every reader knows, or as GNU if a name is too long for
// that. It never writes PAX records.
func writeHeader(t *tar.Writer, h *tar.Header) error {
	h.ModTime = time.Unix(0, 0)
	h.Format = tar.FormatUSTAR
	if err := t.WriteHeader(h); err == nil {
		return nil
	}
	h.Format = tar.FormatGNU
	return t.WriteHeader(h)
}
