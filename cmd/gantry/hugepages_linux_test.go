package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestHugePages checks that Linux lists the block as memory that gets huge pages (the flag hg).
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	useHugePages()
	text, err := os.ReadFile("/proc/self/smaps")
	fail.On(t, err)
	advised := 0
	for _, m := range regexp.MustCompile(`(?s)\nSize: +([0-9]+) kB.*?\nVmFlags:([^\n]*)`).FindAllStringSubmatch(string(text), -1) {
		if regexp.MustCompile(`\bhg\b`).MatchString(m[2]) {
			size, err := strconv.Atoi(m[1])
			fail.On(t, err)
			advised += size
		}
	}
	if advised < hugeHeap>>10 {
		t.Errorf("%d KiB have huge pages, want at least %d", advised, hugeHeap>>10)
	}
}
