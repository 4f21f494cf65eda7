package archive

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The names of an archive have digits for at most this much.
const (
	maxSequence = 999_999
	maxVolumes  = 9_999
)

// A setID distinguishes a set from the others of its series. Its files are named after it, and no
// other names are read or written.
type setID struct {
	sequence int
	repair   bool // it repairs the set of that sequence
}

func (s *set) id() setID { return setID{s.Sequence, s.Repairs != nil} }

func (id setID) String() string {
	if id.repair {
		return fmt.Sprintf("%06d-repair", id.sequence)
	}
	return fmt.Sprintf("%06d", id.sequence)
}

func (id setID) manifest() string  { return "gantry-" + id.String() + ".json" }
func (id setID) sum() string       { return id.manifest() + ".sha256" }
func (id setID) signature() string { return id.manifest() + ".sig" }
func (id setID) inner() string     { return id.manifest() + ".age" }
func (id setID) volume(number int) string {
	return fmt.Sprintf("gantry-%s.%04d.tar", id, number)
}

// parity returns the name of a parity file, counted from 1.
func (id setID) parity(number int) string {
	return fmt.Sprintf("gantry-%s.%04d.parity", id, number)
}

// volumeFile matches the names of volumes that oc mirror gives.
var volumeFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^mirror_([0-9]{6})\.tar$`) })

// maxVolumeFile is the highest number in such a name.
const maxVolumeFile = 999_999

// volumeName returns the name of a volume, counted from 1.
func (s *set) volumeName(number int) string {
	if s.FirstVolume > 0 {
		return fmt.Sprintf("mirror_%06d.tar", s.FirstVolume+number-1)
	}
	return s.id().volume(number)
}

// label returns the path of the entry with the label of a volume.
func (id setID) label(volume int) string { return fmt.Sprintf("gantry/%s.%04d.json", id, volume) }

// setName returns the name of the set manifest of a set that is not a repair.
func setName(sequence int) string { return setID{sequence: sequence}.manifest() }

var fileName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^gantry-([0-9]{6})(-repair)?(\.json|\.json\.sha256|\.json\.sig|\.json\.age|\.[0-9]{4}\.tar|\.[0-9]{4}\.parity)$`)
})

// parseName splits the name of an archive's file. ok is false for other names.
func parseName(name string) (id setID, suffix string, ok bool) {
	m := fileName().FindStringSubmatch(name)
	if m == nil {
		return setID{}, "", false
	}
	sequence, err := strconv.Atoi(m[1])
	return setID{sequence, m[2] != ""}, m[3], err == nil && sequence > 0
}

// The paths of entries that are not content.
const (
	markerPath = ocispec.ImageLayoutFile
	indexPath  = ocispec.ImageIndexFile
	planPath   = "gantry/plan.json.gz"
	sumsPath   = "SHA256SUMS"
	joinPath   = "gantry/join.sh"
	deltasPath = "gantry/deltas.txt"
)
