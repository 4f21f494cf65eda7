package selection

import (
	"os"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/regular"
)

// DigestOfFile returns the digest of a configuration, "" if it is no regular file that can be read again.
func DigestOfFile(name string) digest.Digest {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _, err := regular.ReadPath(name, MaxCompared)
	if err != nil {
		return "" // the run itself reads it, and returns the error
	}
	return digest.FromBytes(text)
}

// MaxCompared is the maximum size of two configurations that are compared, in bytes.
const MaxCompared = 16 << 20
