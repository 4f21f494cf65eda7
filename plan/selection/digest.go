package selection

import (
	"os"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// Digest returns the digest of the configuration, "" if it is no regular file that can be read again.
func (s *Selection) Digest() digest.Digest {
	text := s.Text
	if s.Value != nil {
		text, _ = s.Value.MarshalJSON() // it has no error
	}
	if text != nil {
		return digest.FromBytes(text)
	}
	info, err := os.Stat(s.Config)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _, err = regular.ReadPath(s.Config, MaxCompared)
	if err != nil {
		return "" // the run itself reads it, and returns the error
	}
	return digest.FromBytes(text)
}

// MaxCompared is the maximum size of two configurations that are compared, in bytes.
const MaxCompared = 16 << 20
