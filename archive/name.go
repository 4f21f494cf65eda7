package archive

import (
	"fmt"
	"regexp"
	"strconv"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The most that the names of an archive have digits for.
const (
	maxSequence = 999_999
	maxVolumes  = 9_999
)

// The names of an archive's files, and nothing else, are read and written.
func setName(sequence int) string { return fmt.Sprintf("gantry-%06d.json", sequence) }
func sumName(sequence int) string { return setName(sequence) + ".sha256" }
func volumeName(sequence, volume int) string {
	return fmt.Sprintf("gantry-%06d.%04d.tar", sequence, volume)
}

var fileName = regexp.MustCompile(`^gantry-([0-9]{6})(\.json|\.json\.sha256|\.[0-9]{4}\.tar)$`)

// parseName takes the name of an archive's file apart. ok is false for a name
// that is none.
func parseName(name string) (sequence int, suffix string, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return 0, "", false
	}
	sequence, err := strconv.Atoi(m[1])
	return sequence, m[2], err == nil && sequence > 0
}

// The paths of entries that are not blobs.
const (
	markerPath = ocispec.ImageLayoutFile
	indexPath  = ocispec.ImageIndexFile
	planPath   = "gantry/plan.json"
)

// labelPath is the path of the entry by which a volume says what it is.
func labelPath(sequence, volume int) string {
	return fmt.Sprintf("gantry/%06d.%04d.json", sequence, volume)
}
