package archive

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// DefaultVolumeSize is the limit of a volume where none is given: that of oc-mirror.
const DefaultVolumeSize = 500 << 30

// spare is what a medium has to have beside a volume, in bytes: for its file
// system, and for the set manifest, which stands on one of them.
const spare = 16 << 20

// A volumeUnit is a word and what it stands for in bytes.
type volumeUnit struct {
	word  string
	bytes int64
}

// media are the sizes of volumes for what has a name, the smallest first: what the
// medium holds, less spare. FAT32 takes files of one byte less than 4 GiB, on a
// medium of any size.
var media = []volumeUnit{
	{"cd", 737280000 - spare}, // 80 minutes
	{"fat32", 4<<30 - 1},
	{"dvd", 4700372992 - spare},    // DVD+R; a DVD-R has a little more
	{"dvd-dl", 8543666176 - spare}, // two layers
	{"bd", 25025314816 - spare},    // Blu-ray
	{"bd-dl", 50050629632 - spare}, // two layers
}

// volumeUnits are the units of other sizes.
var volumeUnits = []volumeUnit{
	{"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
}

// ParseVolumeSize reads a volume size, in bytes: a decimal number with one of the
// units MB, GB and TB (powers of 1000) or MiB, GiB and TiB (powers of 1024), written
// so; or the name of a medium, whatever its case: cd, dvd, dvd-dl, bd, bd-dl, fat32.
// What is no whole number of the blocks of a tar file (512 bytes) is rounded down.
// Any other text is an error that says what to write.
func ParseVolumeSize(text string) (int64, error) {
	s := strings.TrimSpace(text)
	for _, m := range media {
		if strings.EqualFold(s, m.word) {
			return m.bytes / blockSize * blockSize, nil
		}
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	if err != nil {
		return 0, fmt.Errorf("%.60q is no volume size: write 4GiB or 4.7GB, or one of %s", text, mediaWords())
	}
	unit := strings.TrimLeft(s[end:], " ")
	at := slices.IndexFunc(volumeUnits, func(u volumeUnit) bool { return u.word == unit })
	switch {
	case unit == "":
		return 0, fmt.Errorf("%.60q has no unit: write MB, GB, TB, MiB, GiB or TiB behind it, or one of %s", text, mediaWords())
	case at < 0:
		return 0, fmt.Errorf("%.60q has a unit that is not known: write MB, GB, TB, MiB, GiB or TiB, or one of %s", text, mediaWords())
	}
	bytes := n * float64(volumeUnits[at].bytes)
	switch {
	case bytes < minVolumeSize:
		return 0, fmt.Errorf("%.60q is less than the %d bytes that a volume has at least", text, minVolumeSize)
	case bytes > math.MaxInt64/2:
		return 0, fmt.Errorf("%.60q is more than can be counted", text)
	}
	return int64(bytes) / blockSize * blockSize, nil
}

// mediaWords are the names of media as people list them.
func mediaWords() string {
	var words []string
	for _, m := range media {
		words = append(words, m.word)
	}
	return strings.Join(words, ", ")
}
