package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestHugePages checks that Linux lists most of the reserved block as memory that gets huge pages (the flag hg), and
// that it is not in use.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	useHugePages()
	text, err := os.ReadFile("/proc/self/smaps")
	fail.On(t, err)
	advised, resident := 0, 0
	for _, m := range regexp.MustCompile(`(?s)\nSize: +([0-9]+) kB.*?\nRss: +([0-9]+) kB.*?\nVmFlags:([^\n]*)`).FindAllStringSubmatch(string(text), -1) {
		if !regexp.MustCompile(`\bhg\b`).MatchString(m[3]) {
			continue
		}
		size, err := strconv.Atoi(m[1])
		fail.On(t, err)
		used, err := strconv.Atoi(m[2])
		fail.On(t, err)
		advised, resident = advised+size, resident+used
	}
	if advised < hugeHeap>>10 || resident > advised/2 {
		t.Errorf("%d KiB with huge pages, %d KiB in use; want at least %d KiB, most of them unused", advised, resident, hugeHeap>>10)
	}
}
