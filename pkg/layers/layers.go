// Package layers reads the layers of images as streams: unpacked, limited and
// hashed, and never onto a disk. What the tar archive inside means is the
// reader's business.
package layers

import (
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Read unpacks a layer, gives the tar archive to read and returns the digest of
// the whole archive, for which configs have diff IDs. Read may leave what it does
// not want; it is read to the end all the same, and so is the blob, whose end is
// where its own reader says that the bytes were wrong. The blob is closed.
func Read(blob io.ReadCloser, left *Budget, read func(io.Reader) error) (_ digest.Digest, err error) {
	defer func() { err = errors.Join(err, blob.Close()) }()
	unpacked, err := Unpack(blob)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unpacked.Close()) }()
	sum := sha256.New()
	r := io.TeeReader(left.Limit(unpacked), sum)
	if err := read(r); err != nil {
		return "", err
	}
	// Behind the last header are zeros, and behind the last byte of the blob
	// its verification.
	for _, rest := range []io.Reader{r, blob} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return "", err
		}
	}
	return digest.NewDigest(digest.SHA256, sum), nil
}

// IsType reports whether a media type is that of a tar archive as it comes or
// compressed, and not encrypted.
func IsType(mediaType string) bool {
	for _, prefix := range []string{
		"application/vnd.oci.image.layer.", "application/vnd.docker.image.rootfs.",
	} {
		if strings.HasPrefix(mediaType, prefix) {
			return strings.Contains(mediaType, "tar") && !strings.HasSuffix(mediaType, "+encrypted")
		}
	}
	return false
}
