package payload

import (
	"archive/tar"
	"errors"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// TestLimits checks the limits of memory and unpacked size with a manifest near each of them.
func TestLimits(t *testing.T) {
	const text = policyText
	add := func(kept int, left int64) error {
		f := &releaseFiles{extent: needed, left: layers.NewBudget(left), seen: map[string]bool{}, kept: kept}
		return f.add(&tar.Header{Name: manifestsDir + "/policy.yaml", Typeflag: tar.TypeReg, Size: int64(len(text))}, strings.NewReader(text))
	}
	size := len(text)
	fail.On(t, add(maxKept-size, int64(size)))
	if err := add(maxKept-size+1, int64(size)); err == nil || !strings.Contains(err.Error(), "more than 134217728 bytes in total") {
		t.Errorf("kept too much: %v", err)
	}
	// The content of a sparse file is not in the archive, but it counts.
	if err := add(0, int64(size)-1); !errors.Is(err, layers.ErrTooLarge) {
		t.Errorf("unpacked too much: %v", err)
	}
}
