package archive

import (
	"strings"
	"testing"
)

func TestParseVolumeSize(t *testing.T) {
	for text, want := range map[string]int64{
		"4GiB": 4 << 30, "4.7GB": 4700000000 / blockSize * blockSize, " 650 MB ": 650000000 / blockSize * blockSize,
		"1TiB": 1 << 40, "0.5TB": 500000000000 / blockSize * blockSize, "100MiB": 100 << 20,
		"fat32": 4<<30 - blockSize, "DVD": (4700372992 - diskReserve) / blockSize * blockSize,
	} {
		got, err := ParseVolumeSize(text)
		if err != nil || got != want || got%blockSize != 0 {
			t.Errorf("ParseVolumeSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "write 4GiB", "floppy": "cd, fat32, dvd, dvd-dl, bd, bd-dl", "4": "has no unit", "4G": "unknown unit", "4gib": "unknown unit",
		"4 Gbit": "unknown unit", "-4GiB": "write 4GiB", "1e3GB": "unknown unit", "..GB": "write 4GiB", "0.001MB": "minimum",
		"99999999999TiB": "is too large", strings.Repeat("9", 400) + "GB": "is",
	} {
		if got, err := ParseVolumeSize(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("ParseVolumeSize(%.20q) = %d, %v, want an error with %q", text, got, err, want)
		}
	}
	for i := range diskSizes[1:] {
		if diskSizes[i].bytes >= diskSizes[i+1].bytes {
			t.Errorf("%s is not smaller than %s", diskSizes[i].name, diskSizes[i+1].name)
		}
	}
}
