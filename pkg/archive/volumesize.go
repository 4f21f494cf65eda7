package archive

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// DefaultVolumeSize is the default limit of a volume, the same as in oc-mirror.
const DefaultVolumeSize = 500 << 30

// diskReserve is the space that a disk must have beside a volume, in bytes: for its file system,
// and for the set manifest, which is on one of them.
const diskReserve = 16 << 20

// A sizeName is a name and its size in bytes.
type sizeName struct {
	name  string
	bytes int64
}

// diskSizes are the volume sizes with a name, the smallest first: the capacity of the disk without
// diskReserve. FAT32 allows files of one byte less than 4 GiB, on a disk of any size.
var diskSizes = []sizeName{
	{"cd", 737280000 - diskReserve}, // 80 minutes
	{"fat32", 4<<30 - 1},
	{"dvd", 4700372992 - diskReserve},    // DVD+R; a DVD-R has a little more
	{"dvd-dl", 8543666176 - diskReserve}, // two layers
	{"bd", 25025314816 - diskReserve},    // Blu-ray
	{"bd-dl", 50050629632 - diskReserve}, // two layers
}

// volumeUnits are the units of other sizes.
var volumeUnits = []sizeName{
	{"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
}

// ParseVolumeSize reads a volume size, in bytes: a decimal number with one of the units MB, GB and
// TB (powers of 1000) or MiB, GiB and TiB (powers of 1024), in this spelling; or a name in any
// case: cd, dvd, dvd-dl, bd, bd-dl, fat32. The size is rounded down to blocks of a tar file (512
// bytes). The error for other text tells what to write.
func ParseVolumeSize(text string) (int64, error) {
	s := strings.TrimSpace(text)
	for _, m := range diskSizes {
		if strings.EqualFold(s, m.name) {
			return m.bytes / blockSize * blockSize, nil
		}
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	if err != nil {
		return 0, fmt.Errorf("%.60q is not a volume size: write 4GiB or 4.7GB, or one of %s", text, diskNames())
	}
	unit := strings.TrimLeft(s[end:], " ")
	at := slices.IndexFunc(volumeUnits, func(u sizeName) bool { return u.name == unit })
	switch {
	case unit == "":
		return 0, fmt.Errorf("%.60q has no unit: write MB, GB, TB, MiB, GiB or TiB behind it, or one of %s", text, diskNames())
	case at < 0:
		return 0, fmt.Errorf("%.60q has an unknown unit; write MB, GB, TB, MiB, GiB or TiB, or one of %s", text, diskNames())
	}
	bytes := n * float64(volumeUnits[at].bytes)
	switch {
	case bytes < minVolumeSize:
		return 0, fmt.Errorf("%.60q is less than the minimum of %d bytes", text, minVolumeSize)
	case bytes > math.MaxInt64/2:
		return 0, fmt.Errorf("%.60q is too large", text)
	}
	return int64(bytes) / blockSize * blockSize, nil
}

// diskNames lists the names of diskSizes.
func diskNames() string {
	words := elements.Map(diskSizes, func(m sizeName) string { return m.name })
	return strings.Join(words, ", ")
}
