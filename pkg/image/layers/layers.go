// Package layers reads the layers of images as streams: it unpacks, limits and hashes them, and writes
// nothing to disk. The caller interprets the tar archive in a layer.
package layers

import (
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Read unpacks a layer, calls read with the tar archive and returns the digest of the whole archive,
// which is the diff ID in configs. read does not have to read everything: Read always reads the rest of
// the archive and of the blob, whose reader reports wrong bytes at its end. It closes the blob.
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
	// After the last header come zeros, and after the last byte of the blob its verification.
	for _, rest := range []io.Reader{r, blob} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return "", err
		}
	}
	return digest.NewDigest(digest.SHA256, sum), nil
}

// IsType reports whether a media type is a tar archive, compressed or not, that is not encrypted.
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
