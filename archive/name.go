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

// seriesName is what a series is called: the name of its plans, or nothing.
var seriesName = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,254})?$`)

// A setID tells a set from the others of its series; its files are named by it,
// and no other names are read or written.
type setID struct {
	sequence int
	repair   bool // it mends the set of that sequence
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
func (id setID) sealed() string    { return id.manifest() + ".age" }
func (id setID) volume(number int) string {
	return fmt.Sprintf("gantry-%s.%04d.tar", id, number)
}

// label is the path of the entry by which a volume says what it is.
func (id setID) label(volume int) string { return fmt.Sprintf("gantry/%s.%04d.json", id, volume) }

// setName is the name of the set manifest of a set that repairs none.
func setName(sequence int) string { return setID{sequence: sequence}.manifest() }

var fileName = regexp.MustCompile(`^gantry-([0-9]{6})(-repair)?(\.json|\.json\.sha256|\.json\.sig|\.json\.age|\.[0-9]{4}\.tar)$`)

// parseName takes the name of an archive's file apart. ok is false for a name
// that is none.
func parseName(name string) (id setID, suffix string, ok bool) {
	m := fileName.FindStringSubmatch(name)
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
)
