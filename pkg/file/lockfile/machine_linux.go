package lockfile

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// Machine identifies this machine until it starts again, and the container in which this process runs:
// equal process numbers are the same process only where Machine is equal. It is "" if unknown. It is a
// hash, from which nothing of the machine can be learned.
func Machine() string {
	boot, _, err := regular.ReadPath("/proc/sys/kernel/random/boot_id", maxOwner)
	if err != nil {
		return ""
	}
	processes, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(boot)) + processes))
	return hex.EncodeToString(sum[:8])
}
