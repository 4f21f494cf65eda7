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
	got := slices.Clone(Supported())
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the output of compressors changed; read testdata/fingerprints.txt (-expected +now):\n%s", diff)
	}
}
