package recompress

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFingerprints fails if a compressor's output changed. testdata/fingerprints.txt explains what
// to do then.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/fingerprints.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	if testing.Short() { // the usual level of each
		for _, c := range compressors() {
			f, err := fingerprint(c, c.levels[0], nil)
			line := candidate{name: c.name, level: c.levels[0]}.requirement(f)
			if err != nil || !slices.Contains(want, line) {
				t.Errorf("the output of %s changed; read testdata/fingerprints.txt: now %s, error %v", c.name, line, err)
			}
		}
		return
	}
	got := slices.Clone(Supported())
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the output of compressors changed; read testdata/fingerprints.txt (-expected +now):\n%s", diff)
	}
}
